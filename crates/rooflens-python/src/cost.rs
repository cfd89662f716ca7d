//! What a model costs.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rooflens_core::cost::question::Setting;
use rooflens_core::cost::{Answer, CostQuestion};

use crate::arguments::{Amount, Duration, Paths, Words, list, one};
use crate::document::to_python;
use crate::report_tables::ReportTables;
use crate::table::TableObject;
use crate::watch::watched;

/// What `cost` answers: FLOPs, bytes, memory, lower bounds and estimates of one design, of two, or of many points.
#[pyclass(frozen, module = "rooflens")]
pub struct Cost {
    answer: Answer,
    shown: ReportTables,
}

/// Compute the cost of a model from its `config.json`. Given two, the second is compared with the first.
#[pyfunction]
#[pyo3(signature = (
    configs, *, hardware=None, batch=None, prefill=None, context=None, prefix=None, chunk=None, steps=None, draft=None,
    images=None, image_size=None, tp=None, pp=None, ep=None, dp=None, dtype=None, kv_dtype=None, set=None, routing=None,
    ttft=None, tpot=None, assume=None, usable=0.9,
))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn cost(
    py: Python<'_>,
    configs: Paths,
    hardware: Option<Words>,
    batch: Option<Amount>,
    prefill: Option<Amount>,
    context: Option<Amount>,
    prefix: Option<Amount>,
    chunk: Option<Amount>,
    steps: Option<Amount>,
    draft: Option<Amount>,
    images: Option<Amount>,
    image_size: Option<String>,
    tp: Option<Amount>,
    pp: Option<Amount>,
    ep: Option<Amount>,
    dp: Option<Amount>,
    dtype: Option<Words>,
    kv_dtype: Option<String>,
    set: Option<BTreeMap<String, Bound<'_, PyAny>>>,
    routing: Option<String>,
    ttft: Option<Duration>,
    tpot: Option<Duration>,
    assume: Option<BTreeMap<String, Bound<'_, PyAny>>>,
    usable: f64,
) -> PyResult<Cost> {
    let degree = |amount: Option<Amount>| list(amount).unwrap_or_else(|| vec![1]);
    let pairs = |pairs: Option<BTreeMap<String, Bound<'_, PyAny>>>| {
        let texts = pairs.into_iter().flatten().map(|(key, value)| Ok(format!("{key}={}", value.str()?)));
        texts.collect::<PyResult<Vec<String>>>()
    };
    let settings = pairs(set)?.iter().map(|text| text.parse::<Setting>()).collect::<Result<Vec<_>, _>>();
    let question = CostQuestion {
        configs: configs.all(),
        batch: degree(batch),
        prefill: list(prefill),
        prefix: one(prefix)?.unwrap_or(0),
        chunk: one(chunk)?,
        context: list(context),
        steps: one(steps)?.unwrap_or(1),
        draft: one(draft)?.unwrap_or(0),
        images: one(images)?,
        image_size,
        hardware: hardware.map(Words::all).unwrap_or_default(),
        tp: degree(tp),
        pp: degree(pp),
        ep: degree(ep),
        dp: degree(dp),
        usable,
        dtype: dtype.map(Words::all).unwrap_or_default(),
        kv_dtype,
        assume: pairs(assume)?,
        set: settings.map_err(PyValueError::new_err)?,
        routing: routing.unwrap_or_else(|| "uniform".to_owned()),
        ttft: ttft.map(Duration::seconds),
        tpot: tpot.map(Duration::seconds),
        ..CostQuestion::default()
    };
    watched(py, move |_| {
        let answer = rooflens_core::cost(&question)?;
        let shown = ReportTables::new(answer.parts());
        Ok(Cost { answer, shown })
    })
}

#[pymethods]
impl Cost {
    /// The answer in a sentence or two.
    #[getter]
    fn verdict(&self) -> &str {
        self.shown.lead()
    }

    /// Every number, as `rooflens cost --format json` prints it.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.answer.document())
    }

    /// Names of the tables; each is an attribute.
    #[getter]
    fn table_names(&self) -> Vec<String> {
        self.shown.names()
    }

    /// A table of the answer.
    fn __getattr__(&self, name: &str) -> PyResult<TableObject> {
        self.shown.attribute(name)
    }

    fn __dir__(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        slf.get().shown.dir(slf.as_any())
    }

    fn __repr__(&self) -> String {
        format!("<rooflens.Cost: {}>", self.verdict())
    }

    /// What a notebook shows.
    fn _repr_html_(&self) -> String {
        let names = self.table_names();
        let first: Vec<&str> = names.iter().take(1).map(String::as_str).collect();
        self.shown.summary(self.verdict(), &first)
    }
}
