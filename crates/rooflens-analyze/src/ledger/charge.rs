//! Whose moment it is, where activities overlap.

use std::ops::Range;

use rooflens_schema::RankTables;

use super::{KernelClasses, Line, line_of};
use crate::interval::{self, Interval};
use crate::kernel_catalog::KernelClass;
use crate::role::{Role, Roles};

/// Gives every stretch in which a device does something to the row it belongs to. The stretches do not
/// overlap; together with the gaps they are the device's span.
pub(crate) fn each_stretch(
    tables: &RankTables,
    roles: &Roles<'_>,
    rows: Range<usize>,
    mut give: impl FnMut(usize, Interval),
) {
    let kernels = &tables.kernels;
    let mut order: Vec<usize> = rows.collect();
    // Rows come by stream: what started first has the time, whatever its stream.
    order.sort_by_key(|&i| kernels.ts_ns[i]);
    let mut taken: Vec<Interval> = Vec::new();
    for role in [Role::Compute, Role::Communication, Role::Copy] {
        let mut own = Vec::new();
        // What is taken by stronger roles is walked along once; what the role itself has covered ends here.
        let mut reached = i64::MIN;
        let mut passed = 0;
        for &row in order.iter().filter(|&&i| roles.at(i) == role) {
            let (start, end) = interval::span(kernels.ts_ns[row], kernels.dur_ns[row]);
            let start = start.max(reached);
            if start >= end {
                continue;
            }
            reached = end;
            own.push((start, end));
            while taken.get(passed).is_some_and(|other| other.1 <= start) {
                passed += 1;
            }
            let mut give = |start: i64, end: i64| {
                if start < end {
                    give(row, (start, end));
                }
            };
            let mut at = start;
            for other in taken[passed..].iter().take_while(|other| other.0 < end) {
                give(at, other.0);
                at = at.max(other.1);
            }
            give(at, end);
        }
        taken = if taken.is_empty() { interval::merge(own) } else { interval::union(&taken, &own) };
    }
}

/// The time that each of a device's rows is charged with, by its position among them; `each` gets the stretches
/// that it comes in.
pub(crate) fn charges(
    tables: &RankTables,
    roles: &Roles<'_>,
    rows: Range<usize>,
    mut each: impl FnMut(usize, Interval),
) -> Vec<i64> {
    let mut charged = vec![0; rows.len()];
    let first = rows.start;
    each_stretch(tables, roles, rows, |row, stretch| {
        charged[row - first] += interval::length(stretch);
        each(row, stretch);
    });
    charged
}

/// A stretch of a device's time that belongs to one activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The device.
    pub device: i32,
    /// When it begins.
    pub start_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// The row of `kernels` that runs, or that ends the gap.
    pub row: usize,
    /// The line of the ledger that it stands on.
    pub line: Line,
}

/// The class of each row of a rank's `kernels`, and its line without a lower bound.
pub struct KernelLines<'a> {
    tables: &'a RankTables,
    roles: Roles<'a>,
    classes: KernelClasses,
}

impl<'a> KernelLines<'a> {
    /// Those of a rank.
    pub fn new(tables: &'a RankTables) -> Self {
        KernelLines { tables, roles: Roles::new(tables), classes: KernelClasses::new(tables) }
    }

    /// The line of a row.
    pub fn of(&self, row: usize) -> Line {
        line_of(self.roles.at(row), self.class(row))
    }

    /// The class of a row.
    pub fn class(&self, row: usize) -> KernelClass {
        self.classes.of(self.tables.kernels.kernel_id[row])
    }
}

/// Every device's time from its first activity to the end of its last, by device and start: without holes
/// and without overlaps.
pub fn pieces(tables: &RankTables) -> Vec<Piece> {
    let kernels = &tables.kernels;
    let lines = KernelLines::new(tables);
    let mut found = Vec::new();
    for (device, rows) in interval::runs(&kernels.device) {
        let begin = found.len();
        each_stretch(tables, &lines.roles, rows.clone(), |row, (start_ns, end_ns)| {
            found.push(Piece { device, start_ns, end_ns, row, line: lines.of(row) });
        });
        for row in rows.clone().filter(|&row| kernels.idle_before_ns[row] > 0) {
            let end_ns = kernels.ts_ns[row];
            let start_ns = end_ns.saturating_sub(kernels.idle_before_ns[row]);
            let line = Line::of_gap(kernels.gap_cause[row]);
            found.push(Piece { device, start_ns, end_ns, row, line });
        }
        found[begin..].sort_by_key(|piece| piece.start_ns);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Random, Sample};

    fn charged(sample: &Sample) -> Vec<i64> {
        let tables = &sample.tables;
        charges(tables, &Roles::new(tables), 0..tables.kernels.len(), |_, _| {})
    }

    #[test]
    fn compute_before_communication_before_copies() {
        // Compute [10, 30), communication [0, 40), copy [35, 60): 20, 10 + 10, 20.
        let mut sample = Sample::new(0);
        sample.kernel(0, 1, 10, 20, "mm", "gemm");
        sample.kernel(0, 2, 0, 40, "nccl", "communication");
        sample.memcpy(0, 3, 35, 25, "copy");
        assert_eq!(charged(&sample), [20, 20, 20]);
        let found = pieces(&sample.tables);
        let found: Vec<_> = found.iter().map(|piece| (piece.start_ns, piece.end_ns, piece.line)).collect();
        let exchange = Line::Communication;
        assert_eq!(
            found,
            [(0, 10, exchange), (10, 30, Line::Kernels), (30, 40, exchange), (40, 60, Line::Copies)]
        );
    }

    #[test]
    fn what_started_first_keeps_its_time() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 1, 0, 10, "a", "gemm").kernel(0, 1, 20, 10, "a", "gemm");
        sample.kernel(0, 2, 5, 20, "b", "gemm");
        // [0,10) a, [10,25) b, [25,30) a.
        assert_eq!(charged(&sample), [10, 5, 15]);
    }

    #[test]
    fn charges_add_up_to_the_union_and_are_what_pieces_show() {
        let mut random = Random(11);
        for _ in 0..200 {
            let mut sample = Sample::new(0);
            let mut spans = Vec::new();
            for stream in 0..4 {
                let mut ts = random.below(20);
                for _ in 0..random.below(30) {
                    let dur = random.below(15);
                    match random.below(4) {
                        0 => sample.memcpy(0, stream, ts, dur, "copy"),
                        1 => sample.kernel(0, stream, ts, dur, "nccl", "communication"),
                        _ => sample.kernel(0, stream, ts, dur, "mm", "gemm"),
                    };
                    spans.push((ts, ts + dur));
                    ts += random.below(20);
                }
            }
            let charged = charged(&sample);
            assert_eq!(charged.iter().sum::<i64>(), interval::total_length(&interval::merge(spans)));
            let found = pieces(&sample.tables);
            assert!(found.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
            let mut by_row = vec![0; charged.len()];
            for piece in &found {
                by_row[piece.row] += piece.end_ns - piece.start_ns;
            }
            assert_eq!(by_row, charged);
        }
    }
}
