//! How much memory does the allocator hold over time?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// The allocator's memory over time, one row for each rank and device.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Memory(pub Vec<DeviceMemory>);

/// One device's memory.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceMemory {
    /// Rank.
    pub rank: i32,
    /// Device; -1 for the host.
    pub device: i32,
    /// Allocations.
    pub allocations: usize,
    /// Releases.
    pub releases: usize,
    /// Most bytes allocated at once; `None` where the trace has no totals.
    pub peak_allocated_bytes: Option<i64>,
    /// When that was.
    pub peak_ts_ns: Option<i64>,
    /// Most bytes reserved.
    pub peak_reserved_bytes: Option<i64>,
    /// `[ts_ns, allocated_bytes]`, the peak of each of at most 400 slices.
    pub timeline: Vec<(i64, i64)>,
}

const EXPLAIN: &str = "\
The framework's allocator, one row for each rank and device (-1: the host).

- `allocations`, `releases`: events with bytes above and below 0.
- `peak_allocated_bytes`: the highest total that the allocator reports after an event; `peak_ts_ns` is
  when. It counts what was allocated before the trace began.
- `peak_reserved_bytes`: the highest total reserved from the device.
- `timeline`: time and bytes of the highest total in each of at most 400 equal slices of the time with
  events; slices without events are left out.
";

/// The question of this file.
pub(super) struct MemoryAnalysis;

impl Analysis for MemoryAnalysis {
    fn name(&self) -> &'static str {
        "memory"
    }
    fn question(&self) -> &'static str {
        "How much memory does the allocator hold over time?"
    }
    fn explain(&self) -> &'static str {
        EXPLAIN
    }
    fn needs(&self) -> &'static str {
        "allocator events"
    }
    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {
    found: Vec<DeviceMemory>,
}

/// How many slices a timeline has at most.
const SLICES: i64 = 400;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let memory = &tables.memory;
        let mut devices: Vec<i32> = memory.device.clone();
        devices.sort_unstable();
        devices.dedup();
        let (Some(&first), Some(&last)) = (memory.ts_ns.first(), memory.ts_ns.last()) else { return };
        // Rounded up, so that the last event falls into the last slice.
        let slice_ns = last.saturating_sub(first) / SLICES + 1;
        for device in devices {
            let mut row = DeviceMemory {
                rank: tables.rank,
                device,
                allocations: 0,
                releases: 0,
                peak_allocated_bytes: None,
                peak_ts_ns: None,
                peak_reserved_bytes: None,
                timeline: Vec::new(),
            };
            let mut slice = None;
            for i in (0..memory.len()).filter(|&i| memory.device[i] == device) {
                row.allocations += usize::from(memory.bytes[i] > 0);
                row.releases += usize::from(memory.bytes[i] < 0);
                row.peak_reserved_bytes = row.peak_reserved_bytes.max(memory.reserved_bytes[i].get());
                let Some(allocated) = memory.allocated_bytes[i].get() else { continue };
                let ts_ns = memory.ts_ns[i];
                if row.peak_allocated_bytes < Some(allocated) {
                    (row.peak_allocated_bytes, row.peak_ts_ns) = (Some(allocated), Some(ts_ns));
                }
                let index = ts_ns.saturating_sub(first) / slice_ns;
                match row.timeline.last_mut() {
                    Some(point) if slice == Some(index) => {
                        if point.1 < allocated {
                            *point = (ts_ns, allocated);
                        }
                    }
                    _ => row.timeline.push((ts_ns, allocated)),
                }
                slice = Some(index);
            }
            self.found.push(row);
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let mut found = self.found;
        found.sort_by_key(|row| (row.rank, row.device));
        (!found.is_empty()).then(|| Box::new(Memory(found)) as Box<dyn Finding>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, findings};

    #[test]
    fn peaks_and_slices() {
        // Over 4,000 ns a slice is 11 ns: the events at 0 and 5 share one, of which 300 is the peak.
        let mut sample = Sample::new(2);
        sample.memory(0, 0, 100, 100, 1000).memory(3, -1, 7, 7, 7).memory(5, 0, 200, 300, 1000);
        sample.memory(2000, 0, -200, 100, 2000).memory(4000, 0, -100, 0, 500);
        let found = findings(&[sample.tables]);
        let rows = &found.get::<Memory>().expect("memory").0;
        assert_eq!(rows.iter().map(|row| row.device).collect::<Vec<_>>(), [-1, 0]);
        let gpu = &rows[1];
        assert_eq!((gpu.rank, gpu.allocations, gpu.releases), (2, 2, 2));
        assert_eq!((gpu.peak_allocated_bytes, gpu.peak_ts_ns), (Some(300), Some(5)));
        assert_eq!(gpu.peak_reserved_bytes, Some(2000));
        assert_eq!(gpu.timeline, [(5, 300), (2000, 100), (4000, 0)]);
    }
}
