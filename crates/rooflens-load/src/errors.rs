//! Errors of requests by kind.

use std::error::Error;
use std::io;
use std::sync::LazyLock;

use crate::record::RequestError;

/// `http_` and the status, for each status that there can be.
static HTTP_KINDS: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..1000).map(|status| format!("http_{status}")).collect());

pub(crate) fn http_kind(status: u16) -> &'static str {
    HTTP_KINDS.get(usize::from(status)).map_or("protocol", String::as_str)
}

pub(crate) fn failed(kind: &'static str, message: impl Into<String>) -> RequestError {
    RequestError { kind, message: message.into() }
}

pub(crate) fn io_failure(error: &io::Error, else_kind: &'static str) -> RequestError {
    failed(io_kind(error).unwrap_or(else_kind), chain(error))
}

pub(crate) fn http_failure(error: &hyper::Error) -> RequestError {
    let mut source: Option<&(dyn Error + 'static)> = error.source();
    let mut kind = None;
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            kind = kind.or(io_kind(io));
        }
        if inner.is::<rustls::Error>() {
            kind = Some("tls");
        }
        source = inner.source();
    }
    let message = chain(error);
    // HTTP/2 gives the error of its socket only in words.
    let is_closed = error.is_incomplete_message()
        || error.is_closed()
        || error.is_canceled()
        || ["broken pipe", "onnection reset"].iter().any(|words| message.contains(words));
    let kind = kind.unwrap_or(if is_closed { "connection_reset" } else { "protocol" });
    failed(kind, message)
}

fn io_kind(error: &io::Error) -> Option<&'static str> {
    if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        return Some("tls");
    }
    Some(match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection_refused",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::NotConnected
        | io::ErrorKind::UnexpectedEof => "connection_reset",
        io::ErrorKind::TimedOut => "timeout",
        _ => return None,
    })
}

pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_errors_have_their_status_in_the_kind() {
        assert_eq!(http_kind(429), "http_429");
        assert_eq!(http_kind(503), "http_503");
        assert_eq!(http_kind(1234), "protocol");
    }

    #[test]
    fn errors_of_sockets_have_kinds() {
        let kind = |kind: io::ErrorKind| io_failure(&io::Error::from(kind), "protocol").kind;
        assert_eq!(kind(io::ErrorKind::ConnectionRefused), "connection_refused");
        assert_eq!(kind(io::ErrorKind::BrokenPipe), "connection_reset");
        assert_eq!(kind(io::ErrorKind::InvalidData), "protocol");
        let tls = io::Error::other(rustls::Error::DecryptError);
        assert_eq!(io_failure(&tls, "protocol").kind, "tls");
    }
}
