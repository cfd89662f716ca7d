//! Sweeps: values that stand for several.

use std::collections::BTreeSet;

use super::element::OverrideElement;
use super::number::Number;

/// A value that stands for several.
#[derive(Debug, Clone, PartialEq)]
pub enum SweepExpression {
    /// `a,b,c` or `choice(a,b,c)`.
    Choice(ChoiceSweep),
    /// `range(1,10)`.
    Range(RangeSweep),
    /// `interval(0,1)`: every number between two.
    Interval(IntervalSweep),
    /// `glob(*)`: options of a config group.
    Glob(Glob),
}

/// One of several values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChoiceSweep {
    /// The values.
    pub items: Vec<OverrideElement>,
    /// Whether it was written without `choice`: `a,b,c`.
    pub simple: bool,
    /// Whether the values come in random order.
    pub shuffle: bool,
    /// What `tag` says of it.
    pub tags: BTreeSet<String>,
}

/// Numbers at equal distances.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeSweep {
    /// The first.
    pub start: Number,
    /// The first that is no longer in it.
    pub stop: Number,
    /// The distance.
    pub step: Number,
    /// Whether the numbers come in random order.
    pub shuffle: bool,
    /// What `tag` says of it.
    pub tags: BTreeSet<String>,
}

/// Every number from `start` to before `end`.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalSweep {
    /// The first.
    pub start: Number,
    /// The first that is no longer in it.
    pub end: Number,
    /// What `tag` says of it.
    pub tags: BTreeSet<String>,
}

/// The options of a config group that fit one of the patterns and none of the exceptions.
///
/// The patterns are elements and not text because Hydra takes any list here and fails only when an
/// option is held against something that is no pattern, such as quoted text inside a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Glob {
    /// The patterns.
    pub include: Vec<OverrideElement>,
    /// The exceptions.
    pub exclude: Vec<OverrideElement>,
}

impl SweepExpression {
    /// What `tag` says of it. A glob has no tags.
    #[must_use]
    pub fn tags(&self) -> Option<&BTreeSet<String>> {
        match self {
            SweepExpression::Choice(choice) => Some(&choice.tags),
            SweepExpression::Range(range) => Some(&range.tags),
            SweepExpression::Interval(interval) => Some(&interval.tags),
            SweepExpression::Glob(_) => None,
        }
    }

    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            SweepExpression::Choice(_) => "a choice",
            SweepExpression::Range(_) => "a range",
            SweepExpression::Interval(_) => "an interval",
            SweepExpression::Glob(_) => "a glob",
        }
    }
}
