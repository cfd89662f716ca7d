//! Numbers as people type them: `2k`, `1..64:x2`, `50ms`.

/// A whole number; `k`, `M` and `G` multiply by 1024.
pub fn whole(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let wrong = || format!("{text:?} is not a whole number, such as 2048 or 2k");
    let number: u64 = digits.replace('_', "").parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

/// An amount of memory: `512MB`, `2GB`, `1.5GiB`, or bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not an amount of memory: write it as 512MB or 2GiB");
    let end = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => f64::from(1 << 20),
        "gib" => f64::from(1 << 30),
        _ => return Err(wrong()),
    };
    let bytes = number * factor;
    if bytes.is_finite() && bytes >= 1.0 { Ok(bytes as u64) } else { Err(wrong()) }
}

/// A whole number of at least 1.
pub fn positive(text: &str) -> Result<u64, String> {
    whole(text).and_then(|number| if number > 0 { Ok(number) } else { Err("must be at least 1".to_owned()) })
}

const MOST: usize = 10_000;

/// Numbers: a list (`1,2,4`), a range that doubles (`1..64`), with a factor (`1..1000:x10`) or a step
/// (`0..100:+10`), or several of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers(pub Vec<u64>);

impl std::str::FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => numbers.push(whole(part)?),
                Some((first, rest)) => range(first, rest, &mut numbers)?,
            }
            if numbers.len() > MOST {
                return Err(format!("more than {MOST} values"));
            }
        }
        Ok(Numbers(numbers))
    }
}

fn range(first: &str, rest: &str, into: &mut Vec<u64>) -> Result<(), String> {
    let (last, step) = rest.split_once(':').unwrap_or((rest, "x2"));
    let (first, last) = (whole(first)?, whole(last.trim_start_matches('='))?);
    let wrong = || format!("{step:?} is not a step, such as x2 or +128");
    let (factor, more) = match step.split_at_checked(1) {
        Some(("x" | "*", factor)) => (whole(factor)?, 0),
        Some(("+", more)) => (1, whole(more)?),
        _ => return Err(wrong()),
    };
    if more == 0 && factor < 2 {
        return Err(wrong());
    }
    if more == 0 && first == 0 {
        return Err(format!("a range from 0 cannot multiply; add instead: 0..{last}:+1"));
    }
    if first > last {
        return Err(format!("{first}..{last} is empty: the first number is larger"));
    }
    let mut at = first;
    while at <= last && into.len() <= MOST {
        into.push(at);
        match at.checked_mul(factor).and_then(|next| next.checked_add(more)) {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(())
}

/// A duration in seconds: `1s`, `50ms`, `200us`, `5m`.
pub fn seconds(text: &str) -> Result<f64, String> {
    seconds_or_none(text)?.ok_or_else(|| not_a_duration(text))
}

/// The same; `None` is 0.
pub fn seconds_or_none(text: &str) -> Result<Option<f64>, String> {
    const UNITS: &[(&str, f64)] = &[
        ("ms", 1e-3),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("ns", 1e-9),
        ("min", 60.0),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
    ];
    let seconds = scaled(text, UNITS).filter(|seconds| *seconds >= 0.0);
    seconds.map(|seconds| Some(seconds).filter(|seconds| *seconds > 0.0)).ok_or_else(|| not_a_duration(text))
}

fn not_a_duration(text: &str) -> String {
    format!("{:?} is not a duration, such as 1s or 50ms", text.trim())
}

/// A bandwidth in bytes per second: `400Gb/s` is of bits, `50GB/s` of bytes.
pub fn rate(text: &str) -> Result<f64, String> {
    const UNITS: &[(&str, f64)] =
        &[("Gb/s", 1e9 / 8.0), ("Gbit/s", 1e9 / 8.0), ("Gbps", 1e9 / 8.0), ("GB/s", 1e9), ("TB/s", 1e12)];
    let wrong = || format!("{:?} is not a bandwidth, such as 400Gb/s or 50GB/s", text.trim());
    scaled(text, UNITS).filter(|rate| *rate > 0.0).ok_or_else(wrong)
}

/// A finite number with one of these units.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let (digits, scale) = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)))?;
    let number: f64 = digits.trim().parse().ok()?;
    Some(number * scale).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        let numbers = |text: &str| text.parse::<Numbers>().map(|numbers| numbers.0);
        assert_eq!(numbers("2k"), Ok(vec![2048]));
        assert_eq!(numbers("1..8"), Ok(vec![1, 2, 4, 8]));
        assert_eq!(numbers("1,10..1000:x10"), Ok(vec![1, 10, 100, 1000]));
        assert_eq!(numbers("0..30:+10"), Ok(vec![0, 10, 20, 30]));
        for wrong in ["", "x", "1..8:x1", "0..8", "1..8:9", "8..4", "99999999999999999999", "99999999999G"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
        assert!(numbers("0..100000:+1").is_err());
    }

    #[test]
    fn bandwidths() {
        assert_eq!(rate("400Gb/s"), Ok(50e9));
        assert_eq!(rate("50 GB/s"), Ok(50e9));
        for wrong in ["400", "0Gb/s", "-1GB/s", "Gb/s", "infGB/s"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(seconds("50ms"), Ok(0.05));
        assert_eq!(seconds("1.5 s"), Ok(1.5));
        for wrong in ["50", "-1s", "0s", "infs", "s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
