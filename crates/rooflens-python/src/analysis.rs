//! What a trace tells.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use rooflens_analyze::advice::AdviceList;
use rooflens_analyze::analyses::{Ledger, Verdict};
use rooflens_core::document::AnalysisDocument;
use rooflens_core::input::Input;
use rooflens_core::kept::KeptTables;
use rooflens_core::model::ModelRequest;
use rooflens_core::{AnalyzedInput, Event, Notes, ReadOptions, RunDir, SharedObserver, saved};

use crate::arguments::{Amount, Paths, one};
use crate::document;
use crate::document::to_python;
use crate::report_tables::ReportTables;
use crate::table::{TableMap, TableObject};
use crate::watch::watched;

/// What `analyze` answers: a verdict, a ledger of time, advice, and tables.
#[pyclass(frozen, module = "rooflens", name = "Analysis")]
pub struct AnalysisObject {
    analysis: Arc<AnalyzedInput>,
    tables: Arc<KeptTables>,
    shown: ReportTables,
}

impl AnalysisObject {
    fn new(analysis: AnalyzedInput, tables: KeptTables) -> Self {
        let shown = ReportTables::new(rooflens_report::parts(&analysis.findings));
        AnalysisObject { analysis: Arc::new(analysis), tables: Arc::new(tables), shown }
    }
}

/// Analyse traces: the ranks of one job, a folder with them, or a run directory.
#[pyfunction]
#[pyo3(signature = (
    inputs, *, model=None, hardware=None, tp=None, batch=None, context=None, dtype=None, force=false, gemms=None,
    captures=None, keep_private=false, output=None,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn analyze(
    py: Python<'_>,
    inputs: Paths,
    model: Option<PathBuf>,
    hardware: Option<String>,
    tp: Option<Amount>,
    batch: Option<Amount>,
    context: Option<Amount>,
    dtype: Option<String>,
    force: bool,
    gemms: Option<Paths>,
    captures: Option<Paths>,
    keep_private: bool,
    output: Option<PathBuf>,
) -> PyResult<AnalysisObject> {
    let (tp, batch, context) = (one(tp)?, one(batch)?, one(context)?);
    let model = ModelRequest { model, hardware, tp, context, batch, dtype, force };
    let options = ReadOptions {
        captures: captures.map(Paths::all).unwrap_or_default(),
        keep_private,
        gemms: gemms.map(Paths::all).unwrap_or_default(),
    };
    let inputs = inputs.all();
    watched(py, move |observer| {
        let notes = Notes::default();
        let input = rooflens_core::open_input(&inputs, &options, &notes, observer)?;
        let Some(folder) = output else {
            let (analysis, tables) = rooflens_core::analyze_and_keep(&input, &notes, &model, observer)?;
            warn_of_bound(&model, &analysis, observer);
            return Ok(AnalysisObject::new(analysis, tables));
        };
        let run = saved::destination(&folder)?;
        let is_own = matches!(&input, Input::Run(read) if saved::same_folder(read.root(), run.root()));
        let tables = Some(&run).filter(|_| !is_own);
        let mut analysis = rooflens_core::analyze(&input, &notes, &model, tables, observer)?;
        rooflens_core::write_report(&run, &mut analysis)?;
        warn_of_bound(&model, &analysis, observer);
        Ok(AnalysisObject::new(analysis, KeptTables::of_run(RunDir::new(&folder))))
    })
}

/// Warns where a model was given and no lower bound came of it.
fn warn_of_bound(model: &ModelRequest, analysis: &AnalyzedInput, observer: &SharedObserver) {
    let reason = analysis.findings.get::<Ledger>().and_then(|ledger| ledger.not_computed.get("floor"));
    if let (Some(_), Some(reason)) = (&model.model, reason) {
        observer.event(&Event::Warning(&format!("there is no lower bound: {reason}")));
    }
}

#[pymethods]
impl AnalysisObject {
    /// Where the time goes, in one or two sentences; empty where nothing can be said.
    #[getter]
    fn verdict(&self) -> &str {
        self.analysis.findings.get::<Verdict>().map_or("", |verdict| &verdict.sentence)
    }

    /// Whether Ctrl-C ended it early.
    #[getter]
    fn stopped(&self) -> bool {
        self.analysis.stopped
    }

    /// What to change, largest gain first: title, range of the gain, evidence.
    #[getter]
    fn advice<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let items = self.analysis.findings.get::<AdviceList>().map(|list| &list.items);
        items.map_or_else(|| document::parse(py, "[]"), |items| to_python(py, items))
    }

    /// What could not be read, or looks wrong.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.analysis.findings.notes)
    }

    /// Every finding, as `rooflens analyze --format json` prints it.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &AnalysisDocument(&self.analysis.findings))
    }

    /// The tables of events: a row per kernel, operator call, runtime call, and so on.
    #[getter]
    fn tables(&self) -> TableMap {
        TableMap::new(Arc::clone(&self.tables))
    }

    /// Names of the tables of the report; each is an attribute.
    #[getter]
    fn table_names(&self) -> Vec<String> {
        self.shown.names()
    }

    /// A table of the report: `kernels`, `operators`, `phases`, `ledger`, `gaps` …
    fn __getattr__(&self, name: &str) -> PyResult<TableObject> {
        self.shown.attribute(name)
    }

    fn __dir__(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        slf.get().shown.dir(slf.as_any())
    }

    /// The report as one HTML page.
    fn html(&self, py: Python<'_>) -> String {
        let analysis = Arc::clone(&self.analysis);
        py.detach(move || rooflens_report::html(&analysis.findings, "Rooflens"))
    }

    fn __repr__(&self) -> String {
        format!("<rooflens.Analysis: {}>", self.verdict())
    }

    /// What a notebook shows: the verdict, the ledger and the kernels.
    fn _repr_html_(&self) -> String {
        self.shown.summary(self.verdict(), &["ledger", "kernels"])
    }
}

/// The analysis of a saved run.
pub fn of_run(py: Python<'_>, run: RunDir) -> PyResult<AnalysisObject> {
    watched(py, move |observer| {
        let input = Input::Run(run);
        let (analysis, tables) =
            rooflens_core::analyze_and_keep(&input, &Notes::default(), &ModelRequest::default(), observer)?;
        Ok(AnalysisObject::new(analysis, tables))
    })
}
