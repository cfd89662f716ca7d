//! A last wave of blocks that fills little of the device.

use super::{KernelRemark, KernelRule, is_product};
use crate::kernels::{Bound, Kernel};

/// The last wave of blocks leaves at least 10 % of the device's time empty if blocks take equally long, and the busiest unit has that much headroom.
pub(super) struct Tail;

/// From this share of the device's time on.
const FROM_PCT: f64 = 10.0;

impl KernelRule for Tail {
    fn name(&self) -> &'static str {
        "tail_effect"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        let waves = kernel.waves.filter(|waves| *waves > 1.0 && waves.is_finite())?;
        // What is busy all the time is not idle at the end.
        let busiest = kernel.compute_pct?.max(kernel.memory_pct?);
        let last = waves.fract();
        if last == 0.0 || kernel.bound == Some(Bound::Memory) {
            return None;
        }
        let empty = 100.0 * (1.0 - last) / waves.ceil();
        let at_most = empty.min(100.0 - busiest);
        (at_most >= FROM_PCT).then(|| KernelRemark {
            measured: format!(
                "{waves:.2} waves: the last fills {:.0} % of the device; up to {at_most:.0} % of its time is empty if blocks take equally long (from {FROM_PCT:.0} %)",
                100.0 * last
            ),
            change: match is_product(kernel) {
                true => "a grid of whole waves (another tile size), a persistent kernel, or stream-K",
                false if kernel.name.contains("grid_stride") => "a grid of whole waves: another block size",
                false => "a grid of whole waves: another block size, or a grid-stride loop",
            }
            .to_owned(),
        })
    }
}
