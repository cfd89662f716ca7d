//! What callers may write for paths, numbers, words and times.

use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rooflens_core::cost::amount::{Numbers, seconds};

/// Says what is wanted instead.
fn wanted(what: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let kind = found.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{what} is wanted here, not {kind}"))
}

fn each<'py, T: FromPyObjectOwned<'py>>(given: &Bound<'py, PyAny>) -> Option<Vec<T>> {
    given.try_iter().ok()?.map(|one| one.ok()?.extract().ok()).collect()
}

/// Paths that were given: one, or several.
pub struct Paths(Vec<PathBuf>);

impl FromPyObject<'_, '_> for Paths {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(path) = given.extract::<PathBuf>() {
            return Ok(Paths(vec![path]));
        }
        each(&given).map(Paths).ok_or_else(|| wanted("a path or several paths", &given))
    }
}

impl Paths {
    /// All of them.
    pub fn all(self) -> Vec<PathBuf> {
        self.0
    }
}

/// One string, or several.
pub struct StringArguments(Vec<String>);

impl FromPyObject<'_, '_> for StringArguments {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.extract::<String>() {
            return Ok(StringArguments(vec![text]));
        }
        each(&given).map(StringArguments).ok_or_else(|| wanted("a string or several strings", &given))
    }
}

impl StringArguments {
    /// All of them.
    pub fn all(self) -> Vec<String> {
        self.0
    }
}

/// Words, as a list or with commas between them.
pub struct Words(StringArguments);

impl FromPyObject<'_, '_> for Words {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        given.extract().map(Words)
    }
}

impl Words {
    /// All of them.
    pub fn all(self) -> Vec<String> {
        let words = self.0.all();
        words.iter().flat_map(|text| text.split(',')).map(|word| word.trim().to_owned()).collect()
    }
}

/// Numbers as people write them: 8, "4k", "1..256" or [1, 2, 4].
pub struct Amount(Vec<u64>);

impl FromPyObject<'_, '_> for Amount {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.extract::<String>() {
            return text.parse::<Numbers>().map(|numbers| Amount(numbers.0)).map_err(PyValueError::new_err);
        }
        let numbers = match given.extract::<i64>() {
            Ok(number) => Some(vec![number]),
            Err(_) => each(&given),
        };
        let numbers = numbers
            .ok_or_else(|| wanted("a whole number, a list of them, or a string such as \"4k\"", &given))?;
        if numbers.is_empty() {
            return Err(wanted("at least one number", &given));
        }
        let whole = |number: i64| {
            u64::try_from(number).map_err(|_| PyValueError::new_err(format!("{number} is below 0")))
        };
        numbers.into_iter().map(whole).collect::<PyResult<_>>().map(Amount)
    }
}

/// The numbers, where they were given.
pub fn list(amount: Option<Amount>) -> Option<Vec<u64>> {
    amount.map(|amount| amount.0)
}

/// The number, where it was given.
pub fn one(amount: Option<Amount>) -> PyResult<Option<u64>> {
    match amount.as_ref().map(|amount| amount.0.as_slice()) {
        None => Ok(None),
        Some([number]) => Ok(Some(*number)),
        Some(_) => Err(PyValueError::new_err("one number is wanted here, not several")),
    }
}

/// A time as text with a unit, or in seconds.
pub struct Duration(f64);

impl FromPyObject<'_, '_> for Duration {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.extract::<String>() {
            return seconds(&text).map(Duration).map_err(PyValueError::new_err);
        }
        match given.extract::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(Duration(value)),
            Ok(value) => Err(PyValueError::new_err(format!("{value} is no time"))),
            Err(_) => Err(wanted("a time such as \"20ms\", or seconds,", &given)),
        }
    }
}

impl Duration {
    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0
    }
}
