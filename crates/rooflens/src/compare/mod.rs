//! What changed between runs: is it more than chance, and where does it come from?

mod checks;
mod config;
mod error;
mod exports;
mod facts;
mod gates;
pub mod side;

use std::path::{Path, PathBuf};

use rooflens_analyze::compare::{CheckVerdict, Headline, Pair, all_places, judge, places};
use rooflens_analyze::headline;
use rooflens_report::compare::{html, parts};
use rooflens_report::cost::{csv, markdown, terminal};
use serde::Serialize;

pub use self::error::CompareError;
pub use self::exports::Export;
pub use self::gates::Gate;
use self::side::Side;
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::Format;
use crate::{output, saved};

/// What is asked.
pub struct Question {
    /// The baseline, then what is compared with it.
    pub inputs: Vec<PathBuf>,
    /// What must not be.
    pub gates: Vec<Gate>,
    /// Files for services, of the last input.
    pub exports: Vec<(Export, PathBuf)>,
    /// A page to write.
    pub html: Option<PathBuf>,
    /// What is printed.
    pub format: Format,
    /// Lines on the screen.
    pub limit: usize,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: SchemaTag,
    pairs: &'a [Pair],
    gates: Vec<GateResult<'a>>,
    not_computed: std::collections::BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct GateResult<'a> {
    gate: &'a str,
    b: &'a str,
    failed: bool,
    /// Whether a change of this size could have been detected; null for a gate that is no change.
    could_tell: Option<bool>,
}

/// Answers the question. The exit code tells whether a gate failed.
pub fn compare(question: &Question, console: &Console) -> Result<Exit, CliError> {
    let sides: Vec<Side> =
        question.inputs.iter().map(|path| side::read(path, console)).collect::<Result<_, _>>()?;
    let [base, others @ ..] = sides.as_slice() else { return Ok(Exit::Fine) };
    let pairs: Vec<Pair> = others.iter().map(|side| pair(base, side)).collect();
    let mut results = Vec::new();
    for pair in &pairs {
        for gate in &question.gates {
            let failed = judged(gate, pair)?;
            let could_tell = headline_of(gate, pair).and_then(|found| gate.could_tell(found));
            results.push(GateResult { gate: &gate.text, b: &pair.b, failed, could_tell });
        }
    }
    let pages = || parts(&pairs, question.limit);
    match question.format {
        Format::Text => output::text(&terminal(&pages(), &console.screen(question.limit)))?,
        Format::Md => output::text(&markdown("Comparison", &pages()))?,
        Format::Csv => output::text(&csv(&pages()))?,
        Format::Json => {
            let mut not_computed = std::collections::BTreeMap::new();
            if sides.iter().any(|side| side.samples.is_empty()) {
                let why = "a side has no measured rounds: it is a trace, or a run without the step `measure`";
                not_computed.insert("headline", why.to_owned());
            }
            let gates = results.iter().map(|result| GateResult { ..*result }).collect();
            let document = Document { schema: schema("comparison"), pairs: &pairs, gates, not_computed };
            output::json(&document, console.is_read_by_people())?;
        }
    }
    if let Some(path) = &question.html {
        saved::write(path.clone(), html(&parts(&pairs, usize::MAX)).as_bytes())?;
        console.say(&format!("page: {}", path.display()));
    }
    for (export, path) in &question.exports {
        export.write(sides.last().unwrap_or(base), path)?;
    }
    for result in &results {
        if result.failed {
            let pair =
                pairs.iter().find(|pair| pair.b == result.b && !(pair.is_valid && pair.is_like_for_like));
            let why =
                if pair.is_some() { ": not the same device, workload and model, or invalid" } else { "" };
            console.say(&format!("failed: {} in {}{why}", result.gate, result.b));
        } else if result.could_tell == Some(false) {
            console.warn(&format!(
                "{} in {} passed, but a change this small could not have been detected: the rounds differ more",
                result.gate, result.b
            ));
        }
    }
    Ok(if results.iter().any(|result| result.failed) { Exit::Gate } else { Exit::Fine })
}

fn headline_of<'a>(gate: &Gate, pair: &'a Pair) -> Option<&'a Headline> {
    pair.headline.iter().find(|headline| headline.metric == gate.metric.key)
}

/// Whether a gate fails. A comparison that is invalid, or not like for like, fails every gate.
fn judged(gate: &Gate, pair: &Pair) -> Result<bool, CompareError> {
    let found = headline_of(gate, pair);
    let refuse = |why: &str| Err(CompareError::NotJudged { gate: gate.text.clone(), why: why.to_owned() });
    match found {
        None => refuse("it was not measured on both sides"),
        Some(found) if !gate.is_judged(found) => {
            refuse(found.not_judged.as_deref().unwrap_or("it was not measured on both sides"))
        }
        Some(found) => Ok(!pair.is_valid || !pair.is_like_for_like || gate.fails(found)),
    }
}

fn pair(a: &Side, b: &Side) -> Pair {
    let checks = checks::checks(a, b);
    let metrics = headline::ALL
        .iter()
        .filter(|metric| a.samples.contains_key(metric.key) || b.samples.contains_key(metric.key));
    let mut headline: Vec<Headline> = metrics
        .map(|metric| {
            let (in_a, in_b) = (a.samples.get(metric.key), b.samples.get(metric.key));
            Headline::of(metric.key, metric.more_is_better, in_a, in_b)
        })
        .collect();
    judge(&mut headline);
    let both = || a.places.iter().filter_map(|(place, in_a)| Some((*place, in_a, b.places.get(place)?)));
    let timelines: Vec<_> = both().map(|(_, in_a, in_b)| (in_a, in_b)).collect();
    Pair {
        a: name(&a.path, &b.path),
        b: name(&b.path, &a.path),
        is_valid: checks.iter().all(|check| check.verdict != CheckVerdict::Invalid),
        is_like_for_like: checks::is_like_for_like(&checks),
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
    fn a_name_tells_one_path_from_the_other() {
        let of = |path: &str, other: &str| name(Path::new(path), Path::new(other));
        assert_eq!(of("/d/h100/x.json.gz", "/d/mi300/x.json.gz"), "h100/x.json.gz");
        assert_eq!(of("a/before.json", "a/after.json"), "before.json");
        assert_eq!(of("runs/a", "runs/a"), "runs/a");
        assert_eq!(of("x", "x"), "x");
    }
}
