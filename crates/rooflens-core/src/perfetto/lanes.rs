//! Slices that overlap without nesting lie in lanes of their own: none is cut.

/// The lanes of one timeline. Slices come by start, the longest first.
#[derive(Default)]
pub(super) struct Lanes(Vec<Lane>);

/// Ends of the slices that are open.
#[derive(Default)]
struct Lane(Vec<i64>);

/// Where a slice goes.
pub(super) struct Place {
    /// Number of the lane, from 0.
    pub(crate) lane: usize,
    /// Whether nothing was in it before.
    pub(crate) is_new: bool,
}

impl Lanes {
    /// The first lane where the slice lies behind or inside the others.
    pub(crate) fn place(&mut self, span: (i64, i64)) -> Place {
        let found = self.0.iter_mut().position(|lane| lane.takes(span));
        let lane = found.unwrap_or_else(|| {
            self.0.push(Lane(vec![span.1]));
            self.0.len() - 1
        });
        Place { lane, is_new: found.is_none() }
    }

    /// The first lane that is free, for slices that do not nest.
    pub(crate) fn place_alone(&mut self, span: (i64, i64)) -> Place {
        let found = self.0.iter_mut().position(|lane| lane.is_free(span.0));
        match found.and_then(|lane| self.0.get_mut(lane)) {
            Some(lane) => lane.0.push(span.1),
            None => self.0.push(Lane(vec![span.1])),
        }
        Place { lane: found.unwrap_or(self.0.len() - 1), is_new: found.is_none() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Lane {
    fn is_free(&mut self, start: i64) -> bool {
        while self.0.last().is_some_and(|open| *open <= start) {
            self.0.pop();
        }
        self.0.is_empty()
    }

    fn takes(&mut self, (start, end): (i64, i64)) -> bool {
        let takes = self.is_free(start) || self.0.last().is_some_and(|open| end <= *open);
        if takes {
            self.0.push(end);
        }
        takes
    }
}

/// What the tracks of a timeline are called: ` (2)` behind the name from the second lane on.
pub(super) fn named(name: &str, lane: usize) -> String {
    if lane > 0 { format!("{name} ({})", lane + 1) } else { name.to_owned() }
}
