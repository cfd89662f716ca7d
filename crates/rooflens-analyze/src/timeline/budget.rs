//! How much a page may hold: its data stays below 2 MB, however large the trace is.

/// Slices of all windows together: about 30 bytes each.
pub(super) const SLICES: usize = 34_000;
/// Slices of one lane of a window; more are merged with their neighbours.
pub(super) const LANE_SLICES: usize = 5_000;
/// Lanes of one kind in a window.
pub(super) const LANES: usize = 16;
/// Steps whose sums are kept, and the numbers of all their sums.
pub(super) const STEPS: usize = 1_000;
pub(super) const STEP_NUMBERS: usize = 60_000;
/// Windows of steps.
pub(super) const WINDOWS: usize = 64;
/// Names whose longest call has a place, of kernels and of operators.
pub(super) const KERNEL_NAMES: usize = 300;
pub(super) const OPERATOR_NAMES: usize = 150;
/// Slices on either side of a longest call.
pub(super) const NEIGHBOURS: usize = 12;
/// Operators within operators that are drawn.
pub(super) const DEPTH: i32 = 3;
/// Ranks beside the first whose collectives are kept.
pub(super) const OTHER_RANKS: usize = 15;
/// Slices of a lane beside a longest call, and beside all of them.
pub(super) const LANE_NEIGHBOURS: usize = 40;
pub(super) const NEIGHBOURS_IN_ALL: usize = 9_000;
