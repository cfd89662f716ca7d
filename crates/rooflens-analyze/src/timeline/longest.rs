//! The longest call of each name.

use std::collections::HashMap;

use rooflens_schema::{NameId, RankTables};

use super::budget::{KERNEL_NAMES, OPERATOR_NAMES};

/// The longest call of a name in a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Longest {
    pub(crate) name: NameId,
    pub(crate) row: usize,
    pub(crate) dur_ns: i64,
    total_ns: i64,
    start_ns: i64,
}

fn of_table(names: &[NameId], ts: &[i64], dur: &[i64], most: usize) -> Vec<Longest> {
    let mut found: HashMap<NameId, Longest, foldhash::fast::RandomState> = HashMap::default();
    for (row, &name) in names.iter().enumerate() {
        let (dur_ns, start_ns) = (dur[row], ts[row]);
        let known = found.entry(name).or_insert(Longest { name, row, dur_ns, total_ns: 0, start_ns });
        known.total_ns = known.total_ns.saturating_add(dur_ns);
        // Of equal ones the first in time.
        if (dur_ns, std::cmp::Reverse(start_ns)) > (known.dur_ns, std::cmp::Reverse(known.start_ns)) {
            *known = Longest { row, dur_ns, start_ns, ..*known };
        }
    }
    let mut found: Vec<Longest> = found.into_values().collect();
    // Ids differ from rank to rank and from run to run, times do not.
    found.sort_by_key(|one| (std::cmp::Reverse(one.total_ns), one.start_ns, one.row));
    found.truncate(most);
    found
}

/// Of the device's activities, those names with the most time first.
pub(super) fn of_kernels(tables: &RankTables) -> Vec<Longest> {
    let kernels = &tables.kernels;
    of_table(&kernels.kernel_id, &kernels.ts_ns, &kernels.dur_ns, KERNEL_NAMES)
}

/// Of operators.
pub(super) fn of_operators(tables: &RankTables) -> Vec<Longest> {
    let ops = &tables.ops;
    of_table(&ops.name_id, &ops.ts_ns, &ops.dur_ns, OPERATOR_NAMES)
}
