//! Addresses of Spark Connect servers: `sc://HOST[:PORT][/;KEY=VALUE;…]`, as PySpark takes them.
//!
//! Written anew rather than taken from `apache-spark-connect-core`, whose errors quote the address with its token.

use std::fmt;

use rooflens_engine_protocol::{Fault, Kind};

const DEFAULT_PORT: u16 = 15002;

/// Environment variables that may hold the token, in order; the second is PySpark's.
pub(crate) const TOKEN_VARIABLES: [&str; 2] = ["SPARK_CONNECT_TOKEN", "SPARK_CONNECT_AUTHENTICATE_TOKEN"];

/// Keys that configure PySpark's client and are neither needed here nor sent as headers.
const CLIENT_KEYS: [&str; 5] = [
    "user_agent",
    "grpc_keepalive_enabled",
    "grpc_keepalive_time_ms",
    "grpc_keepalive_timeout_ms",
    "grpc_keepalive_without_calls",
];

/// A parsed address. Shown without its token and headers.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Host name or address, IPv6 in brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: bool,
    pub(crate) token: Option<String>,
    pub(crate) user_id: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sc://{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} (TLS {}, token {})", self.tls, self.token.is_some())
    }
}

impl Address {
    /// Parses an address. `token` is that of the environment, used where the address has none.
    pub(crate) fn parse(text: &str, token: Option<String>) -> Result<Self, Fault> {
        let rest = text.strip_prefix("sc://").ok_or_else(|| invalid("it does not begin with sc://"))?;
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#', ';']).unwrap_or(rest.len()));
        let (host, port) = host_and_port(authority)?;
        let mut address =
            Self { host, port, tls: false, token: None, user_id: "rooflens".into(), headers: Vec::new() };
        let mut use_ssl = None;
        for (key, value) in parameters(tail)? {
            match key.as_str() {
                "use_ssl" => use_ssl = Some(flag(&value)?),
                "token" => address.token = Some(value),
                "user_id" => address.user_id = value,
                "session_id" => {
                    return Err(invalid("session_id is not supported: each query has its own session"));
                }
                key if CLIENT_KEYS.contains(&key) => {}
                _ => address.headers.push((key.to_ascii_lowercase(), value)),
            }
        }
        address.token = address.token.or(token).filter(|token| !token.is_empty());
        // As PySpark: a token turns TLS on, but on this machine.
        let token_leaves = address.token.is_some() && !address.is_loopback();
        address.tls = use_ssl.unwrap_or(token_leaves);
        if token_leaves && !address.tls {
            return Err(Fault::new(
                Kind::Engine,
                format!("refused to send a token to {address} without TLS"),
            )
            .hint("use use_ssl=true in the address of the server"));
        }
        Ok(address)
    }

    fn is_loopback(&self) -> bool {
        matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "[::1]")
    }
}

pub(crate) fn token_of_environment() -> Option<String> {
    TOKEN_VARIABLES.iter().find_map(|name| std::env::var(name).ok().filter(|token| !token.is_empty()))
}

fn invalid(reason: &str) -> Fault {
    Fault::new(Kind::Engine, format!("the address of the Spark Connect server is not valid: {reason}"))
        .hint("write sc://HOST:15002, or sc://HOST:443/;use_ssl=true with the token in SPARK_CONNECT_TOKEN")
}

fn host_and_port(authority: &str) -> Result<(String, u16), Fault> {
    if authority.contains('@') {
        return Err(invalid("it has a user before the host; use user_id and token"));
    }
    let (host, port) = match authority.rfind(']') {
        Some(end) => {
            let (host, rest) = authority.split_at(end + 1);
            (host, rest.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() {
        return Err(invalid("it has no host"));
    }
    let port = match port {
        None | Some("") => DEFAULT_PORT,
        Some(port) => port.parse().map_err(|_| invalid("its port is not a number from 0 to 65535"))?,
    };
    Ok((host.to_ascii_lowercase(), port))
}

fn parameters(tail: &str) -> Result<Vec<(String, String)>, Fault> {
    let list = match tail.strip_prefix('/').unwrap_or(tail) {
        "" => return Ok(Vec::new()),
        rest => rest.strip_prefix(';').ok_or_else(|| invalid("it has a path; parameters begin with /;"))?,
    };
    list.split(';')
        .filter(|part| !part.is_empty())
        .map(|part| {
            // The first sign of equality separates: tokens in Base64 end with some.
            let (key, value) = part.split_once('=').ok_or_else(|| invalid("a parameter is not KEY=VALUE"))?;
            Ok((key.to_owned(), percent_decoded(value)))
        })
        .collect()
}

fn flag(value: &str) -> Result<bool, Fault> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid("use_ssl is neither true nor false")),
    }
}

/// Text with its `%XX` replaced by what they stand for.
pub(crate) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, Fault> {
        Address::parse(text, None)
    }

    #[test]
    fn the_forms_of_the_protocol() {
        let plain = parse("sc://Spark.example").unwrap();
        assert_eq!((plain.host.as_str(), plain.port, plain.tls), ("spark.example", 15002, false));
        assert_eq!(parse("sc://[::1]:99/").unwrap().host, "[::1]");
        let full = parse("sc://h:443/;token=a%20b==;user_id=eve;x-cluster=7").unwrap();
        assert_eq!((full.token.as_deref(), full.tls, full.user_id.as_str()), (Some("a b=="), true, "eve"));
        assert_eq!(full.headers, [("x-cluster".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn a_token_of_the_environment_is_the_second_choice() {
        let address = Address::parse("sc://localhost", Some("env".into())).unwrap();
        assert_eq!((address.token.as_deref(), address.tls), (Some("env"), false));
        let address = Address::parse("sc://localhost/;token=url", Some("env".into())).unwrap();
        assert_eq!(address.token.as_deref(), Some("url"));
    }

    #[test]
    fn no_message_holds_the_token() {
        let wrong = [
            "sc://h:port/;token=s3cret",
            "sc://h/s3cret",
            "sc:///;token=s3cret",
            "http://h/;token=s3cret",
            "sc://h/;s3cret",
            "sc://s3cret@h",
            "sc://h/;token=s3cret;use_ssl=false",
            "sc://h/;token=s3cret;use_ssl=maybe",
        ];
        for text in wrong {
            let failure = parse(text).unwrap_err();
            assert!(!format!("{failure:?}").contains("s3cret"), "{text}: {failure:?}");
        }
        let address = parse("sc://h/;token=s3cret").unwrap();
        assert!(!format!("{address} {address:?}").contains("s3cret"));
    }
}
