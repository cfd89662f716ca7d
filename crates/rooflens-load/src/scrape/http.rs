//! A small blocking HTTP/1.1 client for what is asked beside the load: pages of metrics, health, profiles. One
//! connection per request, so that it shares nothing with the connections that are measured.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// The largest body that is read.
const MAX_BODY: usize = 32 * 1024 * 1024;
/// The largest head.
const MAX_HEAD: usize = 64 * 1024;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is none.
    #[error("'{url}' is not an http or https address: {why}")]
    Address {
        /// As it was given.
        url: String,
        /// What is wrong.
        why: &'static str,
    },
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("no full answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// TLS failed.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The answer is not HTTP.
    #[error("the answer is not HTTP/1: {0}")]
    Protocol(&'static str),
    /// The answer is larger than is read.
    #[error("the answer is larger than {MAX_BODY} bytes")]
    TooLarge,
}

/// An address in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainUrl {
    /// `https`.
    pub is_tls: bool,
    /// Host without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query, with the slash at its begin.
    pub path: String,
}

impl PlainUrl {
    /// Takes an address apart.
    ///
    /// # Errors
    /// [`HttpError::Address`].
    pub fn parse(url: &str) -> Result<Self, HttpError> {
        let refuse = |why| HttpError::Address { url: url.to_owned(), why };
        let (is_tls, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(refuse("it must begin with http:// or https://")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(refuse("it must not hold a user name"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(address) => {
                let (host, port) = address.split_once(']').ok_or_else(|| refuse("']' is missing"))?;
                (host, port.strip_prefix(':'))
            }
            None => match authority.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = match port {
            Some(port) => port.parse().map_err(|_| refuse("its port is not a number from 0 to 65535"))?,
            None if is_tls => 443,
            None => 80,
        };
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || !is_plain(host) || !is_plain(path) {
            return Err(refuse("its host or path has characters that do not belong there"));
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(PlainUrl { is_tls, host: host.to_owned(), port, path })
    }

    fn authority(&self) -> String {
        let bracketed = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{bracketed}:{}", self.port)
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainResponse {
    /// Status code.
    pub status: u16,
    /// Body, without transfer coding.
    pub body: Vec<u8>,
}

impl PlainResponse {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The client: headers of every request, how long one may take, and TLS.
#[derive(Clone)]
pub struct PlainClient {
    /// Headers, as `authorization`.
    pub headers: Vec<(String, String)>,
    /// How long a request may take, from connecting to the last byte.
    pub timeout: Duration,
    /// TLS; `None` trusts the certificates of the system.
    pub tls: Option<Arc<ClientConfig>>,
}

impl Default for PlainClient {
    fn default() -> Self {
        PlainClient { headers: Vec::new(), timeout: Duration::from_secs(5), tls: None }
    }
}

impl std::fmt::Debug for PlainClient {
    // Headers may hold a secret.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.headers.iter().map(|(name, _)| name).collect();
        out.debug_struct("PlainClient").field("headers", &names).field("timeout", &self.timeout).finish()
    }
}

impl PlainClient {
    /// Gets a page.
    ///
    /// # Errors
    /// [`HttpError`]; any status is an answer.
    pub fn get(&self, url: &PlainUrl) -> Result<PlainResponse, HttpError> {
        self.request("GET", url, None)
    }

    /// Posts JSON, or nothing.
    ///
    /// # Errors
    /// [`HttpError`]; any status is an answer.
    pub fn post(&self, url: &PlainUrl, json: Option<&str>) -> Result<PlainResponse, HttpError> {
        self.request("POST", url, Some(json.unwrap_or_default()))
    }

    fn request(&self, method: &str, url: &PlainUrl, body: Option<&str>) -> Result<PlainResponse, HttpError> {
        let deadline = Deadline { at: Instant::now() + self.timeout, whole: self.timeout };
        let head = self.head(method, url, body);
        let socket = connect(url, deadline)?;
        let result = if url.is_tls {
            let config = match &self.tls {
                Some(config) => Arc::clone(config),
                None => system_tls()?,
            };
            let name = ServerName::try_from(url.host.clone()).map_err(|_| HttpError::Address {
                url: url.host.clone(),
                why: "no certificate can name it",
            })?;
            let connection = ClientConnection::new(config, name)?;
            exchange(StreamOwned::new(connection, Timed { socket, deadline }), &head, method == "HEAD")
        } else {
            exchange(Timed { socket, deadline }, &head, method == "HEAD")
        };
        result.map_err(|error| deadline.name(error))
    }

    fn head(&self, method: &str, url: &PlainUrl, body: Option<&str>) -> Vec<u8> {
        let mut head = format!(
            "{method} {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\naccept: */*\r\nuser-agent: rooflens\r\n",
            url.path,
            url.authority()
        );
        // A line break in a header would begin another request.
        let is_safe = |text: &str| !text.bytes().any(|byte| byte.is_ascii_control());
        for (name, value) in self.headers.iter().filter(|(name, value)| is_safe(name) && is_safe(value)) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            if !body.is_empty() {
                head.push_str("content-type: application/json\r\n");
            }
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        head.push_str(body.unwrap_or_default());
        head.into_bytes()
    }
}

fn system_tls() -> Result<Arc<ClientConfig>, HttpError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    whole: Duration,
}

impl Deadline {
    fn left(self) -> io::Result<Duration> {
        let left = self.at.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    fn name(self, error: HttpError) -> HttpError {
        match error {
            HttpError::Io(error)
                if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) =>
            {
                HttpError::Timeout(self.whole)
            }
            error => error,
        }
    }
}

fn connect(url: &PlainUrl, deadline: Deadline) -> Result<TcpStream, HttpError> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("no address of {}", url.host));
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, deadline.left().map_err(|e| deadline.name(e.into()))?) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(deadline.name(last.into()))
}

/// A socket on which nothing takes longer than until the deadline.
struct Timed {
    socket: TcpStream,
    deadline: Deadline,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.deadline.left()?))?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.deadline.left()?))?;
        self.socket.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn exchange(
    mut stream: impl Read + Write,
    request: &[u8],
    no_body: bool,
) -> Result<PlainResponse, HttpError> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut reader = ResponseReader { stream, buffer: Vec::new(), at: 0 };
    loop {
        let head = reader.head()?;
        // 100 Continue and its like come before the answer.
        if (100..200).contains(&head.status) {
            continue;
        }
        let body = match head.length {
            _ if no_body || head.status == 204 || head.status == 304 => Vec::new(),
            BodyLength::Known(length) => reader.known(length)?,
            BodyLength::Chunked => reader.chunked()?,
            BodyLength::UntilClose => reader.until_close()?,
        };
        return Ok(PlainResponse { status: head.status, body });
    }
}

struct ResponseReader<S> {
    stream: S,
    buffer: Vec<u8>,
    at: usize,
}

struct ResponseHead {
    status: u16,
    length: BodyLength,
}

enum BodyLength {
    Known(usize),
    Chunked,
    UntilClose,
}

impl<S: Read> ResponseReader<S> {
    /// Reads more; false at the end.
    fn more(&mut self) -> Result<bool, HttpError> {
        if self.buffer.len() - self.at > MAX_BODY + MAX_HEAD {
            return Err(HttpError::TooLarge);
        }
        let mut part = [0; 16 * 1024];
        match self.stream.read(&mut part) {
            Ok(count) => {
                self.buffer.extend_from_slice(&part[..count]);
                Ok(count > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            // Servers close TLS without saying so.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn line(&mut self) -> Result<String, HttpError> {
        let mut searched = self.at;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let line =
                    String::from_utf8_lossy(&self.buffer[self.at..searched + end]).trim_end().to_owned();
                self.at = searched + end + 1;
                return Ok(line);
            }
            searched = self.buffer.len();
            if searched - self.at > MAX_HEAD {
                return Err(HttpError::Protocol("a line is too long"));
            }
            if !self.more()? {
                return Err(HttpError::Protocol("it ends within its head"));
            }
        }
    }

    fn head(&mut self) -> Result<ResponseHead, HttpError> {
        let first = self.line()?;
        let status = first
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.split_ascii_whitespace().nth(1))
            .and_then(|status| status.parse().ok())
            .ok_or(HttpError::Protocol("its first line is no status"))?;
        let mut length = BodyLength::UntilClose;
        let mut size = first.len();
        loop {
            let line = self.line()?;
            size += line.len();
            if size > MAX_HEAD {
                return Err(HttpError::Protocol("its head is too long"));
            }
            if line.is_empty() {
                return Ok(ResponseHead { status, length });
            }
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
                length = BodyLength::Chunked;
            } else if name.eq_ignore_ascii_case("content-length") && !matches!(length, BodyLength::Chunked) {
                let bytes = value.parse().map_err(|_| HttpError::Protocol("its length is not a number"))?;
                length = BodyLength::Known(bytes);
            }
        }
    }

    fn known(&mut self, length: usize) -> Result<Vec<u8>, HttpError> {
        if length > MAX_BODY {
            return Err(HttpError::TooLarge);
        }
        while self.buffer.len() - self.at < length {
            if !self.more()? {
                return Err(HttpError::Protocol("it ends within its body"));
            }
        }
        let body = self.buffer[self.at..self.at + length].to_vec();
        self.at += length;
        Ok(body)
    }

    fn chunked(&mut self) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(digits, 16)
                .map_err(|_| HttpError::Protocol("a chunk has no length"))?;
            if length == 0 {
                while !self.line()?.is_empty() {}
                return Ok(body);
            }
            if body.len().saturating_add(length) > MAX_BODY {
                return Err(HttpError::TooLarge);
            }
            body.extend(self.known(length)?);
            if !self.line()?.is_empty() {
                return Err(HttpError::Protocol("a chunk is longer than it says"));
            }
        }
    }

    fn until_close(&mut self) -> Result<Vec<u8>, HttpError> {
        while self.more()? {}
        if self.buffer.len() - self.at > MAX_BODY {
            return Err(HttpError::TooLarge);
        }
        Ok(self.buffer.split_off(self.at))
    }
}
