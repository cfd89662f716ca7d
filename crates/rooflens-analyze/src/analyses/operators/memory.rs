//! Memory that the allocator gave and took while operators ran, counted as `key_averages()` of
//! `torch.profiler` does: every allocator event from the start of a call to its end, on whichever thread.

use rooflens_schema::RankTables;

/// Bytes given less bytes taken back, on the host and on devices.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Bytes {
    pub(crate) host: i64,
    pub(crate) device: i64,
}

impl Bytes {
    pub fn add(&mut self, other: Bytes) {
        self.host = self.host.saturating_add(other.host);
        self.device = self.device.saturating_add(other.device);
    }

    pub(crate) fn less(&mut self, other: Bytes) {
        self.host = self.host.saturating_sub(other.host);
        self.device = self.device.saturating_sub(other.device);
    }
}

/// Of each operator call of a rank, nested calls included; nothing where the trace has no allocator events.
pub(super) fn of_calls(tables: &RankTables) -> Option<Vec<Bytes>> {
    let (memory, ops) = (&tables.memory, &tables.ops);
    if memory.is_empty() {
        return None;
    }
    let mut order: Vec<usize> = (0..memory.len()).collect();
    order.sort_by_key(|i| memory.ts_ns[*i]);
    let times: Vec<i64> = order.iter().map(|i| memory.ts_ns[*i]).collect();
    // What was given and taken before each event, and after all.
    let mut sums = vec![Bytes::default()];
    let mut sum = Bytes::default();
    for i in order {
        let bytes = memory.bytes[i];
        let on_host = memory.device[i] < 0;
        sum.add(Bytes { host: if on_host { bytes } else { 0 }, device: if on_host { 0 } else { bytes } });
        sums.push(sum);
    }
    let of_call = |i: usize| {
        let (start, end) = (ops.ts_ns[i], ops.ts_ns[i].saturating_add(ops.dur_ns[i]));
        let from = times.partition_point(|ts| *ts < start);
        let to = times.partition_point(|ts| *ts <= end).max(from);
        let mut bytes = sums[to];
        bytes.less(sums[from]);
        bytes
    };
    Some((0..ops.len()).map(of_call).collect())
}
