//! Which operator contains which, and what is left for each.

use rooflens_schema::{Opt, RankTables};

/// Fills `ops.parent_id`, `ops.depth`, `ops.inside_ns` and `api.op_id`.
///
/// One sweep a thread over operators and runtime calls, both sorted by start: a stack holds the
/// operators that are open. A range that starts inside another and ends after it (clock jitter) is
/// nested all the same; self time then is not taken below zero.
pub(super) fn nest(tables: &mut RankTables) {
    let (ops, api) = (&mut tables.ops, &mut tables.api);
    let mut open: Vec<usize> = Vec::new();
    let mut call = 0;
    for i in 0..ops.len() {
        if i > 0 && ops.tid[i] != ops.tid[i - 1] {
            open.clear();
        }
        // Calls before this operator belong to what is open now.
        while call < api.len() && (api.tid[call], api.ts_ns[call]) < (ops.tid[i], ops.ts_ns[i]) {
            close(&mut open, &ops.ts_ns, &ops.dur_ns, api.ts_ns[call]);
            let inside = open.last().filter(|&&op| ops.tid[op] == api.tid[call]);
            api.op_id[call] = inside.map(|&op| op as i32).into();
            call += 1;
        }
        close(&mut open, &ops.ts_ns, &ops.dur_ns, ops.ts_ns[i]);
        if let Some(&parent) = open.last() {
            ops.parent_id[i] = Opt::some(parent as i32);
            ops.inside_ns[parent] =
                ops.inside_ns[parent].saturating_add(ops.dur_ns[i]).min(ops.dur_ns[parent]);
        }
        ops.depth[i] = open.len() as i32;
        open.push(i);
    }
    for call in call..api.len() {
        close(&mut open, &ops.ts_ns, &ops.dur_ns, api.ts_ns[call]);
        let inside = open.last().filter(|&&op| ops.tid[op] == api.tid[call]);
        api.op_id[call] = inside.map(|&op| op as i32).into();
    }
}

fn close(open: &mut Vec<usize>, ts: &[i64], dur: &[i64], now: i64) {
    while open.last().is_some_and(|&op| ts[op].saturating_add(dur[op]) <= now) {
        open.pop();
    }
}
