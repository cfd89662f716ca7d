//! What a run tells, as it was saved: nothing is computed again, and nothing is written.

use std::path::Path;

use rooflens_analyze::Findings;
use rooflens_analyze::sampled::Sampled;
use rooflens_report::Part;
use rooflens_schema::{Notes, RunDir};

use crate::analysis::analyze;
use crate::bench::BenchDocument;
use crate::document::{Tagged, timeline};
use crate::error::Error;
use crate::input::Input;
use crate::model::ModelRequest;
use crate::observer::SharedObserver;
use crate::run::{self, RunMetrics};
use crate::saved;

/// The report of a run.
pub enum SavedReport {
    /// Of a trace, or of a run of `rooflens run`.
    Findings {
        /// What it is about.
        title: String,
        /// What the trace tells, and the run itself.
        findings: Box<Findings>,
        /// Parts that do not come from a trace.
        more: Vec<Part>,
        /// What was sampled while it ran.
        sampled: Option<Sampled>,
    },
    /// Of a load test.
    Bench(Box<BenchDocument>),
}

/// The report of the run directory at `path`, from the numbers that stand in it. Where there are none but a trace has
/// been imported, it is analyzed. Nothing where the folder is another kind of run.
pub fn read(path: &Path, observer: &SharedObserver) -> Result<Option<SavedReport>, Error> {
    let run = RunDir::new(path);
    let text = std::fs::read_to_string(run.report().join(saved::METRICS)).unwrap_or_default();
    let name = serde_json::from_str::<Tagged>(&text).map(|tagged| tagged.schema.name).unwrap_or_default();
    let read = match name.as_str() {
        "rooflens.analysis" => {
            Findings::from_document(&text).ok().map(|found| of_findings(found, vec![], None))
        }
        "rooflens.run" => serde_json::from_str(&text).ok().map(of_run),
        "rooflens.bench" => serde_json::from_str(&text).ok().map(SavedReport::Bench),
        _ => None,
    };
    match read {
        Some(SavedReport::Findings { title, mut findings, more, sampled }) => {
            findings.timeline = timeline::read(&run.report());
            Ok(Some(SavedReport::Findings { title, findings, more, sampled }))
        }
        Some(report) => Ok(Some(report)),
        None if RunDir::has_trace(path) => analyzed(run, observer).map(Some),
        None => Ok(None),
    }
}

fn of_findings(findings: Findings, more: Vec<Part>, sampled: Option<Sampled>) -> SavedReport {
    SavedReport::Findings { title: saved::title(&findings), findings: Box::new(findings), more, sampled }
}

fn of_run(metrics: RunMetrics) -> SavedReport {
    let mut findings = metrics.analysis.unwrap_or_default();
    findings.insert("run", Box::new(run::page_facts(&metrics.run)));
    let parts = metrics.run.parts();
    of_findings(findings, parts, metrics.run.sampled)
}

fn analyzed(run: RunDir, observer: &SharedObserver) -> Result<SavedReport, Error> {
    let (input, model) = (Input::Run(run), ModelRequest::default());
    let analysis = analyze(&input, &Notes::default(), &model, None, observer)?;
    Ok(of_findings(analysis.findings, vec![], None))
}
