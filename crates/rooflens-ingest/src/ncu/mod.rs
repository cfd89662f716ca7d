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

use rooflens_schema::Notes;

use crate::error::IngestError;
use crate::reading::Reading;

pub use folder::read_all;

/// What a `.ncu-rep` file begins with.
pub const MAGIC: &[u8] = b"NVR\0";

/// A profiled launch, or a range or graph that was profiled as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NcuLaunch {
    /// Full name; empty for a range or graph.
    pub name: String,
    /// Blocks, where known.
    pub grid: Option<[u64; 3]>,
    /// Threads of a block, where known.
    pub block: Option<[u64; 3]>,
    /// Values by name. A metric that stands twice has its last value.
    pub metrics: BTreeMap<String, NcuMetric>,
    /// What Nsight Compute's own rules say.
    pub rules: Vec<NcuRule>,
}

/// A metric of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct NcuMetric {
    /// The whole; absent where there are only parts.
    pub value: Option<MetricValue>,
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

/// What a rule says of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct NcuRule {
    /// Its stable name.
    pub id: String,
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
        let number = match self.metrics.get(metric)?.value.as_ref()? {
            MetricValue::Whole(whole) => *whole as f64,
            MetricValue::Number(number) => *number,
            MetricValue::Text(_) => return None,
        };
        Some(number).filter(|number| number.is_finite())
    }

    /// A metric as a text.
    pub fn text(&self, metric: &str) -> Option<&str> {
        match self.metrics.get(metric)?.value.as_ref()? {
            MetricValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads the launches of a `.ncu-rep` file, in its order. What is damaged becomes a note; a file without any
/// launch is an error.
pub fn read(bytes: &[u8], source: &str, notes: &Notes) -> Result<Vec<NcuLaunch>, IngestError> {
    let reading = Reading { source: source.to_owned(), format: "ncu", notes };
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(reading.fail("it does not begin with NVR"));
    };
    let launches = frame::read(rest, &|message| reading.lost("damaged_report", 1, message));
    match launches.is_empty() {
        true => Err(reading.fail("no launch was profiled, or the file is truncated before the first")),
        false => Ok(launches),
    }
}
