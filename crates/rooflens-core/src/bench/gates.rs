//! Gates of a load test: what makes it fail.

use rooflens_analyze::compare::headline::{self, HeadlineMetric};
use rooflens_report::block::ChartUnit;
use rooflens_report::format;

use super::document::BenchDocument;
use crate::error::BenchError;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BenchGate {
    text: String,
    condition: Condition,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Slo,
    Errors,
    Client,
    Beyond { key: &'static str, is_above: bool, limit: f64 },
}

const FORMS: &str = "slo, errors, client, METRIC>20ms or METRIC<100";

impl BenchGate {
    /// Reads a gate.
    pub fn parse(text: &str) -> Result<Self, BenchError> {
        let condition = match text.trim() {
            "slo" => Condition::Slo,
            "errors" => Condition::Errors,
            "client" => Condition::Client,
            other => beyond(other)?,
        };
        Ok(BenchGate { text: text.trim().to_owned(), condition })
    }

    pub(crate) fn needs_slo(&self) -> bool {
        self.condition == Condition::Slo
    }

    /// Why it fails; nothing where it passes. What was not measured passes no gate.
    pub fn failure(&self, document: &BenchDocument) -> Option<String> {
        match self.condition {
            Condition::Slo => (document.slo_met != Some(true)).then(|| {
                let missed =
                    document.objectives.iter().filter(|one| !one.is_met).map(|one| one.objective.as_str());
                format!("slo: {}", missed.collect::<Vec<_>>().join(", "))
            }),
            Condition::Errors => {
                let failed = document.requests.failed + document.requests.timed_out;
                (failed > 0).then(|| format!("errors: {failed} of {} requests", document.requests.sent))
            }
            Condition::Client => {
                (!document.client.valid).then(|| format!("client: {}", document.client.reasons.join("; ")))
            }
            Condition::Beyond { key, is_above, limit } => match document.headline.get(key).copied().flatten()
            {
                None => Some(format!("{}: it was not measured", self.text)),
                Some(value) if (is_above && value > limit) || (!is_above && value < limit) => {
                    Some(format!("{}: {}", self.text, format::value(value, &ChartUnit::of_metric(key))))
                }
                Some(_) => None,
            },
        }
    }
}

fn beyond(text: &str) -> Result<Condition, BenchError> {
    let wrong = |why: String| BenchError::Objective(format!("--fail-on {text}: {why}"));
    let at = text.find(['<', '>']).ok_or_else(|| wrong(format!("it must be {FORMS}")))?;
    let (name, limit) = (text[..at].trim(), text[at + 1..].trim());
    let metric = headline::find(name).ok_or_else(|| wrong(format!("no metric is named {name:?}")))?;
    let not_a_limit = || match limit.ends_with('%') {
        true => wrong(
            "a change in percent needs a second server (--against), or two saved runs (rooflens compare A B)"
                .to_owned(),
        ),
        false => wrong(format!("{limit:?} is not a limit for {name}")),
    };
    let limit = number(metric, limit).ok_or_else(not_a_limit)?;
    Ok(Condition::Beyond { key: metric.key, is_above: text[at..].starts_with('>'), limit })
}

fn number(metric: &HeadlineMetric, text: &str) -> Option<f64> {
    let units: &[(&str, f64)] = match metric.is_time() {
        true => &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
        false => &[("%", 0.01), ("", 1.0)],
    };
    let (digits, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    digits.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read() {
        let beyond = |text: &str| match BenchGate::parse(text).map(|gate| gate.condition) {
            Ok(Condition::Beyond { key, is_above, limit }) => Some((key, is_above, limit)),
            _ => None,
        };
        assert_eq!(beyond("tpot_p50>30ms"), Some(("tpot_p50_ns", true, 3e7)));
        assert_eq!(beyond("output_tokens_per_s<100"), Some(("output_tokens_per_s", false, 100.0)));
        assert_eq!(beyond("error_rate>1%"), Some(("error_rate", true, 0.01)));
        assert!(BenchGate::parse("slo").is_ok_and(|gate| gate.needs_slo()));
        for wrong in ["", "tpot_p50", "speed>1", "tpot_p50>30", "tpot_p50>+3%"] {
            assert!(BenchGate::parse(wrong).is_err(), "{wrong}");
        }
    }
}
