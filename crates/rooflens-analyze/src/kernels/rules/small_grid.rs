//! Grids that leave multiprocessors without a block.

use super::{KernelRemark, KernelRule, is_product};
use crate::kernels::{Bound, Kernel, SMALL_GRID_BELOW};

/// Neither compute nor memory reaches 60 % of its peak, and the grid has fewer than 3 blocks for every 4 multiprocessors.
pub(super) struct SmallGrid;

impl KernelRule for SmallGrid {
    fn name(&self) -> &'static str {
        "small_grid"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        (kernel.bound == Some(Bound::Launch)).then(|| KernelRemark {
            measured: format!(
                "{} (below {SMALL_GRID_BELOW} for each); compute and memory are below 60 % of their peaks",
                kernel.blocks_and_multiprocessors()
            ),
            change: match is_product(kernel) {
                true => "more, smaller blocks (split along K or the sequence), or a larger batch",
                false => "more, smaller blocks, a larger batch, or fusing it with its neighbours",
            }
            .to_owned(),
        })
    }
}
