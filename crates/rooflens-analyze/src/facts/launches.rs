//! Which call launched which activity, and for which operator.

use rooflens_schema::tables::Api;
use rooflens_schema::{Opt, RankTables};

use super::api_kind;
use crate::by_name::FastMap;
use crate::interval::runs;

/// For each row of `kernels`, its launch.
pub(super) struct Launches {
    rows: Vec<u32>,
    previous: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Launches {
    pub(crate) fn of(&self, kernel: usize) -> Option<usize> {
        self.rows.get(kernel).filter(|&&row| row != NONE).map(|&row| row as usize)
    }

    pub(crate) fn before(&self, call: usize) -> Option<usize> {
        self.previous.get(call).filter(|&&row| row != NONE).map(|&row| row as usize)
    }
}

/// The row of `api` that each correlation id stands for.
pub(crate) struct CallsById {
    first: i64,
    /// Rows by id: tools count calls, so that nearly every id has one.
    dense: Vec<u32>,
    sparse: FastMap<i64, u32>,
}

/// Ids for each call up to which most of a table by id is in use.
const MOST_IDS_PER_CALL: usize = 8;

impl CallsById {
    pub(crate) fn new(api: &Api) -> Self {
        let ids = || api.corr_id.iter().filter_map(|id| id.get());
        let (first, last) =
            ids().fold((i64::MAX, i64::MIN), |(first, last), id| (first.min(id), last.max(id)));
        let dense = usize::try_from(i128::from(last) - i128::from(first) + 1).ok();
        let dense = dense.filter(|ids| *ids <= api.len().saturating_mul(MOST_IDS_PER_CALL));
        let mut calls =
            CallsById { first, dense: vec![NONE; dense.unwrap_or(0)], sparse: FastMap::default() };
        for (row, id) in api.corr_id.iter().enumerate() {
            let Some(id) = id.get() else { continue };
            let slot = match dense {
                Some(_) => &mut calls.dense[id.abs_diff(first) as usize],
                None => calls.sparse.entry(id).or_insert(NONE),
            };
            // A runtime call and the driver call inside it may share an id: the launching one counts, and of
            // two the outer, which stands first.
            let launches = |row: usize| api_kind::launches(api.kind[row]);
            if *slot == NONE || (launches(row) && !launches(*slot as usize)) {
                *slot = row as u32;
            }
        }
        calls
    }

    pub(crate) fn get(&self, id: i64) -> Option<usize> {
        let row = if self.dense.is_empty() {
            *self.sparse.get(&id)?
        } else {
            *self.dense.get(usize::try_from(id.checked_sub(self.first)?).ok()?)?
        };
        (row != NONE).then_some(row as usize)
    }
}

/// Fills `kernels.op_id`, `kernels.launch_delay_ns` and `ops.device_ns`.
///
/// Activities and calls meet by correlation id. Where a trace has no calls, the external id names
/// the operator directly; the profiler gives both to kernels, and in old traces they are the same
/// number.
pub(super) fn link(tables: &mut RankTables) -> Launches {
    let (api, ops, kernels) = (&tables.api, &mut tables.ops, &mut tables.kernels);
    let calls = CallsById::new(api);
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
    let mut by_external: Option<FastMap<i64, u32>> = None;
    let mut rows = vec![NONE; kernels.len()];
    for i in 0..kernels.len() {
        let launch = kernels.corr_id[i].get().and_then(|id| calls.get(id));
        let mut op = None;
        if let Some(row) = launch {
            rows[i] = row as u32;
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

/// Fills `kernels.queue_depth`: for each activity, how many others of its device were launched but not
/// finished when its launching call began.
pub(super) fn measure_queue(tables: &mut RankTables, launches: &Launches) {
    let (kernels, api) = (&mut tables.kernels, &tables.api);
    for (_, rows) in runs(&kernels.device) {
        let mut launched: Vec<(i64, u32)> = Vec::new();
        let mut finished: Vec<i64> = Vec::new();
        for i in rows {
            if let Some(call) = launches.of(i) {
                launched.push((api.ts_ns[call], i as u32));
                finished.push(kernels.ts_ns[i].saturating_add(kernels.dur_ns[i]));
            }
        }
        launched.sort();
        finished.sort();
        let mut done = 0;
        let mut first = 0;
        for (position, &(now, kernel)) in launched.iter().enumerate() {
            // All activities of one graph launch find the same queue before them.
            if position > 0 && launched[position - 1].0 != now {
                first = position;
            }
            while finished.get(done).is_some_and(|&end| end <= now) {
                done += 1;
            }
            let depth = first.saturating_sub(done);
            kernels.queue_depth[kernel as usize] = Opt::some(depth.min(i32::MAX as usize) as i32);
        }
    }
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::ApiKind;

    use super::*;
    use crate::sample::Sample;

    fn rows(calls: &[(ApiKind, i64)], ids: &[i64]) -> Vec<Option<usize>> {
        let mut sample = Sample::new(0);
        for (i, (kind, id)) in calls.iter().enumerate() {
            sample.api(1, i as i64, 1, "call", *kind, Some(*id));
        }
        let calls = CallsById::new(&sample.tables.api);
        ids.iter().map(|id| calls.get(*id)).collect()
    }

    #[test]
    fn ids_far_apart_are_found_as_ids_that_count_up() {
        use ApiKind::{Launch, Other};
        let near = [(Other, 5), (Launch, 5), (Launch, 7), (Launch, 5)];
        assert_eq!(rows(&near, &[4, 5, 6, 7, 8, -i64::MAX]), [None, Some(1), None, Some(2), None, None]);
        let far = [(Other, -i64::MAX), (Launch, i64::MAX), (Launch, -i64::MAX), (Launch, 0)];
        assert_eq!(rows(&far, &[-i64::MAX, i64::MAX, 0, 1]), [Some(2), Some(1), Some(3), None]);
        assert_eq!(rows(&[], &[0]), [None]);
    }
}
