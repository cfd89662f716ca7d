//! What a model must cost: from a question to its answer, its figures and its files.

pub mod amount;
pub(crate) mod answer;
mod page;
mod plan;
pub mod question;
pub(crate) mod saved;
mod sweep;

pub use self::answer::Answer;
pub(crate) use self::page::{CostDocument, CostSweepDocument};
pub use self::plan::{cost, cost_of};
pub use self::question::CostQuestion;
pub use self::saved::folder as destination;
