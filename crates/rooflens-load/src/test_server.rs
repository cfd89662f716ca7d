//! A server of literal bytes for tests: a thread per connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) struct Asked {
    pub(crate) number: usize,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

#[derive(Clone)]
pub(crate) enum Reply {
    Keep(Vec<u8>),
    Close(Vec<u8>),
    CloseSilently(Vec<u8>),
    Silence,
    Drip,
}

pub(crate) struct ByteServer {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl ByteServer {
    pub fn start(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> ByteServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (handler, count) = (Arc::new(handler), Arc::clone(&connections));
        let requests = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                let (handler, requests) = (Arc::clone(&handler), Arc::clone(&requests));
                std::thread::spawn(move || serve(stream.unwrap(), handler.as_ref(), &requests));
            }
        });
        ByteServer { address, connections }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, handler: &dyn Fn(&Asked) -> Reply, requests: &AtomicUsize) {
    while let Some(mut asked) = read_request(&mut stream) {
        asked.number = requests.fetch_add(1, Ordering::SeqCst);
        match handler(&asked) {
            Reply::Keep(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Reply::Close(bytes) | Reply::CloseSilently(bytes) => {
                let _ = stream.write_all(&bytes);
                return;
            }
            Reply::Silence => {
                let _ = stream.read(&mut [0]);
                return;
            }
            Reply::Drip => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
                while stream.write_all(b": still here\n\n").is_ok() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                return;
            }
        }
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(Asked { number: 0, head, body })
}
