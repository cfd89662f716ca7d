//! Numbers of a run for services that follow them over time.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::error::CompareError;
use super::headline;
use super::side::Side;
use crate::error::CliError;
use crate::saved;

/// A form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    /// `customSmallerIsBetter` of github-action-benchmark.
    GithubActionBenchmark,
    /// Bencher Metric Format.
    Bencher,
}

impl Export {
    /// By its name.
    pub fn named(name: &str) -> Result<Self, CompareError> {
        match name {
            "github-action-benchmark" => Ok(Export::GithubActionBenchmark),
            "bencher" => Ok(Export::Bencher),
            _ => Err(CompareError::Export { name: name.to_owned() }),
        }
    }

    /// Writes the numbers of a side.
    pub fn write(self, side: &Side, path: &Path) -> Result<(), CliError> {
        saved::write_json(path.to_owned(), &self.document(side))
    }

    fn document(self, side: &Side) -> Json {
        let metrics = headline::ALL.iter().filter_map(|metric| {
            let mut values = side.samples.get(metric.key)?.clone();
            values.sort_by(f64::total_cmp);
            let at = |share| rooflens_analyze::compare::percentile(&values, share);
            Some((metric, at(0.5), at(0.25), at(0.75)))
        });
        match self {
            Export::GithubActionBenchmark => metrics
                // There less is better, so rates have no place.
                .filter(|(metric, ..)| !metric.more_is_better)
                .map(|(metric, median, low, high)| {
                    let name = metric.key.strip_suffix("_ns").unwrap_or(metric.key);
                    json!({"name": name, "unit": "ns", "value": median, "range": format!("{low:.0}..{high:.0}")})
                })
                .collect(),
            Export::Bencher => {
                let one = |(metric, median, low, high): (&headline::Metric, f64, f64, f64)| {
                    let measure = if metric.more_is_better { "throughput" } else { "latency" };
                    let name = metric.key.strip_suffix("_ns").unwrap_or(metric.key).to_owned();
                    (name, json!({measure: {"value": median, "lower_value": low, "upper_value": high}}))
                };
                Json::Object(metrics.map(one).collect::<Map<String, Json>>())
            }
        }
    }
}
