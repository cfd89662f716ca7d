//! JSON documents as objects of Python.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde::Serialize;

/// A document as dictionaries and lists, as `--format json` prints it.
pub fn to_python<'py>(py: Python<'py>, document: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(document).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    parse(py, &text)
}

/// JSON text as dictionaries and lists.
pub fn parse<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (PyString::new(py, text),))
}
