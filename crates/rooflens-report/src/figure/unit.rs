//! What the numbers on an axis are, and how they are written.

use crate::format;

/// What the numbers on an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FigureUnit {
    /// A number of things: `512`, `10k`.
    #[default]
    Number,
    /// In a base unit that takes decimal prefixes, such as `s`, `FLOP/s`, `B/s`, `FLOP/B`: `10 TFLOP/s`.
    Si(&'static str),
    /// Bytes, with binary prefixes: `80 GiB`.
    Bytes,
    /// Nanoseconds: `2.5 ms`.
    Time,
    /// 0 to 1: `50%`.
    Share,
}

/// Prefixes and their factors.
type Prefixes = (&'static [&'static str], &'static [f64]);

const DECIMAL: Prefixes = (
    &["f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y"],
    &[1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18, 1e21, 1e24],
);
const LARGE: Prefixes = (&["", "k", "M", "G", "T", "P"], &[1.0, 1e3, 1e6, 1e9, 1e12, 1e15]);
const BINARY: Prefixes = (
    &["", "Ki", "Mi", "Gi", "Ti", "Pi"],
    &[1.0, 1024.0, 1_048_576.0, 1_073_741_824.0, 1_099_511_627_776.0, 1_125_899_906_842_624.0],
);

/// Whole numbers below this are written out.
const WRITTEN_OUT: f64 = 1e5;
/// The same where all numbers of an axis share a prefix.
const WRITTEN_OUT_TOGETHER: f64 = 1e4;
/// Smaller numbers without a unit are written as powers of ten.
const SMALL: f64 = 1e-3;
/// Digits after the point at most.
const DIGITS: usize = 12;

impl FigureUnit {
    /// The base unit; empty for a number of things.
    pub(super) fn name(self) -> &'static str {
        self.base(LARGE).1
    }

    pub(crate) fn label(self, value: f64) -> String {
        match self {
            FigureUnit::Time => format::time(value),
            FigureUnit::Bytes => format::bytes(value),
            FigureUnit::Share => format::share(value),
            FigureUnit::Number if is_count(value, WRITTEN_OUT) => format::count(value as i64),
            FigureUnit::Number | FigureUnit::Si(_) => self.alone(value, LARGE),
        }
    }

    /// A tick whose neighbours are multiples of it: each has the prefix that fits it best.
    pub(super) fn tick(self, value: f64, powers_of_two: bool) -> String {
        match self {
            FigureUnit::Number if powers_of_two && is_count(value, WRITTEN_OUT) => {
                format::count(value as i64)
            }
            FigureUnit::Number if powers_of_two => self.alone(value, BINARY),
            _ => self.alone(value, LARGE),
        }
    }

    /// A tick whose neighbours are `step` away: all have the prefix that fits the `largest`.
    pub(super) fn even_tick(self, value: f64, step: f64, largest: f64) -> String {
        if value.abs() < step * 1e-6 {
            return "0".to_owned();
        }
        if self == FigureUnit::Number
            && is_count(step, WRITTEN_OUT_TOGETHER)
            && largest < WRITTEN_OUT_TOGETHER
        {
            return format::count(value.round() as i64);
        }
        let (factor, name, prefixes) = self.base(LARGE);
        let Some((prefix, size)) = prefix(largest * factor, prefixes) else {
            return joined(&format!("{:e}", value * factor), "", name);
        };
        let step = step * factor / size;
        let digits = (0..DIGITS).find(|digits| {
            let shifted = step * 10_f64.powi(*digits as i32);
            (shifted - shifted.round()).abs() < 1e-6 * shifted.max(1.0)
        });
        joined(&format!("{:.*}", digits.unwrap_or(DIGITS), value * factor / size), prefix, name)
    }

    /// In three digits with the prefix that fits best.
    fn alone(self, value: f64, number_prefixes: Prefixes) -> String {
        if !value.is_finite() {
            return format::MISSING.to_owned();
        }
        if value == 0.0 {
            return "0".to_owned();
        }
        let (factor, name, prefixes) = self.base(number_prefixes);
        // 999.7 of a unit are one of the next.
        let scaled = value * factor;
        let rounded = format!("{scaled:.2e}").parse().unwrap_or(scaled);
        match prefix(rounded.abs(), prefixes) {
            Some((prefix, size)) => joined(&three_digits(scaled / size), prefix, name),
            None => joined(&power_of_ten(scaled), "", name),
        }
    }

    fn base(self, number_prefixes: Prefixes) -> (f64, &'static str, Prefixes) {
        match self {
            FigureUnit::Number => (1.0, "", number_prefixes),
            FigureUnit::Si(name) => (1.0, name, DECIMAL),
            FigureUnit::Bytes => (1.0, "B", BINARY),
            FigureUnit::Time => (1e-9, "s", DECIMAL),
            FigureUnit::Share => (100.0, "%", (&[""], &[1.0])),
        }
    }
}

fn is_count(value: f64, limit: f64) -> bool {
    value.abs() < limit && value.fract() == 0.0
}

/// The largest prefix within a magnitude; none where it is too large or small for all of them.
fn prefix(magnitude: f64, (names, sizes): Prefixes) -> Option<(&'static str, f64)> {
    let (first, last) = (sizes.first()?, sizes.last()?);
    if magnitude < first * SMALL * 0.999 || magnitude >= last * 1e4 {
        return None;
    }
    let at = sizes.iter().rposition(|size| *size <= magnitude * (1.0 + 1e-9)).unwrap_or(0);
    Some((names[at], sizes[at]))
}

fn three_digits(value: f64) -> String {
    let whole = value.abs().log10().floor();
    let digits = (2.0 - whole).clamp(0.0, DIGITS as f64) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn power_of_ten(value: f64) -> String {
    let text = format!("{value:.2e}");
    match text.split_once('e') {
        Some((number, power)) => {
            format!("{}e{power}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        None => text,
    }
}

fn joined(number: &str, prefix: &str, name: &str) -> String {
    let space = if name.is_empty() || name == "%" { "" } else { "\u{a0}" };
    format!("{number}{space}{prefix}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: String) -> String {
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn ticks_alone_have_their_own_prefix() {
        let tick = |value, unit: FigureUnit| plain(unit.tick(value, false));
        assert_eq!(tick(1_000.0, FigureUnit::Number), "1k");
        assert_eq!(tick(0.02, FigureUnit::Number), "0.02");
        assert_eq!(tick(1e-7, FigureUnit::Number), "1e-7");
        assert_eq!(tick(1e13, FigureUnit::Si("FLOP/s")), "10 TFLOP/s");
        assert_eq!(tick(1e-3, FigureUnit::Si("s")), "1 ms");
        assert_eq!(tick(5e5, FigureUnit::Time), "500 µs");
        assert_eq!(tick(1e40, FigureUnit::Si("s")), "1e40 s");
        assert_eq!(tick(0.5, FigureUnit::Share), "50%");
        assert_eq!(tick(2_f64.powi(31), FigureUnit::Bytes), "2 GiB");
        assert_eq!(tick(f64::NAN, FigureUnit::Number), format::MISSING);
    }

    #[test]
    fn powers_of_two_are_exact() {
        assert_eq!(FigureUnit::Number.tick(4_096.0, true), "4,096");
        assert_eq!(FigureUnit::Number.tick(131_072.0, true), "128Ki");
    }

    #[test]
    fn ticks_together_share_a_prefix() {
        let ticks = |values: &[f64], unit: FigureUnit| -> Vec<String> {
            let step = values[1] - values[0];
            values.iter().map(|value| plain(unit.even_tick(*value, step, values[values.len() - 1]))).collect()
        };
        assert_eq!(
            ticks(&[0.0, 5e-4, 1e-3, 1.5e-3], FigureUnit::Si("s")),
            ["0", "0.5 ms", "1.0 ms", "1.5 ms"]
        );
        assert_eq!(ticks(&[0.0, 500.0, 1_000.0], FigureUnit::Number), ["0", "500", "1,000"]);
        assert_eq!(ticks(&[0.0, 1e4, 2e4], FigureUnit::Number), ["0", "10k", "20k"]);
        assert_eq!(ticks(&[0.0, 0.25, 0.5], FigureUnit::Share), ["0", "25%", "50%"]);
    }

    #[test]
    fn labels_have_three_digits() {
        assert_eq!(plain(FigureUnit::Si("FLOP/s").label(989.4e12)), "989 TFLOP/s");
        assert_eq!(plain(FigureUnit::Si("B/s").label(3.35e12)), "3.35 TB/s");
        assert_eq!(plain(FigureUnit::Si("s").label(0.99999)), "1 s");
        assert_eq!(FigureUnit::Number.label(296.0), "296");
    }
}
