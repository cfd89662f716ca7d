//! Sweeps: values that stand for several.

use std::collections::BTreeSet;

use super::element::Element;
use super::number::Number;

/// A value that stands for several.
#[derive(Debug, Clone, PartialEq)]
pub enum Sweep {
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
    pub items: Vec<Element>,
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
    pub include: Vec<Element>,
    /// The exceptions.
    pub exclude: Vec<Element>,
}

impl Sweep {
    /// What `tag` says of it. A glob has no tags.
    #[must_use]
    pub fn tags(&self) -> Option<&BTreeSet<String>> {
        match self {
            Sweep::Choice(choice) => Some(&choice.tags),
            Sweep::Range(range) => Some(&range.tags),
            Sweep::Interval(interval) => Some(&interval.tags),
            Sweep::Glob(_) => None,
        }
    }

    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Sweep::Choice(_) => "a choice",
            Sweep::Range(_) => "a range",
            Sweep::Interval(_) => "an interval",
            Sweep::Glob(_) => "a glob",
        }
    }
}
