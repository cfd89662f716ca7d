//! The report of a run: a page to open, Markdown, and the numbers, beside the findings.

use std::path::{Path, PathBuf};

use rooflens_analyze::Findings;
use rooflens_report::Extras;
use rooflens_schema::{Notes, RunDir};

use crate::analysis::{AnalyzedInput, analyze};
use crate::error::Error;
use crate::input::Input;
use crate::model::ModelRequest;
use crate::observer::SharedObserver;
use crate::run::{self, RunDocument};
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
    if let Some(model) = &analysis.compared.record {
        model.save(run)?;
    }
    let findings = &mut analysis.findings;
    saved::write_findings(run, findings)?;
    saved::write_notes(run, &findings.notes)?;
    let (page, document) = write(run, &run.report(), None, findings)?;
    run::rewrite(run, document.as_ref(), findings)?;
    Ok(page)
}

fn write(
    run: &RunDir,
    folder: &Path,
    top: Option<usize>,
    findings: &mut Findings,
) -> Result<(PathBuf, Option<RunDocument>), Error> {
    let document = run::describe(run, findings);
    let more = document.as_ref().map_or_else(Vec::new, RunDocument::parts);
    let page = saved::write_report(folder, findings, Extras { more: &more, top })?;
    Ok((page, document))
}

/// Writes the report of a run again, into its own folder or another one; of a sweep, too.
pub fn rewrite(path: &Path, into: Option<&Path>, observer: &SharedObserver) -> Result<WrittenReport, Error> {
    if let Some(folder) = into {
        saved::report_destination(folder)?;
    }
    if let Some(page) = run::rewrite_sweep(path, into)? {
        return Ok(WrittenReport { page, stopped: false });
    }
    // A run without a trace has no tables of one; its numbers and pages follow from the rest.
    let bare = RunDir::new(path);
    if !RunDir::has_trace(path) && into.is_none() && run::rewrite_untraced(&bare)? {
        return Ok(WrittenReport { page: bare.report(), stopped: false });
    }
    let run = RunDir::open(path).map_err(Error::UnreadableRun)?;
    let input = Input::Run(run.clone());
    let mut analysis = analyze(&input, &Notes::default(), &ModelRequest::default(), None, observer)?;
    let findings = &mut analysis.findings;
    if into.is_none() {
        saved::write_findings(&run, findings)?;
        saved::write_notes(&run, &findings.notes)?;
    }
    let folder = into.map_or_else(|| run.report(), Path::to_owned);
    let top = run::settings(&run).and_then(|settings| usize::try_from(settings.output.top).ok());
    let (page, document) = write(&run, &folder, top, findings)?;
    if into.is_none() {
        run::rewrite(&run, document.as_ref(), findings)?;
        run::rewrite_files(&run)?;
    }
    Ok(WrittenReport { page, stopped: analysis.stopped })
}
