//! From a question to an answer: one design, two side by side, or many points.

use rooflens_cost::compare::Differences;
use rooflens_cost::document::EstimateDocument;
use rooflens_cost::hold::Balance;
use rooflens_cost::inverse::Met;
use rooflens_cost::sweep::{CostSummary, PhaseSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::document::read_both;

/// An answer.
pub enum Answer {
    /// One design, or two.
    One(Box<One>),
    /// Many points.
    Sweep(CostSweep),
}

/// One design, perhaps with the one it is compared with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct One {
    /// What the designs are called.
    pub(crate) names: DesignNames,
    /// The requested design.
    #[serde(flatten)]
    pub(crate) document: EstimateDocument,
    /// The design before the change, or the first of two.
    pub(crate) base: Option<EstimateDocument>,
    /// What differs.
    pub(crate) differences: Option<Differences>,
    /// How a change was made up for.
    pub(crate) balance: Option<Balance>,
}

/// What designs are called: their files, and what was changed of them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DesignNames {
    /// The requested design.
    pub(crate) design: String,
    /// The one that it is compared with.
    pub(crate) base: Option<String>,
}

/// Many points.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CostSweep {
    /// What does not vary, with its one value.
    pub(crate) fixed: Vec<CostAxis>,
    /// What varies.
    pub(crate) axes: Vec<CostAxis>,
    /// Each combination, the last axis varying fastest.
    pub(crate) points: Vec<SweepPoint>,
    /// Combinations that cannot be, such as more stages than layers.
    pub(crate) impossible: Vec<Impossible>,
    /// Bytes that may be used of each device.
    pub(crate) usable_bytes: Vec<Usable>,
    /// What all of it rests on.
    pub(crate) assumptions: Vec<String>,
}

/// What varies.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CostAxis {
    /// Its name, as `batch`.
    pub(crate) name: String,
    /// Its values.
    pub(crate) values: Vec<String>,
}

/// A point.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SweepPoint {
    /// The value of each axis.
    pub(crate) at: Vec<String>,
    /// What it costs, all phases together.
    #[serde(flatten)]
    pub(crate) summary: CostSummary,
    /// What each phase costs.
    pub(crate) phases: Vec<PhaseSummary>,
    /// Whether it meets the targets.
    pub(crate) targets: Vec<Met>,
    /// How its change was made up for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) balance: Option<Balance>,
}

/// A combination that cannot be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Impossible {
    /// The value of each axis.
    pub(crate) at: Vec<String>,
    /// Why not.
    pub(crate) reason: String,
}

/// What may be used of a device.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Usable {
    /// The device.
    pub(crate) hardware: String,
    /// Bytes; null where its memory is not known.
    pub(crate) bytes: Option<f64>,
}

impl<'de> Deserialize<'de> for One {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Beside {
            names: DesignNames,
            base: Option<EstimateDocument>,
            differences: Option<Differences>,
            balance: Option<Balance>,
        }
        let (document, beside): (_, Beside) = read_both(deserializer)?;
        let Beside { names, base, differences, balance } = beside;
        Ok(One { names, document, base, differences, balance })
    }
}

impl<'de> Deserialize<'de> for SweepPoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Beside {
            at: Vec<String>,
            phases: Vec<PhaseSummary>,
            targets: Vec<Met>,
            balance: Option<Balance>,
        }
        let (summary, beside): (_, Beside) = read_both(deserializer)?;
        let Beside { at, phases, targets, balance } = beside;
        Ok(SweepPoint { at, summary, phases, targets, balance })
    }
}
