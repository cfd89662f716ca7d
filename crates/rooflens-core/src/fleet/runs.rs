//! Runs of a store, chosen by what they are.

use rooflens_compare::headline;
use rooflens_compare::trend::{TrendOptions, change_points};
use rooflens_store::StoredRun;
use serde_json::Value as Json;

use super::store::stored;
use crate::document::SchemaTag;
use crate::error::{CompareError, Error, FleetError};
use crate::trend::Trend;

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
        let is_known = name == "tenant" || table.is_some_and(|table| table.position(name).is_some());
        if !is_known || !text.contains('=') {
            let names = table.into_iter().flat_map(|table| &table.columns).map(|column| column.name);
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(FleetError::Value(format!(
                "'{text}' chooses no runs: write COLUMN=VALUE, with one of {names}, tenant"
            ))
            .into());
        }
        Ok((name.to_owned(), value.to_owned()))
    }

    /// Whether a run is meant.
    pub(super) fn takes(&self, run: &StoredRun) -> bool {
        let value = |name: &str| match (name, run.entry.row.get(name)) {
            ("tenant", _) => run.tenant.clone(),
            (_, Some(Json::String(word))) => word.clone(),
            (_, Some(Json::Null) | None) => String::new(),
            (_, Some(other)) => other.to_string(),
        };
        self.columns.iter().all(|(name, wanted)| value(name) == *wanted)
            && self.since.as_ref().is_none_or(|since| run.day >= *since)
            && self.until.as_ref().is_none_or(|until| run.day <= *until)
    }
}

/// Finds where a metric of the runs of a store changed, in the order in which they began.
pub fn store_trend(
    store: &str,
    filter: &StoreFilter,
    key: &str,
    options: TrendOptions,
) -> Result<Trend, Error> {
    let key = headline::find(key).map_or(key, |metric| metric.key);
    let mut runs: Vec<StoredRun> = stored(store)?.into_iter().filter(|run| filter.takes(run)).collect();
    runs.reverse();
    let value =
        |run: &StoredRun| run.entry.row.get("metrics")?.get(key)?.as_f64().filter(|value| value.is_finite());
    let found: Vec<Option<f64>> = runs.iter().map(value).collect();
    let missing: Vec<usize> = (0..found.len()).filter(|&at| found[at].is_none()).collect();
    let values: Vec<f64> = found.iter().flatten().copied().collect();
    if values.is_empty() {
        let known: std::collections::BTreeSet<&String> = runs
            .iter()
            .filter_map(|run| run.entry.row.get("metrics")?.as_object())
            .flat_map(|metrics| metrics.keys())
            .collect();
        let known: Vec<&str> = known.into_iter().map(String::as_str).collect();
        let why = match (runs.len(), known.as_slice()) {
            (0, _) => "no run of it is meant".to_owned(),
            (_, []) => format!("none of its {} runs has a metric", runs.len()),
            (count, known) => format!("none of its {count} runs has {key}; they have {}", known.join(", ")),
        };
        return Err(CompareError::Values { path: store.into(), why }.into());
    }
    let names = runs.iter().zip(&found).filter(|(_, value)| value.is_some());
    let names = names.map(|(run, _)| format!("{} ({})", run.entry.run_id, run.day)).collect();
    let change_points = change_points(&values, &options);
    Ok(Trend {
        schema: SchemaTag::new("trend"),
        key: key.to_owned(),
        options,
        values,
        runs: Some(names),
        change_points,
        missing,
    })
}
