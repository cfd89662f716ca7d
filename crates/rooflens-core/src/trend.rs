//! Since when is a number different? A value a run, or a column of a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rooflens_analyze::compare::headline;
use rooflens_analyze::compare::trend::{ChangePoint, TrendOptions, change_points};
use rooflens_ingest::csv::{self, CsvRow};
use rooflens_report::Part;
use rooflens_report::trend::parts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::SchemaTag;
use crate::error::{CompareError, Error};
use crate::run::Run;
use crate::run_index::{IndexedRun, RunFilter, listed, mixed_columns, oldest_first};

/// What is asked.
#[derive(Debug, Clone)]
pub struct TrendRequest {
    /// Runs, oldest first.
    pub runs: Vec<PathBuf>,
    /// A file of values instead.
    pub csv: Option<PathBuf>,
    /// Which metric, or which column.
    pub key: String,
    /// How changes are looked for.
    pub options: TrendOptions,
}

/// The values of a metric in the order of time, and where they change. It is its JSON document, too.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// `rooflens.trend`.
    pub(crate) schema: SchemaTag,
    /// The metric or column.
    pub(crate) key: String,
    /// How changes were looked for.
    pub(crate) options: TrendOptions,
    /// The values that there are.
    pub(crate) values: Vec<f64>,
    /// The run of each value; null where they come from a file.
    pub(crate) runs: Option<Vec<String>>,
    /// Where the values change.
    pub change_points: Vec<ChangePoint>,
    /// Places without a value: they take no part.
    pub(crate) missing: Vec<usize>,
    /// What makes the answer less certain.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Values on each side of a change with which it is not called into question.
const ENOUGH: usize = 3;

impl Trend {
    /// Of values with the names of their runs; nothing where there is none. Adds notes on what is missing, and on
    /// changes that few values tell of.
    fn new(
        key: &str,
        found: Vec<Option<f64>>,
        runs: Option<Vec<String>>,
        options: TrendOptions,
        notes: Vec<String>,
    ) -> Option<Self> {
        let values: Vec<f64> = found.iter().flatten().copied().collect();
        let mut trend = Trend {
            schema: SchemaTag::new("trend"),
            key: key.to_owned(),
            options,
            runs: runs.map(|runs| {
                let known = runs.into_iter().zip(&found).filter(|(_, value)| value.is_some());
                known.map(|(run, _)| run).collect()
            }),
            change_points: change_points(&values, &options),
            missing: (0..found.len()).filter(|&at| found[at].is_none()).collect(),
            values,
            notes,
        };
        if !trend.missing.is_empty() {
            trend.notes.push(format!("{} of {} have no value for {key}", trend.missing.len(), found.len()));
        }
        if let Some(few) = trend.few() {
            let counted = crate::text::counted(few, "value");
            trend.notes.push(format!(
                "only {counted} between two of the changes, or before or after one: it may be chance"
            ));
        }
        (!trend.values.is_empty()).then_some(trend)
    }

    /// How many values there are between two changes, or before or after one, where these are too few to be sure.
    fn few(&self) -> Option<usize> {
        let changes = self.change_points.iter().map(|point| point.index);
        let borders: Vec<usize> = std::iter::once(0).chain(changes).chain([self.values.len()]).collect();
        let shortest = borders.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min();
        shortest.filter(|shortest| *shortest < ENOUGH && !self.change_points.is_empty())
    }

    /// For people.
    pub fn parts(&self) -> Vec<Part> {
        parts(&self.key, &self.values, self.runs.as_deref(), &self.change_points, self.few())
    }
}

/// Finds where a metric changed among values that are known already, each with the name of its run, oldest first.
/// Nothing where there is no value at all.
pub fn trend_of(key: &str, found: &[(String, Option<f64>)], options: TrendOptions) -> Option<Trend> {
    let (runs, values) = found.iter().cloned().unzip();
    Trend::new(key, values, Some(runs), options, Vec::new())
}

/// Finds where a metric changed.
pub fn trend(request: &TrendRequest) -> Result<Trend, Error> {
    let (key, found) = match &request.csv {
        Some(path) => (request.key.clone(), column(path, &request.key)?),
        None => {
            if let Some(path) = request.runs.iter().find(|path| !path.is_dir()) {
                let why = if path.exists() { "it is not a run directory" } else { "it does not exist" };
                return Err(CompareError::Values { path: path.clone(), why: why.to_owned() }.into());
            }
            let metric = headline::find(&request.key).ok_or_else(|| CompareError::metric(&request.key))?;
            let value = |path: &PathBuf| Some(Run::open(path).ok()?.sample(metric)?.value());
            (metric.key.to_owned(), request.runs.iter().map(value).collect())
        }
    };
    let runs = request.csv.is_none().then(|| names(&request.runs));
    Trend::new(&key, found, runs, request.options, Vec::new()).ok_or_else(|| {
        let path = request.csv.as_ref().or(request.runs.first()).cloned().unwrap_or_default();
        CompareError::Values { path, why: format!("it has no value for {key}") }.into()
    })
}

/// Finds where a metric of runs of a store or of a folder changed: oldest first.
pub(crate) fn trend_of_runs(
    place: &str,
    runs: &[IndexedRun],
    key: &str,
    options: TrendOptions,
) -> Result<Trend, Error> {
    let key = headline::find(key).map_or(key, |metric| metric.key);
    let found: Vec<Option<f64>> = runs.iter().map(|run| run.metric(key)).collect();
    let name = |run: &IndexedRun| match &run.folder {
        Some(folder) => folder.clone(),
        None => format!("{} ({})", run.text("run_id"), run.text("day")),
    };
    let measured = runs.iter().zip(&found).filter(|(_, value)| value.is_some()).map(|(run, _)| run);
    let mixed = mixed_columns(measured, |run, column| run.text(column), |column| column);
    let mut notes = Vec::new();
    if !mixed.is_empty() {
        notes.push(format!(
            "these runs have {}, so what changed may be what was run: choose with --where",
            mixed.join(", ")
        ));
    }
    let names = runs.iter().map(name).collect();
    Trend::new(key, found, Some(names), options, notes).ok_or_else(|| {
        let metrics = runs.iter().filter_map(|run| run.row.get("metrics")?.as_object());
        let known: BTreeSet<&str> = metrics.flat_map(|metrics| metrics.keys()).map(String::as_str).collect();
        let known: Vec<&str> = known.into_iter().collect();
        Error::usage(match (runs.len(), known.as_slice()) {
            (0, _) => format!("{place} has no runs"),
            (_, []) => format!("no run in {place} has a metric"),
            (_, known) => format!("no run in {place} has {key}; they have {}", known.join(", ")),
        })
    })
}

/// Finds where a metric changed between the runs below a folder, oldest first. Where some do not say when they began, the
/// names of their folders are the order.
pub fn folder_trend(
    folder: &Path,
    filter: &RunFilter,
    key: &str,
    options: TrendOptions,
) -> Result<Trend, Error> {
    let place = folder.display().to_string();
    let mut runs = filter.choose(&place, listed(folder)?)?;
    let is_by_name = oldest_first(&mut runs);
    let mut trend = trend_of_runs(&place, &runs, key, options)?;
    if is_by_name {
        trend.notes.push(
            "some runs do not say when they began: the order is that of their folders' names".to_owned(),
        );
    }
    Ok(trend)
}

fn names(runs: &[PathBuf]) -> Vec<String> {
    let end = |run: &Path, parts: usize| {
        let all: Vec<String> =
            run.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        all[all.len().saturating_sub(parts)..].join("/")
    };
    let is_unique = |parts: &usize| {
        let ends: BTreeSet<String> = runs.iter().map(|run| end(run, *parts)).collect();
        ends.len() == runs.len()
    };
    let parts = (1..=4).find(is_unique).unwrap_or(usize::MAX);
    runs.iter().map(|run| end(run, parts)).collect()
}

/// A column of a file with a line of names; cells without a finite number have no value.
fn column(path: &Path, name: &str) -> Result<Vec<Option<f64>>, CompareError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CompareError::Values { path: path.to_owned(), why: error.to_string() })?;
    // Spaces around a value, and quotes within those, are not part of it.
    let bare = |cell: &String| cell.trim().trim_matches('"').to_owned();
    let mut rows = text.lines().filter(|line| !line.trim().is_empty()).map(csv::cells);
    let head: Vec<String> = rows.next().unwrap_or_default().iter().map(bare).collect();
    let Some(at) = head.iter().position(|known| known == name) else {
        return Err(CompareError::Column { path: path.to_owned(), name: name.to_owned(), columns: head });
    };
    let value = |row: CsvRow| bare(row.get(at)?).parse::<f64>().ok().filter(|value| value.is_finite());
    Ok(rows.map(value).collect())
}
