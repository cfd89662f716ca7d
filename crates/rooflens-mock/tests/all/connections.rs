//! TLS and HTTP/2.

use std::sync::Arc;

use bytes::Bytes;
use clap::Parser as _;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http2::{SendRequest, handshake};
use rooflens_mock::io::HyperIo;
use rooflens_mock::options::MockOptions;
use rooflens_mock::server::MockServer;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

fn start(options: &[&str]) -> MockServer {
    let words = ["mock", "--flat-out", "--log", "unused"].iter().chain(options);
    MockServer::start(MockOptions::try_parse_from(words).unwrap()).unwrap()
}

async fn tls(server: &MockServer, trusts: bool, protocol: &[u8]) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    if trusts {
        let pem = server.authority_pem.as_ref().unwrap();
        roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(server.address).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

fn request(server: &MockServer) -> Request<Full<Bytes>> {
    let body = r#"{"prompt": "a b", "max_tokens": 10, "stream": true}"#;
    Request::post(format!("http://{}/v1/completions", server.address)).body(Full::from(body)).unwrap()
}

async fn tokens(sender: &mut SendRequest<Full<Bytes>>, server: &MockServer) -> (usize, bool) {
    let Ok(reply) = sender.send_request(request(server)).await else { return (0, false) };
    let mut body = reply.into_body();
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text.extend_from_slice(&frame.into_data().unwrap_or_default()),
            Err(_) => return (String::from_utf8_lossy(&text).matches("\"text\"").count(), false),
        }
    }
    (String::from_utf8_lossy(&text).matches("\"text\"").count(), true)
}

async fn http2(server: &MockServer) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (sender, connection) = handshake(Local, HyperIo::new(stream)).await.unwrap();
    tokio::task::spawn_local(connection);
    sender
}

#[derive(Clone)]
struct Local;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

#[test]
fn certificates_are_trusted_by_their_authority_until_they_expire() {
    let server = start(&["--tls"]);
    run(async {
        assert!(tls(&server, true, b"http/1.1").await.is_ok());
        let error = tls(&server, false, b"http/1.1").await.unwrap_err().to_string();
        assert!(error.contains("UnknownIssuer"), "{error}");
    });
    let server = start(&["--tls-expired"]);
    let error = run(tls(&server, true, b"http/1.1")).unwrap_err().to_string();
    assert!(error.contains("expired"), "{error}");
}

#[test]
fn streams_share_a_connection_of_http2() {
    let server = start(&["--http2", "--tls"]);
    run(async {
        let stream = tls(&server, true, b"h2").await.unwrap();
        let (sender, connection) = handshake(Local, HyperIo::new(stream)).await.unwrap();
        tokio::task::spawn_local(connection);
        for _ in 0..3 {
            assert_eq!(tokens(&mut sender.clone(), &server).await, (10, true));
        }
    });
    assert_eq!(server.stop().totals.output_tokens, 30);
}

#[test]
fn goaway_completes_what_is_in_progress_or_not() {
    let server = start(&["--http2", "--fail", "goaway:1"]);
    run(async {
        let mut sender = http2(&server).await;
        assert_eq!(tokens(&mut sender, &server).await, (10, true));
        // The connection takes no further requests once its end has arrived.
        while sender.ready().await.is_ok() && tokens(&mut sender, &server).await.1 {}
        assert!(sender.is_closed() || sender.ready().await.is_err());
    });
    assert!(server.stop().totals.faults["goaway"] >= 1);

    let server = start(&["--http2", "--fail", "goaway_close:1"]);
    run(async {
        let (tokens, complete) = tokens(&mut http2(&server).await, &server).await;
        assert!(!complete && tokens <= 5);
    });
    assert_eq!(server.stop().totals.complete, 0);
}

#[test]
fn a_reset_stream_leaves_the_connection() {
    let server = start(&["--http2", "--fail", "reset:1"]);
    run(async {
        let mut sender = http2(&server).await;
        for _ in 0..2 {
            assert!(!tokens(&mut sender, &server).await.1);
        }
        assert!(sender.ready().await.is_ok());
    });
    assert_eq!(server.stop().totals.faults["reset"], 2);
}
