//! Runs of a store, chosen by what they are.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_analyze::compare::trend::TrendOptions;
use rooflens_schema::tables::PhaseKind;

use super::store::stored;
use crate::error::Error;
use crate::run_index::{IndexedRun, RunFilter, no_such_value, oldest_first};
use crate::trend::{Trend, trend_of_runs};

/// Fewest characters of an id that are shown.
const SHORT: usize = 8;

/// How many characters tell runs apart by their ids.
pub fn characters_of_an_id(runs: &[IndexedRun]) -> usize {
    let mut ids: Vec<&str> = runs.iter().filter_map(|run| run.run_id.as_deref()).collect();
    ids.sort_unstable();
    ids.dedup();
    let shared = |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or_default().max(SHORT)
}

/// What runs say in some columns.
fn known_values(runs: &[IndexedRun], columns: &[&str]) -> BTreeSet<String> {
    let values = runs.iter().flat_map(|run| columns.iter().map(|column| run.text(column)));
    values.filter(|value| !value.is_empty()).collect()
}

/// What no run of a store has, of values that were given for columns of `runs`.
pub(super) fn unknown_values(store: &str, given: &BTreeMap<String, String>) -> Result<Vec<String>, Error> {
    let runs = stored(store)?;
    let mut unknown = Vec::new();
    for (name, wanted) in given.iter().filter(|(_, wanted)| !wanted.is_empty()) {
        let columns: &[&str] = match name.as_str() {
            "hardware" => &["hardware"],
            "model" => &["model"],
            "runtime" => &["runtime"],
            "base" | "other" => &["runtime_build", "runtime_version", "label"],
            "release" => &["label", "runtime_build", "runtime_version"],
            "phase" => &[],
            _ => continue,
        };
        let known = match name.as_str() {
            "phase" => PhaseKind::ALL.iter().map(|phase| phase.as_str().to_owned()).collect(),
            _ => known_values(&runs, columns),
        };
        if !known.contains(wanted) {
            unknown.push(no_such_value(name, columns, wanted, &known));
        }
    }
    Ok(unknown)
}

/// Finds where a metric of the runs of a store changed, in the order in which they began.
pub fn store_trend(
    store: &str,
    filter: &RunFilter,
    key: &str,
    options: TrendOptions,
) -> Result<Trend, Error> {
    let mut runs = filter.choose(store, stored(store)?)?;
    runs.reverse();
    // What does not say when it began stays where its day is.
    if runs.iter().all(|run| run.start_unix_ns().is_some()) {
        oldest_first(&mut runs);
    }
    // A run that two tenants have is one run.
    let mut seen = BTreeSet::new();
    runs.retain(|run| seen.insert(run.run_id.clone()));
    trend_of_runs(store, &runs, key, options)
}
