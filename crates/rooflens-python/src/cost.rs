//! What a model costs.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rooflens_core::cost::amount::{Numbers, seconds};
use rooflens_core::cost::question::Setting;
use rooflens_core::cost::{Answer, CostQuestion};

use crate::analysis::Paths;
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

/// Numbers as people write them: 8, "4k", "1..256" or [1, 2, 4].
#[derive(FromPyObject)]
pub enum Amount {
    /// One.
    One(u64),
    /// As on a command line.
    Text(String),
    /// Several.
    Many(Vec<u64>),
}

impl Amount {
    fn numbers(self) -> PyResult<Vec<u64>> {
        match self {
            Amount::One(number) => Ok(vec![number]),
            Amount::Many(numbers) => Ok(numbers),
            Amount::Text(text) => {
                text.parse::<Numbers>().map(|numbers| numbers.0).map_err(PyValueError::new_err)
            }
        }
    }

    fn number(self) -> PyResult<u64> {
        match self.numbers()?.as_slice() {
            [number] => Ok(*number),
            _ => Err(PyValueError::new_err("one number is wanted here, not several")),
        }
    }
}

/// One word, or several.
#[derive(FromPyObject)]
pub enum Words {
    /// One, or several with commas between them.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Words {
    fn all(self) -> Vec<String> {
        match self {
            Words::One(word) => word.split(',').map(|word| word.trim().to_owned()).collect(),
            Words::Many(words) => words,
        }
    }
}

/// A time as text with a unit, or in seconds.
#[derive(FromPyObject)]
pub enum Duration {
    /// In seconds.
    Seconds(f64),
    /// As "30ms".
    Text(String),
}

impl Duration {
    fn seconds(self) -> PyResult<f64> {
        match self {
            Duration::Seconds(value) => Ok(value),
            Duration::Text(text) => seconds(&text).map_err(PyValueError::new_err),
        }
    }
}

fn list(amount: Option<Amount>) -> PyResult<Option<Vec<u64>>> {
    amount.map(Amount::numbers).transpose()
}

fn one(amount: Option<Amount>) -> PyResult<Option<u64>> {
    amount.map(Amount::number).transpose()
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
    let degree = |amount: Option<Amount>| Ok::<_, PyErr>(list(amount)?.unwrap_or_else(|| vec![1]));
    let pairs = |pairs: Option<BTreeMap<String, Bound<'_, PyAny>>>| {
        let texts = pairs.into_iter().flatten().map(|(key, value)| Ok(format!("{key}={}", value.str()?)));
        texts.collect::<PyResult<Vec<String>>>()
    };
    let settings = pairs(set)?.iter().map(|text| text.parse::<Setting>()).collect::<Result<Vec<_>, _>>();
    let question = CostQuestion {
        configs: configs.all(),
        batch: degree(batch)?,
        prefill: list(prefill)?,
        prefix: one(prefix)?.unwrap_or(0),
        chunk: one(chunk)?,
        context: list(context)?,
        steps: one(steps)?.unwrap_or(1),
        draft: one(draft)?.unwrap_or(0),
        images: one(images)?,
        image_size,
        hardware: hardware.map(Words::all).unwrap_or_default(),
        tp: degree(tp)?,
        pp: degree(pp)?,
        ep: degree(ep)?,
        dp: degree(dp)?,
        usable,
        dtype: dtype.map(Words::all).unwrap_or_default(),
        kv_dtype,
        assume: pairs(assume)?,
        set: settings.map_err(PyValueError::new_err)?,
        routing: routing.unwrap_or_else(|| "uniform".to_owned()),
        ttft: ttft.map(Duration::seconds).transpose()?,
        tpot: tpot.map(Duration::seconds).transpose()?,
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
