//! What changed between runs or traces.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rooflens_core::compare::Gate;
use rooflens_report::compare::html;

use crate::arguments::StringArguments;
use crate::document::to_python;
use crate::report_tables::ReportTables;
use crate::table::TableObject;
use crate::watch::watched;

/// What `compare` answers: what changed, whether it is significant, and where it comes from.
#[pyclass(frozen, module = "rooflens", name = "Comparison")]
pub struct ComparisonObject {
    comparison: rooflens_core::compare::Comparison,
    shown: ReportTables,
}

/// Compare runs or traces with the first of them. Each gate of `fail_on` is like "tpot_p50>+3%".
#[pyfunction]
#[pyo3(signature = (base, *others, fail_on=None))]
pub fn compare(
    py: Python<'_>,
    base: PathBuf,
    others: &Bound<'_, PyTuple>,
    fail_on: Option<StringArguments>,
) -> PyResult<ComparisonObject> {
    let paths: Vec<PathBuf> = std::iter::once(Ok(base))
        .chain(others.iter().map(|other| other.extract()))
        .collect::<PyResult<_>>()?;
    let fail_on = fail_on.map(StringArguments::all).unwrap_or_default();
    watched(py, move |observer| {
        let gates = fail_on.iter().map(|gate| Gate::parse(gate)).collect::<Result<Vec<_>, _>>()?;
        let comparison = rooflens_core::compare(rooflens_core::read_sides(&paths, observer)?, &gates)?;
        let shown = ReportTables::new(comparison.parts(usize::MAX));
        Ok(ComparisonObject { comparison, shown })
    })
}

#[pymethods]
impl ComparisonObject {
    /// The largest change, in a sentence or two.
    #[getter]
    fn verdict(&self) -> &str {
        self.shown.lead()
    }

    /// Whether a gate of `fail_on` failed.
    #[getter]
    fn failed(&self) -> bool {
        self.comparison.is_failed()
    }

    /// Every number, as `rooflens compare --format json` prints it.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.comparison.document())
    }

    /// Names of the tables; each is an attribute.
    #[getter]
    fn table_names(&self) -> Vec<String> {
        self.shown.names()
    }

    /// A table of the comparison.
    fn __getattr__(&self, name: &str) -> PyResult<TableObject> {
        self.shown.attribute(name)
    }

    fn __dir__(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        slf.get().shown.dir(slf.as_any())
    }

    /// The comparison as one HTML page.
    fn html(&self) -> String {
        html(&self.comparison.parts(usize::MAX))
    }

    fn __repr__(&self) -> String {
        format!("<rooflens.Comparison: {}>", self.verdict())
    }

    /// What a notebook shows.
    fn _repr_html_(&self) -> String {
        self.shown.summary(self.verdict(), &["headline", "account", "kernels"])
    }
}
