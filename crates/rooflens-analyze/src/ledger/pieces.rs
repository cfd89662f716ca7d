//! The timelines of devices, cut where they change their owner.

use rooflens_schema::RankTables;

use super::{KernelClasses, Line, each_stretch, line_of};
use crate::kernel_catalog::KernelClass;
use crate::role::Roles;

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
    #[must_use]
    pub fn new(tables: &'a RankTables) -> Self {
        KernelLines { tables, roles: Roles::new(tables), classes: KernelClasses::new(tables) }
    }

    /// The line of a row.
    #[must_use]
    pub fn of(&self, row: usize) -> Line {
        line_of(self.roles.at(row), self.class(row))
    }

    /// The class of a row.
    #[must_use]
    pub fn class(&self, row: usize) -> KernelClass {
        self.classes.of(self.tables.kernels.kernel_id[row])
    }
}

/// Every device's time from its first activity to the end of its last, by device and start: without holes
/// and without overlaps.
#[must_use]
pub fn pieces(tables: &RankTables) -> Vec<Piece> {
    let kernels = &tables.kernels;
    let lines = KernelLines::new(tables);
    let mut found = Vec::new();
    let mut from = 0;
    for same in kernels.device.chunk_by(|a, b| a == b) {
        let rows = from..from + same.len();
        let (device, begin) = (same[0], found.len());
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
        from = rows.end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::charges;
    use crate::sample::{Random, Sample};

    #[test]
    fn pieces_are_where_activities_show() {
        // Compute [10, 30), communication [0, 40), copy [35, 60).
        let mut sample = Sample::new(0);
        sample.kernel(0, 1, 10, 20, "mm", "gemm");
        sample.kernel(0, 2, 0, 40, "nccl", "communication");
        sample.memcpy(0, 3, 35, 25, "copy");
        let found: Vec<_> =
            pieces(&sample.tables).iter().map(|piece| (piece.start_ns, piece.end_ns, piece.line)).collect();
        let exchange = Line::Communication;
        assert_eq!(
            found,
            [(0, 10, exchange), (10, 30, Line::Kernels), (30, 40, exchange), (40, 60, Line::Copies)]
        );
    }

    #[test]
    fn pieces_do_not_overlap_and_are_what_is_charged() {
        let mut random = Random(7);
        for _ in 0..200 {
            let mut sample = Sample::new(0);
            for stream in 0..4 {
                let mut ts = random.below(20);
                for _ in 0..random.below(30) {
                    let dur = random.below(15);
                    match random.below(4) {
                        0 => sample.memcpy(0, stream, ts, dur, "copy"),
                        1 => sample.kernel(0, stream, ts, dur, "nccl", "communication"),
                        _ => sample.kernel(0, stream, ts, dur, "mm", "gemm"),
                    };
                    ts += random.below(20);
                }
            }
            let tables = &sample.tables;
            let found = pieces(tables);
            assert!(found.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
            let mut by_row = vec![0; tables.kernels.len()];
            for piece in &found {
                by_row[piece.row] += piece.end_ns - piece.start_ns;
            }
            let rows = 0..tables.kernels.len();
            assert_eq!(by_row, charges(tables, &Roles::new(tables), rows, |_, _| {}));
        }
    }
}
