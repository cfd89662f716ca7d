//! Whose moment it is, where activities overlap.

use std::ops::Range;

use rooflens_schema::RankTables;

use crate::interval::{self, Interval};
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
    fn charges_add_up_to_the_union() {
        let mut random = Random(11);
        for _ in 0..200 {
            let mut sample = Sample::new(0);
            let mut spans = Vec::new();
            for stream in 0..4 {
                let mut ts = random.below(20);
                for _ in 0..random.below(30) {
                    let dur = random.below(15);
                    let class = if random.below(3) == 0 { ("nccl", "communication") } else { ("mm", "gemm") };
                    match random.below(4) {
                        0 => sample.memcpy(0, stream, ts, dur, "copy"),
                        _ => sample.kernel(0, stream, ts, dur, class.0, class.1),
                    };
                    spans.push((ts, ts + dur));
                    ts += random.below(20);
                }
            }
            let total: i64 = charged(&sample).iter().sum();
            assert_eq!(total, interval::total_length(&interval::merge(spans)));
        }
    }
}
