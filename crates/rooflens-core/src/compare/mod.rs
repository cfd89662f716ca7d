//! What changed between runs: is it more than chance, and where does it come from?

mod checks;
mod config;
mod exports;
mod facts;
mod gates;
mod groups;
mod side;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_analyze::compare::headline;
use rooflens_analyze::compare::{CheckVerdict, Headline, Pair, all_places, judge, places};
use rooflens_report::Part;
use rooflens_report::compare::parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::exports::ExportFormat;
pub use self::gates::Gate;
pub use self::groups::{GroupedSides, read_folder};
pub(crate) use self::side::{ROUNDS, Side};
use crate::error::CompareError;
use crate::error::Error;
use crate::observer::SharedObserver;
use rooflens_schema::SchemaTag;

/// A comparison of runs or traces with a baseline.
pub struct Comparison {
    /// The baseline, then what was compared with it.
    pub sides: Vec<Side>,
    /// Each of the others beside the baseline.
    pub pairs: Vec<Pair>,
    /// What became of each gate in each pair.
    pub gates: Vec<GateResult>,
}

/// The JSON document: what changed between runs or traces.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonDocument<'a> {
    /// `rooflens.comparison`.
    pub(crate) schema: SchemaTag,
    /// Each of the others beside the baseline.
    pub(crate) pairs: Cow<'a, [Pair]>,
    /// What became of each gate in each pair.
    pub(crate) gates: Cow<'a, [GateResult]>,
    /// What is not there, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, String>,
}

/// What became of a gate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// The gate, as it was given.
    pub gate: String,
    /// What was compared with the baseline.
    pub b: String,
    /// Whether it failed.
    pub failed: bool,
    /// Whether a change of this size could have been detected; null for a gate that is no change.
    pub could_tell: Option<bool>,
}

impl Comparison {
    /// For programs.
    pub fn document(&self) -> ComparisonDocument<'_> {
        let mut not_computed = BTreeMap::new();
        if self.sides.iter().any(|side| side.samples.is_empty()) {
            let why = "one side has no measured rounds: it is a trace, or a run without the step `measure`";
            not_computed.insert("headline".into(), why.to_owned());
        }
        ComparisonDocument {
            schema: SchemaTag::new("comparison"),
            pairs: (&self.pairs).into(),
            gates: (&self.gates).into(),
            not_computed,
        }
    }

    /// For people, with at most so many rows in each table.
    pub fn parts(&self, limit: usize) -> Vec<Part> {
        parts(&self.pairs, limit)
    }

    /// Calls the sides of the only pair something else than their folders.
    pub(crate) fn called(mut self, a: &str, b: &str) -> Self {
        self.pairs.iter_mut().for_each(|pair| (pair.a, pair.b) = (a.to_owned(), b.to_owned()));
        self.gates.iter_mut().for_each(|gate| gate.b = b.to_owned());
        self
    }

    /// Whether any gate failed.
    pub fn is_failed(&self) -> bool {
        self.gates.iter().any(|result| result.failed)
    }

    /// Why a gate may have failed although nothing got worse: the two are not like for like.
    pub fn is_unlike(&self, result: &GateResult) -> bool {
        self.pairs.iter().any(|pair| pair.b == result.b && !(pair.is_valid && pair.is_like_for_like))
    }
}

/// Reads what is compared: the baseline first.
pub fn read(paths: &[PathBuf], observer: &SharedObserver) -> Result<Vec<Side>, Error> {
    if paths.len() < 2 {
        return Err(CompareError::OneInput.into());
    }
    paths.iter().map(|path| side::read(path, observer)).collect()
}

/// Compares each of the others with the first.
pub fn compare(sides: Vec<Side>, gates: &[Gate]) -> Result<Comparison, Error> {
    let [base, others @ ..] = sides.as_slice() else { return Err(CompareError::OneInput.into()) };
    let pairs: Vec<Pair> = others.iter().map(|side| pair(base, side)).collect();
    let mut results = Vec::new();
    for pair in &pairs {
        for gate in gates {
            let failed = judged(gate, pair)?;
            let could_tell = headline_of(gate, pair).and_then(|found| gate.could_tell(found));
            results.push(GateResult { gate: gate.text.clone(), b: pair.b.clone(), failed, could_tell });
        }
    }
    Ok(Comparison { sides, pairs, gates: results })
}

fn headline_of<'a>(gate: &Gate, pair: &'a Pair) -> Option<&'a Headline> {
    pair.headline.iter().find(|headline| headline.metric == gate.metric.key)
}

/// Whether a gate fails. A comparison that is invalid, or not like for like, fails every gate.
fn judged(gate: &Gate, pair: &Pair) -> Result<bool, CompareError> {
    let found = headline_of(gate, pair);
    let refuse = |why: &str, too_few: bool| {
        Err(CompareError::NotJudged { gate: gate.text.clone(), why: why.to_owned(), too_few })
    };
    let is_on_both = |row: &Headline| row.a.is_some() && row.b.is_some();
    match found {
        Some(found) if !gate.is_judged(found) && is_on_both(found) => refuse(
            found.not_judged.as_deref().unwrap_or(
                "it is 0 in A, so that there is no change in percent; give a value, as in error_rate>1%",
            ),
            found.not_judged.is_some(),
        ),
        None => refuse(&not_on_both(pair), false),
        Some(found) if !gate.is_judged(found) => refuse(&not_on_both(pair), false),
        Some(found) => Ok(!pair.is_valid || !pair.is_like_for_like || gate.fails(found)),
    }
}

/// Why there is nothing to judge, and what there is.
fn not_on_both(pair: &Pair) -> String {
    let both = pair.headline.iter().filter(|row| row.a.is_some() && row.b.is_some());
    let names: Vec<&str> = both
        .map(|row| match headline::find(&row.metric) {
            Some(metric) => metric.name(),
            None => &*row.metric,
        })
        .collect();
    match names.as_slice() {
        [] => {
            "no metric was measured on both sides; gates need runs of `rooflens run`, not traces".to_owned()
        }
        names => format!("it was not measured on both sides; these were: {}", names.join(", ")),
    }
}

fn pair(a: &Side, b: &Side) -> Pair {
    let checks = checks::checks(a, b);
    let metrics = headline::ALL
        .iter()
        .filter(|metric| a.samples.contains_key(metric.key) || b.samples.contains_key(metric.key));
    let is_interleaved = side::took_turns(&a.turns, &b.turns);
    let of = if is_interleaved { Headline::of_pairs } else { Headline::of };
    let mut headline: Vec<Headline> = metrics
        .map(|metric| {
            let (in_a, in_b) = (a.samples.get(metric.key), b.samples.get(metric.key));
            of(metric.key, metric.more_is_better, in_a, in_b)
        })
        .collect();
    judge(&mut headline);
    if !is_interleaved && !a.turns.is_empty() && !b.turns.is_empty() {
        side::leave_unjudged(&mut headline);
    }
    let both = || a.places.iter().filter_map(|(place, in_a)| Some((*place, in_a, b.places.get(place)?)));
    let timelines: Vec<_> = both().map(|(_, in_a, in_b)| (in_a, in_b)).collect();
    Pair {
        a: name(&a.path, &b.path),
        b: name(&b.path, &a.path),
        is_valid: checks.iter().all(|check| check.verdict != CheckVerdict::Invalid),
        is_like_for_like: checks::is_like_for_like(&checks),
        is_interleaved,
        differences: checks::differences(a, b),
        headline,
        checks,
        accounts: all_places(&timelines),
        places: places(both()),
    }
}

/// The shortest end of a path that is not also the end of the other.
fn name(path: &Path, other: &Path) -> String {
    let parts = |path: &Path| -> Vec<String> {
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (own, other) = (parts(path), parts(other));
    let same = own.iter().rev().zip(other.iter().rev()).take_while(|(own, other)| own == other).count();
    let from = own.len().saturating_sub(same + 1);
    own[from..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_that_cannot_be_judged_says_what_could() {
        let gate = Gate::parse("tpot_p50>+3%").unwrap();
        let why = |headline: Vec<Headline>| {
            let pair = Pair { headline, ..pair(&Side::default(), &Side::default()) };
            judged(&gate, &pair).unwrap_err().to_string()
        };
        assert_eq!(
            why(Vec::new()),
            "tpot_p50>+3% cannot be evaluated: no metric was measured on both sides; gates need runs of \
             `rooflens run`, not traces"
        );
        let sample = headline::MetricSample::median(&[1.0, 2.0, 3.0, 4.0]);
        let row = |name: &str, in_b: bool| {
            let key = headline::find(name).unwrap().key;
            Headline::of(key, false, sample.as_ref(), sample.as_ref().filter(|_| in_b))
        };
        let told = why(vec![row("tpot_p50", false), row("ttft_p50", true)]);
        assert!(told.ends_with("it was not measured on both sides; these were: ttft_p50"), "{told}");
    }

    #[test]
    fn a_name_tells_one_path_from_the_other() {
        let of = |path: &str, other: &str| name(Path::new(path), Path::new(other));
        assert_eq!(of("/d/h100/x.json.gz", "/d/mi300/x.json.gz"), "h100/x.json.gz");
        assert_eq!(of("a/before.json", "a/after.json"), "before.json");
        assert_eq!(of("runs/a", "runs/a"), "runs/a");
        assert_eq!(of("x", "x"), "x");
    }
}
