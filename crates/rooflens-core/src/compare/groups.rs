//! Two sides from a folder of runs: its last two runs, or two groups of them.

use std::collections::BTreeSet;
use std::path::Path;

use rooflens_analyze::compare::headline::{self, MetricSample};
use rooflens_schema::RunDir;

use super::side::{self, Side};
use super::{Comparison, Gate, compare};
use crate::error::Error;
use crate::observer::SharedObserver;
use crate::run::Run;
use crate::run_index::{IndexedRun, RunColumn, RunFilter, listed, mixed_columns, oldest_first};
use crate::text::counted;

/// Two sides, each of one run or of several.
pub struct GroupedSides {
    sides: Vec<Side>,
    names: [String; 2],
    /// What makes the answer less certain, in words.
    pub notes: Vec<String>,
}

struct RunGroup {
    name: String,
    runs: Vec<IndexedRun>,
}

/// Reads two sides from the runs below a folder that match. With `by`, as `tag` or `tag=main,change`, runs are grouped by
/// the values of that column: there must be two of them, or two are named, the baseline first. Without it, they are the
/// last two runs. Damaged runs take no part.
pub fn read_folder(
    folder: &Path,
    filter: &RunFilter,
    by: Option<&str>,
    observer: &SharedObserver,
) -> Result<GroupedSides, Error> {
    let place = folder.display().to_string();
    let mut runs = filter.choose(&place, listed(folder)?)?;
    runs.retain(|run| run.problem.is_none());
    let is_by_name = oldest_first(&mut runs);
    let groups = match by {
        None => last_two(&place, runs)?,
        Some(by) => grouped(&place, &runs, by)?,
    };
    let mut notes = Vec::new();
    if by.is_none() && is_by_name {
        notes.push(
            "some runs do not say when they began: the last two are those of the folders' names".to_owned(),
        );
    }
    for group in &groups {
        let mixed = mixed_columns(&group.runs, |run, column| run.text(column), |column| column);
        if !mixed.is_empty() {
            notes.push(format!("the runs of {} have {}: choose with --where", group.name, mixed.join(", ")));
        }
        if let [_, .., last] = group.runs.as_slice() {
            let last = last.text("folder");
            notes.push(format!("{}: kernels, steps and settings are those of {last}", group.name));
        }
    }
    let sides = groups.iter().map(|group| read(folder, group, observer)).collect::<Result<_, _>>()?;
    Ok(GroupedSides { sides, names: groups.map(|group| group.name), notes })
}

impl GroupedSides {
    /// Compares the second with the first.
    pub fn compare(self, gates: &[Gate]) -> Result<Comparison, Error> {
        let [a, b] = &self.names;
        Ok(compare(self.sides, gates)?.called(a, b))
    }
}

fn not_two(why: String) -> Error {
    Error::usage(why).words(
        "rooflens compare RUNS_DIR --where … --by tag compares two groups, without --by the last two runs",
    )
}

fn last_two(place: &str, mut runs: Vec<IndexedRun>) -> Result<[RunGroup; 2], Error> {
    let alone = |run: IndexedRun| RunGroup { name: run.text("folder"), runs: vec![run] };
    match (runs.pop(), runs.pop()) {
        (Some(last), Some(before)) => Ok([alone(before), alone(last)]),
        (one, _) => {
            let count = usize::from(one.is_some());
            let why =
                format!("two runs are needed, and {} in {place} can be compared", counted(count, "run"));
            Err(not_two(why))
        }
    }
}

fn grouped(place: &str, runs: &[IndexedRun], by: &str) -> Result<[RunGroup; 2], Error> {
    let (name, named) = by.split_once('=').map_or((by, None), |(name, named)| (name, Some(named)));
    let column = RunColumn::parse(name)?;
    // In the order of time, so that the older group is the baseline.
    let mut values: Vec<String> = Vec::new();
    for value in runs.iter().flat_map(|run| column.words(run)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let wanted: Vec<String> = match named {
        None => values.clone(),
        Some(named) => named.split(',').map(|word| word.trim().to_owned()).collect(),
    };
    let [a, b] = wanted.as_slice() else {
        return Err(not_two(match values.as_slice() {
            [] => format!("no run in {place} has a value of {name}"),
            values => format!(
                "two values of {name} are needed, and the runs have {}: {}; name two of them with --by {name}=A,B",
                values.len(),
                values.join(", ")
            ),
        }));
    };
    let group = |value: &String| {
        let of_value = |run: &&IndexedRun| column.words(run).contains(value);
        let runs: Vec<IndexedRun> = runs.iter().filter(of_value).cloned().collect();
        match runs.is_empty() {
            true => Err(not_two(format!("no run has {name}={value}; there are {}", values.join(", ")))),
            false => Ok(RunGroup { name: format!("{name}={value} ({})", counted(runs.len(), "run")), runs }),
        }
    };
    let (a, b) = (group(a)?, group(b)?);
    let of_a: BTreeSet<&Option<String>> = a.runs.iter().map(|run| &run.folder).collect();
    if let Some(both) = b.runs.iter().find(|run| of_a.contains(&run.folder)) {
        return Err(not_two(format!("{} is in both groups", both.text("folder"))));
    }
    Ok([a, b])
}

/// Reads a group. Each of several runs is a round; what is known besides is that of the last.
fn read(root: &Path, group: &RunGroup, observer: &SharedObserver) -> Result<Side, Error> {
    let folders: Vec<_> = group.runs.iter().map(|run| root.join(run.text("folder"))).collect();
    let Some(last) = folders.last() else { return Ok(Side::default()) };
    let side = side::read(last, observer)?;
    if folders.len() == 1 {
        return Ok(side);
    }
    let of_runs: Vec<Vec<(&str, MetricSample)>> = folders
        .iter()
        .map(|folder| {
            let samples = Run::of(RunDir::new(folder)).samples();
            samples.into_iter().map(|(metric, sample)| (metric.key, sample)).collect()
        })
        .collect();
    let sample = |metric: &headline::HeadlineMetric| {
        let of_run = |run: &Vec<(&str, MetricSample)>| {
            run.iter().find(|(key, _)| *key == metric.key).map(|(_, sample)| sample.clone())
        };
        let rounds: Vec<Option<MetricSample>> = of_runs.iter().map(of_run).collect();
        let values: Vec<f64> = rounds.iter().flatten().map(MetricSample::value).collect();
        // Of runs that kept only their values, these are the rounds.
        let joined = MetricSample::joined(rounds).or_else(|| MetricSample::median(&values));
        Some((metric.key, joined?))
    };
    Ok(Side { samples: headline::ALL.iter().filter_map(sample).collect(), turns: Vec::new(), ..side })
}
