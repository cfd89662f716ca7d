//! What a composition may know of the machine it runs on: its environment, its folder, and the time of day, which
//! `now:%Y-%m-%d` writes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::format::{Item, StrftimeItems};
use chrono::{DateTime, FixedOffset, Offset, Utc};

/// A moment as the clock on the wall shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime(DateTime<FixedOffset>);

impl LocalTime {
    /// The moment so many seconds after 1970-01-01 00:00 UTC, in a place so far ahead of UTC. What has no date is the
    /// first moment.
    pub fn from_unix(unix_seconds: i64, microseconds: u32, offset_seconds: i32) -> Self {
        let moment = DateTime::<Utc>::from_timestamp(unix_seconds, microseconds.saturating_mul(1_000));
        // Year 9999 and back: beyond that Python has no dates either.
        let moment = moment.filter(|_| (-62_135_596_800..=253_402_300_799).contains(&unix_seconds));
        let zone = FixedOffset::east_opt(offset_seconds).unwrap_or(Utc.fix());
        Self(moment.unwrap_or_default().with_timezone(&zone))
    }

    /// The moment in the words of Python's `strftime`: microseconds as six digits, and no zone. A directive that does not
    /// exist is left as it stands.
    pub fn format(self, pattern: &str) -> String {
        let mut known = String::with_capacity(pattern.len());
        let mut chars = pattern.chars();
        while let Some(char) = chars.next() {
            if char != '%' {
                known.push(char);
                continue;
            }
            let directive: String = std::iter::once('%').chain(chars.next()).collect();
            match directive.as_str() {
                "%f" => known.push_str("%6f"),
                "%z" | "%Z" => {}
                // Chrono would not write it at all: a second `%` makes it text.
                _ if StrftimeItems::new(&directive).any(|item| item == Item::Error) => {
                    known.push('%');
                    known.push_str(&directive);
                }
                _ => known.push_str(&directive),
            }
        }
        self.0.format(&known).to_string()
    }
}

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
    /// standard library does not know time zones, so callers that need local time pass a clock.
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

#[cfg(test)]
mod tests {
    use super::*;

    // Expected texts from Python's `datetime.fromtimestamp(…, timezone.utc).strftime(…)`.
    #[test]
    fn writes_what_strftime_writes() {
        let time = LocalTime::from_unix(1_709_210_096, 42, 0);
        for (pattern, text) in [
            ("%Y-%m-%d/%H-%M-%S", "2024-02-29/12-34-56"),
            ("%j %a %A %b %B %y %I %p %f", "060 Thu Thursday Feb February 24 12 PM 000042"),
            ("%U %W %w %u %%", "08 09 4 4 %"),
            ("%z%Z %Q 100%", " %Q 100%"),
        ] {
            assert_eq!(time.format(pattern), text);
        }
        assert_eq!(LocalTime::from_unix(-1, 0, 0).format("%F %T %j"), "1969-12-31 23:59:59 365");
        assert_eq!(LocalTime::from_unix(0, 0, 3_600).format("%c"), "Thu Jan  1 01:00:00 1970");
        assert_eq!(LocalTime::from_unix(1_735_603_200, 0, 0).format("%j %U"), "366 52");
    }
}
