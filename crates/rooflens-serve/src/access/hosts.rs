//! The names that the server answers to. A page of a stranger can make a name of its own lead to this machine (DNS
//! rebinding), but cannot change the name that the browser sends.

use std::net::SocketAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

#[derive(Debug, Clone)]
pub(crate) struct HostNames {
    port: u16,
    /// With the port of the server.
    own: Vec<String>,
    /// With any port: a proxy may stand in front.
    allowed: Vec<String>,
}

impl HostNames {
    pub(crate) fn new(address: SocketAddr, allowed: &[String]) -> Self {
        let mut own = Vec::new();
        // An address of all interfaces is reached from this machine, too.
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            own.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        if address.ip().is_loopback() {
            own.push(bracketed(&address.ip().to_string()));
        }
        let allowed = allowed.iter().map(|name| bracketed(&name.to_ascii_lowercase())).collect();
        HostNames { port: address.port(), own, allowed }
    }

    pub(crate) fn of_request(&self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        let mut given = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else { return None };
        let host = host.to_str().ok()?.to_ascii_lowercase();
        // A request may name the server twice; both must be right.
        let in_line = uri.authority().map(|authority| authority.as_str().to_ascii_lowercase());
        let is_allowed =
            in_line.as_deref().is_none_or(|name| self.is_allowed(name)) && self.is_allowed(&host);
        is_allowed.then_some(host)
    }

    fn is_allowed(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        if host.contains('@') {
            return false;
        }
        let name = authority.host();
        let is_own =
            || self.own.iter().any(|own| own == name) && authority.port_u16().unwrap_or(80) == self.port;
        is_own() || self.allowed.iter().any(|allowed| allowed == host || allowed == name)
    }
}

fn bracketed(name: &str) -> String {
    if name.contains(':') && !name.starts_with('[') && name.parse::<std::net::Ipv6Addr>().is_ok() {
        format!("[{name}]")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_are_answered() {
        let names = HostNames::new("127.0.0.1:8377".parse().unwrap(), &["Box.example".to_owned()]);
        for good in ["localhost:8377", "127.0.0.1:8377", "[::1]:8377", "box.example", "box.example:443"] {
            assert!(names.is_allowed(good), "{good}");
        }
        for bad in [
            "localhost",
            "localhost:80",
            "evil.example:8377",
            "127.0.0.1.evil.example:8377",
            "",
            "a b",
            "x@localhost:8377",
        ] {
            assert!(!names.is_allowed(bad), "{bad}");
        }
        let open = HostNames::new("0.0.0.0:80".parse().unwrap(), &["box".to_owned()]);
        assert!(open.is_allowed("box:80") && open.is_allowed("localhost") && !open.is_allowed("0.0.0.0"));
        let other = HostNames::new("192.0.2.1:80".parse().unwrap(), &["box".to_owned()]);
        assert!(other.is_allowed("box") && !other.is_allowed("localhost"));
    }
}
