//! Service-level objectives: `ttft_p99<500ms,tpot_p99<50ms,error_rate<1%`.
//!
//! Names are those of the headline metrics without their unit; of times, any percentile can be asked for.

use std::fmt;

use crate::percentile::{LinearRank, linear};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::headline::{self, HeadlineMetric, LOAD_TIMES, MeasuredRequest, RequestTimes};
use crate::compare::ratio::sorted;

#[derive(Clone, Copy)]
enum Limited {
    /// A percentile of times, in ns.
    Times(&'static RequestTimes, f64),
    Metric(&'static HeadlineMetric),
}

#[derive(Clone)]
pub(crate) struct Objective {
    text: String,
    limited: Limited,
    is_at_most: bool,
    is_strict: bool,
    limit: f64,
}

impl fmt::Debug for Objective {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Objective({})", self.text)
    }
}

/// Objectives that must all be met.
#[derive(Debug, Clone)]
pub struct Slo {
    objectives: Vec<Objective>,
}

/// Why objectives cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SloError(String);

/// Whether an objective was met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveResult {
    /// The objective, as it was given.
    pub objective: String,
    /// The measured value: ns, a fraction, or per second; null where it was not measured.
    pub value: Option<f64>,
    /// Its limit, in the same unit.
    pub(crate) limit: f64,
    /// Whether the value is within the limit. One that was not measured is not met.
    pub is_met: bool,
}

/// Requests that meet the objectives one by one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goodput {
    /// Requests that completed or failed.
    pub(crate) requests: usize,
    /// Those that meet every limit on times.
    pub met: usize,
    /// Their share.
    pub share: f64,
    /// Those per second; null where the rate is not known.
    pub per_s: Option<f64>,
}

impl Slo {
    /// Reads objectives, which commas separate.
    pub fn parse(text: &str) -> Result<Self, SloError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let objectives = parts.map(Objective::parse).collect::<Result<Vec<_>, _>>()?;
        match objectives.is_empty() {
            true => {
                Err(SloError("no objective is given; an example: ttft_p99<500ms,error_rate<1%".to_owned()))
            }
            false => Ok(Slo { objectives }),
        }
    }

    /// Each objective against measured requests.
    pub fn evaluate(&self, requests: &[MeasuredRequest<'_>]) -> Vec<ObjectiveResult> {
        self.objectives.iter().map(|objective| objective.evaluate(requests)).collect()
    }

    /// Requests that meet the limits on times, each on its own. Where one metric has several percentiles, the limit of
    /// the highest counts. `None` without a request or a limit on times.
    pub fn goodput(&self, requests: &[MeasuredRequest<'_>]) -> Option<Goodput> {
        let limits = self.limits_of_requests();
        if limits.is_empty() || requests.is_empty() {
            return None;
        }
        let is_met = |request: &&MeasuredRequest<'_>| {
            !request.is_failed && limits.iter().all(|objective| objective.is_met_by(request))
        };
        let met = requests.iter().filter(is_met).count();
        let completed = requests.iter().filter(|request| !request.is_failed).count();
        let rate = headline::find("requests_per_s").and_then(|metric| metric.of(requests));
        Some(Goodput {
            requests: requests.len(),
            met,
            share: met as f64 / requests.len() as f64,
            per_s: rate.filter(|_| completed > 0).map(|rate| rate.value() * met as f64 / completed as f64),
        })
    }

    fn limits_of_requests(&self) -> Vec<&Objective> {
        let share = |objective: &Objective, key: &str| match objective.limited {
            Limited::Times(times, share) if times.key == key => Some(share),
            _ => None,
        };
        let highest = |key: &str| {
            let of_key = self.objectives.iter().filter_map(|one| Some((share(one, key)?, one)));
            of_key.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, objective)| objective)
        };
        LOAD_TIMES.iter().filter_map(|times| highest(times.key)).collect()
    }
}

impl Objective {
    fn parse(text: &str) -> Result<Self, SloError> {
        let at = text
            .find(['<', '>'])
            .ok_or_else(|| SloError(format!("\"{text}\" has no < or >; an example: ttft_p99<500ms")))?;
        let (name, rest) = (text[..at].trim(), &text[at + 1..]);
        let (is_strict, limit) = rest.strip_prefix('=').map_or((true, rest), |rest| (false, rest));
        let unknown = || SloError(format!("no metric is named \"{name}\"; did you mean {}?", nearest(name)));
        let limited = Limited::find(name).ok_or_else(unknown)?;
        let bad = || SloError(format!("\"{}\" is no limit for {name}: {}", limit.trim(), limited.units()));
        let number = limited.number(limit.trim()).ok_or_else(bad)?;
        let is_at_most = text[at..].starts_with('<');
        Ok(Objective { text: text.to_owned(), limited, is_at_most, is_strict, limit: number })
    }

    fn evaluate(&self, requests: &[MeasuredRequest<'_>]) -> ObjectiveResult {
        let value = match self.limited {
            Limited::Times(times, share) => {
                let values: Vec<f64> = requests.iter().flat_map(|request| (times.of)(request)).collect();
                let failed = requests.iter().filter(|request| request.is_failed).count();
                percentile_among(&sorted(&values), failed, share)
            }
            Limited::Metric(metric) => metric.of(requests).map(|sample| sample.value()),
        };
        let is_met = value.is_some_and(|value| self.holds(value));
        ObjectiveResult { objective: self.text.clone(), value, limit: self.limit, is_met }
    }

    fn holds(&self, value: f64) -> bool {
        match (self.is_at_most, self.is_strict) {
            (true, true) => value < self.limit,
            (true, false) => value <= self.limit,
            (false, true) => value > self.limit,
            (false, false) => value >= self.limit,
        }
    }

    /// A request without such a time, as TPOT of a single token, meets it.
    fn is_met_by(&self, request: &MeasuredRequest<'_>) -> bool {
        let Limited::Times(times, share) = self.limited else { return true };
        let values = (times.of)(request);
        values.is_empty() || self.holds(linear(&sorted(&values), share))
    }
}

impl Limited {
    fn find(name: &str) -> Option<Self> {
        let name = name.strip_suffix("_ns").unwrap_or(name);
        percentile(name).or_else(|| headline::find(name).map(Limited::Metric))
    }

    fn units(self) -> &'static str {
        match self {
            Limited::Times(..) => "a time in ns, us, ms or s is needed",
            Limited::Metric(metric) if metric.key == "error_rate" => "a percentage or a fraction is needed",
            Limited::Metric(_) => "a number is needed",
        }
    }

    fn number(self, text: &str) -> Option<f64> {
        let (digits, factor) = match self {
            Limited::Times(..) => {
                with_unit(text, &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)])?
            }
            Limited::Metric(metric) if metric.key == "error_rate" => {
                with_unit(text, &[("%", 0.01), ("", 1.0)])?
            }
            Limited::Metric(_) => (text, 1.0),
        };
        let number: f64 = digits.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * factor)
    }
}

fn with_unit<'t>(text: &'t str, units: &[(&str, f64)]) -> Option<(&'t str, f64)> {
    units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
}

/// The percentile of sorted values and of failed requests, which are longer than all of them: none where it lies among
/// those.
fn percentile_among(values: &[f64], failed: usize, share: f64) -> Option<f64> {
    let rank = LinearRank::of(values.len() + failed, share)?;
    Some(rank.between(*values.get(rank.below)?, *values.get(rank.above())?))
}

fn percentile(name: &str) -> Option<Limited> {
    let (times, percent) = name.rsplit_once("_p")?;
    let times = LOAD_TIMES.iter().find(|known| known.key.strip_suffix("_ns") == Some(times))?;
    let percent: f64 = percent.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(Limited::Times(times, percent / 100.0))
}

fn nearest(name: &str) -> String {
    let known = headline::ALL.iter().map(HeadlineMetric::name);
    known.min_by_key(|known| strsim::osa_distance(known, name)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use rooflens_schema::Opt;

    use super::*;

    /// First token after 100 ns, then a second one after `gap_ns`; latency in µs.
    fn request(token_ns: &[i64]) -> MeasuredRequest<'_> {
        MeasuredRequest {
            output_tokens: token_ns.len() as i64,
            token_ns,
            chunk_tokens: &[Opt::NONE; 2],
            end_ns: token_ns.last().copied(),
            is_load_test: true,
            ..MeasuredRequest::default()
        }
    }

    #[test]
    fn objectives_by_hand() {
        let slo =
            Slo::parse("ttft_p99<500ms, tpot_p50<=50us,error_rate<1%,output_tokens_per_s>=3, latency_p95<2s")
                .unwrap();
        let limits: Vec<f64> = slo.objectives.iter().map(|one| one.limit).collect();
        assert_eq!(limits, [5e8, 5e4, 0.01, 3.0, 2e9]);
        let (quick, slow) = ([100_000_000, 100_040_000], [600_000_000, 600_060_000]);
        let failed = MeasuredRequest { is_failed: true, token_ns: &[], ..request(&quick) };
        let requests = [request(&quick), request(&slow), failed];
        let found = slo.evaluate(&requests);
        let told: Vec<_> =
            found.iter().map(|one| (one.value.map(|value| value.round()), one.is_met)).collect();
        // p99 and p95 of 100 ms, 600 ms and one that failed; the median of TPOT 40 µs, 60 µs and none; one of three; 4
        // tokens in 600.06 ms.
        assert_eq!(told[..3], [(None, false), (Some(60_000.0), false), (Some(0.0), false)]);
        assert_eq!(told[3..], [(Some(7.0), true), (None, false)]);
        let found = slo.evaluate(&requests[..2]);
        let told: Vec<_> =
            found.iter().map(|one| (one.value.map(|value| value.round()), one.is_met)).collect();
        assert_eq!(told[..3], [(Some(595_000_000.0), false), (Some(50_000.0), true), (Some(0.0), true)]);
        // The quick one alone: 1 of 3, and of the 2 in 600.06 ms.
        let goodput = slo.goodput(&requests).unwrap();
        assert_eq!((goodput.requests, goodput.met), (3, 1));
        assert!((goodput.per_s.unwrap() - 1.0 / 0.600_06).abs() < 1e-9, "{goodput:?}");
        assert_eq!(Slo::parse("error_rate<1").unwrap().goodput(&requests), None);
        // What was not measured is not met.
        assert!(!Slo::parse("queued_p99<1s").unwrap().evaluate(&requests)[0].is_met);
    }

    #[test]
    fn errors_name_what_would_do() {
        let error = |text: &str| Slo::parse(text).unwrap_err().to_string();
        assert_eq!(error("tftt_p99<1s"), "no metric is named \"tftt_p99\"; did you mean ttft_p99?");
        assert!(error("ttft<1s").contains("did you mean ttft_p"), "{}", error("ttft<1s"));
        assert!(error("ttft_p99<500").contains("ns, us, ms or s"));
        assert!(error("error_rate<1ms").contains("percentage") && error("ttft_p99").contains("no < or >"));
        assert!(error(" , ").contains("no objective is given"));
        assert!(Slo::parse("ttft_p101<1s").is_err() && Slo::parse("ttft_p99<-1s").is_err());
        assert!(Slo::parse("é<1s").is_err() && Slo::parse("ttft_p99<é").is_err());
    }

    #[test]
    fn the_highest_percentile_limits_a_request() {
        let slo = Slo::parse("ttft_p50<1ms,ttft_p99<5ms").unwrap();
        let (late, quick) = ([3_000_000, 3_000_001], [10, 20]);
        assert_eq!(slo.goodput(&[request(&late), request(&quick)]).unwrap().met, 2);
    }
}
