//! A client that takes the time of every frame and does nothing else.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Parser;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::io::HyperIo;
use crate::timer::PreciseTimer;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A client that takes the time of every frame and does nothing else: the lower bound of what a client costs.
#[derive(Debug, Clone, Parser)]
#[command(name = "rooflens-bare-client")]
pub struct BareOptions {
    /// Host and port of the server.
    pub(crate) address: String,
    /// Requests at once.
    #[arg(long, default_value_t = 1)]
    pub(crate) concurrency: usize,
    /// Requests per second at even gaps, whatever the answers; replaces the concurrency.
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Requests in total.
    #[arg(long, default_value_t = 1)]
    pub(crate) requests: u64,
    /// Words of each prompt.
    #[arg(long, default_value_t = 100)]
    pub(crate) input_tokens: usize,
    /// Tokens of each answer.
    #[arg(long, default_value_t = 64)]
    pub(crate) output_tokens: usize,
    /// Name of the model.
    #[arg(long, default_value = "mock")]
    pub(crate) model: String,
    /// The API asked.
    #[arg(long, default_value = "/v1/completions")]
    pub(crate) path: String,
}

/// What it saw.
#[derive(Debug, Serialize)]
pub struct BareResult {
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) cpu_ns: i64,
    pub(crate) cpu_per_frame_ns: f64,
    pub(crate) wall_ns: i64,
    pub(crate) ttft: Option<LatencySpread>,
    pub(crate) itl: Option<LatencySpread>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct LatencySpread {
    pub(crate) count: usize,
    pub(crate) p50_ns: i64,
    pub(crate) p90_ns: i64,
    pub(crate) p99_ns: i64,
    pub(crate) max_ns: i64,
}

impl LatencySpread {
    /// Of these: the smallest value that so many are not above. Nothing of nothing.
    pub(crate) fn of(mut times: Vec<i64>) -> Option<Self> {
        times.sort_unstable();
        let at = |percent: usize| times.get((times.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(LatencySpread {
            count: times.len(),
            p50_ns: at(50)?,
            p90_ns: at(90)?,
            p99_ns: at(99)?,
            max_ns: at(100)?,
        })
    }
}

type Connection = SendRequest<Full<Bytes>>;

struct Clients {
    options: BareOptions,
    idle: RefCell<Vec<Connection>>,
    body: Bytes,
    sent: Cell<u64>,
    frames: RefCell<Vec<(Instant, Vec<Instant>)>>,
    bytes: Cell<u64>,
    failed: Cell<u64>,
}

/// Sends all requests and waits for their ends.
pub fn run(options: BareOptions) -> Result<BareResult, AnyError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let body = serde_json::json!({
        "model": options.model,
        "prompt": vec!["word"; options.input_tokens].join(" "),
        "max_tokens": options.output_tokens,
        "stream": true,
    });
    let clients = Rc::new(Clients {
        body: body.to_string().into(),
        idle: RefCell::default(),
        sent: Cell::new(0),
        frames: RefCell::default(),
        bytes: Cell::new(0),
        failed: Cell::new(0),
        options,
    });
    let begin = Instant::now();
    LocalSet::new().block_on(&runtime, async {
        match clients.options.rate {
            Some(rate) if rate > 0.0 => open_loop(&clients, begin, rate).await,
            _ => closed_loop(&clients).await,
        }
    })?;
    let wall_ns = nanos(begin.elapsed());
    Ok(clients.result(wall_ns))
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

async fn closed_loop(clients: &Rc<Clients>) -> Result<(), AnyError> {
    let users = 0..clients.options.concurrency.max(1);
    let users: Vec<_> = users.map(|_| tokio::task::spawn_local(user(clients.clone()))).collect();
    for user in users {
        user.await?;
    }
    Ok(())
}

async fn open_loop(clients: &Rc<Clients>, begin: Instant, rate: f64) -> Result<(), AnyError> {
    let timer = PreciseTimer::new()?;
    let driver = timer.clone();
    tokio::task::spawn_local(async move { driver.drive().await });
    let mut requests = Vec::new();
    for number in 0..clients.options.requests {
        timer.sleep_until(begin + Duration::from_secs_f64(number as f64 / rate)).await?;
        let clients = clients.clone();
        requests.push(tokio::task::spawn_local(async move { one(&clients).await }));
    }
    for request in requests {
        request.await?;
    }
    Ok(())
}

async fn user(clients: Rc<Clients>) {
    while clients.sent.get() < clients.options.requests {
        clients.sent.set(clients.sent.get() + 1);
        one(&clients).await;
    }
}

async fn one(clients: &Clients) {
    let idle = clients.idle.borrow_mut().pop();
    let done = async {
        let mut connection = match idle {
            Some(connection) => connection,
            None => connect(&clients.options.address).await?,
        };
        request(clients, &mut connection).await?;
        clients.idle.borrow_mut().push(connection);
        Ok::<(), AnyError>(())
    };
    if done.await.is_err() {
        clients.failed.set(clients.failed.get() + 1);
    }
}

async fn connect(address: &str) -> Result<Connection, AnyError> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(HyperIo::new(stream)).await?;
    tokio::task::spawn_local(connection);
    Ok(sender)
}

async fn request(clients: &Clients, connection: &mut Connection) -> Result<(), AnyError> {
    let options = &clients.options;
    connection.ready().await?;
    let request = Request::post(options.path.as_str())
        .header(HOST, &options.address)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(clients.body.clone()))?;
    let sent = Instant::now();
    let mut body = connection.send_request(request).await?.into_body();
    let mut times = Vec::with_capacity(options.output_tokens + 2);
    while let Some(frame) = body.frame().await {
        times.push(Instant::now());
        let length = frame?.data_ref().map_or(0, Bytes::len);
        clients.bytes.set(clients.bytes.get() + length as u64);
    }
    clients.frames.borrow_mut().push((sent, times));
    Ok(())
}

impl Clients {
    fn result(&self, wall_ns: i64) -> BareResult {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let cpu_ns = cpu.tv_sec * 1_000_000_000 + cpu.tv_nsec;
        let all = self.frames.borrow();
        let frames: usize = all.iter().map(|(_, times)| times.len()).sum();
        let ttft = all.iter().filter_map(|(sent, times)| Some(nanos(*times.first()? - *sent))).collect();
        // The frame after the last token has `[DONE]`.
        let tokens = all.iter().map(|(_, times)| &times[..times.len().min(self.options.output_tokens)]);
        let itl = tokens.flat_map(|times| times.windows(2).map(|pair| nanos(pair[1] - pair[0]))).collect();
        BareResult {
            requests: all.len() as u64,
            failed: self.failed.get(),
            frames: frames as u64,
            bytes: self.bytes.get(),
            cpu_ns,
            cpu_per_frame_ns: cpu_ns as f64 / frames.max(1) as f64,
            wall_ns,
            ttft: LatencySpread::of(ttft),
            itl: LatencySpread::of(itl),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_seen() {
        let spread = LatencySpread::of((1..=200).rev().collect()).unwrap();
        assert_eq!(spread, LatencySpread { count: 200, p50_ns: 100, p90_ns: 180, p99_ns: 198, max_ns: 200 });
        let one = LatencySpread { count: 1, p50_ns: 7, p90_ns: 7, p99_ns: 7, max_ns: 7 };
        assert_eq!(LatencySpread::of(vec![7]), Some(one));
        assert_eq!(LatencySpread::of(Vec::new()), None);
    }
}
