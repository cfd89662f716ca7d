//! A line of Prometheus' text format (prometheus.io/docs/instrumenting/exposition_formats).

/// What a line is.
#[derive(Debug, PartialEq)]
pub enum MetricsLine {
    /// Blank, or a comment.
    Nothing,
    /// When the page that follows was taken, in nanoseconds since 1970.
    Time(i64),
    /// A value.
    Sample(PrometheusSample),
    /// None of these.
    Damaged,
}

/// A value of a metric.
#[derive(Debug, PartialEq)]
pub struct PrometheusSample {
    pub metric: String,
    pub labels: Vec<(String, String)>,
    /// Name and labels as they stand: what tells series apart.
    pub series: String,
    /// `None` for what is no number of this world: NaN and the infinite.
    pub value: Option<f64>,
    pub unix_ns: Option<i64>,
}

/// Reads a line.
pub fn read(line: &str) -> MetricsLine {
    let line = line.trim();
    if let Some(comment) = line.strip_prefix('#') {
        let time = comment.trim_start().strip_prefix("time ").and_then(|time| nanoseconds(time.trim(), 1e9));
        return time.map_or(MetricsLine::Nothing, MetricsLine::Time);
    }
    if line.is_empty() {
        return MetricsLine::Nothing;
    }
    sample(line).map_or(MetricsLine::Damaged, MetricsLine::Sample)
}

fn sample(line: &str) -> Option<PrometheusSample> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))?;
    let (metric, rest) = line.split_at(end);
    if metric.is_empty() || metric.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let series = line.get(..line.len() - rest.len())?.trim_end().to_owned();
    let mut words = rest.split_ascii_whitespace();
    let value: f64 = words.next()?.parse().ok()?;
    let unix_ns = match words.next() {
        Some(time) => Some(nanoseconds(time, 1e6)?),
        None => None,
    };
    if words.next().is_some() {
        return None;
    }
    let metric = metric.to_owned();
    Some(PrometheusSample {
        metric,
        labels,
        series,
        value: Some(value).filter(|value| value.is_finite()),
        unix_ns,
    })
}

/// The labels behind `{`, and what follows `}`.
fn labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((found, rest));
        }
        let (name, behind) = rest.split_once('=')?;
        let mut value = String::new();
        let mut chars = behind.trim_start().strip_prefix('"')?.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => match chars.next()? {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                other => value.push(other),
            }
        }
        found.push((name.trim().to_owned(), value));
        rest = chars.as_str();
    }
}

/// A number of units since 1970; a time outside of the years that 64 bits hold is none.
fn nanoseconds(text: &str, unit_ns: f64) -> Option<i64> {
    let ns = text.parse::<f64>().ok()? * unit_ns;
    (ns.is_finite() && ns.abs() < 9e18).then_some(ns as i64)
}
