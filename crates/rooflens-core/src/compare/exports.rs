//! Numbers of a run for services that follow them over time.

use std::path::Path;

use rooflens_analyze::compare::headline::{self, HeadlineMetric};
use rooflens_analyze::percentile;
use serde_json::{Map, Value as Json, json};

use super::side::Side;
use crate::disk;
use crate::error::{CompareError, Error};

/// A form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// `customSmallerIsBetter` of github-action-benchmark.
    GithubActionBenchmark,
    /// Bencher Metric Format.
    Bencher,
}

impl ExportFormat {
    /// By its name.
    pub fn named(name: &str) -> Result<Self, CompareError> {
        match name {
            "github-action-benchmark" => Ok(ExportFormat::GithubActionBenchmark),
            "bencher" => Ok(ExportFormat::Bencher),
            _ => Err(CompareError::Export { name: name.to_owned() }),
        }
    }

    /// Writes the numbers of a side.
    pub fn write(self, side: &Side, path: &Path) -> Result<(), Error> {
        let document = self.document(side);
        let is_empty =
            document.as_array().is_some_and(Vec::is_empty) || document.as_object().is_some_and(Map::is_empty);
        if is_empty {
            return Err(CompareError::NothingToExport { path: side.path.clone() }.into());
        }
        disk::write_json(path.to_owned(), &document)
    }

    fn document(self, side: &Side) -> Json {
        let metrics = headline::ALL.iter().filter_map(|metric| {
            let sample = side.samples.get(metric.key)?;
            let mut rounds = sample.rounds();
            rounds.sort_by(f64::total_cmp);
            let value = sample.value();
            let at = |share| {
                if rounds.is_empty() { value } else { percentile::linear(&rounds, share) }
            };
            // A value over all requests may lie outside of what most rounds have.
            Some((metric, value, at(0.25).min(value), at(0.75).max(value)))
        });
        match self {
            ExportFormat::GithubActionBenchmark => metrics
                // There less is better, so rates have no place.
                .filter(|(metric, ..)| !metric.more_is_better)
                .map(|(metric, value, low, high)| {
                    let name = metric.name();
                    json!({"name": name, "unit": "ns", "value": value, "range": format!("{low:.0}..{high:.0}")})
                })
                .collect(),
            ExportFormat::Bencher => {
                let one = |(metric, value, low, high): (&HeadlineMetric, f64, f64, f64)| {
                    let measure = if metric.more_is_better { "throughput" } else { "latency" };
                    let name = metric.name().to_owned();
                    (name, json!({measure: {"value": value, "lower_value": low, "upper_value": high}}))
                };
                Json::Object(metrics.map(one).collect::<Map<String, Json>>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_not_exported() {
        let path = std::env::temp_dir().join("rooflens-no-metric-to-export.json");
        for format in [ExportFormat::Bencher, ExportFormat::GithubActionBenchmark] {
            let told = format.write(&Side::default(), &path).unwrap_err().to_string();
            assert!(told.ends_with("has no metric to export"), "{told}");
        }
        assert!(!path.exists());
    }
}
