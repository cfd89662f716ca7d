//! The thread that reads a server's metrics while it is under load.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::http::{HttpError, PlainClient, PlainUrl};
use super::kind::ServerKind;
use super::page::{ServerPage, ServerSample, read_server_page};
use super::series::ServerSeries;

/// What is asked, and how often.
#[derive(Debug, Clone)]
pub struct ScrapeSettings {
    /// Address of the page, as `http://127.0.0.1:8000/metrics`.
    pub(crate) url: String,
    /// The client.
    pub(crate) client: PlainClient,
    /// Time between the begins of two requests.
    pub(crate) interval: Duration,
    /// How long the last page may be waited for: until the counters no longer grow.
    pub(crate) settle: Duration,
}

impl ScrapeSettings {
    /// Asks every half second.
    #[must_use]
    pub(crate) fn new(url: impl Into<String>) -> Self {
        ScrapeSettings {
            url: url.into(),
            client: PlainClient::default(),
            interval: Duration::from_millis(500),
            settle: Duration::from_secs(2),
        }
    }

    /// The pages that a server at this address may have: of `trtllm-serve` and of all others.
    #[must_use]
    pub fn candidates(base_url: &str) -> [String; 2] {
        let base = base_url.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        [ServerKind::Vllm, ServerKind::TensorrtLlm].map(|kind| format!("{base}{}", kind.metrics_path()))
    }
}

/// Reads a server's metrics on a thread of its own until it is stopped.
#[derive(Debug)]
pub struct Scraper {
    settings: ScrapeSettings,
    url: PlainUrl,
    begin: Instant,
    series: Arc<Mutex<ServerSeries>>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Scraper {
    /// Begins at the first of these addresses that has metrics that are known; `None` if none has. Addresses that cannot be
    /// read are told.
    pub fn start_at_first(
        urls: &[String],
        client: &PlainClient,
        interval: Duration,
        mut tell: impl FnMut(&str, &HttpError),
    ) -> Option<Self> {
        urls.iter().find_map(|url| {
            let settings = ScrapeSettings { client: client.clone(), interval, ..ScrapeSettings::new(url) };
            match Scraper::start(settings) {
                Ok(scraper) => scraper.latest().is_some().then_some(scraper),
                Err(error) => {
                    tell(url, &error);
                    None
                }
            }
        })
    }

    /// Reads the first page, and goes on in the background. The time of the series is 0 now. A page that cannot be had
    /// is an error in the series, not here.
    ///
    /// # Errors
    /// [`HttpError`], if the address is none or no thread can be started.
    pub fn start(settings: ScrapeSettings) -> Result<Self, HttpError> {
        let url = PlainUrl::parse(&settings.url)?;
        let (begin, wall) = (Instant::now(), SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default());
        let base_unix_ns = i64::try_from(wall.as_nanos()).unwrap_or(i64::MAX);
        let series = Arc::new(Mutex::new(ServerSeries::beginning_at(base_unix_ns)));
        let mut scraper = Scraper { settings, url, begin, series, thread: None };
        scraper.once();
        scraper.describe();
        let (stop, stopped) = mpsc::channel::<()>();
        let other = Scraper {
            settings: scraper.settings.clone(),
            url: scraper.url.clone(),
            begin,
            series: Arc::clone(&scraper.series),
            thread: None,
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            let interval = other.settings.interval.max(Duration::from_millis(1));
            let mut next = begin + interval;
            loop {
                let wait = next.saturating_duration_since(Instant::now());
                match stopped.recv_timeout(wait) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
                other.once();
                // A slow page costs the beats that it covers.
                while next <= Instant::now() {
                    next += interval;
                }
            }
        })?;
        scraper.thread = Some((stop, thread));
        Ok(scraper)
    }

    /// The latest sample, with times on the clock of the series.
    #[must_use]
    pub(crate) fn latest(&self) -> Option<ServerSample> {
        self.lock().samples.last().cloned()
    }

    /// Reads a last page, once the counters no longer grow, and gives all that was read.
    #[must_use]
    pub fn stop(mut self) -> ServerSeries {
        if let Some((stop, thread)) = self.thread.take() {
            // The thread ends by either.
            let _ = stop.send(());
            let _ = thread.join();
        }
        let deadline = Instant::now() + self.settle();
        let mut last = self.once();
        while Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20).min(self.settle()));
            let now = self.once();
            match (&last, &now) {
                (Some(before), Some(now)) if now.counts_as(before) => break,
                _ => last = now,
            }
        }
        std::mem::take(&mut *self.lock())
    }

    fn settle(&self) -> Duration {
        self.settings.settle
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ServerSeries> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn once(&self) -> Option<ServerSample> {
        let from = Instant::now();
        let page = self.page();
        let took = from.elapsed();
        let middle = from.saturating_duration_since(self.begin) + took / 2;
        let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        match page {
            Ok(page) => {
                let sample = page.sample.clone();
                self.lock().push(page, ns(middle), ns(took));
                Some(sample)
            }
            Err(message) => {
                self.lock().push_error(message);
                None
            }
        }
    }

    fn page(&self) -> Result<ServerPage, String> {
        let url = &self.settings.url;
        let answer = self.settings.client.get(&self.url).map_err(|error| format!("{url}: {error}"))?;
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
        let base = self.url.path.strip_suffix(kind.metrics_path()).unwrap_or_default();
        let url = PlainUrl { path: format!("{base}{path}"), ..self.url.clone() };
        let Ok(answer) = self.settings.client.get(&url) else { return };
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
