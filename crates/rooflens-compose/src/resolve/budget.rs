//! How much work a config may ask for.

use std::cell::Cell;

use super::ResolveFault;

/// How deep interpolations may refer to interpolations. Python's own limit is reached earlier.
const MAX_DEPTH: usize = 100;
/// How many levels of lists and mappings may be below each other, interpolations followed.
const MAX_NESTING: usize = crate::value::MAX_DEPTH;
/// How many interpolations may be followed: a chain of doublings ends here and not with memory.
const MAX_EVALUATIONS: usize = 1_000_000;
/// How many values a resolved config may have.
const MAX_VALUES: usize = 1_000_000;
/// How many bytes of text resolving may make.
const MAX_BYTES: usize = 64 << 20;

/// Counts the work.
#[derive(Default)]
pub(super) struct Budget {
    depth: Cell<usize>,
    nesting: Cell<usize>,
    evaluations: Cell<usize>,
    values: Cell<usize>,
    bytes: Cell<usize>,
}

/// A level of nesting, until it is dropped.
pub(super) struct Level<'a>(&'a Cell<usize>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Budget {
    /// Enters one interpolation more.
    pub(super) fn enter(&self) -> Result<Level<'_>, ResolveFault> {
        spend(&self.evaluations, 1, MAX_EVALUATIONS, "interpolations")?;
        if self.depth.get() >= MAX_DEPTH {
            return Err(ResolveFault::TooDeep { limit: MAX_DEPTH });
        }
        self.depth.set(self.depth.get() + 1);
        Ok(Level(&self.depth))
    }

    /// Enters one list or mapping more, by way of interpolations too.
    pub(super) fn descend(&self) -> Result<Level<'_>, ResolveFault> {
        if self.nesting.get() >= MAX_NESTING {
            return Err(ResolveFault::TooMuch { limit: MAX_NESTING, what: "levels" });
        }
        self.nesting.set(self.nesting.get() + 1);
        Ok(Level(&self.nesting))
    }

    /// Makes a value so deep.
    pub(super) fn nested(levels: usize) -> Result<(), ResolveFault> {
        if levels > MAX_NESTING {
            return Err(ResolveFault::TooMuch { limit: MAX_NESTING, what: "levels" });
        }
        Ok(())
    }

    /// Makes so many more values.
    pub(super) fn values(&self, count: usize) -> Result<(), ResolveFault> {
        spend(&self.values, count, MAX_VALUES, "values")
    }

    /// Makes so much more text.
    pub(super) fn text(&self, bytes: usize) -> Result<(), ResolveFault> {
        spend(&self.bytes, bytes, MAX_BYTES, "bytes of text")
    }
}

fn spend(spent: &Cell<usize>, amount: usize, limit: usize, what: &'static str) -> Result<(), ResolveFault> {
    let total = spent.get().saturating_add(amount);
    if total > limit {
        return Err(ResolveFault::TooMuch { limit, what });
    }
    spent.set(total);
    Ok(())
}
