//! What changed between two runs, and is it more than chance?
//!
//! [`ratio()`] compares two samples, [`adjusted`] corrects for many questions at once, and [`timelines`] compares
//! what two runs did step by step: wall time, busy time by class and operator, idle time by cause, and kernel by
//! kernel, where a kernel that another replaced within the same operator or module is one line with it.
//!
//! ```
//! let before = [10.1, 10.0, 10.2, 9.9, 10.0, 10.1, 9.8, 10.0];
//! let after = [9.0, 9.1, 8.9, 9.0, 9.2, 9.0, 8.9, 9.1];
//! let ratio = rooflens_analyze::compare::ratio(&before, &after).expect("enough values");
//! assert!(ratio.high < 1.0 && ratio.p < 0.05, "faster, and more than chance");
//! assert!(rooflens_analyze::compare::ratio(&before[..2], &after[..2]).is_none(), "two values tell nothing");
//! ```

mod account;
mod blocks;
#[cfg(test)]
mod calibration;
pub mod headline;
mod independent;
mod lines;
pub mod load;
mod matching;
mod pair;
mod paired;
mod random;
mod rank_sum;
mod ratio;
#[cfg(test)]
mod tests;
mod timeline;
pub mod trend;

pub use account::{Account, AccountRow, Entry};
pub use independent::IndependentRatios;
pub use lines::{
    ComparedLine, How, LEAST_CHANGE, LEVEL, PhaseChange, PlaceChange, TimelineChange, all_places, places,
    timelines,
};
pub use pair::{Check, CheckVerdict, ConfigDifference, Headline, Pair, judge};
pub use paired::{FEWEST_PAIRS, paired_ratio_of};
pub use rank_sum::{adjusted, least_rank_sum, rank_sum};
pub use ratio::{FEWEST, Ratio, median, ratio, ratio_of};
pub use timeline::{RankTimeline, TimelineStep, WorkItem};
