//! Units as Nsight Compute prints them, and the numbers before them.

/// How much a printed unit is in base units: bytes, nanoseconds, hertz, things, and each of them for a
/// second, a cycle or a thing. `None` for a unit that is not known: its number may be anything.
pub(crate) fn scale(unit: &str) -> Option<f64> {
    let (upper, lower) = unit.split_once('/').map_or((unit, None), |(upper, lower)| (upper, Some(lower)));
    let upper_scale = quantity(upper)?;
    let Some(lower) = lower else { return Some(upper_scale) };
    // A rate is for a second, though times alone are in nanoseconds.
    let for_a_second = time_ns(lower).map(|ns| 1e9 / ns);
    let lower_scale = for_a_second.or_else(|| things(lower).then_some(1.0))?;
    Some(upper_scale * lower_scale)
}

/// The base unit that a printed one is scaled to; nothing for none and for one that is not known.
pub(crate) fn base(unit: &str) -> Option<&'static str> {
    const BASES: &[&str] = &[
        "%",
        "byte",
        "byte/block",
        "byte/cycle",
        "byte/s",
        "byte/sector",
        "block",
        "block/s",
        "branches",
        "cluster",
        "cycle",
        "hz",
        "inst",
        "inst/cycle",
        "inst/s",
        "ns",
        "pass",
        "register/thread",
        "request",
        "sample",
        "sector",
        "sector/cycle",
        "sector/s",
        "sectors",
        "SM",
        "thread",
        "warp",
        "1/s",
    ];
    scale(unit)?;
    let (upper, lower) = unit.split_once('/').map_or((unit, None), |(upper, lower)| (upper, Some(lower)));
    let upper = match upper {
        upper if time_ns(upper).is_some() => "ns",
        upper if upper.ends_with("byte") => "byte",
        upper if upper.ends_with("hz") || upper.ends_with("Hz") => "hz",
        upper => upper,
    };
    let whole = match lower {
        None => upper.to_owned(),
        Some(lower) if time_ns(lower).is_some() && upper == "cycle" => "hz".to_owned(),
        Some(lower) if time_ns(lower).is_some() => format!("{upper}/s"),
        Some(lower) => format!("{upper}/{lower}"),
    };
    BASES.iter().copied().find(|base| *base == whole)
}

fn quantity(unit: &str) -> Option<f64> {
    if unit.is_empty() || unit == "%" || unit == "1" || things(unit) {
        return Some(1.0);
    }
    let prefixed = |base: &str| prefix(unit.strip_suffix(base)?);
    time_ns(unit).or_else(|| prefixed("byte")).or_else(|| prefixed("hz")).or_else(|| prefixed("Hz"))
}

fn prefix(prefix: &str) -> Option<f64> {
    Some(match prefix {
        "" => 1.0,
        "K" | "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        _ => return None,
    })
}

fn time_ns(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" | "nsecond" => 1.0,
        "us" | "usecond" => 1e3,
        "ms" | "msecond" => 1e6,
        "s" | "second" => 1e9,
        _ => return None,
    })
}

/// What is only counted.
fn things(unit: &str) -> bool {
    const THINGS: &[&str] = &[
        "SM", "block", "branches", "cluster", "cycle", "inst", "pass", "register", "request", "sample",
        "sector", "sectors", "thread", "warp",
    ];
    THINGS.contains(&unit)
}

/// A printed number; `None` for what is none. A comma stands before three digits or it is not a separator
/// of thousands: `1,5` is refused, not read as 15.
pub(crate) fn number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let whole = unsigned.split(['.', 'e', 'E']).next().unwrap_or_default();
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let digits = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let separated = whole.contains(',');
    let well_formed = digits(first)
        && (!separated || first.len() <= 3)
        && groups.all(|group| group.len() == 3 && digits(group))
        && !unsigned[whole.len()..].contains(',');
    if !well_formed {
        return None;
    }
    text.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_scaled_to_base_units() {
        let known = [
            ("", 1.0),
            ("%", 1.0),
            ("byte", 1.0),
            ("Kbyte", 1e3),
            ("Mbyte", 1e6),
            ("Gbyte/s", 1e9),
            ("Gbyte/second", 1e9),
            ("Tbyte/s", 1e12),
            ("Kbyte/block", 1e3),
            ("byte/cycle", 1.0),
            ("nsecond", 1.0),
            ("us", 1e3),
            ("msecond", 1e6),
            ("s", 1e9),
            ("Ghz", 1e9),
            ("Mhz", 1e6),
            ("cycle/nsecond", 1e9),
            ("sector/us", 1e6),
            ("1/ns", 1e9),
            ("inst/cycle", 1.0),
            ("register/thread", 1.0),
        ];
        for (unit, expected) in known {
            assert_eq!(scale(unit), Some(expected), "{unit}");
        }
        for unit in ["Qbyte", "Kibyte", "furlong", "byte/fortnight", "Kinst", "byte/", "/s/s"] {
            assert_eq!(scale(unit), None, "{unit}");
        }
    }

    #[test]
    fn base_units_by_printed_ones() {
        let known = [
            ("Mbyte", "byte"),
            ("Gbyte/s", "byte/s"),
            ("Gbyte/second", "byte/s"),
            ("Kbyte/block", "byte/block"),
            ("us", "ns"),
            ("Ghz", "hz"),
            ("cycle/nsecond", "hz"),
            ("sector/us", "sector/s"),
            ("%", "%"),
            ("1/ns", "1/s"),
        ];
        for (printed, unit) in known {
            assert_eq!(base(printed), Some(unit), "{printed}");
        }
        for printed in ["", "furlong", "byte/fortnight"] {
            assert_eq!(base(printed), None, "{printed}");
        }
    }

    #[test]
    fn separators_are_of_thousands_or_nothing() {
        let read = [("13,485", 13485.0), ("9,495.42", 9495.42), ("0", 0.0), ("-3", -3.0), ("1e3", 1000.0)];
        for (text, expected) in read {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        for text in ["1,5", "13,4850", "1234,567", "n/a", "", "1.2,345", "(1, 2, 3)", ",5", "0x10"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
