//! Runs of a store, chosen by what they are.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_compare::headline;
use rooflens_compare::trend::{TrendOptions, change_points};
use rooflens_schema::tables::PhaseKind;
use rooflens_store::StoredRun;
use serde_json::Value as Json;

use super::store::stored;
use crate::document::SchemaTag;
use crate::error::{Error, FleetError};
use crate::trend::Trend;

/// How many values a message names.
const NAMED: usize = 8;

/// Columns that runs must agree in to be compared.
const COMPARED: [&str; 7] = ["hardware", "model", "runtime", "dtype", "tp", "workload", "format"];

/// Which runs: those whose row says all of this.
#[derive(Debug, Clone, Default)]
pub struct StoreFilter {
    /// Columns of `runs`, or `tenant`, and the values that they must have.
    pub columns: Vec<(String, String)>,
    /// First day.
    pub since: Option<String>,
    /// Last day.
    pub until: Option<String>,
}

impl StoreFilter {
    /// Reads `column=value`.
    pub fn parse(text: &str) -> Result<(String, String), Error> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let table = rooflens_store::tables::table("runs");
        let is_known =
            ["tenant", "day"].contains(&name) || table.is_some_and(|table| table.position(name).is_some());
        if !is_known || !text.contains('=') {
            let names = table.into_iter().flat_map(|table| &table.columns).map(|column| column.name);
            let names = names.collect::<Vec<_>>().join(", ");
            let what = if is_known { "has no value" } else { "names no column of runs" };
            return Err(FleetError::Choice(format!(
                "'{text}' {what}: write COLUMN=VALUE, with one of {names}, tenant, day"
            ))
            .into());
        }
        Ok((name.to_owned(), value.to_owned()))
    }

    /// The runs of a store that match, in their order. It is an error where it has runs and none of them does.
    pub(super) fn choose(&self, store: &str, all: &[StoredRun]) -> Result<Vec<StoredRun>, Error> {
        let meant: Vec<StoredRun> = all.iter().filter(|run| self.takes(run)).cloned().collect();
        match meant.is_empty() && !all.is_empty() {
            true => Err(self.nothing_meant(store, all).into()),
            false => Ok(meant),
        }
    }

    /// Where no run is meant: which values there are.
    pub(super) fn nothing_meant(&self, store: &str, runs: &[StoredRun]) -> FleetError {
        for (name, wanted) in &self.columns {
            let known = known_values(runs, &[name]);
            if !known.contains(wanted) {
                return FleetError::Choice(no_such_value(name, &[name], wanted, &known));
            }
        }
        FleetError::Choice(format!("no run in {store} matches all these options"))
    }

    /// Whether a run is meant.
    pub(super) fn takes(&self, run: &StoredRun) -> bool {
        self.columns.iter().all(|(name, wanted)| value_of(run, name) == *wanted)
            && self.since.as_ref().is_none_or(|since| run.day >= *since)
            && self.until.as_ref().is_none_or(|until| run.day <= *until)
    }
}

/// Fewest characters of an id that are shown.
const SHORT: usize = 8;

/// How many characters tell the runs of a store apart.
pub(super) fn characters_of_an_id(runs: &[StoredRun]) -> usize {
    let mut ids: Vec<&str> = runs.iter().map(|run| run.entry.run_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let shared = |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or_default().max(SHORT)
}

/// A column of a run's row, as text; empty where it is null.
fn value_of(run: &StoredRun, name: &str) -> String {
    match (name, run.entry.row.get(name)) {
        ("tenant", _) => run.tenant.clone(),
        ("day", _) => run.day.clone(),
        (_, Some(Json::String(word))) => word.clone(),
        (_, Some(Json::Null) | None) => String::new(),
        (_, Some(other)) => other.to_string(),
    }
}

/// What runs say in some columns.
fn known_values(runs: &[StoredRun], columns: &[&str]) -> BTreeSet<String> {
    let values = runs.iter().flat_map(|run| columns.iter().map(|column| value_of(run, column)));
    values.filter(|value| !value.is_empty()).collect()
}

fn no_such_value(name: &str, columns: &[&str], wanted: &str, known: &BTreeSet<String>) -> String {
    let some: Vec<&str> = known.iter().take(NAMED).map(String::as_str).collect();
    match (some.is_empty(), known.len() > NAMED) {
        (true, _) => format!(
            "no run has {name}={wanted}: none has a value of {} (`rooflens store set`)",
            columns.join(", ")
        ),
        (false, more) => {
            let more = if more { ", …" } else { "" };
            format!("no run has {name}={wanted}; there are {}{more}", some.join(", "))
        }
    }
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
    filter: &StoreFilter,
    key: &str,
    options: TrendOptions,
) -> Result<Trend, Error> {
    let key = headline::find(key).map_or(key, |metric| metric.key);
    let mut runs = filter.choose(store, &stored(store)?)?;
    runs.reverse();
    // A run that two tenants have is one run.
    let mut seen = BTreeSet::new();
    runs.retain(|run| seen.insert(run.entry.run_id.clone()));
    let value =
        |run: &StoredRun| run.entry.row.get("metrics")?.get(key)?.as_f64().filter(|value| value.is_finite());
    let found: Vec<Option<f64>> = runs.iter().map(value).collect();
    let missing: Vec<usize> = (0..found.len()).filter(|&at| found[at].is_none()).collect();
    let values: Vec<f64> = found.iter().flatten().copied().collect();
    if values.is_empty() {
        let known: BTreeSet<&String> = runs
            .iter()
            .filter_map(|run| run.entry.row.get("metrics")?.as_object())
            .flat_map(|metrics| metrics.keys())
            .collect();
        let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
        let why = match (runs.len(), known.as_slice()) {
            (0, _) => format!("{store} has no runs"),
            (_, []) => format!("no run in {store} has a metric"),
            (_, known) => format!("no run in {store} has {key}; they have {}", known.join(", ")),
        };
        return Err(FleetError::Choice(why).into());
    }
    let names = runs.iter().zip(&found).filter(|(_, value)| value.is_some());
    let names = names.map(|(run, _)| format!("{} ({})", run.entry.run_id, run.day)).collect();
    let change_points = change_points(&values, &options);
    let different = |column: &&str| {
        let measured = runs.iter().zip(&found).filter(|(_, value)| value.is_some());
        let known: BTreeSet<String> = measured.map(|(run, _)| value_of(run, column)).collect();
        (known.len() > 1).then(|| format!("{} values of {column}", known.len()))
    };
    let mixed: Vec<String> = COMPARED.iter().filter_map(different).collect();
    let mut notes = Vec::new();
    if !mixed.is_empty() {
        notes.push(format!(
            "these runs have {}, so what changed may be what was run: choose with --where",
            mixed.join(", ")
        ));
    }
    Ok(Trend {
        schema: SchemaTag::new("trend"),
        key: key.to_owned(),
        options,
        values,
        runs: Some(names),
        change_points,
        missing,
        notes,
    }
    .with_notes())
}
