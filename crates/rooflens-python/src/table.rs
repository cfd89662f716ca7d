//! Tables that pandas, polars, pyarrow and DuckDB read without copying them.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use rooflens_core::fleet::json_value;
use rooflens_core::kept::KeptTables;
use rooflens_report::block;
use rooflens_schema::parquet_io::MemoryTable;

use crate::document::to_python;
use crate::error::raise;
use crate::{cells, html};

/// A table. It has the Arrow PyCapsule interface: `polars.DataFrame(table)`, `pyarrow.table(table)` and DuckDB share
/// its memory.
#[pyclass(frozen, module = "rooflens", name = "Table")]
pub struct TableObject {
    name: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// The same for people, where the report has it.
    shown: Option<block::Table>,
}

impl TableObject {
    /// A table of events.
    pub fn of_rows(name: &str, table: MemoryTable) -> Self {
        let MemoryTable { schema, batches } = table;
        TableObject { name: name.to_owned(), schema, batches, shown: None }
    }

    /// Tables of the report that have one name, and so the same columns.
    pub fn of_report(name: &str, tables: &[&block::Table]) -> PyResult<Self> {
        let batch = cells::batch(tables).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let shown = tables.first().map(|first| {
            let rows = tables.iter().flat_map(|table| table.rows.iter().cloned()).collect();
            block::Table { rows, ..(*first).clone() }
        });
        Ok(TableObject { name: name.to_owned(), schema: batch.schema(), batches: vec![batch], shown })
    }

    /// The first rows, for people.
    pub fn html(&self, rows: usize) -> Option<String> {
        self.shown.as_ref().map(|table| html::table(table, rows))
    }

    fn stream(&self) -> FFI_ArrowArrayStream {
        let batches = self.batches.clone().into_iter().map(Ok);
        FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, Arc::clone(&self.schema))))
    }
}

/// The meaning of a column with its unit, which the end of its name has.
fn described(name: &str, meaning: Option<&String>) -> Option<String> {
    const UNITS: &[(&str, &str)] = &[
        ("_ns", "ns"),
        ("_bytes", "bytes"),
        ("flops_per_s", "FLOP/s"),
        ("bytes_per_s", "bytes/s"),
        ("tokens_per_s", "tokens/s"),
        ("_s", "s"),
        ("_pct", "%"),
        ("share", "0 to 1"),
    ];
    let meaning = match meaning {
        Some(meaning) => meaning.trim_end_matches('.'),
        None if name == "rank" => "Rank that recorded it",
        None => return None,
    };
    let unit = UNITS.iter().find(|(end, _)| name.ends_with(end));
    Some(unit.map_or_else(|| format!("{meaning}."), |(_, unit)| format!("{meaning}, in {unit}.")))
}

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

#[pymethods]
impl TableObject {
    /// Name of the table.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// Unit and meaning of each column, by its name.
    #[getter]
    fn column_docs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let docs = PyDict::new(py);
        for field in self.schema.fields() {
            docs.set_item(field.name(), described(field.name(), field.metadata().get("doc")))?;
        }
        Ok(docs)
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        let columns = self.column_names().join(", ");
        format!("<rooflens.Table {}: {} rows of {columns}>", self.name, self.num_rows())
    }

    /// What a notebook shows. Rows of events are shown by pandas or polars.
    fn _repr_html_(&self) -> String {
        self.html(html::ROWS).unwrap_or_else(|| format!("<pre>{}</pre>", html::escape(&self.__repr__())))
    }

    /// The rows for any library that knows Arrow's PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer answer in its own types.
        drop(requested_schema);
        PyCapsule::new_with_value(py, self.stream(), STREAM)
    }

    /// The columns for any library that knows Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// As a list of dicts, one for each row. Needs no other package.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows: Vec<serde_json::Map<String, serde_json::Value>> = self
            .batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)))
            .map(|(batch, row)| {
                let columns = self.schema.fields().iter().zip(batch.columns());
                columns.map(|(field, column)| (field.name().clone(), json_value(column, row))).collect()
            })
            .collect();
        to_python(py, &rows)
    }

    /// As `pandas.DataFrame`. Needs pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// As `polars.DataFrame`. Needs polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// As `pyarrow.Table`. Needs pyarrow.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }
}

/// Tables by name, as in `docs/reference/tables.md`: a row per kernel, operator call, runtime call, and so on.
#[pyclass(frozen, mapping, module = "rooflens")]
pub struct TableMap {
    tables: Arc<KeptTables>,
}

impl TableMap {
    /// Those that were kept.
    pub fn new(tables: Arc<KeptTables>) -> Self {
        TableMap { tables }
    }

    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let tables = Arc::clone(&self.tables);
        py.detach(move || tables.names()).map_err(|error| raise(py, &error))
    }
}

#[pymethods]
impl TableMap {
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<TableObject> {
        let tables = Arc::clone(&self.tables);
        let found = py.detach(|| tables.table(name)).map_err(|error| raise(py, &error))?;
        let Some(found) = found else {
            let names = self.names(py)?.join(", ");
            return Err(PyKeyError::new_err(format!("no table {name}; there are {names}")));
        };
        Ok(TableObject::of_rows(name, found))
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.names(py)?.iter().any(|known| known == name))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.names(py)?.len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.names(py)?.into_pyobject(py)?.try_iter()?.into_any())
    }

    /// The names.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.names(py)
    }

    /// The tables.
    fn values(&self, py: Python<'_>) -> PyResult<Vec<TableObject>> {
        self.names(py)?.iter().map(|name| self.__getitem__(py, name)).collect()
    }

    /// Names and tables.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(String, TableObject)>> {
        self.names(py)?.into_iter().map(|name| Ok((name.clone(), self.__getitem__(py, &name)?))).collect()
    }

    /// A table, or something else where there is none of this name.
    #[pyo3(signature = (name, default=None))]
    fn get(&self, py: Python<'_>, name: &str, default: Option<Py<PyAny>>) -> PyResult<Option<Py<PyAny>>> {
        match self.__contains__(py, name)? {
            true => Ok(Some(Py::new(py, self.__getitem__(py, name)?)?.into_any())),
            false => Ok(default),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<rooflens.TableMap: {}>", self.names(py)?.join(", ")))
    }
}
