//! Moments for people, in UTC: the server and who looks at it may be far apart.

use chrono::DateTime;

/// A moment since 1970, to the minute.
pub(crate) fn minute(unix_ns: i64) -> String {
    DateTime::from_timestamp_nanos(unix_ns).format("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        assert_eq!(minute(1_709_164_800_000_000_000), "2024-02-29 00:00 UTC");
        assert_eq!(minute(-1), "1969-12-31 23:59 UTC");
    }
}
