//! What a composition may know of the machine it runs on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::clock::LocalTime;

/// Gives the value of an environment variable.
pub type EnvironmentLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;
/// Gives the time of day where the user is.
pub type Clock = Arc<dyn Fn() -> LocalTime + Send + Sync>;

/// What a composition may know of the machine it runs on. Everything is handed in, so that a test
/// can say what the time is.
#[derive(Clone)]
pub struct Host {
    /// Environment variables, for `oc.env` and `hydra.job.env_copy`.
    pub environment: EnvironmentLookup,
    /// The clock, for `now`.
    pub clock: Clock,
    /// The working folder: `hydra.runtime.cwd`, and what relative search paths start from.
    pub working_folder: PathBuf,
    /// `hydra.job.name` where no config says otherwise.
    pub job_name: String,
}

impl Host {
    /// The process's own environment and working folder, and the system's clock in UTC: the
    /// standard library knows no time zones, so whoever needs local time hands in a clock.
    #[must_use]
    pub fn system() -> Self {
        Self {
            environment: Arc::new(|name| std::env::var(name).ok()),
            clock: Arc::new(|| {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
                LocalTime::from_unix(seconds, since.subsec_micros(), 0)
            }),
            working_folder: std::env::current_dir().unwrap_or_default(),
            job_name: "app".to_owned(),
        }
    }

    /// A machine without environment variables whose clock stands still, for tests.
    #[must_use]
    pub fn fixed(time: LocalTime) -> Self {
        Self {
            environment: Arc::new(|_| None),
            clock: Arc::new(move || time),
            working_folder: PathBuf::from("/"),
            job_name: "app".to_owned(),
        }
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Host")
            .field("working_folder", &self.working_folder)
            .field("job_name", &self.job_name)
            .finish_non_exhaustive()
    }
}
