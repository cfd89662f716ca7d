//! The log of a BLAS library beside a trace: its calls become part of the trace's rank.

use std::path::{Path, PathBuf};

use rooflens_ingest::{Artefact, IngestError, InputSource, no_progress, rank_in_name};
use rooflens_schema::{NameId, Notes, Opt, RankTables};

use crate::error::Error;
use crate::input::{Input, TraceFile, missing};

/// Gives each log to its trace: the only one, or the one of the same rank by name.
pub(crate) fn attach(input: &mut Input, logs: &[PathBuf]) -> Result<(), Error> {
    if logs.is_empty() {
        return Ok(());
    }
    let Input::Traces(files) = input else {
        return Err(Error::usage("a run directory already has its tables: --gemms needs a trace")
            .command("rooflens analyze TRACE --gemms LOG -o RUN"));
    };
    for log in logs {
        if !log.exists() {
            return Err(missing(log));
        }
        let rank = rank_in_name(log);
        let wanted = |file: &&mut TraceFile| rank.is_some() && file.rank_by_name == rank;
        let file = match &mut files[..] {
            [only] => Some(only),
            several => several.iter_mut().find(wanted),
        };
        match file {
            Some(file) if file.gemms.is_none() => file.gemms = Some(log.clone()),
            _ => {
                return Err(Error::usage(format!(
                    "{} matches no trace: with several traces, the rank is read from the file name, as in \
                     cublas_rank3.log",
                    log.display()
                ))
                .command("rooflens analyze TRACE --gemms LOG"));
            }
        }
    }
    Ok(())
}

/// The calls of a log.
pub(crate) fn read(log: &Path, notes: &Notes) -> Result<RankTables, IngestError> {
    let found =
        rooflens_ingest::read(Artefact::open(&InputSource::File(log.to_owned()), no_progress())?, notes)?;
    if found.gemms.is_empty() {
        let source_name = found.meta.source;
        let why = "it has no GEMM".to_owned();
        return Err(IngestError::NoRecords { source_name, format: "blaslog", why });
    }
    Ok(found)
}

/// Reads the log and adds its calls.
pub(crate) fn add(tables: &mut RankTables, log: &Path, notes: &Notes) -> Result<(), IngestError> {
    let mut found = read(log, notes)?;
    let names = &mut tables.names;
    let mut own = |id: &mut NameId| *id = names.add(found.names.get(*id));
    found.gemms.library_id.iter_mut().for_each(&mut own);
    found.gemms.function_id.iter_mut().for_each(&mut own);
    for column in [
        &mut found.gemms.a_dtype_id,
        &mut found.gemms.b_dtype_id,
        &mut found.gemms.d_dtype_id,
        &mut found.gemms.compute_id,
        &mut found.gemms.epilogue_id,
        &mut found.gemms.algorithm_id,
    ] {
        for cell in column.iter_mut() {
            *cell = cell.get().map_or(Opt::NONE, |mut id| {
                own(&mut id);
                Opt::some(id)
            });
        }
    }
    tables.gemms.append(&mut found.gemms);
    Ok(())
}
