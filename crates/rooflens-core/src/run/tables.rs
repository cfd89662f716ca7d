//! The tables `requests`, `tokens` and `steps` of a run: what the workload of every step recorded, on the run's clock.

use rooflens_ingest::formats::workload::{WorkloadRecords, read_folder};
use rooflens_schema::parquet_io::{Columnar, write_table};
use rooflens_schema::{Notes, RunDir, Severity, Stage};

use super::sampling::clock_base;
use crate::error::Error;

/// When the rows of these tables were recorded.
pub(crate) struct Recorded {
    /// What `ts_ns` 0 is on the wall clock, since 1970.
    pub(crate) base_unix_ns: i64,
    /// From the first request or step to the end of the last.
    pub(crate) span_ns: i64,
}

/// What the workloads of the steps recorded, each on its own clock. What cannot be read is a note: before the trace is
/// analysed, so that its findings know all that was lost.
pub fn read<'a>(
    run: &RunDir,
    steps: impl Iterator<Item = &'a str>,
    notes: &Notes,
) -> Vec<(&'a str, WorkloadRecords)> {
    let records = steps.map(|step| (step, read_folder(&run.raw(step), step, notes)));
    records.filter(|(_, one)| !one.requests.is_empty() || !one.steps.is_empty()).collect()
}

/// Writes them. Answers the clock base of the run and how long its rows went on; nothing where there are none.
pub fn write(
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
        write_table(run, table).map_err(Error::UnwritableTables)
    } else if path.is_file() {
        std::fs::remove_file(&path).map_err(|source| Error::Unwritable { path, source })
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
