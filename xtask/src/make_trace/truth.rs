//! What was planted: written down while it is planted, never read off the trace.

use std::collections::BTreeMap;

use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Truth {
    pub(crate) seed: u64,
    pub(crate) model_type: String,
    pub(crate) hardware: String,
    /// Devices that share each layer.
    pub(crate) tp: u64,
    /// What `--context` must say, if the annotations do not have it.
    pub(crate) context: Option<u64>,
    /// What `--batch` must say, if the annotations do not have it.
    pub(crate) batch: Option<u64>,
    pub(crate) annotations: &'static str,
    pub(crate) nesting: String,
    pub(crate) graph_replays: usize,
    /// Time of kernels over their floor, less one, by kind of work.
    pub(crate) inefficiency: BTreeMap<&'static str, f64>,
    pub(crate) wall_ns: i64,
    pub(crate) phases: BTreeMap<&'static str, PhaseTruth>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct PhaseTruth {
    pub(crate) steps: usize,
    /// Those of them that the recording spoilt, by how the analysis calls it.
    pub(crate) flawed: BTreeMap<&'static str, usize>,
    /// Whether the annotations and options tell the shapes: else there is no floor.
    pub(crate) has_floor: bool,
    pub(crate) lines: BTreeMap<&'static str, f64>,
    pub(crate) work: BTreeMap<&'static str, WorkTruth>,
    /// By layer; null where steps replay graphs, which tell no layers.
    pub(crate) layers: Option<BTreeMap<u64, LayerTruth>>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct WorkTruth {
    pub(crate) ns: i64,
    /// The least time for it; null without shapes.
    pub(crate) floor_ns: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct LayerTruth {
    pub(crate) kernels_ns: i64,
    /// Kernels that it does not need.
    pub(crate) unneeded_ns: i64,
    pub(crate) moved_ns: i64,
    /// Gaps before them.
    pub(crate) idle_ns: i64,
}

/// Where planted time belongs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) phase: &'static str,
    pub(crate) layer: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    Products,
    Attention,
    Norms,
    Lookups,
    /// What the static model does not count.
    Others,
}

impl Work {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Work::Products => "products",
            Work::Attention => "attention",
            Work::Norms => "norms",
            Work::Lookups => "lookups",
            Work::Others => "others",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Planted {
    Needed(Work),
    /// A kernel that it does not need.
    Unneeded,
    Communication,
    Copies,
    Idle(&'static str),
}

impl Truth {
    /// Writes down planted time; less than zero takes back.
    pub(crate) fn add(&mut self, place: Place, what: Planted, ns: i64) {
        self.wall_ns += ns;
        let phase = self.phases.entry(place.phase).or_default();
        let line = match what {
            Planted::Needed(_) => "kernels",
            Planted::Unneeded => "unneeded",
            Planted::Communication => "communication",
            Planted::Copies => "copies",
            Planted::Idle(cause) => cause,
        };
        *phase.lines.entry(line).or_default() += ns as f64;
        if let Planted::Needed(work) = what {
            phase.work.entry(work.as_str()).or_default().ns += ns;
        }
        if let (Some(layers), Some(layer)) = (&mut phase.layers, place.layer) {
            let layer = layers.entry(layer).or_default();
            match what {
                Planted::Needed(_) => layer.kernels_ns += ns,
                Planted::Unneeded => layer.unneeded_ns += ns,
                Planted::Communication | Planted::Copies => layer.moved_ns += ns,
                Planted::Idle(_) => layer.idle_ns += ns,
            }
        }
    }

    /// Writes down that kernels of a phase could not have been faster than this.
    pub(crate) fn add_floor(&mut self, phase: &'static str, work: Work, ns: f64) {
        let phase = self.phases.entry(phase).or_default();
        *phase.work.entry(work.as_str()).or_default().floor_ns.get_or_insert(0.0) += ns;
        *phase.lines.entry("floor").or_default() += ns;
        *phase.lines.entry("inefficiency").or_default() -= ns;
    }

    pub(crate) fn close(&mut self) {
        for phase in self.phases.values_mut().filter(|phase| phase.has_floor) {
            if let Some(kernels) = phase.lines.remove("kernels") {
                *phase.lines.entry("inefficiency").or_default() += kernels;
            }
        }
    }
}
