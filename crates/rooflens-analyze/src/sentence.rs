//! Numbers inside the sentences that findings contain.

/// A number of things: `1,219`.
pub(crate) fn count(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0 {
        text.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things and their noun: `1 launch`, `1,219 launches`.
pub(crate) fn things(value: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// A share with a decimal: `74.7%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A share without decimals: `42%`.
pub(crate) fn whole_percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// A duration with three digits: `145 µs`, `3.20 ms`.
pub(crate) fn time(ns: f64) -> String {
    let (mut value, mut unit) = (ns.abs(), "ns");
    for larger in ["µs", "ms", "s"] {
        // 999.6 would be shown as 1000: it belongs to the next unit.
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    let sign = if ns < 0.0 { "-" } else { "" };
    match value {
        _ if unit == "ns" || value >= 99.95 => format!("{sign}{value:.0} {unit}"),
        _ if value >= 9.995 => format!("{sign}{value:.1} {unit}"),
        _ => format!("{sign}{value:.2} {unit}"),
    }
}

/// A number with three digits and a decimal prefix: `1.23 TFLOP`.
pub(crate) fn amount(value: f64, unit: &str) -> String {
    let (mut value, mut prefix) = (value, "");
    for larger in ["k", "M", "G", "T", "P", "E"] {
        if value.abs() < 999.5 {
            break;
        }
        (value, prefix) = (value / 1000.0, larger);
    }
    match value {
        _ if value.abs() >= 99.95 || (prefix.is_empty() && value.fract() == 0.0) => {
            format!("{value:.0} {prefix}{unit}")
        }
        _ if value.abs() >= 9.995 => format!("{value:.1} {prefix}{unit}"),
        _ => format!("{value:.2} {prefix}{unit}"),
    }
}

/// A name in a sentence: a Python frame in a far folder keeps only its file and function.
pub(crate) fn code(name: &str) -> String {
    let folders = name.find('(').and_then(|line| name[..line].rfind('/')).filter(|_| name.len() > LONG);
    format!("`{}`", folders.map_or(name, |slash| &name[slash + 1..]))
}

/// Longer names are cut, in bytes.
const LONG: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(1_219), "1,219");
        assert_eq!(count(-1_234_567), "-1,234,567");
        assert_eq!(count(0), "0");
        assert_eq!(things(1, "launch", "launches"), "1 launch");
        assert_eq!(percent(0.7468), "74.7%");
        assert_eq!(whole_percent(0.424), "42%");
        let times = [
            (0.0, "0 ns"),
            (999.0, "999 ns"),
            (999.6, "1.00 µs"),
            (145_000.0, "145 µs"),
            (3_200_000.0, "3.20 ms"),
        ];
        for (ns, text) in times {
            assert_eq!(time(ns), text);
        }
        assert_eq!(time(99_960.0), "100 µs");
        assert_eq!(amount(7.0, "FLOP"), "7 FLOP");
        assert_eq!(amount(58_720_256.0, "FLOP"), "58.7 MFLOP");
        assert_eq!(amount(999_600.0, "B"), "1.00 MB");
        assert_eq!(code("threading.py(359): wait"), "`threading.py(359): wait`");
        let far = "/tmp/torchinductor_root/dn/cdniggnbpjo6ck7jj7d4oel3kskalexpx.py(6894): partition_0";
        assert_eq!(code(far), "`cdniggnbpjo6ck7jj7d4oel3kskalexpx.py(6894): partition_0`");
        assert_eq!(time(12_340_000_000.0), "12.3 s");
    }
}
