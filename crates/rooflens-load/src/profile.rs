//! A profile of a server in part of a load test: `/start_profile` at a chosen time, or when latency breaches its SLO,
//! and `/stop_profile` some seconds later. Once.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::scrape::{HttpError, PlainClient, PlainUrl};

const LOOK_EVERY: Duration = Duration::from_millis(20);
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The server writes its traces before it answers.
const STOP_TIMEOUT: Duration = Duration::from_secs(600);

/// When a profile is started.
pub enum ProfileTrigger {
    /// So long after the begin.
    At(Duration),
    /// As soon as this is true.
    When(Box<dyn FnMut() -> bool + Send>),
}

/// What became of a profile.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct ProfileOutcome {
    /// When the server had started it, since the begin of the load test; `None` if it did not come to that.
    pub started_ns: Option<i64>,
    /// When it was asked to stop; `None` if it was not started.
    pub stopped_ns: Option<i64>,
    /// How long the server took to stop and write.
    pub write_ns: Option<i64>,
    /// What went wrong.
    pub error: Option<String>,
}

/// A profile that waits for its time or is being taken, on a separate thread.
#[derive(Debug)]
pub struct ProfileInProgress {
    end: Sender<()>,
    thread: JoinHandle<ProfileOutcome>,
}

impl ProfileInProgress {
    /// Waits in the background for the time to profile a server for so long. Times count from now.
    pub fn start(
        base_url: &str,
        headers: Vec<(String, String)>,
        trigger: ProfileTrigger,
        length: Duration,
    ) -> Result<Self, HttpError> {
        let (base, begin) = (base_url.trim_end_matches('/'), Instant::now());
        let start = PlainUrl::parse(&format!("{base}/start_profile"))?;
        let stop = PlainUrl::parse(&format!("{base}/stop_profile"))?;
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("profile".to_owned()).spawn(move || {
            // False once the load test is over.
            let wait = |time: Duration| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            let is_time = match trigger {
                ProfileTrigger::At(time) => wait((begin + time).saturating_duration_since(Instant::now())),
                ProfileTrigger::When(mut condition) => loop {
                    if condition() {
                        break true;
                    }
                    if !wait(LOOK_EVERY) {
                        break false;
                    }
                },
            };
            let mut outcome = ProfileOutcome::default();
            if is_time {
                let since = |from: Instant| i64::try_from(from.elapsed().as_nanos()).unwrap_or(i64::MAX);
                let taken = post(&start, &headers, START_TIMEOUT).and_then(|()| {
                    outcome.started_ns = Some(since(begin));
                    // The end of the load test ends the profile too.
                    wait(length);
                    let asked = Instant::now();
                    outcome.stopped_ns = Some(since(begin));
                    post(&stop, &headers, STOP_TIMEOUT)?;
                    outcome.write_ns = Some(since(asked));
                    Ok(())
                });
                outcome.error = taken.err();
            }
            outcome
        })?;
        Ok(ProfileInProgress { end, thread })
    }

    /// Ends it: one whose time has not come is not taken, one in progress is stopped now. Waits until the server has
    /// written its traces.
    pub fn finish(self) -> ProfileOutcome {
        // The thread ends by itself or by this.
        let _ = self.end.send(());
        self.wait()
    }

    fn wait(self) -> ProfileOutcome {
        let ProfileInProgress { end: _end, thread } = self;
        thread.join().unwrap_or_else(|_| ProfileOutcome {
            error: Some("the thread that takes the profile ended early".to_owned()),
            ..ProfileOutcome::default()
        })
    }
}

fn post(url: &PlainUrl, headers: &[(String, String)], timeout: Duration) -> Result<(), String> {
    let client = PlainClient { headers: headers.to_vec(), timeout };
    let answer = client.post(url).map_err(|error| format!("{}: {error}", url.path))?;
    match answer.status {
        200..=299 => Ok(()),
        404 => Err(format!("{} answers 404: the server was started without a profiler", url.path)),
        status => Err(format!("{} answers {status}", url.path)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::Receiver;
    use std::sync::{Arc, mpsc};

    use super::*;
    use crate::test_server::{ByteServer, Reply};

    fn serve(status: u16) -> (ByteServer, Receiver<String>) {
        let (told, heard) = mpsc::channel();
        let server = ByteServer::start(move |asked| {
            let _ = told.send(asked.path().to_owned());
            Reply::Close(format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n").into())
        });
        (server, heard)
    }

    fn start(server: &ByteServer, trigger: ProfileTrigger, length: Duration) -> ProfileInProgress {
        ProfileInProgress::start(&server.url(), Vec::new(), trigger, length).unwrap()
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_window_starts_and_stops_once() {
        let (server, heard) = serve(200);
        let at_once = ProfileTrigger::At(Duration::ZERO);
        let outcome = start(&server, at_once, Duration::from_millis(1)).wait();
        assert_eq!(outcome.error, None);
        assert!(outcome.started_ns.unwrap() < outcome.stopped_ns.unwrap());
        assert!(outcome.write_ns.is_some());
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["/start_profile", "/stop_profile"]);
    }

    #[test]
    fn a_condition_starts_it_when_it_becomes_true_and_the_end_stops_it() {
        let (server, heard) = serve(200);
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let breach = Box::new(move || counted.fetch_add(1, Ordering::SeqCst) == 2);
        let running = start(&server, ProfileTrigger::When(breach), HOUR);
        assert_eq!(heard.recv().unwrap(), "/start_profile");
        let outcome = running.finish();
        assert_eq!(heard.recv().unwrap(), "/stop_profile");
        assert_eq!((outcome.error, asked.load(Ordering::SeqCst)), (None, 3));
    }

    #[test]
    fn a_window_whose_time_does_not_come_is_not_taken() {
        let (server, heard) = serve(200);
        for trigger in [ProfileTrigger::At(HOUR), ProfileTrigger::When(Box::new(|| false))] {
            let outcome = start(&server, trigger, HOUR).finish();
            assert_eq!(outcome, ProfileOutcome::default());
        }
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn a_server_without_a_profiler_says_so() {
        let (server, _heard) = serve(404);
        let outcome = start(&server, ProfileTrigger::At(Duration::ZERO), HOUR).wait();
        assert_eq!(outcome.started_ns, None);
        assert!(outcome.error.unwrap().contains("without a profiler"));
    }
}
