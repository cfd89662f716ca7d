//! The thread that reads a server's metrics while it is under load.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::http::{HttpError, PlainClient, PlainUrl};
use super::names::ServerKind;
use super::page::{ServerPage, ServerSample, read_server_page};
use super::series::ServerSeries;
use crate::clock::nanoseconds;

/// How long the last page may be waited for: until the counters no longer grow.
pub(super) const SETTLE: Duration = Duration::from_secs(2);

/// Reads a server's metrics on a separate thread until it is stopped.
#[derive(Debug)]
pub struct Scraper {
    reader: Arc<Reader>,
    settle: Duration,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
struct Reader {
    url: String,
    address: PlainUrl,
    client: PlainClient,
    begin: Instant,
    series: Mutex<ServerSeries>,
}

impl Scraper {
    /// The pages that a server at this address may have: of `trtllm-serve` and of all others.
    pub fn candidates(base_url: &str) -> [String; 2] {
        let base = base_url.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        [ServerKind::Vllm, ServerKind::TensorrtLlm].map(|kind| format!("{base}{}", kind.metrics_path()))
    }

    /// Begins at the first of these addresses that has metrics that are known; `None` if none has. Reports addresses
    /// that cannot be read.
    pub fn start_at_first(
        urls: &[String],
        client: &PlainClient,
        interval: Duration,
        mut report: impl FnMut(&str, &HttpError),
    ) -> Option<Self> {
        urls.iter().find_map(|url| match Scraper::start(url, client.clone(), interval, SETTLE) {
            Ok(scraper) => {
                let has_metrics = scraper.reader.lock().kind.is_some();
                has_metrics.then_some(scraper)
            }
            Err(error) => {
                report(url, &error);
                None
            }
        })
    }

    /// Reads the first page, and goes on in the background. The time of the series is 0 now. A page that cannot be had
    /// is an error in the series, not here.
    pub(super) fn start(
        url: &str,
        client: PlainClient,
        interval: Duration,
        settle: Duration,
    ) -> Result<Self, HttpError> {
        let address = PlainUrl::parse(url)?;
        let (begin, wall) = (Instant::now(), SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default());
        let series = Mutex::new(ServerSeries { base_unix_ns: nanoseconds(wall), ..ServerSeries::default() });
        let reader = Arc::new(Reader { url: url.to_owned(), address, client, begin, series });
        reader.once();
        reader.describe();
        let (stop, stopped) = mpsc::channel::<()>();
        let other = Arc::clone(&reader);
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            let interval = interval.max(Duration::from_millis(1));
            let mut next = begin + interval;
            let is_due = |next: Instant| {
                let wait = next.saturating_duration_since(Instant::now());
                stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout)
            };
            while is_due(next) {
                other.once();
                // A slow page costs the beats that it covers.
                while next <= Instant::now() {
                    next += interval;
                }
            }
        })?;
        Ok(Scraper { reader, settle, stop, thread })
    }

    /// Reads a last page, once the counters no longer grow, and gives all that was read.
    pub fn stop(self) -> ServerSeries {
        // The thread ends by either.
        let _ = self.stop.send(());
        let _ = self.thread.join();
        let deadline = Instant::now() + self.settle;
        let mut last = self.reader.once();
        while Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20).min(self.settle));
            let now = self.reader.once();
            match (&last, &now) {
                (Some(before), Some(now)) if now.counts_as(before) => break,
                _ => last = now,
            }
        }
        std::mem::take(&mut *self.reader.lock())
    }
}

impl Reader {
    fn lock(&self) -> MutexGuard<'_, ServerSeries> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn once(&self) -> Option<ServerSample> {
        let from = Instant::now();
        let page = self.page();
        let middle = from.saturating_duration_since(self.begin) + from.elapsed() / 2;
        match page {
            Ok(page) => {
                let sample = page.sample.clone();
                self.lock().push(page, nanoseconds(middle));
                Some(sample)
            }
            Err(message) => {
                self.lock().push_error(message);
                None
            }
        }
    }

    fn page(&self) -> Result<ServerPage, String> {
        let url = &self.url;
        let answer = self.client.get(&self.address).map_err(|error| format!("{url}: {error}"))?;
        if answer.status != 200 {
            return Err(format!("{url} answers {}", answer.status));
        }
        read_server_page(&answer.text()).ok_or_else(|| format!("{url} has no metric of a known server"))
    }

    /// Asks for the version and the limit of running requests, where servers tell them. Nothing depends on it.
    fn describe(&self) {
        let Some(kind) = self.lock().kind else { return };
        let path = match kind {
            ServerKind::Vllm | ServerKind::TensorrtLlm => "/version",
            ServerKind::Sglang => "/get_server_info",
            ServerKind::Tgi => "/info",
            ServerKind::LlamaCpp => "/props",
            ServerKind::Triton => "/v2",
            ServerKind::Dcgm => return,
        };
        let base = self.address.path.strip_suffix(kind.metrics_path()).unwrap_or_default();
        let url = PlainUrl { path: format!("{base}{path}"), ..self.address.clone() };
        let Ok(answer) = self.client.get(&url) else { return };
        let Ok(json) = serde_json::from_slice::<serde_json::Value>(&answer.body) else { return };
        if answer.status != 200 {
            return;
        }
        let text = |key: &str| json.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let number = |key: &str| json.get(key).and_then(serde_json::Value::as_f64);
        let mut series = self.lock();
        series.version = text("version").or_else(|| text("build_info"));
        let limit = number("max_running_requests").or_else(|| number("total_slots"));
        series.running_limit = series.running_limit.or(limit);
    }
}
