//! The time of day, and how `now:%Y-%m-%d` writes it.

use std::fmt::Write;

/// A moment as the clock on the wall shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    /// Seconds since 1970-01-01 00:00 UTC.
    unix_seconds: i64,
    /// Microseconds of the second.
    microseconds: u32,
    /// How far local time is ahead of UTC, in seconds.
    offset_seconds: i32,
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const SECONDS_A_DAY: i64 = 86_400;

/// The parts of a date.
struct Civil {
    year: i64,
    month: i64,
    day: i64,
    /// From 1.
    day_of_year: i64,
    /// From Sunday, 0.
    weekday: i64,
    second_of_day: i64,
}

impl LocalTime {
    /// The moment so many seconds after 1970-01-01 00:00 UTC, in a place so far ahead of UTC.
    #[must_use]
    pub fn from_unix(unix_seconds: i64, microseconds: u32, offset_seconds: i32) -> Self {
        // Year 9999 and back: beyond that Python has no dates either.
        let unix_seconds = unix_seconds.clamp(-62_135_596_800, 253_402_300_799);
        Self { unix_seconds, microseconds, offset_seconds }
    }

    fn civil(self) -> Civil {
        let local = self.unix_seconds + i64::from(self.offset_seconds);
        let days = local.div_euclid(SECONDS_A_DAY);
        // Eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        // `of_year` counts from 1 March.
        let day_of_year = if month <= 2 { of_year - 305 } else { of_year + 60 + i64::from(leap) };
        Civil {
            year,
            month,
            day,
            day_of_year,
            weekday: (days + 4).rem_euclid(7),
            second_of_day: local.rem_euclid(SECONDS_A_DAY),
        }
    }

    /// The moment in the words of C's `strftime` in the C locale. A directive that does not exist
    /// is left as it stands, as glibc does.
    #[must_use]
    pub fn format(self, pattern: &str) -> String {
        let civil = self.civil();
        let mut out = String::with_capacity(pattern.len() + 8);
        let mut chars = pattern.chars();
        while let Some(char) = chars.next() {
            if char != '%' {
                out.push(char);
                continue;
            }
            match chars.next() {
                None => out.push('%'),
                Some(directive) => self.directive(directive, &civil, &mut out),
            }
        }
        out
    }

    fn directive(self, directive: char, civil: &Civil, out: &mut String) {
        let (hour, minute, second) =
            (civil.second_of_day / 3_600, civil.second_of_day / 60 % 60, civil.second_of_day % 60);
        let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
        let name = |names: &[&'static str], index: i64| {
            usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or("")
        };
        let day_name = name(&DAYS, civil.weekday);
        let month_name = name(&MONTHS, civil.month - 1);
        // Writing to a text cannot fail.
        let _ = match directive {
            'Y' => write!(out, "{:04}", civil.year),
            'y' => write!(out, "{:02}", civil.year.rem_euclid(100)),
            'C' => write!(out, "{:02}", civil.year.div_euclid(100)),
            'm' => write!(out, "{:02}", civil.month),
            'd' => write!(out, "{:02}", civil.day),
            'e' => write!(out, "{:2}", civil.day),
            'j' => write!(out, "{:03}", civil.day_of_year),
            'H' => write!(out, "{hour:02}"),
            'k' => write!(out, "{hour:2}"),
            'I' => write!(out, "{hour12:02}"),
            'l' => write!(out, "{hour12:2}"),
            'M' => write!(out, "{minute:02}"),
            'S' => write!(out, "{second:02}"),
            'f' => write!(out, "{:06}", self.microseconds),
            'p' => write!(out, "{}", if hour < 12 { "AM" } else { "PM" }),
            'P' => write!(out, "{}", if hour < 12 { "am" } else { "pm" }),
            'A' => write!(out, "{day_name}"),
            'a' => write!(out, "{}", day_name.get(..3).unwrap_or("")),
            'B' => write!(out, "{month_name}"),
            'b' | 'h' => write!(out, "{}", month_name.get(..3).unwrap_or("")),
            'u' => write!(out, "{}", (civil.weekday + 6) % 7 + 1),
            'w' => write!(out, "{}", civil.weekday),
            'U' => write!(out, "{:02}", (civil.day_of_year + 6 - civil.weekday) / 7),
            'W' => write!(out, "{:02}", (civil.day_of_year + 6 - (civil.weekday + 6) % 7) / 7),
            's' => write!(out, "{}", self.unix_seconds),
            'F' => write!(out, "{}", self.format("%Y-%m-%d")),
            'T' => write!(out, "{}", self.format("%H:%M:%S")),
            'R' => write!(out, "{}", self.format("%H:%M")),
            'D' | 'x' => write!(out, "{}", self.format("%m/%d/%y")),
            'X' => write!(out, "{}", self.format("%H:%M:%S")),
            'r' => write!(out, "{}", self.format("%I:%M:%S %p")),
            'c' => write!(out, "{}", self.format("%a %b %e %H:%M:%S %Y")),
            'n' => out.write_char('\n'),
            't' => write!(out, "\t"),
            // Python's local time knows no zone.
            'z' | 'Z' => Ok(()),
            '%' => write!(out, "%"),
            other => write!(out, "%{other}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected texts from Python's `datetime.fromtimestamp(…, timezone.utc).strftime(…)`.
    #[test]
    fn writes_what_strftime_writes() {
        let time = LocalTime::from_unix(1_709_210_096, 42, 0);
        assert_eq!(time.format("%Y-%m-%d/%H-%M-%S"), "2024-02-29/12-34-56");
        assert_eq!(
            time.format("%j %a %A %b %B %y %I %p %f"),
            "060 Thu Thursday Feb February 24 12 PM 000042"
        );
        assert_eq!(time.format("%U %W %w %u %%"), "08 09 4 4 %");
        let before = LocalTime::from_unix(-1, 0, 0);
        assert_eq!(before.format("%F %T"), "1969-12-31 23:59:59");
        assert_eq!(before.format("%j"), "365");
        assert_eq!(LocalTime::from_unix(0, 0, 3_600).format("%c"), "Thu Jan  1 01:00:00 1970");
        assert_eq!(LocalTime::from_unix(1_735_603_200, 0, 0).format("%j %U"), "366 52");
    }
}
