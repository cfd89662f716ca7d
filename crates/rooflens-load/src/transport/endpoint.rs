//! Where the server is.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::time::Duration;

use hyper::Uri;
use hyper::http::uri::PathAndQuery;

use crate::plan::LoadTarget;

#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_tls: bool,
    pub(crate) uri: Uri,
    pub(crate) path: Uri,
    pub(crate) authority: String,
}

impl Endpoint {
    pub(crate) fn new(target: &LoadTarget) -> Result<Self, String> {
        let bad = |message: &str| format!("{}: {message}", target.url);
        let other_scheme = || bad("the address must begin with http:// or https://");
        if !target.url.contains("://") {
            return Err(other_scheme());
        }
        let whole = format!("{}{}", target.url.trim_end_matches('/'), target.api.path());
        let uri: Uri = whole.parse().map_err(|error| bad(&format!("{error}")))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(other_scheme()),
        };
        let authority = uri.authority().ok_or_else(|| bad("there is no host"))?.clone();
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let path = path.parse().map_err(|error| bad(&format!("{error}")))?;
        Ok(Endpoint {
            host,
            port: authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            is_tls,
            path,
            authority: authority.as_str().rsplit('@').next().unwrap_or_default().to_owned(),
            uri,
        })
    }

    /// The addresses of the host. Looked up once for a load test, so that name servers are no part of latencies.
    pub(crate) fn resolve(&self, timeout: Duration) -> Result<Vec<SocketAddr>, String> {
        let (answer, answers) = mpsc::channel();
        let (host, port) = (self.host.clone(), self.port);
        // A look-up cannot be cancelled: its thread is left behind if it takes too long.
        std::thread::spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
            let _ = answer.send(found.map_err(|error| format!("{host}: {error}")));
        });
        let found =
            answers.recv_timeout(timeout).map_err(|_| format!("{}: no answer in time", self.host))??;
        if found.is_empty() { Err(format!("{}: no address", self.host)) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Api, LoadPlan, Pace};

    fn target(url: &str) -> LoadTarget {
        LoadPlan::of_test(url, Api::Chat, Pace::Closed { concurrency: 1, ramp: Duration::ZERO }, 1).target
    }

    #[test]
    fn addresses_are_taken_apart() {
        let endpoint = Endpoint::new(&target("https://user:pw@example.org/base")).unwrap();
        assert_eq!((endpoint.host.as_str(), endpoint.port, endpoint.is_tls), ("example.org", 443, true));
        assert_eq!(endpoint.path.to_string(), "/base/v1/chat/completions");
        assert_eq!(endpoint.authority, "example.org");
        let endpoint = Endpoint::new(&target("http://[::1]:8000")).unwrap();
        assert_eq!((endpoint.host.as_str(), endpoint.port, endpoint.is_tls), ("::1", 8000, false));
        assert_eq!(endpoint.authority, "[::1]:8000");
        assert_eq!(endpoint.resolve(Duration::from_secs(5)).unwrap(), ["[::1]:8000".parse().unwrap()]);
    }

    #[test]
    fn other_schemes_are_refused() {
        for url in ["ftp://host", "localhost:8000", "", "http://"] {
            assert!(Endpoint::new(&target(url)).is_err(), "{url}");
        }
    }
}
