//! One device, plain formats.

use std::path::Path;

use rooflens_cost::ConfigError;
use rooflens_cost::config::parse;
use rooflens_cost::families;
use rooflens_cost::model::Model;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::pass::{LatentOrder, Pass};
use rooflens_cost::precision::{Dtype, Storage};
use rooflens_cost::routing::{Routing, Touch};
use rooflens_cost::step::Step;
use rooflens_cost::tally::Tally;

pub fn read(path: &Path) -> Result<Model, ConfigError> {
    Ok(families::read(&parse(&std::fs::read(path).unwrap())?, None, None)?.model)
}

pub fn pass(step: Step, parallel: Parallel, rank: u64) -> Pass<'static> {
    let place = parallel.place(rank);
    Pass {
        step,
        tp: place.tp,
        ep: place.ep,
        expert_tp: place.expert_tp,
        expert_batches: place.expert_batches,
        activation: Dtype::Bf16,
        kv: Storage::plain(Dtype::Bf16),
        state: Storage::plain(Dtype::Fp32),
        dispatch: Dtype::Bf16,
        sequence_parallel: false,
        multicast: false,
        node: None,
        routing: &Routing::Uniform,
        touch: Touch::Expected,
        latent: LatentOrder::ByPhase,
    }
}

pub fn tally(model: &Model, step: Step) -> Tally {
    let mut tally = Tally::default();
    tally.add(model, &pass(step, Parallel::NONE, 0), None, &mut Vec::new());
    tally
}
