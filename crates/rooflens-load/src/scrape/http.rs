//! A small blocking HTTP/1.1 client for requests next to the load: pages of metrics, health, profiles. Each request
//! opens its own connection, so that it shares nothing with the connections that are measured. Redirects are not
//! followed, so headers with credentials reach no other server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Body;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::transport::tls;

const MAX_BODY: usize = 32 * 1024 * 1024;
const MAX_HEAD: usize = 64 * 1024;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is not one of HTTP.
    #[error("'{url}' is not an http or https address: {why}")]
    Address {
        /// The address, without a user name or password.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The connection or TLS failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("no full answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The answer is not HTTP, or ends early.
    #[error("the answer is not HTTP/1: {0}")]
    Protocol(#[from] hyper::Error),
    /// The answer is larger than the limit.
    #[error("the answer is larger than {MAX_BODY} bytes")]
    TooLarge,
}

/// An address in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainUrl {
    pub(crate) is_tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
}

impl PlainUrl {
    /// Takes an address apart.
    pub fn parse(url: &str) -> Result<Self, HttpError> {
        let refuse = |why: &str| HttpError::Address {
            url: url.rsplit('@').next().unwrap_or_default().to_owned(),
            why: why.to_owned(),
        };
        let uri: Uri =
            url.parse().map_err(|error: hyper::http::uri::InvalidUri| refuse(&error.to_string()))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refuse("it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| refuse("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("it must not hold a user name"));
        }
        let port = match (authority.port_u16(), authority.as_str().len() > authority.host().len()) {
            (Some(port), _) => port,
            (None, true) => return Err(refuse("its port is not a number from 0 to 65535")),
            (None, false) if is_tls => 443,
            (None, false) => 80,
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        Ok(PlainUrl { is_tls, host, port, path: format!("{}{query}", uri.path()) })
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
    pub(crate) body: Vec<u8>,
}

impl PlainResponse {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The client: headers of every request, and how long one may take. It trusts the certificates of the system.
#[derive(Clone)]
pub struct PlainClient {
    /// Headers, such as `authorization`. One with a line break is left out.
    pub headers: Vec<(String, String)>,
    /// How long a request may take, from connecting to the last byte.
    pub timeout: Duration,
}

impl Default for PlainClient {
    fn default() -> Self {
        PlainClient { headers: Vec::new(), timeout: Duration::from_secs(5) }
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
    pub fn get(&self, url: &PlainUrl) -> Result<PlainResponse, HttpError> {
        self.request(Method::GET, url)
    }

    pub(crate) fn post(&self, url: &PlainUrl) -> Result<PlainResponse, HttpError> {
        self.request(Method::POST, url)
    }

    fn request(&self, method: Method, url: &PlainUrl) -> Result<PlainResponse, HttpError> {
        let request = self.message(method, url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let answer =
            runtime.block_on(async { tokio::time::timeout(self.timeout, exchange(url, request)).await });
        // Looking up a name cannot be canceled and might outlive the timeout.
        runtime.shutdown_background();
        answer.map_err(|_| HttpError::Timeout(self.timeout))?
    }

    fn message(&self, method: Method, url: &PlainUrl) -> Result<Request<Full<Bytes>>, HttpError> {
        let bad = |error: hyper::http::Error| HttpError::Address {
            url: url.authority() + &url.path,
            why: error.to_string(),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(&url.path)
            .header(header::HOST, url.authority())
            .header(header::CONNECTION, "close")
            .header(header::ACCEPT, "*/*")
            .header(header::USER_AGENT, "rooflens")
            .body(Full::default())
            .map_err(bad)?;
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                request.headers_mut().append(name, value);
            }
        }
        Ok(request)
    }
}

async fn exchange(url: &PlainUrl, request: Request<Full<Bytes>>) -> Result<PlainResponse, HttpError> {
    let tcp = TcpStream::connect((url.host.as_str(), url.port)).await?;
    if !url.is_tls {
        return send(tcp, request).await;
    }
    let name = ServerName::try_from(url.host.clone())
        .map_err(|error| HttpError::Address { url: url.host.clone(), why: error.to_string() })?;
    let config = tls::client_config(None, false, false).map_err(io::Error::other)?;
    send(TlsConnector::from(Arc::new(config)).connect(name, tcp).await?, request).await
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<PlainResponse, HttpError> {
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(MAX_HEAD).handshake(TokioIo::new(stream)).await?;
    // It ends with the runtime. Its errors are errors of the request, too.
    tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    if response.body().size_hint().lower() > MAX_BODY as u64 {
        return Err(HttpError::TooLarge);
    }
    let body = Limited::new(response.into_body(), MAX_BODY).collect().await.map_err(|error| {
        match error.downcast::<hyper::Error>() {
            Ok(error) => HttpError::Protocol(*error),
            Err(error) if error.is::<LengthLimitError>() => HttpError::TooLarge,
            Err(error) => HttpError::Io(io::Error::other(error)),
        }
    })?;
    Ok(PlainResponse { status, body: body.to_bytes().into() })
}
