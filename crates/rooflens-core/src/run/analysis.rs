//! The trace of a run, through the same line as `rooflens analyze`.

use std::path::{Path, PathBuf};

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Kernels, Operators};
use rooflens_analyze::top::KernelTotals;
use rooflens_collect::RunStage;
use rooflens_collect::settings::Output;
use rooflens_report::Extras;
use rooflens_report::run_tables;
use rooflens_schema::parquet_io::RunReader;
use rooflens_schema::{Note, Notes, RunDir, Severity, Stage as NoteStage};

use crate::error::{Cause, Error, ErrorKind};
use crate::input::{Input, ReadOptions, gemm_log, open_input};
use crate::model::trace_device;
use crate::observer::SharedObserver;
use crate::{job, kernels, saved};

/// Analyses the report that Nsight Compute left, where there is one, into `report/kernels/`. One that cannot
/// be read is a note. `metrics` are those that the config asked for: columns of the table.
pub(crate) fn profiled_kernels(run: &RunDir, metrics: &[String], notes: &Notes, observer: &SharedObserver) {
    let report = run.raw(RunStage::Ncu.name()).join("report.ncu-rep");
    if !report.is_file() {
        return;
    }
    let timeline = Some(run.raw(RunStage::Nsys.name()).join("report.sqlite")).filter(|path| path.is_file());
    let folder = run.report().join("kernels");
    if let Err(error) = kernels::save_profile(report, timeline, metrics, &folder, observer) {
        notes.add(NoteStage::Ingest, Severity::Warning, "unreadable_profile", "ncu", error.to_string());
    }
}

/// Analyses the trace of a run, where there is one, and writes its tables into the same run. One that
/// cannot be read is a note: the measured numbers are there all the same.
pub(crate) fn analyse(
    run: &RunDir,
    notes: &Notes,
    observer: &SharedObserver,
) -> Result<Option<Findings>, Error> {
    let Some(trace) = trace(run) else { return Ok(None) };
    let mut input = match open_input(&[trace], &ReadOptions::default(), notes, observer) {
        Ok(input) => input,
        Err(error) => return Ok(unreadable(&error, notes, observer)),
    };
    attach_gemms(run, &mut input, notes);
    let outcome = match job::analyze(&input, notes, Some(run), observer) {
        Ok(outcome) => outcome,
        Err(error) if error.is(Cause::Unreadable) || error.kind() == ErrorKind::Interrupted => {
            return Ok(unreadable(&error, notes, observer));
        }
        Err(error) => return Err(error),
    };
    Ok(Some(outcome.findings))
}

/// Gives the trace the log of matmuls that a stage of the run left. One that has none, or cannot be read, is
/// a note.
fn attach_gemms(run: &RunDir, input: &mut Input, notes: &Notes) {
    let folder = run.raw(RunStage::CublasLog.name());
    if !folder.is_dir() {
        return;
    }
    let log = folder.join("gemms.log");
    // A log that cannot be read must not cost the trace.
    let attached = match std::fs::metadata(&log) {
        Err(_) => Err("the library wrote no log: set pipeline.cublas_log.library to another one".to_owned()),
        Ok(about) if about.len() == 0 => Err("the log is empty: the library ran no GEMM".to_owned()),
        Ok(_) => gemm_log::read(&log, &Notes::default())
            .map_err(|error| error.to_string())
            .and_then(|_| gemm_log::attach(input, &[log]).map_err(|error| error.to_string())),
    };
    if let Err(why) = attached {
        notes.add(NoteStage::Ingest, Severity::Warning, "no_gemm_log", "cublas_log", why);
    }
}

/// Saves the notes of a run, now that all that may add to them is done, and gives them to its findings: the table
/// `notes`, the findings and `metrics.json` have the same ones.
pub(crate) fn save_notes(
    run: &RunDir,
    notes: Notes,
    findings: Option<&mut Findings>,
) -> Result<Vec<Note>, Error> {
    let mut rows = notes.rows();
    if let Some(findings) = findings {
        findings.notes = rows;
        trace_device::recognise(findings);
        rows = findings.notes.clone();
    }
    saved::write_notes(run, &rows)?;
    Ok(rows)
}

/// Writes the report in the formats that are wanted, and answers where the page to open is.
pub(crate) fn report(
    folder: &Path,
    output: &Output,
    findings: &Findings,
    extras: Extras<'_>,
) -> Result<Option<PathBuf>, Error> {
    let has = |format: &str| output.formats.iter().any(|known| known == format);
    saved::make(folder)?;
    let extras = Extras { top: usize::try_from(output.top).ok(), ..extras };
    let page = has("html").then(|| saved::write_page(folder, findings, extras)).transpose()?;
    if has("md") {
        saved::write_markdown(folder, findings, extras)?;
    }
    Ok(page)
}

fn unreadable(error: &Error, notes: &Notes, observer: &SharedObserver) -> Option<Findings> {
    observer.warn(&format!("the trace was not analysed: {error}"));
    notes.add(NoteStage::Ingest, Severity::DataLoss, "unreadable_rank", "", error.to_string());
    None
}

fn trace(run: &RunDir) -> Option<PathBuf> {
    let folder = run.raw(RunStage::TorchProfiler.name());
    let (file, many) = (folder.join("trace.json.gz"), folder.join("traces"));
    if file.is_file() {
        return Some(file);
    }
    let timeline = run.raw(RunStage::Nsys.name()).join("report.sqlite");
    [many, timeline].into_iter().find(|path| path.exists())
}

pub(crate) fn remove_traces(run: &RunDir) -> Result<(), Error> {
    let Some(path) = trace(run) else { return Ok(()) };
    let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    removed.map_err(|source| Error::unwritable(path, source))
}

const OPERATORS: &str = "ops.csv";
const KERNELS: &str = "summary_cuda_gpu_kern_sum.csv";
const PROFILED: &str = "kernels.csv";

/// Writes the tables of a run as CSV into the report, where `output.formats` has `csv`. What a run has not, it has no
/// file for.
pub(crate) fn csv_tables(run: &RunDir, output: &Output, findings: Option<&Findings>) -> Result<(), Error> {
    if !output.formats.iter().any(|format| format == "csv") {
        return Ok(());
    }
    let folder = run.report();
    saved::make(&folder)?;
    let kernels = findings.and_then(Findings::get::<Kernels>).filter(|kernels| !kernels.0.is_empty());
    if let Some(operators) = findings.and_then(Findings::get::<Operators>) {
        let text = run_tables::operators(operators, kernels.is_some());
        saved::write(folder.join(OPERATORS), text.as_bytes())?;
    }
    if kernels.is_some() {
        let reader = RunReader::open(run).map_err(Error::unreadable_run)?;
        let mut top = KernelTotals::default();
        for rank in reader.each_rank() {
            top.rank(&rank.map_err(Error::unreadable_run)?, None);
        }
        let text = run_tables::kernel_summary(top.finish());
        saved::write(folder.join(KERNELS), text.as_bytes())?;
    }
    // The analysis of the profile writes its tables already; scripts look for this one beside the others.
    if let Ok(text) = std::fs::read(folder.join("kernels").join(PROFILED)) {
        saved::write(folder.join(PROFILED), &text)?;
    }
    Ok(())
}
