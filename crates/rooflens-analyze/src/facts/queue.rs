//! How far the host runs ahead of the device.

use rooflens_schema::{Opt, RankTables};

use super::launches::Launches;

/// Fills `kernels.queue_depth`: for each activity, how many others of its device were launched but not
/// finished when its launching call began.
pub(super) fn measure(tables: &mut RankTables, launches: &Launches) {
    let (kernels, api) = (&mut tables.kernels, &tables.api);
    let mut from = 0;
    while from < kernels.len() {
        let device = kernels.device[from];
        let to = from + kernels.device[from..].partition_point(|&other| other == device);
        let mut launched: Vec<(i64, u32)> = Vec::new();
        let mut finished: Vec<i64> = Vec::new();
        for i in from..to {
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
        from = to;
    }
}
