//! Numbers as people read them: every number is rounded here. Tables show up to four digits, sentences three.

/// Stands for a number that was not measured.
pub const MISSING: &str = "–";

/// A duration: three or four digits and a unit.
pub fn time(ns: f64) -> String {
    if ns.abs() < 999.5 && ns.fract() == 0.0 {
        return format!("{ns} ns");
    }
    scaled(ns, 1000.0, &TIMES, TABLE)
}

/// A duration in a sentence: three digits and a unit.
pub fn short_time(ns: f64) -> String {
    if ns.abs() < 999.5 {
        return format!("{ns:.0} ns");
    }
    scaled(ns, 1000.0, &TIMES, SENTENCE)
}

const TIMES: [&str; 4] = ["ns", "µs", "ms", "s"];
const PREFIXES: [&str; 8] = ["", "k", "M", "G", "T", "P", "E", "Z"];

/// Numbers below this have two decimals, below ten times this one decimal.
type Precision = f64;
const TABLE: Precision = 100.0;
const SENTENCE: Precision = 10.0;

/// A size in binary units.
pub fn bytes(value: f64) -> String {
    if value.abs() < 1023.5 && value.fract() == 0.0 {
        return format!("{value} B");
    }
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"], TABLE)
}

fn scaled(value: f64, base: f64, units: &[&str], precision: Precision) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let mut rest = value.abs();
    let mut units = units.iter().copied().peekable();
    let mut unit = units.next().unwrap_or_default();
    // 999.96 would be shown as 1000.0: it belongs to the next unit.
    while rest >= base - 5.0 / precision {
        let Some(next) = units.next() else { break };
        unit = next;
        rest /= base;
    }
    let number = if rest < precision - 0.005 {
        format!("{rest:.2}")
    } else if rest < 10.0 * precision - 0.05 {
        format!("{rest:.1}")
    } else {
        grouped(&format!("{rest:.0}"))
    };
    format!("{sign}{number} {unit}")
}

/// A number of things, with thousands separators.
pub fn count(value: i64) -> String {
    let digits = grouped(&value.unsigned_abs().to_string());
    if value < 0 { format!("-{digits}") } else { digits }
}

fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A mean count.
pub fn mean(value: f64) -> String {
    if !value.is_finite() {
        MISSING.to_owned()
    } else if value.fract() == 0.0 || value.abs() >= 99.95 {
        count(value.round() as i64)
    } else {
        format!("{value:.1}")
    }
}

/// A share of a whole, as a percentage.
pub fn share(value: f64) -> String {
    if !value.is_finite() {
        MISSING.to_owned()
    } else if value > 0.0 && value < 0.0005 {
        // Not nothing.
        "<0.1%".to_owned()
    } else {
        format!("{:.1}%", value * 100.0)
    }
}

/// A signed change, as a percentage.
pub fn change(value: f64) -> String {
    if !value.is_finite() {
        MISSING.to_owned()
    } else if value.abs() < 0.0005 {
        "0.0%".to_owned()
    } else {
        format!("{:+.1}%", value * 100.0)
    }
}

/// A rate in GB/s.
pub fn rate(gb_per_s: f64) -> String {
    if !gb_per_s.is_finite() {
        MISSING.to_owned()
    } else if gb_per_s < 99.95 {
        format!("{gb_per_s:.2} GB/s")
    } else {
        format!("{} GB/s", count(gb_per_s.round() as i64))
    }
}

/// A number in a base unit, with a decimal prefix.
pub fn amount(value: f64, unit: &str) -> String {
    if value == 0.0 {
        return format!("0 {unit}");
    }
    prefixed(value, unit, TABLE)
}

/// A number in a base unit in a sentence, with three digits and a decimal prefix.
pub fn short_amount(value: f64, unit: &str) -> String {
    if value.abs() < 999.5 && value.fract() == 0.0 {
        return format!("{value} {unit}");
    }
    prefixed(value, unit, SENTENCE)
}

fn prefixed(value: f64, unit: &str, precision: Precision) -> String {
    let scaled = scaled(value, 1000.0, &PREFIXES, precision);
    // The prefix belongs to the unit, not to the number.
    match scaled.split_once(' ') {
        Some((number, prefix)) => format!("{number} {prefix}{unit}"),
        None => scaled,
    }
}

/// Parameters as the field counts them: millions, billions, trillions.
pub fn parameters(value: f64) -> String {
    if value.abs() < 1e6 {
        count(value as i64)
    } else {
        scaled(value / 1e6, 1000.0, &["M", "B", "T", "Q"], TABLE)
    }
}

/// A moment since the clock base, to the microsecond: what a timeline viewer shows.
pub fn moment(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let us = ns.unsigned_abs() / 1_000;
    format!("{sign}{}.{:06} s", grouped(&(us / 1_000_000).to_string()), us % 1_000_000)
}

/// A moment on the wall clock, in UTC.
pub fn date(unix_ns: i64) -> String {
    let seconds = unix_ns.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days to a civil date in 400-year eras that begin on 1 March:
    // https://howardhinnant.github.io/date_algorithms.html#civil_from_days
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// A change of time in nanoseconds, always with its sign.
pub fn signed_time(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, time(ns.abs()))
}

/// A share of a whole, as a percentage without decimals: `42%`.
pub fn whole_percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// A number of things and their noun: `1 launch`, `1,219 launches`.
pub fn things(number: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A number of things whose plural ends in `s`: `1 rank`, `2 ranks`.
pub fn plural(number: i64, noun: &str) -> String {
    things(number, noun, &format!("{noun}s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_or_four_digits() {
        let shown = |ns: f64| time(ns);
        assert_eq!(shown(0.0), "0 ns");
        assert_eq!(shown(7.0), "7 ns");
        assert_eq!(shown(999.0), "999 ns");
        assert_eq!(shown(12.5), "12.50 ns");
        assert_eq!(shown(1_000.0), "1.00 µs");
        assert_eq!(shown(12_345.0), "12.35 µs");
        assert_eq!(shown(123_456.0), "123.5 µs");
        assert_eq!(shown(99_996.0), "100.0 µs");
        assert_eq!(shown(999_960.0), "1.00 ms");
        assert_eq!(shown(1_234_567_890.0), "1.23 s");
        assert_eq!(shown(4.2e12), "4,200 s");
        assert_eq!(shown(-1_500.0), "-1.50 µs");
        assert_eq!(shown(f64::NAN), MISSING);
        assert_eq!(shown(f64::INFINITY), MISSING);
    }

    #[test]
    fn times_in_sentences_have_three_digits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.0, "999 ns"),
            (999.6, "1.00 µs"),
            (99_960.0, "100 µs"),
            (145_000.0, "145 µs"),
            (999_600.0, "1.00 ms"),
            (-3_200_000.0, "-3.20 ms"),
            (12_340_000_000.0, "12.3 s"),
            (4.2e12, "4,200 s"),
        ] {
            assert_eq!(short_time(ns), text);
        }
    }

    #[test]
    fn bytes_are_binary() {
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(bytes(1024.0), "1.00 KiB");
        assert_eq!(bytes(80.0 * 1024.0 * 1024.0 * 1024.0), "80.00 GiB");
        assert_eq!(bytes(1_023.0 * 1024.0), "1,023 KiB");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn a_small_share_is_not_nothing() {
        assert_eq!(share(0.0), "0.0%");
        assert_eq!(share(0.0001), "<0.1%");
        assert_eq!(share(0.61234), "61.2%");
        assert_eq!(change(-0.031), "-3.1%");
        assert_eq!(change(0.0), "0.0%");
    }

    #[test]
    fn dates_are_civil() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(1_709_210_096_000_000_000), "2024-02-29 12:34:56 UTC");
        assert_eq!(date(-1), "1969-12-31 23:59:59 UTC");
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!([1, 0, 2_000].map(|number| plural(number, "rank")), ["1 rank", "0 ranks", "2,000 ranks"]);
        assert_eq!(things(2, "launch", "launches"), "2 launches");
    }

    #[test]
    fn amounts_have_a_decimal_prefix() {
        assert_eq!(amount(0.0, "FLOP"), "0 FLOP");
        assert_eq!(amount(58_720_256.0, "FLOP"), "58.72 MFLOP");
        assert_eq!(amount(999_970.0, "B"), "1.00 MB");
        assert_eq!(short_amount(7.0, "FLOP"), "7 FLOP");
        assert_eq!(short_amount(58_720_256.0, "FLOP"), "58.7 MFLOP");
        assert_eq!(short_amount(999_600.0, "B"), "1.00 MB");
        assert_eq!(whole_percent(0.424), "42%");
    }
}
