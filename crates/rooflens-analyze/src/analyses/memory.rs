//! How much memory does the allocator hold over time?

use std::collections::HashMap;

use rooflens_schema::tables::BlockState;
use rooflens_schema::{NameId, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};

/// The allocator's memory over time, one row for each rank and device.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Memory(pub Vec<DeviceMemory>);

/// One device's memory.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeviceMemory {
    /// Rank.
    pub rank: i32,
    /// Device; -1 for the host.
    pub device: i32,
    /// Allocations.
    pub allocations: usize,
    /// Releases.
    pub releases: usize,
    /// Most bytes allocated at once, on the host since recording began; `None` where the trace has no totals.
    pub peak_allocated_bytes: Option<i64>,
    /// When that was.
    pub peak_ts_ns: Option<i64>,
    /// Most bytes reserved.
    pub peak_reserved_bytes: Option<i64>,
    /// `[ts_ns, allocated_bytes]`, the peak of each of at most 400 slices.
    pub timeline: Vec<(i64, i64)>,
    /// Allocations at the peak, the most bytes first; empty where the trace does not tell who allocates.
    pub at_peak: Vec<SiteMemory>,
    /// The part of the peak that was allocated before the first event; `None` where the trace does not
    /// tell who allocates.
    pub older_at_peak_bytes: Option<i64>,
    /// What the allocator holds when the snapshot is taken; `None` where there is no snapshot.
    pub at_end: Option<MemoryAtEnd>,
}

/// What one place in the program holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SiteMemory {
    /// The innermost frame of the user's own code, as `file.py(line): function`.
    pub site: String,
    /// Bytes.
    pub bytes: i64,
    /// Allocations.
    pub allocations: i64,
}

/// The allocator's blocks at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryAtEnd {
    /// Reserved from the device: all blocks.
    pub reserved_bytes: i64,
    /// In blocks that the program has.
    pub allocated_bytes: i64,
    /// Of these, what the program requested; the rest is rounding. `None` where the snapshot does not have
    /// it.
    pub requested_bytes: Option<i64>,
    /// In blocks that other streams may still use.
    pub pending_bytes: i64,
    /// In blocks that can be given out.
    pub free_bytes: i64,
    /// The largest of these blocks.
    pub largest_free_bytes: i64,
    /// Free, in segments of which another part is in use: it cannot be given back to the device.
    pub scattered_free_bytes: i64,
    /// Free, in segments that are free as a whole: cached. The allocator gives them back and tries again where an
    /// allocation fails.
    #[serde(default)]
    pub cached_bytes: i64,
    /// `scattered_free_bytes` as a part of what is reserved; `None` where nothing is.
    pub fragmentation: Option<f64>,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "memory",
    question: "How much memory does the allocator hold over time?",
    needs: "allocator events",
    is_special: false,
    finding: FindingType::list::<Memory>(),
    start: || Box::new(State::default()),
    explain: "\
The framework's allocator, one row for each rank and device (-1: the host).

- `allocations`, `releases`: events with bytes above and below 0.
- `peak_allocated_bytes`: the highest total that the allocator reports after an event; `peak_ts_ns` is
  when. On a device, allocations from before the trace are included. On the host, PyTorch counts since recording
  began: weights that were loaded before are not in it.
- `peak_reserved_bytes`: the highest total reserved from the device.
- `timeline`: time and bytes of the highest total in each of at most 400 equal slices of the time with
  events; slices without events are left out.

Of an allocator snapshot, whose totals count what the program asked for, also:

- `at_peak`: what is allocated at the peak, at most 10 call sites by `bytes`, with the number of their
  `allocations`. `site` is the innermost frame that is neither of a library nor native.
- `older_at_peak_bytes`: the part of the peak that was allocated before the first event.
- `at_end`: the blocks when the snapshot was taken, null for other traces. `reserved_bytes` is the sum of all
  blocks, `allocated_bytes` of those in use, of which `requested_bytes` were requested; `pending_bytes` of those
  that other streams may still use; `free_bytes` the rest, and `largest_free_bytes` the largest of it.
  `cached_bytes` is the part of free in segments that are free as a whole: the allocator releases them to the device
  and retries if an allocation fails. `scattered_free_bytes` is the other part, inactive blocks of segments that are
  partly in use, and `fragmentation` is scattered / reserved: memory that is free, but cannot be released.
",
};

#[derive(Default)]
struct State {
    found: Vec<DeviceMemory>,
}

/// How many slices a timeline has at most.
const SLICES: i64 = 400;

/// How many places are told.
const SITES: usize = 10;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let memory = &tables.memory;
        let mut devices: Vec<i32> =
            memory.device.iter().chain(&tables.memory_blocks.device).copied().collect();
        devices.sort_unstable();
        devices.dedup();
        let first = memory.ts_ns.first().copied().unwrap_or(0);
        let last = memory.ts_ns.last().copied().unwrap_or(0);
        // Rounded up, so that the last event falls into the last slice.
        let slice_ns = last.saturating_sub(first) / SLICES + 1;
        for device in devices {
            let at_end = at_end(tables, device);
            let mut row = DeviceMemory { rank: tables.rank, device, at_end, ..DeviceMemory::default() };
            let mut slice = None;
            let mut peak_row = None;
            for i in (0..memory.len()).filter(|&i| memory.device[i] == device) {
                row.allocations += usize::from(memory.bytes[i] > 0);
                row.releases += usize::from(memory.bytes[i] < 0);
                row.peak_reserved_bytes = row.peak_reserved_bytes.max(memory.reserved_bytes[i].get());
                let Some(allocated) = memory.allocated_bytes[i].get() else { continue };
                let ts_ns = memory.ts_ns[i];
                if row.peak_allocated_bytes < Some(allocated) {
                    (row.peak_allocated_bytes, row.peak_ts_ns) = (Some(allocated), Some(ts_ns));
                    peak_row = Some(i);
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
            if let (Some(peak), Some(bytes)) = (peak_row, row.peak_allocated_bytes) {
                (row.at_peak, row.older_at_peak_bytes) = holders(tables, device, peak, bytes);
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

fn holders(tables: &RankTables, device: i32, peak: usize, peak_bytes: i64) -> (Vec<SiteMemory>, Option<i64>) {
    let memory = &tables.memory;
    let of_device = |row: &usize| memory.device[*row] == device;
    if !(0..memory.len()).filter(of_device).any(|row| memory.site_id[row].get().is_some()) {
        return (vec![], None);
    }
    let mut held: HashMap<NameId, (i64, i64)> = HashMap::new();
    for row in (0..=peak).filter(of_device) {
        // Without a site it is the release of something older.
        let Some(site) = memory.site_id[row].get() else { continue };
        let (bytes, allocations) = held.entry(site).or_default();
        *bytes = bytes.saturating_add(memory.bytes[row]);
        *allocations += memory.bytes[row].signum();
    }
    let older = held.values().fold(peak_bytes, |rest, (bytes, _)| rest.saturating_sub(*bytes));
    let held = held.into_iter().filter(|(_, (bytes, _))| *bytes > 0);
    let mut sites: Vec<SiteMemory> = held
        .map(|(site, (bytes, allocations))| {
            let site = tables.names.get(site).to_owned();
            SiteMemory { site, bytes, allocations }
        })
        .collect();
    sites.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.site.cmp(&b.site)));
    sites.truncate(SITES);
    (sites, Some(older))
}

fn at_end(tables: &RankTables, device: i32) -> Option<MemoryAtEnd> {
    let blocks = &tables.memory_blocks;
    let mut end = MemoryAtEnd { requested_bytes: Some(0), ..MemoryAtEnd::default() };
    let mut count = 0;
    // Free bytes of each segment, and whether anything in it is in use.
    let mut segments: HashMap<i32, (i64, bool)> = HashMap::new();
    for row in (0..blocks.len()).filter(|row| blocks.device[*row] == device) {
        count += 1;
        let bytes = blocks.bytes[row];
        let add = |sum: &mut i64| *sum = sum.saturating_add(bytes);
        add(&mut end.reserved_bytes);
        let (free, is_used) = segments.entry(blocks.segment[row]).or_default();
        *is_used |= blocks.state[row] != BlockState::Free;
        match blocks.state[row] {
            BlockState::Allocated => {
                add(&mut end.allocated_bytes);
                let asked = blocks.requested_bytes[row].get();
                end.requested_bytes = end.requested_bytes.zip(asked).map(|(sum, it)| sum.saturating_add(it));
            }
            BlockState::Pending => add(&mut end.pending_bytes),
            BlockState::Free => {
                add(free);
                add(&mut end.free_bytes);
                end.largest_free_bytes = end.largest_free_bytes.max(bytes);
            }
        }
    }
    for (free, is_used) in segments.into_values() {
        let sum = if is_used { &mut end.scattered_free_bytes } else { &mut end.cached_bytes };
        *sum = sum.saturating_add(free);
    }
    end.fragmentation =
        (end.reserved_bytes > 0).then(|| end.scattered_free_bytes as f64 / end.reserved_bytes as f64);
    (count > 0).then_some(end)
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::MemoryBlockRow;
    use rooflens_schema::{Interner, Opt};

    use super::*;
    use crate::sample::{Sample, findings};

    #[test]
    fn peaks_and_slices() {
        // Over 4,000 ns a slice is 11 ns: the events at 0 and 5 share one, of which 300 is the peak.
        let mut sample = Sample::new(2);
        sample.memory(0, 0, 100, 100, 1000).memory(3, -1, 7, 7, 7).memory(5, 0, 200, 300, 1000);
        sample.memory(2000, 0, -200, 100, 2000).memory(4000, 0, -100, 0, 500);
        let rows = sample.find::<Memory>().0;
        assert_eq!(rows.iter().map(|row| row.device).collect::<Vec<_>>(), [-1, 0]);
        let gpu = &rows[1];
        assert_eq!((gpu.rank, gpu.allocations, gpu.releases), (2, 2, 2));
        assert_eq!((gpu.peak_allocated_bytes, gpu.peak_ts_ns), (Some(300), Some(5)));
        assert_eq!(gpu.peak_reserved_bytes, Some(2000));
        assert_eq!(gpu.timeline, [(5, 300), (2000, 100), (4000, 0)]);
    }

    /// A snapshot: 40 bytes from before, then 100 of `a` and 200 of `b`; `a` and 10 of the older are let
    /// go before `b` asks for 150 more. The peak is 30 + 200 + 150. Of three segments the first is partly free, in the
    /// second a block waits for another stream, the third is free as a whole.
    #[test]
    fn who_holds_the_peak() {
        let interner = Interner::default();
        let (a, b) = (interner.intern("a.py(1): f"), interner.intern("b.py(2): g"));
        let mut sample = Sample::new(0);
        sample.memory(0, 0, 100, 140, 900).memory(1, 0, 200, 340, 900).memory(2, 0, -100, 240, 900);
        sample.memory(3, 0, -10, 230, 900).memory(4, 0, 150, 380, 900).memory(5, 0, -150, 230, 900);
        let sites = [Some(a), Some(b), Some(a), None, Some(b), Some(b)];
        let mut tables = sample.tables;
        tables.memory.site_id = sites.map(Into::into).to_vec();
        for (segment, bytes, asked, state) in [
            (0, 256, Some(230), BlockState::Allocated),
            (0, 60, None, BlockState::Free),
            (1, 44, Some(40), BlockState::Pending),
            (1, 30, None, BlockState::Free),
            (2, 210, None, BlockState::Free),
            (2, 300, None, BlockState::Free),
        ] {
            let requested_bytes = asked.into();
            let row =
                MemoryBlockRow { device: 0, segment, bytes, requested_bytes, state, site_id: Opt::NONE };
            tables.memory_blocks.push(row);
        }
        tables.names = interner.freeze();
        let found = findings(&[tables]);
        let gpu = &found.get::<Memory>().expect("memory").0[0];
        assert_eq!((gpu.peak_allocated_bytes, gpu.older_at_peak_bytes), (Some(380), Some(30)));
        assert_eq!(gpu.at_peak, [SiteMemory { site: "b.py(2): g".to_owned(), bytes: 350, allocations: 2 }]);
        let end = gpu.at_end.expect("blocks");
        assert_eq!((end.reserved_bytes, end.allocated_bytes, end.pending_bytes), (900, 256, 44));
        assert_eq!((end.requested_bytes, end.free_bytes, end.largest_free_bytes), (Some(230), 600, 300));
        // 60 + 30 of 900; the third segment can be given back.
        assert_eq!((end.scattered_free_bytes, end.cached_bytes, end.fragmentation), (90, 510, Some(0.1)));
    }

    #[test]
    fn a_trace_without_sites_tells_no_holders() {
        let mut sample = Sample::new(0);
        sample.memory(0, 0, 100, 140, 900);
        let found = findings(&[sample.tables]);
        let gpu = &found.get::<Memory>().expect("memory").0[0];
        assert_eq!((gpu.at_peak.len(), gpu.older_at_peak_bytes, gpu.at_end), (0, None, None));
    }
}
