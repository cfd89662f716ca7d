//! Since when is a number different? A value a run, or a column of a file.

use std::path::{Path, PathBuf};

use rooflens_analyze::headline::{self, Sample};
use rooflens_analyze::trend::{ChangePoint, Options, change_points};
use rooflens_report::cost::terminal;
use rooflens_report::trend::parts;
use serde::Serialize;

use crate::commands::AnswerFormat;
use crate::compare::{CompareError, side};
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::output;

/// What is asked.
pub struct Question {
    /// Runs, oldest first.
    pub runs: Vec<PathBuf>,
    /// A file of values instead.
    pub csv: Option<PathBuf>,
    /// Which number.
    pub key: String,
    /// How changes are looked for.
    pub options: Options,
    /// What is printed.
    pub format: AnswerFormat,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: SchemaTag,
    key: &'a str,
    options: Options,
    values: &'a [f64],
    /// The run of each value; null where they come from a file.
    runs: Option<&'a [String]>,
    change_points: &'a [ChangePoint],
    /// Places without a value: they take no part.
    missing: &'a [usize],
}

/// Answers the question.
pub fn trend(question: &Question, console: &Console) -> Result<(), CliError> {
    let (key, found) = match &question.csv {
        Some(path) => (question.key.clone(), column(path, &question.key)?),
        None => {
            let metric = headline::find(&question.key).ok_or_else(|| CompareError::metric(&question.key))?;
            let value = |run: &PathBuf| side::sample(run, metric).as_ref().map(Sample::value);
            (metric.key.to_owned(), question.runs.iter().map(value).collect())
        }
    };
    let missing: Vec<usize> = (0..found.len()).filter(|&i| found[i].is_none()).collect();
    let values: Vec<f64> = found.into_iter().flatten().collect();
    if values.is_empty() {
        let path = question.csv.as_ref().or(question.runs.first()).cloned().unwrap_or_default();
        return Err(CompareError::Values { path, why: format!("it has no value of {key}") }.into());
    }
    let points = change_points(&values, &question.options);
    let names = question.csv.is_none().then(|| names(&question.runs, &missing));
    match question.format {
        AnswerFormat::Text => {
            let parts = parts(&key, &values, names.as_deref(), &points);
            output::text(&terminal(&parts, &console.screen(points.len())))?;
            if !missing.is_empty() {
                console.warn(&format!(
                    "{} of {} have no value of {key}",
                    missing.len(),
                    missing.len() + values.len()
                ));
            }
            Ok(())
        }
        AnswerFormat::Json => {
            let document = Document {
                schema: schema("trend"),
                key: &key,
                options: question.options,
                values: &values,
                runs: names.as_deref(),
                change_points: &points,
                missing: &missing,
            };
            output::json(&document, console.is_read_by_people())
        }
    }
}

/// The runs that have a value, by the end of their paths that tells them apart.
fn names(runs: &[PathBuf], missing: &[usize]) -> Vec<String> {
    let end = |run: &Path, parts: usize| {
        let all: Vec<String> =
            run.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        all[all.len().saturating_sub(parts)..].join("/")
    };
    let is_unique = |parts: &usize| {
        let ends: std::collections::BTreeSet<String> = runs.iter().map(|run| end(run, *parts)).collect();
        ends.len() == runs.len()
    };
    let parts = (1..=4).find(is_unique).unwrap_or(usize::MAX);
    let known = runs.iter().enumerate().filter(|(at, _)| !missing.contains(at));
    known.map(|(_, run)| end(run, parts)).collect()
}

/// A column of a file with a line of names; cells without a finite number have no value.
fn column(path: &Path, name: &str) -> Result<Vec<Option<f64>>, CompareError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CompareError::Values { path: path.to_owned(), why: error.to_string() })?;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let cells =
        |line: &str| line.split(',').map(|cell| cell.trim().trim_matches('"').to_owned()).collect::<Vec<_>>();
    let head = cells(lines.next().unwrap_or_default());
    let Some(at) = head.iter().position(|known| known == name) else {
        return Err(CompareError::Column { path: path.to_owned(), name: name.to_owned(), columns: head });
    };
    let value = |line: &str| cells(line).get(at)?.parse::<f64>().ok().filter(|value| value.is_finite());
    Ok(lines.map(value).collect())
}
