//! Which layers lose time in which kernels.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_analyze::analyses::{LayerClass, Ledger, PhaseLedger};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::ChartInputs;
use crate::format;

/// Lost time by layer and class of kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeatPlot {
    /// Whether lower bounds are known: then colours are lost time, else all time.
    pub(crate) has_floor: bool,
    /// The phases with layers, most time first.
    pub phases: Vec<PhaseHeat>,
}

/// The layers of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseHeat {
    /// The phase.
    pub(crate) phase: Cow<'static, str>,
    /// Its steps.
    pub(crate) steps: usize,
    /// Share of the phase's kernel time that the cells hold, 0 to 1.
    pub(crate) covered: f64,
    /// The layers, in order.
    pub(crate) layers: Vec<i32>,
    /// The classes, most time first.
    pub classes: Vec<Cow<'static, str>>,
    /// What ran.
    pub cells: Vec<HeatCell>,
}

/// The kernels of a class in a layer, over all steps of the phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeatCell {
    /// The layer.
    pub(crate) layer: i32,
    /// The class.
    pub(crate) class: Cow<'static, str>,
    /// Their time.
    pub(crate) ns: i64,
    /// Their lower bound; null where it is not known.
    pub(crate) floor_ns: Option<i64>,
}

impl PhaseHeat {
    pub(crate) fn about(&self) -> String {
        let steps = if self.steps > 1 { format!("sum over {} steps, ", self.steps) } else { String::new() };
        let share = format::share(self.covered);
        // With lower bounds, only what an operator of the model does is shown.
        match self.cells.iter().any(|cell| cell.floor_ns.is_some()) {
            true => {
                format!("{steps}{share} of the kernel time: kernels in layers that do operators of the model")
            }
            false => format!("{steps}{share} of the kernel time is in a layer"),
        }
    }
}

impl HeatCell {
    /// Time above the lower bound, or all of it where no bound is known.
    pub fn lost_ns(&self) -> i64 {
        self.ns - self.floor_ns.unwrap_or(0)
    }
}

pub(super) fn data(inputs: &ChartInputs<'_>) -> Result<(String, HeatPlot), String> {
    let none = || "the input has no time ledger: it needs device activity or operators".to_owned();
    let ledger = inputs.findings.get::<Ledger>().ok_or_else(none)?;
    let mut phases: Vec<PhaseHeat> = ledger.phases.iter().filter_map(phase).collect();
    // Outside of steps is work of a step that was not recorded from its beginning: which layers it is of is a guess.
    if phases.iter().any(|phase| phase.steps > 0) {
        phases.retain(|phase| phase.steps > 0);
    }
    if phases.is_empty() {
        return Err("no layers are known: no module names them, and no pattern of kernels repeats".to_owned());
    }
    let cells = || phases.iter().flat_map(|phase| &phase.cells);
    let has_floor = cells().all(|cell| cell.floor_ns.is_some());
    let subtitle = match (has_floor, &ledger.floor_of) {
        (true, Some(source)) => {
            format!("Time above the lower bound of {} on {}", source.model, source.device)
        }
        _ => "All kernel time: no lower bound is known without --model CONFIG".to_owned(),
    };
    Ok((subtitle, HeatPlot { has_floor, phases }))
}

fn phase(phase: &PhaseLedger) -> Option<PhaseHeat> {
    let mut layers: Vec<i32> = phase.layer_classes.iter().map(|cell| cell.layer).collect();
    layers.sort_unstable();
    layers.dedup();
    let mut by_class: BTreeMap<&'static str, i64> = BTreeMap::new();
    for cell in &phase.layer_classes {
        *by_class.entry(cell.class.as_str()).or_default() += cell.ns;
    }
    let mut classes: Vec<(&'static str, i64)> = by_class.into_iter().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.1));
    let cell = |cell: &LayerClass| HeatCell {
        layer: cell.layer,
        class: cell.class.as_str().into(),
        ns: cell.ns,
        floor_ns: cell.floor_ns,
    };
    let all: i64 = phase.classes.iter().map(|class| class.ns).sum();
    let held: i64 = phase.layer_classes.iter().map(|cell| cell.ns).sum();
    (!layers.is_empty()).then(|| PhaseHeat {
        phase: phase.phase.clone(),
        steps: phase.steps,
        // Cells count time in which kernels overlap for each of them.
        covered: (held as f64 / all.max(1) as f64).min(1.0),
        layers,
        classes: classes.into_iter().map(|class| class.0.into()).collect(),
        cells: phase.layer_classes.iter().map(cell).collect(),
    })
}
