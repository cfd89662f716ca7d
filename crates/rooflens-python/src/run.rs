//! Runs on disk, and words.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use rooflens_core::glossary::Explanation;
use rooflens_core::kept::KeptTables;

use crate::analysis::{self, AnalysisObject};
use crate::document::to_python;
use crate::error::raise;
use crate::table::TableMap;
use crate::watch::watched;

/// A run directory, as `rooflens run`, `rooflens bench` or `rooflens analyze -o` wrote it.
#[pyclass(frozen, module = "rooflens", name = "Run")]
pub struct RunObject {
    run: rooflens_core::Run,
    tables: Arc<KeptTables>,
}

#[pymethods]
impl RunObject {
    /// Opens a run directory.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let run = rooflens_core::Run::open(&path).map_err(|error| raise(py, &error))?;
        let tables = Arc::new(KeptTables::of_run(run.folder().clone()));
        Ok(RunObject { run, tables })
    }

    /// Where it is.
    #[getter]
    fn path(&self) -> PathBuf {
        self.run.folder().root().to_owned()
    }

    /// `report/metrics.json`; `None` where there is none.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.run.metrics())
    }

    /// Its tables, as the files of `tables/`.
    #[getter]
    fn tables(&self) -> TableMap {
        TableMap::new(Arc::clone(&self.tables))
    }

    /// The analysis of its trace.
    fn analyze(&self, py: Python<'_>) -> PyResult<AnalysisObject> {
        analysis::of_run(py, self.run.folder().clone())
    }

    fn __repr__(&self) -> String {
        format!("<rooflens.Run {}>", self.run.folder().root().display())
    }
}

/// Write the report of a run directory again; answers where its page is.
#[pyfunction]
#[pyo3(signature = (path, output=None))]
pub fn report(py: Python<'_>, path: PathBuf, output: Option<PathBuf>) -> PyResult<PathBuf> {
    watched(py, move |observer| {
        rooflens_core::report::rewrite(&path, output.as_deref(), observer).map(|written| written.page)
    })
}

/// What a word or number of a report means.
#[pyfunction]
pub fn explain<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let meanings = rooflens_core::explain(name).map_err(|error| raise(py, &error))?;
    to_python(py, &Explanation::new(name.to_owned(), meanings).meanings)
}

/// Whether a run may be written to a folder: raises where something else is there.
#[pyfunction]
pub fn check_output(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    rooflens_core::saved::destination(&path).map(drop).map_err(|error| raise(py, &error))
}
