//! The charts of an input, as data.

use std::path::PathBuf;

use rooflens_analyze::Findings;
use rooflens_report::charts::{self, ChartData, ChartInputs, MissingChart};
use rooflens_schema::{Notes, RunDir, SchemaError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::analyze;
use crate::document::SchemaTag;
use crate::error::Error;
use crate::input::{ReadOptions, open_input};
use crate::model::ModelRequest;
use crate::observer::{Event, SharedObserver};
use crate::saved;
use crate::saved_report::{self, SavedReport};

/// `rooflens plot --format json`: the charts of an input, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChartsDocument {
    /// `{name: "rooflens.charts", version}`.
    pub(crate) schema: SchemaTag,
    /// What they are of.
    pub title: String,
    /// The charts that have data.
    pub charts: Vec<ChartData>,
    /// The others, with the reason.
    pub missing: Vec<MissingChart>,
}

impl ChartsDocument {
    fn new(title: String, inputs: &ChartInputs<'_>) -> Self {
        let (charts, missing) = charts::all(inputs);
        ChartsDocument { schema: SchemaTag::new("charts"), title, charts, missing }
    }

    /// The same with one chart only.
    pub fn only(mut self, name: &str) -> Self {
        self.charts.retain(|chart| chart.name == name);
        self.missing.retain(|chart| chart.name == name);
        self
    }
}

/// The charts of traces, of a run or of a load test. A run whose numbers are saved is not read again, unless a model is
/// given or the trace shall be read in another way.
pub fn plot(
    inputs: &[PathBuf],
    options: &ReadOptions,
    model: &ModelRequest,
    observer: &SharedObserver,
) -> Result<ChartsDocument, Error> {
    let is_plain = *model == ModelRequest::default() && *options == ReadOptions::default();
    if let ([folder], true) = (inputs, is_plain)
        && RunDir::new(folder).report().join(saved::METRICS).is_file()
    {
        let report = saved_report::read(folder, observer)?;
        let no_trace = || SchemaError::NoTrace { path: folder.clone() };
        return report.as_ref().map(of_saved).ok_or_else(|| Error::unreadable_run(no_trace()));
    }
    let notes = Notes::default();
    let input = open_input(inputs, options, &notes, observer)?;
    let found = analyze(&input, &notes, model, None, observer)?.findings;
    observer.event(&Event::Notes(&notes.rows()));
    let inputs = ChartInputs { findings: &found, sampled: None, levels: &[] };
    Ok(ChartsDocument::new(saved::title(&found), &inputs))
}

fn of_saved(report: &SavedReport) -> ChartsDocument {
    match report {
        SavedReport::Findings { title, findings, sampled, .. } => {
            let inputs = ChartInputs { findings, sampled: sampled.as_ref(), levels: &[] };
            ChartsDocument::new(title.clone(), &inputs)
        }
        SavedReport::Bench(document) => {
            let (findings, levels) = (Findings::default(), document.level_rows());
            let inputs = ChartInputs { findings: &findings, sampled: None, levels: &levels };
            ChartsDocument::new(format!("load test, {}", document.load.offered), &inputs)
        }
    }
}
