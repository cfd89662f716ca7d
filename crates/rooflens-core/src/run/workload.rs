//! What the workload of a step recorded: its requests, tokens, steps and what it says of itself.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_collect::RunStage;
use rooflens_ingest::formats::workload::{WorkloadRecords, lost_rows, read_events, read_folder};
use rooflens_schema::parquet_io::{Columnar, read_notes, read_table, write_table};
use rooflens_schema::tables::{Requests, StepRow, Steps, Tokens};
use rooflens_schema::{Notes, RunDir, SchemaError, Severity, Stage};
use serde_json::{Value as Json, json};

use super::sampling::clock_base;
use crate::disk;
use crate::error::Error;

pub(crate) fn of_stage(run: &RunDir, stage: RunStage) -> WorkloadRecords {
    of_step(run, stage.name())
}

/// The same by the name of the step. Its rows are those of the run's tables, on the run's clock; only where these have
/// none of it are the files of the workload read, on its own clock. Lines that cannot be read are counted; the run's
/// notes name them already.
pub(crate) fn of_step(run: &RunDir, step: &str) -> WorkloadRecords {
    let stored = stored(run, step).ok().flatten();
    stored.unwrap_or_else(|| read_folder(&run.raw(step), step, &Notes::default()))
}

pub(crate) fn measured(run: &RunDir) -> WorkloadRecords {
    of_stage(run, RunStage::Measure)
}

pub(crate) fn steps_of(steps: &Steps, kind: &str) -> Vec<StepRow> {
    let rows = (0..steps.len()).filter(|row| steps.round_kind[*row].as_deref() == Some(kind));
    rows.filter_map(|row| steps.row(row)).collect()
}

/// The rows of a step in the tables of a run, with what the workload said of itself on the same clock; nothing where
/// there are none.
fn stored(run: &RunDir, step: &str) -> Result<Option<WorkloadRecords>, SchemaError> {
    // A load test has one pass, which is measured and has no name.
    let is_own = |stage: &Option<String>| stage.as_deref().unwrap_or(RunStage::Measure.name()) == step;
    let (mut requests, mut tokens, mut steps) = (Requests::default(), Tokens::default(), Steps::default());
    let all: Requests = read_table(&run.table("requests"))?;
    let own = (0..all.len()).filter(|row| is_own(&all.stage[*row]));
    own.filter_map(|row| all.row(row)).for_each(|row| requests.push(row));
    if !requests.is_empty() {
        let ids: BTreeSet<i64> = requests.request_id.iter().copied().collect();
        let all: Tokens = read_table(&run.table("tokens"))?;
        let own = (0..all.len()).filter(|row| ids.contains(&all.request_id[*row]));
        own.filter_map(|row| all.row(row)).for_each(|row| tokens.push(row));
    }
    let all: Steps = read_table(&run.table("steps"))?;
    let own = (0..all.len()).filter(|row| is_own(&all.stage[*row]));
    own.filter_map(|row| all.row(row)).for_each(|row| steps.push(row));
    let lost_rows = lost_rows(step, &read_notes(run)?);
    if requests.is_empty() && steps.is_empty() {
        return Ok(None);
    }
    let mut told = read_events(&run.raw(step), step, &Notes::default());
    if let Some(base) = clock_base(run) {
        told.align(base);
    }
    if told.said.is_empty() && step == RunStage::Measure.name() {
        told.said = kept_facts(run);
    }
    Ok(Some(WorkloadRecords { requests, tokens, steps, lost: told.lost + lost_rows, lost_rows, ..told }))
}

/// What the workload said of itself, as far as the report keeps it: for a run whose `raw/` is gone.
fn kept_facts(run: &RunDir) -> BTreeMap<String, Json> {
    let metrics = disk::read_json(&run.report().join(disk::METRICS));
    let environment = disk::read_json(&run.report().join("env.json"));
    let hello = json!({
        "runtime": metrics["runtime"],
        "versions": metrics["versions"],
        "python": environment["python"],
    });
    let mut facts = BTreeMap::from([("hello".to_owned(), hello)]);
    for event in ["model", "dataset", "memory"] {
        if metrics[event].is_object() {
            facts.insert(event.to_owned(), metrics[event].clone());
        }
    }
    facts
}

pub(crate) struct Recorded {
    pub(crate) base_unix_ns: i64,
    /// From the first request or step to the end of the last.
    pub(crate) span_ns: i64,
}

/// What the workloads of the steps recorded, each on its own clock. What cannot be read is a note: before the trace is
/// analysed, so that its findings know all that was lost.
pub(crate) fn read_records<'a>(
    run: &RunDir,
    steps: impl Iterator<Item = &'a str>,
    notes: &Notes,
) -> Vec<(&'a str, WorkloadRecords)> {
    let records = steps.map(|step| (step, read_folder(&run.raw(step), step, notes)));
    records.filter(|(_, one)| !one.requests.is_empty() || !one.steps.is_empty()).collect()
}

/// Writes them. Answers the clock base of the run and how long its rows went on; nothing where there are none.
pub(crate) fn write_tables(
    run: &RunDir,
    records: Vec<(&str, WorkloadRecords)>,
    notes: &Notes,
) -> Result<Option<Recorded>, Error> {
    let mut all = WorkloadRecords::default();
    let base = clock_base(run);
    for (step, mut one) in records {
        match base.is_some_and(|base| one.align(base)) {
            true => all.append(one),
            // Times of two clocks in one column would mislead.
            false => {
                let message = "its clock offset is not known: its rows are not in the tables requests, tokens and \
                     steps";
                notes.add(Stage::Ingest, Severity::Info, "workload_clock_unknown", step, message.to_owned());
            }
        }
    }
    write_or_remove(run, &all.requests)?;
    write_or_remove(run, &all.tokens)?;
    write_or_remove(run, &all.steps)?;
    Ok(base.zip(span_ns(&all)).map(|(base_unix_ns, span_ns)| Recorded { base_unix_ns, span_ns }))
}

/// Rows of an older run in the same folder must not pass for those of this one.
fn write_or_remove<T: Columnar>(run: &RunDir, table: &T) -> Result<(), Error> {
    let path = run.table(T::NAME);
    if table.rows() > 0 {
        write_table(run, table).map_err(Error::unwritable_tables)
    } else if path.is_file() {
        std::fs::remove_file(&path).map_err(|source| Error::unwritable(path, source))
    } else {
        Ok(())
    }
}

fn span_ns(all: &WorkloadRecords) -> Option<i64> {
    let steps =
        (0..all.steps.len()).filter_map(|row| Some((all.steps.ts_ns[row].get()?, all.steps.dur_ns[row])));
    let steps: Vec<(i64, i64)> = steps.map(|(ts_ns, dur_ns)| (ts_ns, ts_ns.saturating_add(dur_ns))).collect();
    let sent = all.requests.sent_ts_ns.iter().filter_map(|ts_ns| ts_ns.get());
    let first = steps.iter().map(|step| step.0).chain(sent).min()?;
    let last = steps.iter().map(|step| step.1).chain(all.tokens.ts_ns.iter().copied()).max()?;
    Some(last.saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run::metrics;
    use crate::run::tests::{EVENTS, REQUESTS, STEPS};

    #[test]
    fn tables_and_files_tell_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        for step in ["nsys", "measure"] {
            fs::create_dir_all(run.raw(step)).unwrap();
            for (name, text) in [("events.jsonl", EVENTS), ("requests.jsonl", REQUESTS), ("steps.csv", STEPS)]
            {
                fs::write(run.raw(step).join(name), text).unwrap();
            }
        }
        let notes = Notes::default();
        let of_files = measured(&run);
        let records = read_records(&run, ["nsys", "measure"].into_iter(), &notes);
        write_tables(&run, records, &notes).unwrap();
        rooflens_schema::parquet_io::write_notes(&run, &notes.rows()).unwrap();
        let of_tables = measured(&run);
        // On the run's clock, whose 0 is when the measured pass said hello.
        assert_eq!(of_files.requests.sent_ts_ns[1].get(), Some(5_000));
        assert_eq!(of_tables.requests.sent_ts_ns[1].get(), Some(4_500));
        assert_eq!(of_tables.rounds[0].ts_ns, Some(400));
        assert_eq!((of_files.lost_rows, of_tables.lost_rows), (1, 1));
        assert_eq!(of_tables.text("hello", "runtime"), Some("pytorch"));
        let numbers = metrics::measured(&of_files);
        assert_eq!(metrics::measured(&of_tables), numbers);
        assert_eq!((numbers.requests, numbers.load_ns, numbers.warmup_ns), (2, Some(7), Some(600)));
        // Without the files, only what they alone tell is gone.
        fs::remove_dir_all(run.root().join("raw")).unwrap();
        let kept = metrics::measured(&measured(&run));
        assert_eq!(
            (kept.ttft_ns, kept.tpot_ns, kept.itl_ns),
            (numbers.ttft_ns, numbers.tpot_ns, numbers.itl_ns)
        );
        assert_eq!(
            (kept.output_tokens_per_s, kept.phases_ns),
            (numbers.output_tokens_per_s, numbers.phases_ns)
        );
        assert_eq!((kept.rounds, kept.lost_rows, kept.warmup_ns), (2, 1, None));
        let runs = crate::run::Run::open(folder.path()).unwrap();
        let metric = rooflens_analyze::compare::headline::find("tpot_p50").unwrap();
        assert_eq!(runs.rounds(metric), [100.0, 150.0]);
    }
}
