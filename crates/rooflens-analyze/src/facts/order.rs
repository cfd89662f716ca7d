//! Sorts every table as its documentation says, and numbers operators and phases.

use std::cmp::Reverse;

use rooflens_schema::RankTables;

/// Sorts all tables; fills `ops.op_id`. (Phases are numbered once all are known.)
pub(super) fn sort(tables: &mut RankTables) {
    let RankTables { ops, api, frames, kernels, phases, ranges, memory, .. } = tables;
    std::thread::scope(|scope| {
        // Frames are the longest table by far where there are stacks.
        scope.spawn(|| {
            nested_order(&frames.tid, &frames.ts_ns, &frames.dur_ns)
                .into_iter()
                .for_each(|order| frames.reorder(&order));
        });
        scope.spawn(|| {
            nested_order(&ops.tid, &ops.ts_ns, &ops.dur_ns).into_iter().for_each(|order| ops.reorder(&order));
        });
        nested_order(&api.tid, &api.ts_ns, &api.dur_ns).into_iter().for_each(|order| api.reorder(&order));
        nested_order(&ranges.tid, &ranges.ts_ns, &ranges.dur_ns)
            .into_iter()
            .for_each(|order| ranges.reorder(&order));
        let by_stream = |&i: &u32| {
            let i = i as usize;
            (kernels.device[i], kernels.stream[i], kernels.ts_ns[i], kernels.dur_ns[i])
        };
        order_by(kernels.len(), by_stream).into_iter().for_each(|order| kernels.reorder(&order));
        let by_start = |&i: &u32| (phases.ts_ns[i as usize], Reverse(phases.dur_ns[i as usize]));
        order_by(phases.len(), by_start).into_iter().for_each(|order| phases.reorder(&order));
        let by_time = |&i: &u32| memory.ts_ns[i as usize];
        order_by(memory.len(), by_time).into_iter().for_each(|order| memory.reorder(&order));
    });
    for (i, op_id) in tables.ops.op_id.iter_mut().enumerate() {
        *op_id = i as i32;
    }
}

/// The order by `key`, ties as they stand; `None` where the rows are sorted already.
fn order_by<K: Ord>(rows: usize, key: impl Fn(&u32) -> K) -> Option<Vec<u32>> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    if order.is_sorted_by_key(&key) {
        return None;
    }
    order.sort_by_key(key);
    Some(order)
}

/// Start, duration, row.
type Key = (i64, Reverse<i64>, u32);

/// The order by thread, start, longest first: a range stands before what it contains. Of equal
/// ranges the one the tool wrote first contains the other.
fn nested_order(tid: &[i64], ts: &[i64], dur: &[i64]) -> Option<Vec<u32>> {
    let key = |i: usize| (tid[i], ts[i], Reverse(dur[i]));
    if (1..tid.len()).all(|i| key(i - 1) <= key(i)) {
        return None;
    }
    // Few threads, many rows: sort each thread's rows apart, on keys that lie together in memory.
    // Tools write each thread nearly in order, which this sort uses.
    let mut threads: Vec<(i64, Vec<Key>)> = Vec::new();
    let mut last = 0;
    for i in 0..tid.len() {
        if threads.get(last).is_none_or(|thread| thread.0 != tid[i]) {
            last = threads.iter().position(|thread| thread.0 == tid[i]).unwrap_or_else(|| {
                threads.push((tid[i], Vec::new()));
                threads.len() - 1
            });
        }
        threads[last].1.push((ts[i], Reverse(dur[i]), i as u32));
    }
    threads.sort_by_key(|thread| thread.0);
    let mut order = Vec::with_capacity(tid.len());
    for (_, mut rows) in threads {
        rows.sort();
        order.extend(rows.into_iter().map(|(_, _, i)| i));
    }
    Some(order)
}
