#![doc = include_str!("../README.md")]

mod analysis;
mod arguments;
mod cells;
mod comparison;
mod cost;
mod document;
mod error;
mod html;
mod report_tables;
mod run;
mod table;
mod watch;

use pyo3::prelude::*;

/// Rooflens, without the part that is written in Python.
#[pymodule]
mod _rooflens {
    #[pymodule_export]
    use super::analysis::{AnalysisObject, analyze};
    #[pymodule_export]
    use super::comparison::{ComparisonObject, compare};
    #[pymodule_export]
    use super::cost::{Cost, cost};
    #[pymodule_export]
    use super::error::Error;
    #[pymodule_export]
    use super::run::{RunObject, check_output, explain, report};
    #[pymodule_export]
    use super::table::{TableMap, TableObject};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
