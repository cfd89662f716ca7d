//! The two figures of every answer: a bound that no implementation beats, and an estimate.

use crate::hardware::Device;
use crate::practice::{Assumed, Practice};
use crate::roof::Roof;
use crate::setup::{Nodes, Setup};
use crate::tally::Spent;

/// A way of running a model, and the rates that it runs at.
#[derive(Debug, Clone)]
pub struct Figure {
    /// How devices work together.
    pub setup: Setup,
    /// What they reach; none without a device.
    pub roof: Option<Roof>,
    /// Share of the communication that is hidden behind other work.
    pub(crate) overlap: f64,
}

impl Figure {
    pub(crate) fn seconds(&self, spent: Spent) -> f64 {
        spent.seconds(self.overlap)
    }

    /// Seconds of the transfers between the stages of a pipeline for one step: `bytes` of activations, which
    /// each device of tensor parallelism sends whole or, split by token, in part.
    pub(crate) fn between_stages(&self, bytes: u128) -> f64 {
        let Some(roof) = &self.roof else { return 0.0 };
        let parallel = self.setup.parallel;
        let sent =
            if self.setup.practice.sequence_parallel { bytes.div_ceil(parallel.tp.into()) } else { bytes };
        let reached = self.reached();
        let one = |rate: f64| sent as f64 / rate / reached.0 + reached.1;
        let across = parallel.stages_across_nodes(self.setup.nodes.size);
        let within = parallel.pp - 1 - across;
        let (within_s, across_s) = (one(roof.link), one(roof.inter_node.min(roof.link)));
        let spent =
            |boundaries: u64, seconds: f64| if boundaries == 0 { 0.0 } else { boundaries as f64 * seconds };
        spent(within, within_s) + spent(across, across_s)
    }

    /// Share of the links, and seconds per message.
    fn reached(&self) -> (f64, f64) {
        self.roof.as_ref().and_then(Roof::reached).map_or((1.0, 0.0), |it| (it.link, it.latency_s))
    }
}

/// Both.
#[derive(Debug, Clone)]
pub struct Figures {
    /// What no implementation beats: best known kernels and formats, full overlap.
    pub bound: Figure,
    pub(crate) estimate: Figure,
    /// Those assumptions; none without a device.
    pub(crate) assumed: Option<Assumed>,
}

impl Figures {
    /// The figures of a setup on a device: none where it has no bandwidth or no matrix rate.
    pub fn on(device: &Device, setup: &Setup) -> Option<Self> {
        let nodes = Nodes { size: setup.nodes.size.or(device.devices_per_node), ..setup.nodes };
        let assumed = setup.assume.on(device);
        let with = |practice: Practice| Setup { practice, nodes, ..setup.clone() };
        Some(Self {
            bound: Figure {
                setup: with(Practice::best(Some(device))),
                roof: Some(Roof::bound(device, setup)?),
                overlap: 1.0,
            },
            estimate: Figure {
                setup: with(assumed.practice()),
                roof: Some(Roof::estimate(device, setup, assumed)?),
                overlap: assumed.overlap,
            },
            assumed: Some(assumed),
        })
    }

    /// The figures of a setup on devices of which nothing is known: work without times.
    pub(crate) fn without_device(setup: &Setup) -> Self {
        let with = |practice: Practice| Setup { practice, ..setup.clone() };
        let figure = |practice, overlap| Figure { setup: with(practice), roof: None, overlap };
        Self {
            bound: figure(Practice::best(None), 1.0),
            estimate: figure(Practice::default(), 0.0),
            assumed: None,
        }
    }
}
