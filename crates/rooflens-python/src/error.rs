//! Errors of the library as exceptions.

use pyo3::prelude::*;

pyo3::create_exception!(
    rooflens,
    Error,
    pyo3::exceptions::PyException,
    "Rooflens could not answer. `hint` says what helps, `command` is a command to paste, `kind` says whose turn it is."
);

/// Has a traceback show what helps. Python 3.11 and later can.
fn note(error: &Bound<'_, pyo3::exceptions::PyBaseException>) -> PyResult<()> {
    let hint = error.getattr("hint")?;
    if !hint.is_none() && error.hasattr("add_note")? {
        error.call_method1("add_note", (format!("hint: {}", hint.str()?),))?;
    }
    Ok(())
}

/// An error of the library as an exception, with what helps.
pub fn raise(py: Python<'_>, error: &rooflens_core::Error) -> PyErr {
    let hint = error.hint();
    let raised = Error::new_err(error.to_string());
    let value = raised.value(py);
    let words = hint.as_ref().map(ToString::to_string);
    let set = value
        .setattr("hint", words)
        .and_then(|()| value.setattr("command", hint.and_then(|hint| hint.command)))
        .and_then(|()| value.setattr("kind", error.kind().as_str()))
        .and_then(|()| note(value));
    match set {
        Ok(()) => raised,
        Err(failed) => failed,
    }
}
