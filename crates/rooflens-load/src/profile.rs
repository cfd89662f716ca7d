//! A profile of a server in part of a load test: `/start_profile` at a chosen time, or when latency breaches its SLO,
//! and `/stop_profile` some seconds later. Once.

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scrape::{HttpError, PlainClient, PlainUrl};

/// How often a condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// When a profile is started.
pub enum ProfileTrigger {
    /// So long after the begin.
    At(Duration),
    /// As soon as this is true, and not before that long after the begin.
    When(Duration, Box<dyn FnMut() -> bool + Send>),
}

impl fmt::Debug for ProfileTrigger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileTrigger::At(time) => write!(out, "At({time:?})"),
            ProfileTrigger::When(time, _) => write!(out, "When({time:?}, …)"),
        }
    }
}

/// A profile to be taken.
#[derive(Debug)]
pub struct ProfileWindow {
    /// Scheme, host and port of the server.
    pub(crate) base_url: String,
    /// Headers, and how long starting may take.
    pub client: PlainClient,
    /// How long stopping may take: the server writes its traces before it answers.
    pub(crate) stop_timeout: Duration,
    /// When it starts.
    pub(crate) trigger: ProfileTrigger,
    /// How long it lasts.
    pub(crate) length: Duration,
}

/// What became of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProfileOutcome {
    /// When the server had started it, since the begin of the load test; null if it did not come to that.
    pub started_ns: Option<i64>,
    /// When it was asked to stop; null if it was not started.
    pub stopped_ns: Option<i64>,
    /// How long the server took to stop and write.
    pub write_ns: Option<i64>,
    /// What went wrong.
    pub error: Option<String>,
}

/// A profile that waits for its time or is being taken, on a thread of its own.
#[derive(Debug)]
pub struct ProfileInProgress {
    end: Sender<()>,
    thread: JoinHandle<ProfileOutcome>,
}

impl ProfileWindow {
    /// A window of vLLM's profiler.
    #[must_use]
    pub fn new(base_url: impl Into<String>, trigger: ProfileTrigger, length: Duration) -> Self {
        ProfileWindow {
            base_url: base_url.into(),
            client: PlainClient { timeout: Duration::from_secs(30), ..PlainClient::default() },
            stop_timeout: Duration::from_secs(600),
            trigger,
            length,
        }
    }

    /// Waits for its time in the background. Times count from `begin`.
    ///
    /// # Errors
    /// [`HttpError`], if the address is none or no thread can be started.
    pub fn start(self, begin: Instant) -> Result<ProfileInProgress, HttpError> {
        let base = self.base_url.trim_end_matches('/');
        let urls = (
            PlainUrl::parse(&format!("{base}/start_profile"))?,
            PlainUrl::parse(&format!("{base}/stop_profile"))?,
        );
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("profile".to_owned()).spawn(move || {
            let mut window = self;
            // False once the load test is over.
            let wait = |time: Duration| {
                !matches!(ended.recv_timeout(time), Ok(()) | Err(RecvTimeoutError::Disconnected))
            };
            if !window.wait_for_trigger(begin, &wait) {
                return ProfileOutcome::default();
            }
            window.take(begin, &urls, &wait)
        })?;
        Ok(ProfileInProgress { end, thread })
    }

    /// Whether its time came.
    fn wait_for_trigger(&mut self, begin: Instant, wait: &impl Fn(Duration) -> bool) -> bool {
        let (time, condition) = match &mut self.trigger {
            ProfileTrigger::At(time) => (*time, None),
            ProfileTrigger::When(time, condition) => (*time, Some(condition)),
        };
        if !wait((begin + time).saturating_duration_since(Instant::now())) {
            return false;
        }
        if let Some(condition) = condition {
            while !condition() {
                if !wait(LOOK_EVERY) {
                    return false;
                }
            }
        }
        true
    }

    fn take(
        &self,
        begin: Instant,
        (start, stop): &(PlainUrl, PlainUrl),
        wait: &impl Fn(Duration) -> bool,
    ) -> ProfileOutcome {
        let since = |from: Instant| i64::try_from(from.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let mut outcome = ProfileOutcome::default();
        if let Err(error) = post(&self.client, start) {
            outcome.error = Some(error);
            return outcome;
        }
        outcome.started_ns = Some(since(begin));
        // The end of the load test ends the window too.
        wait(self.length);
        let asked = Instant::now();
        outcome.stopped_ns = Some(since(begin));
        let client = PlainClient { timeout: self.stop_timeout, ..self.client.clone() };
        match post(&client, stop) {
            Ok(()) => outcome.write_ns = Some(since(asked)),
            Err(error) => outcome.error = Some(error),
        }
        outcome
    }
}

fn post(client: &PlainClient, url: &PlainUrl) -> Result<(), String> {
    let answer = client.post(url, None).map_err(|error| format!("{}: {error}", url.path))?;
    match answer.status {
        200..=299 => Ok(()),
        404 => Err(format!("{} answers 404: the server was started without a profiler", url.path)),
        status => Err(format!("{} answers {status}", url.path)),
    }
}

impl ProfileInProgress {
    /// Ends it: one whose time has not come is not taken, one in progress is stopped now. Waits until the server has
    /// written its traces.
    #[must_use]
    pub fn finish(self) -> ProfileOutcome {
        // The thread ends by itself or by this.
        let _ = self.end.send(());
        self.wait()
    }

    /// Waits until it was taken, for its whole length.
    #[must_use]
    pub(crate) fn wait(self) -> ProfileOutcome {
        let ProfileInProgress { end: _end, thread } = self;
        thread.join().unwrap_or_else(|_| ProfileOutcome {
            error: Some("the thread that takes the profile ended early".to_owned()),
            ..ProfileOutcome::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::Receiver;
    use std::sync::{Arc, mpsc};

    use super::*;

    /// Answers all with one status, and tells what was asked.
    fn serve(status: u16) -> (SocketAddr, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (told, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let mut socket = BufReader::new(socket.unwrap());
                let (mut request, mut length) = (String::new(), 0);
                socket.read_line(&mut request).unwrap();
                loop {
                    let mut line = String::new();
                    socket.read_line(&mut line).unwrap();
                    if let Some(value) = line.strip_prefix("content-length: ") {
                        length = value.trim().parse().unwrap();
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                socket.read_exact(&mut body).unwrap();
                let path = request.split(' ').take(2).collect::<Vec<_>>().join(" ");
                let _ = told.send(format!("{path} {}", String::from_utf8(body).unwrap()));
                let _ = write!(socket.get_mut(), "HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
            }
        });
        (address, heard)
    }

    fn window(address: SocketAddr, trigger: ProfileTrigger, length: Duration) -> ProfileWindow {
        ProfileWindow::new(format!("http://{address}/"), trigger, length)
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_window_starts_and_stops_once() {
        let (address, heard) = serve(200);
        let taken = window(address, ProfileTrigger::At(Duration::ZERO), Duration::from_millis(1));
        let outcome = taken.start(Instant::now()).unwrap().wait();
        assert_eq!(outcome.error, None);
        assert!(outcome.started_ns.unwrap() < outcome.stopped_ns.unwrap());
        assert!(outcome.write_ns.is_some());
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["POST /start_profile ", "POST /stop_profile "]);
    }

    #[test]
    fn a_condition_starts_it_when_it_becomes_true_and_the_end_stops_it() {
        let (address, heard) = serve(200);
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let breach = Box::new(move || counted.fetch_add(1, Ordering::SeqCst) == 2);
        let running = window(address, ProfileTrigger::When(Duration::ZERO, breach), HOUR);
        let running = running.start(Instant::now()).unwrap();
        assert_eq!(heard.recv().unwrap(), "POST /start_profile ");
        let outcome = running.finish();
        assert_eq!(heard.recv().unwrap(), "POST /stop_profile ");
        assert_eq!((outcome.error, asked.load(Ordering::SeqCst)), (None, 3));
    }

    #[test]
    fn a_window_whose_time_does_not_come_is_not_taken() {
        let (address, heard) = serve(200);
        for trigger in [ProfileTrigger::At(HOUR), ProfileTrigger::When(Duration::ZERO, Box::new(|| false))] {
            let outcome = window(address, trigger, HOUR).start(Instant::now()).unwrap().finish();
            assert_eq!(outcome, ProfileOutcome::default());
        }
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn a_server_without_a_profiler_says_so() {
        let (address, _heard) = serve(404);
        let taken = window(address, ProfileTrigger::At(Duration::ZERO), HOUR);
        let outcome = taken.start(Instant::now()).unwrap().wait();
        assert_eq!(outcome.started_ns, None);
        assert!(outcome.error.unwrap().contains("without a profiler"));
    }
}
