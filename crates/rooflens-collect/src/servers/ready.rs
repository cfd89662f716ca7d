//! Whether a server answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(5);

/// The status by which a plain HTTP address answers; `None` if it does not.
pub(super) fn status(url: &str) -> Option<u16> {
    let rest = url.strip_prefix("http://")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let address: SocketAddr = match authority.to_socket_addrs() {
        Ok(mut addresses) => addresses.next()?,
        Err(_) => (authority, 80).to_socket_addrs().ok()?.next()?,
    };
    let mut socket = TcpStream::connect_timeout(&address, WITHIN).ok()?;
    socket.set_read_timeout(Some(WITHIN)).ok()?;
    socket.set_write_timeout(Some(WITHIN)).ok()?;
    write!(socket, "GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n").ok()?;
    let mut head = Vec::new();
    // `HTTP/1.1 200` is all that is wanted.
    socket.take(12).read_to_end(&mut head).ok()?;
    let head = String::from_utf8(head).ok()?;
    head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}

/// A port that nobody listens on now.
pub(super) fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((super::HOST, 0))?.local_addr()?.port())
}
