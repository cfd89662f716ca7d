//! What was planted: written down while it is planted, never read off the trace.

use std::collections::BTreeMap;

use serde::Serialize;

/// Everything that was planted.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Truth {
    /// What the trace was made from.
    pub(crate) seed: u64,
    /// Family of the model.
    pub(crate) model_type: String,
    /// Device, as the catalog names it.
    pub(crate) hardware: String,
    /// Devices that share each layer.
    pub(crate) tp: u64,
    /// What `--context` must say, if the annotations do not have it.
    pub(crate) context: Option<u64>,
    /// What `--batch` must say, if the annotations do not have it.
    pub(crate) batch: Option<u64>,
    /// How the engine writes its annotations.
    pub(crate) annotations: &'static str,
    /// What is annotated besides the steps.
    pub(crate) nesting: String,
    /// Steps that replay a graph.
    pub(crate) graph_replays: usize,
    /// Time of kernels over their floor, less one, by kind of work.
    pub(crate) inefficiency: BTreeMap<&'static str, f64>,
    /// The spans of all devices.
    pub(crate) wall_ns: i64,
    /// By what the steps do.
    pub(crate) phases: BTreeMap<&'static str, PhaseTruth>,
}

/// What was planted in the steps of a phase.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PhaseTruth {
    /// Its steps, those of all ranks.
    pub(crate) steps: usize,
    /// Those of them that the recording spoilt, by how the analysis calls it.
    pub(crate) flawed: BTreeMap<&'static str, usize>,
    /// Whether the annotations and options tell the shapes: else there is no floor.
    pub(crate) has_floor: bool,
    /// By line of the ledger.
    pub(crate) lines: BTreeMap<&'static str, f64>,
    /// Kernels that the model needs, by kind of work.
    pub(crate) work: BTreeMap<&'static str, WorkTruth>,
    /// By layer; null where steps replay graphs, which tell no layers.
    pub(crate) layers: Option<BTreeMap<u64, LayerTruth>>,
}

/// Kernels of one kind of work.
#[derive(Debug, Default, Serialize)]
pub(crate) struct WorkTruth {
    /// Their time.
    pub(crate) ns: i64,
    /// The least time for it; null without shapes.
    pub(crate) floor_ns: Option<f64>,
}

/// The time of a layer.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LayerTruth {
    /// Kernels that the model needs.
    pub(crate) kernels_ns: i64,
    /// Kernels that it does not need.
    pub(crate) unneeded_ns: i64,
    /// Exposed communication and copies.
    pub(crate) moved_ns: i64,
    /// Gaps before them.
    pub(crate) idle_ns: i64,
}

/// Where planted time belongs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    /// The phase.
    pub(crate) phase: &'static str,
    /// The layer.
    pub(crate) layer: Option<u64>,
}

/// A kind of work of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    /// Products with weights.
    Products,
    /// Attention, with what belongs to it.
    Attention,
    /// Norms.
    Norms,
    /// The embedding.
    Lookups,
    /// What the static model does not count.
    Others,
}

impl Work {
    /// Name in `truth.json`.
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

/// What a stretch of planted time is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Planted {
    /// A kernel that the model needs.
    Needed(Work),
    /// A kernel that it does not need.
    Unneeded,
    /// Exchange.
    Communication,
    /// A copy.
    Copies,
    /// A gap, by its cause.
    Idle(&'static str),
}

impl Truth {
    /// Writes down planted time; less than zero takes back.
    pub fn add(&mut self, place: Place, what: Planted, ns: i64) {
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

    /// Splits kernel time, now that all floors are known.
    pub(crate) fn close(&mut self) {
        for phase in self.phases.values_mut().filter(|phase| phase.has_floor) {
            if let Some(kernels) = phase.lines.remove("kernels") {
                *phase.lines.entry("inefficiency").or_default() += kernels;
            }
        }
    }
}
