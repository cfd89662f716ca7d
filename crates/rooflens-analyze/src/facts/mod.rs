//! Passes over the columns of one rank: what the trace implies becomes columns.
//!
//! Each pass is a file with one entry point, reads what earlier passes wrote, and fills the columns
//! that its doc comment names. A question then is a fold over columns, here or in any SQL engine.

mod api_kind;
mod flaws;
mod gaps;
pub(crate) mod gemm_calls;
mod kernel_dim;
mod launches;
mod layers;
mod membership;
mod modules;
mod nesting;
mod order;
mod pattern;
mod phase_names;
mod steps;
#[cfg(test)]
mod tests;

pub(crate) use api_kind::launches as launches_work;
pub(crate) use gaps::{LAUNCHING_PACE_NS, SLOW_LAUNCH_NS};
pub(crate) use launches::CallsById;

use rooflens_schema::RankTables;

pub use layers::Capture;
pub(crate) use modules::layer_in;
pub(crate) use steps::{Contradictions, is_pass};

/// Runs every pass, in order.
pub fn derive(tables: &mut RankTables) {
    derive_with(tables, None);
}

/// What the passes could not settle on their own.
#[derive(Debug, Default)]
pub struct Derived {
    /// Kernels of graph replays that got their places from a capture.
    pub placed: usize,
    /// Names of one step that disagree.
    pub contradictions: Contradictions,
}

/// Runs every pass, in order; kernels of graph replays get their places from the capture of the graphs, if given.
pub fn derive_with(tables: &mut RankTables, capture: Option<&Capture>) -> Derived {
    order::sort(tables);
    kernel_dim::describe(tables);
    api_kind::classify(tables);
    nesting::nest(tables);
    let launches = launches::link(tables);
    modules::attribute(tables, &launches);
    phase_names::read(tables);
    pattern::find_steps(tables);
    let contradictions = steps::merge(tables);
    membership::assign(tables, &launches);
    flaws::mark(tables, &launches);
    let placed = capture.map_or(0, |capture| layers::from_capture(tables, &launches, capture));
    layers::from_pattern(tables, &launches);
    gaps::explain(tables, &launches);
    launches::measure_queue(tables, &launches);
    gemm_calls::link(tables);
    Derived { placed, contradictions }
}

/// What was captured into graphs, from a trace that was recorded meanwhile.
pub fn captured(mut tables: RankTables) -> Capture {
    let tables = &mut tables;
    order::sort(tables);
    api_kind::classify(tables);
    nesting::nest(tables);
    let launches = launches::link(tables);
    let places = modules::attribute(tables, &launches);
    Capture::new(tables, &places)
}
