//! What is asked beyond one design and one workload: changes, comparisons, targets, turning points, sweeps.

pub mod blueprint;
pub mod compare;
pub mod crossover;
pub mod hold;
pub mod inverse;
pub mod sweep;
pub mod tiles;
