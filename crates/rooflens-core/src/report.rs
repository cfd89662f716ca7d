//! The report of a run: a page to open, Markdown, and the numbers, beside the findings.

use std::path::{Path, PathBuf};

use rooflens_analyze::Findings;
use rooflens_report::Extras;
use rooflens_schema::{Notes, RunDir};

use crate::analysis::{AnalyzedInput, analyze};
use crate::error::Error;
use crate::input::Input;
use crate::model::{ModelRecord, ModelRequest};
use crate::observer::SharedObserver;
use crate::run::{self, Renewed, RunDocument};
use crate::saved;

/// Where a report was written.
pub struct WrittenReport {
    /// The page to open, or the folder where there is none.
    pub page: PathBuf,
    /// Whether reading was ended early.
    pub stopped: bool,
}

/// Saves an analysis and its report into a run, with the model that it was compared with, so that a later report has
/// the same lower bounds. What the run itself measured is added to the findings. Answers where the page is.
pub fn save(run: &RunDir, analysis: &mut AnalyzedInput) -> Result<PathBuf, Error> {
    let record = analysis.compared.record.as_ref();
    let changed = record.filter(|record| ModelRecord::read(run).as_ref() != Some(*record));
    let renewed = changed.map(|record| Renewed::save(run, record)).transpose()?;
    write(run, &mut analysis.findings, renewed.as_ref())
}

fn write(run: &RunDir, findings: &mut Findings, renewed: Option<&Renewed<'_>>) -> Result<PathBuf, Error> {
    saved::write_findings(run, findings)?;
    saved::write_notes(run, &findings.notes)?;
    let (page, document) = write_into(run, &run.report(), findings, renewed)?;
    run::rewrite(run, document.as_ref(), findings)?;
    run::rewrite_files(run)?;
    Ok(page)
}

/// Writes page, Markdown and numbers; those of a run that was made by `rooflens run` as its config wants them.
fn write_into(
    run: &RunDir,
    folder: &Path,
    findings: &mut Findings,
    renewed: Option<&Renewed<'_>>,
) -> Result<(PathBuf, Option<RunDocument>), Error> {
    let Some(document) = run::describe(run, findings, renewed) else {
        return Ok((saved::write_report(folder, findings, Extras::default())?, None));
    };
    let more = document.parts();
    let page = match run::settings(run) {
        Some(settings) => {
            let extras = document.extras(&more);
            run::write_pages(folder, &settings.output, findings, extras)?
        }
        None => Some(saved::write_report(folder, findings, document.extras(&more))?),
    };
    run::write_numbers(folder, &document, Some(findings))?;
    Ok((page.unwrap_or_else(|| folder.to_owned()), Some(document)))
}

/// Writes the report of a run again, into its own folder or another one; of a sweep, too.
pub fn rewrite(path: &Path, into: Option<&Path>, observer: &SharedObserver) -> Result<WrittenReport, Error> {
    if let Some(folder) = into {
        saved::report_destination(folder)?;
    }
    if let Some(page) = run::rewrite_sweep(path, into)? {
        return Ok(WrittenReport { page, stopped: false });
    }
    // The page of a load test is written with it; nothing else of the run would change it.
    let bare = RunDir::new(path);
    let page = bare.report().join("index.html");
    let document = || saved::read_json(&bare.report().join(saved::METRICS));
    if into.is_none() && page.is_file() && document()["schema"]["name"] == "rooflens.bench" {
        return Ok(WrittenReport { page, stopped: false });
    }
    // A run without a trace has no tables of one; its numbers and pages follow from the rest.
    if !RunDir::has_trace(path) && into.is_none() && run::rewrite_untraced(&bare)? {
        return Ok(WrittenReport { page: bare.report(), stopped: false });
    }
    let run = RunDir::open(path).map_err(Error::unreadable_run)?;
    let input = Input::Run(run.clone());
    let mut analysis = analyze(&input, &Notes::default(), &ModelRequest::default(), None, observer)?;
    let findings = &mut analysis.findings;
    let page = match into {
        Some(folder) => write_into(&run, folder, findings, None)?.0,
        None => {
            // It could not be decided when the run was made, and can be now.
            if let Some(record) = analysis.compared.record.filter(|_| ModelRecord::read(&run).is_none()) {
                record.save(&run)?;
            }
            write(&run, findings, None)?
        }
    };
    Ok(WrittenReport { page, stopped: analysis.stopped })
}
