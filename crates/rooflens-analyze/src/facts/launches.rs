//! Which call launched which activity, and for which operator.

use std::collections::HashMap;

use rooflens_schema::tables::Api;
use rooflens_schema::{Opt, RankTables};

use super::api_kind;

/// For each row of `kernels`, its launch.
pub(super) struct Launches {
    /// Row of `api`; `None` where the trace has none.
    rows: Vec<u32>,
    /// For each row of `api`, the launching call before it on its thread.
    previous: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Launches {
    /// The row of `api` that launched activity `kernel`.
    pub fn of(&self, kernel: usize) -> Option<usize> {
        self.rows.get(kernel).filter(|&&row| row != NONE).map(|&row| row as usize)
    }

    /// The launching call before `call` on the same thread.
    pub fn before(&self, call: usize) -> Option<usize> {
        self.previous.get(call).filter(|&&row| row != NONE).map(|&row| row as usize)
    }
}

/// The row of the call that each correlation id stands for, in a table that is sorted and classified.
pub(crate) fn by_correlation(api: &Api) -> HashMap<i64, u32, foldhash::fast::RandomState> {
    let mut rows = HashMap::default();
    for (row, correlation) in api.corr_id.iter().enumerate() {
        let Some(correlation) = correlation.get() else { continue };
        // A runtime call and the driver call inside it may share an id: the launching one counts, and of
        // two the outer, which stands first.
        let slot = rows.entry(correlation).or_insert(row as u32);
        if api_kind::launches(api.kind[row]) && !api_kind::launches(api.kind[*slot as usize]) {
            *slot = row as u32;
        }
    }
    rows
}

/// Fills `kernels.op_id`, `kernels.launch_delay_ns` and `ops.device_ns`.
///
/// Activities and calls meet by correlation id. Where a trace has no calls, the external id names
/// the operator directly; the profiler gives both to kernels, and in old traces they are the same
/// number.
pub(super) fn link(tables: &mut RankTables) -> Launches {
    let (api, ops, kernels) = (&tables.api, &mut tables.ops, &mut tables.kernels);
    let by_correlation = by_correlation(api);
    let mut previous = vec![NONE; api.len()];
    let mut last = NONE;
    for row in 0..api.len() {
        if row > 0 && api.tid[row] != api.tid[row - 1] {
            last = NONE;
        }
        previous[row] = last;
        if api_kind::launches(api.kind[row]) {
            last = row as u32;
        }
    }
    let mut by_external: Option<HashMap<i64, u32, foldhash::fast::RandomState>> = None;
    let mut rows = vec![NONE; kernels.len()];
    for i in 0..kernels.len() {
        let launch = kernels.corr_id[i].get().and_then(|id| by_correlation.get(&id).copied());
        let mut op = None;
        if let Some(row) = launch {
            rows[i] = row;
            let row = row as usize;
            kernels.launch_delay_ns[i] = Opt::some(kernels.ts_ns[i].saturating_sub(api.ts_ns[row]));
            op = api.op_id[row].get();
        } else if let Some(external) = kernels.ext_id[i].get() {
            let by_external = by_external.get_or_insert_with(|| {
                let ids = ops.ext_id.iter().enumerate();
                ids.filter_map(|(row, id)| Some((id.get()?, row as u32))).collect()
            });
            op = by_external.get(&external).map(|&row| row as i32);
        }
        kernels.op_id[i] = op.into();
        let mut inside = op;
        while let Some(op) = inside.and_then(|op| usize::try_from(op).ok()) {
            ops.device_ns[op] = ops.device_ns[op].saturating_add(kernels.dur_ns[i]);
            inside = ops.parent_id[op].get();
        }
    }
    Launches { rows, previous }
}
