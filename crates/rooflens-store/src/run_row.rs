//! The row of a run in a store: what the run itself tells, and what whoever adds it knows besides.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use rooflens_schema::tables::RunRow;
use serde_json::{Map, Value as Json};

use crate::error::StoreError;
use crate::rollup::Columns;
use crate::tables::{ColumnValue, table};

/// Columns of `runs` that whoever adds a run may set.
pub const SETTABLE: &[&str] = &[
    "hardware",
    "model",
    "runtime",
    "runtime_version",
    "runtime_build",
    "dtype",
    "workload",
    "node",
    "label",
    "devices",
    "tp",
    "pp",
    "dp",
    "ep",
];

/// The row of a run as a store has it: its columns of `runs`, with those that whoever adds it sets.
pub fn row(
    run: &RunRow,
    devices: Option<i32>,
    set: &BTreeMap<String, String>,
) -> Result<Map<String, Json>, StoreError> {
    let degrees: Json =
        run.parallelism.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let degree = |name: &str| degrees[name].as_i64();
    let asked = || Some(degree("tp")? * degree("pp").unwrap_or(1) * degree("dp").unwrap_or(1));
    let text = |word: &Option<String>| word.clone().map_or(Json::Null, Json::from);
    let mut row = Map::new();
    let mut put = |name: &str, value: Json| drop(row.insert(name.to_owned(), value));
    put("run_id", run.run_id.as_str().into());
    put("kind", run.kind.as_str().into());
    put("format", run.format.as_str().into());
    put("start_unix_ns", run.start_unix_ns.get().into());
    put("span_ns", run.span_ns.into());
    put("events", run.events.into());
    put("ranks", run.ranks.into());
    put("world_size", run.world_size.get().into());
    put("devices", devices.map(i64::from).or_else(asked).into());
    put("hardware", text(&run.hardware));
    put("status", run.status.as_str().into());
    put("model", run.model.as_deref().map_or(Json::Null, |name| last_part(name).into()));
    put("runtime", text(&run.runtime));
    put("runtime_version", text(&run.runtime_version));
    put("runtime_build", text(&run.runtime_build));
    put("rooflens_version", text(&run.rooflens_version));
    put("driver", text(&run.driver));
    put("dtype", text(&run.dtype));
    for name in ["tp", "pp", "dp", "ep"] {
        put(name, degree(name).into());
    }
    put("workload", run.workload.as_deref().map_or(Json::Null, |name| last_part(name).into()));
    put("node", Json::Null);
    put("label", Json::Null);
    change(&mut row, set)?;
    Ok(row)
}

/// Sets columns of a row that may be set; an empty text is as if nothing were known.
pub fn change(row: &mut Map<String, Json>, set: &BTreeMap<String, String>) -> Result<(), StoreError> {
    for (name, value) in set {
        if !SETTABLE.contains(&name.as_str()) {
            let why = format!("'{name}' cannot be set; these can: {}", SETTABLE.join(", "));
            return Err(StoreError::Value { why });
        }
        let column = table("runs").and_then(|runs| runs.columns.get(runs.position(name)?));
        let is_number = column.is_some_and(|column| column.value == ColumnValue::Int);
        let value = match (is_number, value.as_str()) {
            (_, "") => Json::Null,
            (false, text) => text.into(),
            (true, text) => {
                let number = text.parse::<i32>().ok().filter(|number| *number > 0);
                let why = || format!("'{text}' is not a value for {name}: write a whole number above 0");
                number.ok_or_else(|| StoreError::Value { why: why() })?.into()
            }
        };
        row.insert(name.clone(), value);
    }
    Ok(())
}

/// The last part of a path; a name such as `Qwen/Qwen3-8B` is none.
fn last_part(name: &str) -> &str {
    let is_path = name.starts_with(['/', '.', '~']) || name.matches('/').count() > 1 || name.contains('\\');
    match is_path {
        true => name.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(name),
        false => name,
    }
}

pub(crate) fn batch<'r>(
    rows: impl Iterator<Item = &'r Map<String, Json>> + Clone,
) -> Result<RecordBatch, StoreError> {
    let mut columns = Columns::new("runs");
    for column in table("runs").into_iter().flat_map(|table| &table.columns) {
        let values = rows.clone().map(|row| row.get(column.name));
        match column.value {
            ColumnValue::Text => {
                let word = |value: Option<&'r Json>| match (value.and_then(Json::as_str), column.nullable) {
                    (None, false) => Some(""),
                    (word, _) => word,
                };
                columns.text(values.map(word));
            }
            ColumnValue::Int => {
                let number =
                    |value: Option<&Json>| value?.as_i64().and_then(|number| i32::try_from(number).ok());
                columns.int(values.map(|value| number(value).or((!column.nullable).then_some(0))));
            }
            _ => columns
                .big(values.map(|value| value.and_then(Json::as_i64).or((!column.nullable).then_some(0)))),
        }
    }
    columns.batch()
}

pub(crate) fn metrics_batch(rows: &[&Map<String, Json>]) -> Result<RecordBatch, StoreError> {
    let mut all: Vec<(&str, &str, f64)> = Vec::new();
    for row in rows {
        let run = row.get("run_id").and_then(Json::as_str).unwrap_or_default();
        let metrics = row.get("metrics").and_then(Json::as_object).into_iter().flatten();
        all.extend(metrics.filter_map(|(key, value)| Some((key.as_str(), run, value.as_f64()?))));
    }
    all.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    let mut columns = Columns::new("run_metrics");
    columns.text(all.iter().map(|one| Some(one.1)));
    columns.text(all.iter().map(|one| Some(one.0)));
    columns.double(all.iter().map(|one| Some(one.2)));
    columns.batch()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cut_and_names_are_not() {
        assert_eq!(last_part("/srv/ann/models/tiny/"), "tiny");
        assert_eq!(last_part("./tiny"), "tiny");
        assert_eq!(last_part("Qwen/Qwen3-8B"), "Qwen/Qwen3-8B");
        assert_eq!(last_part("a/b/c"), "c");
    }

    #[test]
    fn only_known_columns_can_be_set() {
        let set = |name: &str| [(name.to_owned(), "x".to_owned())].into();
        let run = RunRow::new("trace");
        assert!(row(&run, None, &set("run_id")).is_err());
        assert!(row(&run, None, &set("devices")).is_err());
        let eight = [("devices".to_owned(), "8".to_owned())].into();
        assert_eq!(row(&run, None, &eight).expect("a row")["devices"], 8);
        let known = row(&run, Some(8), &set("node")).expect("a row");
        assert_eq!((known["node"].as_str(), known["devices"].as_i64()), (Some("x"), Some(8)));
        let batch = batch([&known].into_iter()).expect("a batch");
        assert_eq!(batch.num_columns(), table("runs").map_or(0, |table| table.columns.len()));
    }
}
