//! Where things lie in a store, and what their names tell.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta};
use object_store::path::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// Version of the layout.
pub(crate) const FORMAT: u32 = 1;

/// The tenant of whoever names none.
pub const DEFAULT_TENANT: &str = "default";
/// The file that marks a folder as a store.
pub(crate) const MARK: &str = "store.json";

/// Which part of a tenant's data a table belongs to: rights are given by prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreArea {
    /// Small tables: sums by run, kernel and phase. They can be read without the events.
    Rollups,
    /// A row per event.
    Events,
}

impl StoreArea {
    /// Its folder.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            StoreArea::Rollups => "rollups",
            StoreArea::Events => "events",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogEntry {
    Run(String),
    State(u64),
}

impl LogEntry {
    /// What a file name of the log tells; `None` for a name that is not ours.
    pub fn parse(name: &str) -> Option<LogEntry> {
        let name = name.strip_suffix(".json")?;
        if let Some(id) = name.strip_prefix("run-") {
            return Some(LogEntry::Run(id.to_owned()));
        }
        name.strip_prefix("state-")?.parse().ok().map(LogEntry::State)
    }

    pub(crate) fn file_name(&self) -> String {
        match self {
            LogEntry::Run(id) => format!("run-{id}.json"),
            LogEntry::State(number) => format!("state-{number:06}.json"),
        }
    }
}

/// A tenant and a day, and the folders that belong to them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) tenant: String,
    pub(crate) day: String,
}

impl Place {
    pub(crate) fn new(tenant: &str, day: &str) -> Result<Self, StoreError> {
        if !is_tenant(tenant) {
            let why = format!("'{tenant}' cannot name a tenant: up to 64 of a-z, A-Z, 0-9, '.', '_' and '-'");
            return Err(StoreError::Value { why });
        }
        if !is_day(day) {
            return Err(StoreError::Value { why: format!("'{day}' is no day: write it as 2026-11-17") });
        }
        Ok(Place { tenant: tenant.to_owned(), day: day.to_owned() })
    }

    pub(crate) fn log(&self, root: &Path) -> Path {
        log_folder(root, &self.tenant).join(format!("day={}", self.day))
    }

    pub(crate) fn log_entry(&self, root: &Path, entry: &LogEntry) -> Path {
        self.log(root).join(entry.file_name())
    }

    /// The folder of a table's files, relative to the store.
    pub(crate) fn table(&self, area: StoreArea, table: &str) -> String {
        format!("tenant={}/{}/{table}/day={}", self.tenant, area.as_str(), self.day)
    }
}

pub(crate) fn log_folder(root: &Path, tenant: &str) -> Path {
    root.clone().join(format!("tenant={tenant}")).join("log")
}

/// The place and entry of an object below the logs of a tenant.
pub(crate) fn parse_log(tenant: &str, path: &Path) -> Option<(Place, LogEntry)> {
    let name = path.filename()?.to_owned();
    let parts: Vec<_> = path.parts().collect();
    let folder = parts.get(parts.len().checked_sub(2)?)?;
    let day = folder.as_ref().strip_prefix("day=")?;
    Some((Place::new(tenant, day).ok()?, LogEntry::parse(&name)?))
}

/// Whether a word can name a tenant. It becomes a part of paths in every engine.
#[must_use]
pub fn is_tenant(word: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !word.is_empty() && word.len() <= 64 && word.bytes().all(allowed) && !word.starts_with('.')
}

/// Whether a word is a day as it stands in paths.
#[must_use]
pub fn is_day(word: &str) -> bool {
    date(word).is_some()
}

/// The UTC day of a time since 1970.
#[must_use]
pub fn day_of(unix_ns: i64) -> String {
    DateTime::from_timestamp_nanos(unix_ns).date_naive().to_string()
}

/// When a day begins, since 1970.
#[must_use]
pub fn start_of(day: &str) -> Option<i64> {
    date(day)?.and_time(NaiveTime::MIN).and_utc().timestamp_nanos_opt()
}

/// The day so many days before another; `None` where that is no day.
#[must_use]
pub fn days_before(day: &str, days: i64) -> Option<String> {
    Some(date(day)?.checked_sub_signed(TimeDelta::try_days(days)?)?.to_string())
}

/// The date of a day as it stands in paths: shorter spellings that a calendar takes as well are none.
fn date(word: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(word, "%Y-%m-%d").ok().filter(|date| date.to_string() == word)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar() {
        assert_eq!(day_of(0), "1970-01-01");
        assert_eq!(day_of(-1), "1969-12-31");
        assert_eq!(day_of(1_709_164_800_000_000_000), "2024-02-29");
        assert_eq!(day_of(1_794_873_600_000_000_000), "2026-11-17");
        assert_eq!(days_before("2026-03-01", 1).as_deref(), Some("2026-02-28"));
        for bad in ["2026-02-30", "2026-2-3", "26-02-03", "2026-13-01", "", "2026-11-1x", "2026/11/17"] {
            assert!(!is_day(bad), "{bad}");
        }
        assert!(is_day("2024-02-29") && !is_day("2023-02-29"));
    }

    #[test]
    fn names_of_the_log_are_read_back() {
        for entry in [LogEntry::Run("a-b".into()), LogEntry::State(7)] {
            assert_eq!(LogEntry::parse(&entry.file_name()), Some(entry));
        }
        assert_eq!(LogEntry::parse("state-x.json"), None);
        assert_eq!(LogEntry::parse("run-a.json.tmp"), None);
        let path = Path::from("p/tenant=a/log/day=2026-11-17/state-000002.json");
        let (place, entry) = parse_log("a", &path).expect("a log entry");
        assert_eq!((place.day.as_str(), entry), ("2026-11-17", LogEntry::State(2)));
        assert_eq!(place.log_entry(&Path::from("p"), &LogEntry::State(2)), path);
    }

    #[test]
    fn tenants_stay_within_their_folder() {
        for bad in ["", "..", ".x", "a/b", "a=b", "a b", "ä", &"x".repeat(65)] {
            assert!(!is_tenant(bad), "{bad}");
        }
        assert!(is_tenant("team-a.prod_1"));
    }
}
