//! Which layers and modules take the device time?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Device time by layer and by module of the model.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Modules {
    /// By layer index.
    pub layers: Vec<LayerStat>,
    /// By module path with indices taken out, most device time first; at most 200.
    pub modules: Vec<ModuleStat>,
    /// Share of device time with a layer, 0 to 1.
    pub layer_share: f64,
    /// Share of device time with a module, 0 to 1.
    pub module_share: f64,
}

/// One layer.
#[derive(Debug, Clone, Serialize)]
pub struct LayerStat {
    /// Layer index.
    pub layer: i32,
    /// Activities.
    pub activities: usize,
    /// Sum of durations.
    pub device_ns: i64,
}

/// One kind of module.
#[derive(Debug, Clone, Serialize)]
pub struct ModuleStat {
    /// Path, indices taken out.
    pub module: String,
    /// Activities.
    pub activities: usize,
    /// Sum of durations.
    pub device_ns: i64,
    /// Share of all device time, 0 to 1.
    pub share: f64,
}

/// The question of this file.
pub(super) struct ModulesAnalysis;

impl Analysis for ModulesAnalysis {
    fn name(&self) -> &'static str {
        "modules"
    }
    fn question(&self) -> &'static str {
        "Which layers and modules take the device time?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "module or layer names"
    }
    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {}

impl Fold for State {
    fn rank(&mut self, _tables: &RankTables) {}
    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        None
    }
}
