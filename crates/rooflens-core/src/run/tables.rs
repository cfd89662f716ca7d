//! The tables `requests`, `tokens` and `steps` of a run: what the workload of every step recorded, on the run's clock.

use rooflens_ingest::formats::workload::{Workload, read_folder};
use rooflens_schema::parquet_io::write_table;
use rooflens_schema::{Notes, RunDir, SchemaError, Severity, Stage};

use super::sampling::clock_base;
use crate::error::Error;

/// Writes them, as far as the steps left rows.
pub fn write<'a>(run: &RunDir, steps: impl Iterator<Item = &'a str>, notes: &Notes) -> Result<(), Error> {
    let mut all = Workload::default();
    let base = clock_base(run);
    for step in steps {
        let mut one = read_folder(&run.raw(step), step, notes);
        if one.requests.is_empty() && one.steps.is_empty() {
            continue;
        }
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
    write_all(run, &all).map_err(Error::UnwritableTables)
}

fn write_all(run: &RunDir, all: &Workload) -> Result<(), SchemaError> {
    if !all.requests.is_empty() {
        write_table(run, &all.requests)?;
    }
    if !all.tokens.is_empty() {
        write_table(run, &all.tokens)?;
    }
    if !all.steps.is_empty() {
        write_table(run, &all.steps)?;
    }
    Ok(())
}
