//! A dimension of a weight, and how devices share it.

/// A device's place among those that share a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// How many devices share.
    pub of: u64,
    /// Which of them this is, from 0.
    pub rank: u64,
}

impl Slice {
    pub(crate) const WHOLE: Slice = Slice { of: 1, rank: 0 };

    /// This device's part of `n` indivisible things; the first devices have one more where it does not
    /// come out even, so that rank 0 is never the least busy.
    pub fn part(&self, n: u64) -> u64 {
        let of = self.of.max(1);
        n / of + u64::from(self.rank < n % of)
    }

    /// As [`Slice::part`], of more things than fit 64 bits.
    pub fn part_of(&self, n: u128) -> u128 {
        let of = u128::from(self.of.max(1));
        n / of + u128::from(u128::from(self.rank) < n % of)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Share {
    Whole,
    Split,
    /// Each has some of its units; where there are fewer units than devices, copies.
    SplitOrCopy,
}

/// A dimension made of `units` indivisible parts of `width` elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Heads, experts, columns: what is dealt out to devices.
    pub(crate) units: u64,
    pub(crate) width: u64,
    share: Share,
}

impl Dim {
    pub(crate) const fn whole(elements: u64) -> Self {
        Self { units: 1, width: elements, share: Share::Whole }
    }

    pub(crate) const fn split(units: u64, width: u64) -> Self {
        Self { units, width, share: Share::Split }
    }

    /// A dimension that is dealt out by unit, each device having at least one: key and value heads.
    pub(crate) const fn split_or_copy(units: u64, width: u64) -> Self {
        Self { units, width, share: Share::SplitOrCopy }
    }

    pub(crate) fn elements(&self) -> u128 {
        u128::from(self.units) * u128::from(self.width)
    }

    pub(crate) fn local_units(&self, tp: Slice) -> u64 {
        match self.share {
            Share::Whole => self.units,
            Share::Split => tp.part(self.units),
            Share::SplitOrCopy if tp.of > self.units => self.units.min(1),
            Share::SplitOrCopy => tp.part(self.units),
        }
    }

    pub(crate) fn local(&self, tp: Slice) -> u128 {
        u128::from(self.local_units(tp)) * u128::from(self.width)
    }

    /// Whether what this device has of it, another device before it has as well.
    pub(crate) fn is_copy(&self, tp: Slice) -> bool {
        match self.share {
            Share::Whole => tp.rank > 0,
            Share::Split => false,
            Share::SplitOrCopy if tp.of > self.units => {
                let unit = |rank: u64| u128::from(rank) * u128::from(self.units) / u128::from(tp.of);
                tp.rank > 0 && unit(tp.rank) == unit(tp.rank - 1)
            }
            Share::SplitOrCopy => false,
        }
    }

    pub(crate) fn is_dealt(&self) -> bool {
        self.share != Share::Whole
    }
}
