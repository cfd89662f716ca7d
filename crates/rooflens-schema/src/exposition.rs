//! The text of `/metrics`: Prometheus' exposition format and OpenMetrics
//! (prometheus.io/docs/instrumenting/exposition_formats, prometheus.io/docs/specs/om/open_metrics_spec).

use std::borrow::Cow;

const MAX_LINE: usize = 64 * 1024;
const MAX_LABELS: usize = 64;

/// A value of a metric. A histogram is several of them: `NAME_bucket` with the label `le`, `NAME_sum`, `NAME_count`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpositionSample<'a> {
    /// Name of the metric.
    pub name: Cow<'a, str>,
    /// Name and labels as they stand in the line: they identify the series.
    pub series: &'a str,
    /// Labels, in their order, unescaped.
    pub(crate) labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// May be NaN or infinite.
    pub value: f64,
    /// When the value was taken, in nanoseconds since 1970, where the page tells.
    pub unix_ns: Option<i64>,
}

impl ExpositionSample<'_> {
    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| &**value)
    }
}

/// What a page came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExpositionReport {
    pub(crate) samples: usize,
    /// Lines that are neither a sample nor a comment.
    pub damaged: usize,
}

/// Reads a page and hands over each sample. Damaged lines are counted and left out.
pub fn read_exposition<'a>(page: &'a str, mut each: impl FnMut(ExpositionSample<'a>)) -> ExpositionReport {
    // OpenMetrics must end with this, and Prometheus' own format has no such line.
    let timestamp_unit_ns = if page.trim_end().ends_with("# EOF") { 1e9 } else { 1e6 };
    let mut report = ExpositionReport::default();
    for line in page.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match read_sample(line, timestamp_unit_ns) {
            Some(sample) => {
                report.samples += 1;
                each(sample);
            }
            None => report.damaged += 1,
        }
    }
    report
}

/// Reads a line that is not a comment. A timestamp counts units of this many nanoseconds: 10⁶ in Prometheus' format,
/// 10⁹ in OpenMetrics.
pub fn read_sample(line: &str, timestamp_unit_ns: f64) -> Option<ExpositionSample<'_>> {
    let line = line.trim();
    if line.len() > MAX_LINE {
        return None;
    }
    let name_end = line.find(|c: char| !is_name_char(c)).unwrap_or(line.len());
    let (bare_name, rest) = line.split_at(name_end);
    if bare_name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = rest.trim_start();
    let (quoted_name, labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => read_labels(inside)?,
        None => (None, Vec::new(), rest),
    };
    let name = match quoted_name {
        Some(_) if !bare_name.is_empty() => return None,
        Some(name) => name,
        None if bare_name.is_empty() => return None,
        None => Cow::Borrowed(bare_name),
    };
    let series = line[..line.len() - rest.len()].trim_end();
    // An exemplar stands behind `#`.
    let numbers = rest.split_once(" #").map_or(rest, |(numbers, _)| numbers);
    let mut words = numbers.split_ascii_whitespace();
    let value = words.next()?.parse::<f64>().ok()?;
    let unix_ns = match words.next() {
        Some(time) => Some(read_time(time, timestamp_unit_ns)?),
        None => None,
    };
    words.next().is_none().then_some(ExpositionSample { name, series, labels, value, unix_ns })
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// A timestamp in nanoseconds since 1970; `None` if 64 bits cannot hold it.
pub fn read_time(text: &str, unit_ns: f64) -> Option<i64> {
    if let Ok(whole) = text.parse::<i64>() {
        return whole.checked_mul(unit_ns as i64);
    }
    let ns = text.parse::<f64>().ok()? * unit_ns;
    (ns.is_finite() && ns.abs() < 9e18).then_some(ns as i64)
}

type Labels<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// What stands behind `{`: the name of the metric where it is quoted, the labels, and what follows `}`.
fn read_labels(mut rest: &str) -> Option<(Option<Cow<'_, str>>, Labels<'_>, &str)> {
    let (mut name, mut labels) = (None, Labels::new());
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((name, labels, behind));
        }
        if labels.len() == MAX_LABELS {
            return None;
        }
        let (key, behind) = match rest.strip_prefix('"') {
            Some(quoted) => read_quoted(quoted)?,
            None => {
                let end = rest.find(|c: char| !is_name_char(c)).filter(|end| *end > 0)?;
                let (key, behind) = rest.split_at(end);
                (Cow::Borrowed(key), behind)
            }
        };
        let behind = behind.trim_start();
        rest = match behind.strip_prefix('=') {
            Some(value) => {
                let (value, behind) = read_quoted(value.trim_start().strip_prefix('"')?)?;
                labels.push((key, value));
                behind
            }
            None if name.is_none() && labels.is_empty() && rest.starts_with('"') => {
                name = Some(key);
                behind
            }
            None => return None,
        };
        rest = rest.trim_start();
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None if rest.starts_with('}') => {}
            None => return None,
        }
    }
}

fn read_quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find(['"', '\\'])?;
    if text[end..].starts_with('"') {
        return Some((Cow::Borrowed(&text[..end]), &text[end + 1..]));
    }
    let mut value = text[..end].to_owned();
    let mut chars = text[end..].chars();
    loop {
        match chars.next()? {
            '"' => return Some((Cow::Owned(value), chars.as_str())),
            '\\' => match chars.next()? {
                'n' => value.push('\n'),
                escaped @ ('"' | '\\') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = (String, Vec<(String, String)>, f64, Option<i64>);

    fn one(line: &str) -> Option<Parts> {
        let mut found = None;
        let report = read_exposition(line, |sample| {
            let labels =
                sample.labels.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            found = Some((sample.name.to_string(), labels, sample.value, sample.unix_ns));
        });
        assert_eq!(report.samples + report.damaged, 1, "{line}");
        found
    }

    fn labels(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn samples_have_names_labels_values_and_times() {
        assert_eq!(one("up 1"), Some(("up".to_owned(), Vec::new(), 1.0, None)));
        assert_eq!(
            one("vllm:x_total{engine=\"0\",model_name=\"a b\"} 1.5e3 1700000000123"),
            Some((
                "vllm:x_total".to_owned(),
                labels(&[("engine", "0"), ("model_name", "a b")]),
                1500.0,
                Some(1_700_000_000_123_000_000)
            ))
        );
        assert_eq!(
            one(r#"m { a = "x\"y\\z,}\n\q" , b="", } 2"#),
            Some(("m".to_owned(), labels(&[("a", "x\"y\\z,}\n\\q"), ("b", "")]), 2.0, None))
        );
        assert_eq!(
            one(r#"{"my.metric",a="ü"} 2"#),
            Some(("my.metric".to_owned(), labels(&[("a", "ü")]), 2.0, None))
        );
        assert_eq!(one("m{} +Inf").unwrap().2, f64::INFINITY);
        assert_eq!(one("m -Inf").unwrap().2, f64::NEG_INFINITY);
        assert!(one("m NaN").unwrap().2.is_nan());
    }

    #[test]
    fn open_metrics_counts_seconds_and_has_exemplars() {
        let page =
            "# TYPE h histogram\nh_bucket{le=\"0.5\"} 3 1.5 # {trace=\"x\"} 0.4 1.2\nh_created 1\n# EOF\n";
        let mut found = Vec::new();
        let report = read_exposition(page, |sample| {
            found.push((sample.name.to_string(), sample.label("le").map(str::to_owned), sample.unix_ns));
        });
        assert_eq!(report, ExpositionReport { samples: 2, damaged: 0 });
        assert_eq!(found[0], ("h_bucket".to_owned(), Some("0.5".to_owned()), Some(1_500_000_000)));
    }

    #[test]
    fn damage_costs_a_line() {
        for line in [
            "m",
            "m{",
            "m{a",
            "m{a=",
            "m{a=\"x",
            "m{a=\"x\\",
            "m{a=\"x\"",
            "m{a=\"x\" b=\"y\"} 1",
            "m{,} 1",
            "1m 2",
            "m x",
            "m 1 x",
            "m 1 2 3",
            "{} 1",
            "{a=\"b\"} 1",
            "m{\"n\"} 1",
            "é 1",
            "m 1 1e300",
            "m{=\"x\"} 1",
        ] {
            assert_eq!(one(line), None, "{line}");
        }
        let long = format!("m{{a=\"{}\"}} 1", "x".repeat(MAX_LINE));
        assert_eq!(one(&long), None);
        let many: String = (0..=MAX_LABELS).map(|i| format!("l{i}=\"\",")).collect();
        assert_eq!(one(&format!("m{{{many}}} 1")), None);
        let mut values = Vec::new();
        let report = read_exposition("a 1\nb{ 2\n\n# HELP c\nc 3", |sample| values.push(sample.value));
        assert_eq!((values, report), (vec![1.0, 3.0], ExpositionReport { samples: 2, damaged: 1 }));
    }

    #[test]
    fn no_cut_and_no_byte_panics() {
        let line = "vllm:a_bucket{le=\"+Inf\",m=\"ü\\\"\\\\\"} 12 1700000000123 # {a=\"b\"} 1\n";
        for end in (0..line.len()).filter(|end| line.is_char_boundary(*end)) {
            read_exposition(&line[..end], |_| {});
            for odd in ["\"", "\\", "{", "}", ",", "=", "#", "\0", "é"] {
                read_exposition(&format!("{}{odd}{}", &line[..end], &line[end..]), |_| {});
            }
        }
    }
}
