//! Nsight Compute: the metrics of single kernel launches, from `.ncu-rep` files or from what `ncu --csv`
//! printed of them. They have no timeline, so they are no trace: a report is a list of launches.
//!
//! * `message`: the messages of a `.ncu-rep` file that are read.
//! * `frame`: cutting the file into messages, and going on after damage.
//! * `csv`: the printed pages.
//! * `base_unit`: units by the names of metrics.
//! * `folder`: several files as one list of launches.

mod base_unit;
pub mod csv;
mod folder;
mod frame;
mod message;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rooflens_schema::{Notes, Severity, Stage};

use crate::error::IngestError;

pub use folder::read_all;

/// What a `.ncu-rep` file begins with.
pub const MAGIC: &[u8] = b"NVR\0";

/// What a report holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Profiled launches, in the order of the file.
    pub launches: Vec<NcuLaunch>,
    /// Version of the program that wrote it.
    pub(crate) version: Option<String>,
}

/// A profiled launch, or a range or graph that was profiled as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NcuLaunch {
    /// What was profiled.
    pub(crate) what: What,
    /// Full name; empty for a range or graph.
    pub name: String,
    /// Name without its parameters.
    pub(crate) function: String,
    /// Blocks, where known.
    pub grid: Option<[u64; 3]>,
    /// Threads of a block, where known.
    pub block: Option<[u64; 3]>,
    /// CUDA context.
    pub(crate) context: Option<u32>,
    /// CUDA stream.
    pub(crate) stream: Option<u32>,
    /// NVTX ranges open around it, outermost first, each as `domain:name` or, of the default domain, `name`.
    pub(crate) ranges: Vec<String>,
    /// Values by name. A metric that stands twice has its last value.
    pub metrics: BTreeMap<String, NcuMetric>,
    /// What Nsight Compute's own rules say.
    pub rules: Vec<NcuRule>,
}

/// What was profiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum What {
    /// A kernel.
    #[default]
    Kernel,
    /// A range of calls.
    Range,
    /// A list of commands.
    CommandList,
    /// A CUDA graph.
    Graph,
}

/// A metric of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct NcuMetric {
    /// The whole; absent where there are only parts.
    pub value: Option<MetricValue>,
    /// Its parts: of what, how much.
    pub(crate) instances: Vec<(Option<MetricValue>, MetricValue)>,
    /// Its base unit, in Nsight Compute's word; nothing where it has none or the file does not tell.
    pub unit: Option<String>,
}

/// A value, as it was written: in the metric's base unit.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl MetricValue {
    /// As a number, where it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            MetricValue::Whole(whole) => Some(*whole as f64),
            MetricValue::Number(number) => Some(*number),
            MetricValue::Text(_) => None,
        }
    }
}

/// What a rule says of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct NcuRule {
    /// Its stable name.
    pub id: String,
    /// Its name for people.
    pub(crate) name: String,
    /// The section that it belongs to.
    pub(crate) section: Option<String>,
    /// What it says, with how bad that is.
    pub messages: Vec<(RuleGrade, String)>,
    /// The speedup that it estimates, in percent: of this launch (`local` is of its own part of it).
    pub speedup: Option<Speedup>,
}

/// How bad something is to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleGrade {
    /// Said for information.
    Info,
    /// All is well.
    Ok,
    /// A warning.
    Warning,
    /// The rule failed.
    Error,
    /// Something to gain.
    Optimization,
}

/// An estimated speedup.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speedup {
    /// Whether it is of the whole launch, and not of the part that the rule looks at.
    pub is_global: bool,
    /// Percent of the time.
    pub percent: f64,
}

impl NcuLaunch {
    /// A metric as a number.
    pub fn number(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric)?.value.as_ref()?.number().filter(|number| number.is_finite())
    }

    /// A metric as a text.
    pub fn text(&self, metric: &str) -> Option<&str> {
        match self.metrics.get(metric)?.value.as_ref()? {
            MetricValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a `.ncu-rep` file. What is damaged becomes a note; one without any launch is an error.
pub fn read(bytes: &[u8], source: &str, notes: &Notes) -> Result<Report, IngestError> {
    let fail = |why: &str| IngestError::NoRecords {
        source_name: source.to_owned(),
        format: "ncu",
        why: why.to_owned(),
    };
    let Some(rest) = bytes.strip_prefix(MAGIC) else { return Err(fail("it does not begin with NVR")) };
    let lost = |message: &str| {
        notes.add(Stage::Ingest, Severity::DataLoss, "damaged_report", source, message.to_owned())
    };
    let report = frame::read(rest, &lost);
    if report.launches.is_empty() {
        return Err(fail("no launch was profiled, or the file is truncated before the first"));
    }
    Ok(report)
}
