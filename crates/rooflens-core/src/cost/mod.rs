//! What a model must cost: from a question to its answer, its figures and its files.

pub mod amount;
pub(crate) mod answer;
pub(crate) mod figures;
mod one;
mod page;
mod plan;
pub mod question;
mod saved;
mod sweep;

pub use self::answer::{Answer, cost, cost_of};
pub(crate) use self::page::{CostDocument, CostSweepDocument};
pub use self::question::CostQuestion;
pub use self::saved::folder as destination;
