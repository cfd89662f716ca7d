//! Grids that leave multiprocessors without a block.

use super::{KernelRemark, KernelRule, is_product};
use crate::{Bound, Kernel};

/// The rule.
pub(super) struct SmallGrid;

impl KernelRule for SmallGrid {
    fn name(&self) -> &'static str {
        "small_grid"
    }
    fn about(&self) -> &'static str {
        "neither compute nor memory reaches 60 % of its peak, and the grid has fewer blocks than the device holds at once"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        let waves = kernel.waves.filter(|waves| *waves < 1.0)?;
        let blocks: u64 = kernel.grid?.iter().product();
        (kernel.bound == Some(Bound::Launch)).then(|| KernelRemark {
            measured: format!(
                "{blocks} blocks are {} of what the device holds at once (below 1); compute and memory are below 60 % of their peaks",
                if waves < 0.01 { "less than 0.01".to_owned() } else { format!("{waves:.2}") }
            ),
            change: match is_product(kernel) {
                true => "more, smaller blocks (split along K or the sequence), or a larger batch",
                false => "more, smaller blocks, a larger batch, or fusing it with its neighbours",
            }
            .to_owned(),
        })
    }
}
