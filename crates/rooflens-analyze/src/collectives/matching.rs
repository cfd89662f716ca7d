//! Which kernels of the ranks are one collective, and who arrived last.

use std::collections::BTreeMap;

use rooflens_schema::RankTables;

use super::traffic::Kind;
use super::{Call, Calls};
use crate::by_name::ByName;
use crate::interval;
use crate::percentile::upper_median;
use crate::role::{Role, Roles};

/// From this many kernels without a process group on, the difference of two clocks can be told from them.
const ENOUGH_FOR_A_CLOCK: usize = 8;

/// Standard deviations that chance exceeds once in ten thousand cases.
const BY_CHANCE: f64 = 3.7;

/// A device that takes part in collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    pub(crate) rank: i32,
    pub(crate) device: i32,
}

/// The collectives of all rank by rank.
#[derive(Default)]
pub(crate) struct Matching {
    devices: Vec<Device>,
    ranks: usize,
    without_clock: usize,
    sequences: BTreeMap<(Call, Option<u32>), Vec<Sequence>>,
}

/// The same calls on one device, in their order.
struct Sequence {
    device: u32,
    kernels: Vec<Kernel>,
}

#[derive(Clone, Copy)]
struct Kernel {
    row: u32,
    start: i64,
    dur_ns: i64,
}

/// How long each device waited, and for whom.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting {
    pub(crate) matched: usize,
    pub(crate) lateness: Vec<Lateness>,
    /// For each device, in the order in which ranks and devices were seen: rows and how long each waited.
    rows: Vec<Vec<(u32, i64)>>,
    pub(crate) transfers: Vec<(Call, i64, i64)>,
}

/// How a device arrives at the collectives that it shares with others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lateness {
    pub(crate) device: Device,
    pub(crate) index: usize,
    pub(crate) collectives: usize,
    pub(crate) last: usize,
    pub(crate) wait_ns: i64,
    pub(crate) lost_ns: i64,
    pub(crate) mean_lost_ns: f64,
    pub(crate) behind_ns: i64,
    pub(crate) group: usize,
    late_ns: f64,
    variance: f64,
    lost_squares: f64,
}

impl Lateness {
    fn new((index, device): (usize, &Device)) -> Self {
        Lateness {
            device: *device,
            index,
            collectives: 0,
            last: 0,
            wait_ns: 0,
            lost_ns: 0,
            mean_lost_ns: 0.0,
            behind_ns: 0,
            group: 0,
            late_ns: 0.0,
            variance: 0.0,
            lost_squares: 0.0,
        }
    }

    /// Whether it is late more than chance allows: by so many standard deviations of the sum if in each collective
    /// it were chance which device arrives when (once in ten thousand cases), and by so many events that they hit
    /// one device by chance less than once in a thousand cases.
    pub(crate) fn is_systematic(&self) -> bool {
        let events = (self.lost_ns as f64).powi(2) / self.lost_squares.max(1.0);
        let group = self.group as f64;
        let enough = events * group.ln() >= (1000.0 * group).ln();
        self.late_ns > BY_CHANCE * self.variance.sqrt() && enough
    }
}

impl Matching {
    /// Takes in one rank; `each` gets every communication kernel with its call.
    pub(crate) fn rank(
        &mut self,
        tables: &RankTables,
        texts: &mut ByName<()>,
        mut each: impl FnMut(usize, Call),
    ) {
        let roles = Roles::new(tables);
        let mut calls = Calls::new(tables, texts);
        self.ranks += 1;
        self.without_clock += usize::from(tables.meta.base_unix_ns.is_none());
        let base = tables.meta.base_unix_ns.unwrap_or(0);
        for (number, rows) in interval::runs(&tables.kernels.device) {
            let device = self.devices.len() as u32;
            self.devices.push(Device { rank: tables.rank, device: number });
            let kernels = &tables.kernels;
            let mut rows: Vec<usize> = rows.filter(|&row| roles.at(row) == Role::Communication).collect();
            rows.sort_by_key(|&row| kernels.ts_ns[row]);
            for row in rows {
                let (call, group) = calls.of(row);
                each(row, call);
                let kernel = Kernel {
                    row: row as u32,
                    start: kernels.ts_ns[row].saturating_add(base),
                    dur_ns: kernels.dur_ns[row].max(0),
                };
                let sequences = self.sequences.entry((call, group)).or_default();
                match sequences.last_mut().filter(|last| last.device == device) {
                    Some(last) => last.kernels.push(kernel),
                    None => sequences.push(Sequence { device, kernels: vec![kernel] }),
                }
            }
        }
    }

    pub(crate) fn has_several(&self) -> bool {
        let mut found = self.sequences.values().flatten().map(|sequence| sequence.device);
        let first = found.next();
        found.any(|device| Some(device) != first)
    }

    pub(crate) fn finish(self, name: impl Fn(u32) -> String) -> Waiting {
        let has_clock = self.ranks == 1 || self.without_clock == 0;
        let mut waiting = Waiting { rows: vec![Vec::new(); self.devices.len()], ..Waiting::default() };
        let mut lateness: Vec<Lateness> = self.devices.iter().enumerate().map(Lateness::new).collect();
        for ((call, group), sequences) in &self.sequences {
            // What one rank sends the other receives: these are not the same call on every rank.
            let is_shared = group.is_none() || Kind::of(&name(call.name)) != Some(Kind::PointToPoint);
            if is_shared && is_one(sequences, *call, group.is_some(), has_clock) {
                waiting.add(*call, sequences, &mut lateness);
            }
        }
        waiting.rows.iter_mut().for_each(|rows| rows.sort_unstable());
        waiting.lateness = lateness.into_iter().filter(|device| device.collectives > 0).collect();
        waiting
    }
}

fn is_one(sequences: &[Sequence], call: Call, has_group: bool, has_clock: bool) -> bool {
    let devices = sequences.len();
    let [first, others @ ..] = sequences else { return false };
    let count = first.kernels.len();
    let is_even = others.iter().all(|other| other.kernels.len() == count);
    let within_group = call.group_size.is_none_or(|size| i64::from(size) >= devices as i64);
    // Without a process group only the clock can say whether kernels belong together.
    devices > 1 && is_even && within_group && (has_group || (has_clock && run_together(sequences)))
}

/// Whether the k-th kernels ran at the same time on all devices: no rank leaves a collective before the last has
/// come. Clocks of different machines are compared by the ends of the kernels, which a collective has in common.
fn run_together(sequences: &[Sequence]) -> bool {
    let [first, ..] = sequences else { return false };
    let end = |kernel: &Kernel| kernel.start.saturating_add(kernel.dur_ns);
    let offset = |sequence: &Sequence| {
        if sequence.kernels.len() < ENOUGH_FOR_A_CLOCK {
            return 0;
        }
        let pairs = sequence.kernels.iter().zip(&first.kernels);
        let mut apart: Vec<i64> = pairs.map(|(own, other)| end(own).saturating_sub(end(other))).collect();
        upper_median(&mut apart).unwrap_or(0)
    };
    let is_together = |offsets: &[i64]| {
        (0..first.kernels.len()).all(|k| {
            let kernels = || sequences.iter().zip(offsets).map(|(own, offset)| (&own.kernels[k], offset));
            let latest_start = kernels().map(|(kernel, offset)| kernel.start.saturating_sub(*offset)).max();
            let earliest_end = kernels().map(|(kernel, offset)| end(kernel).saturating_sub(*offset)).min();
            latest_start < earliest_end
        })
    };
    is_together(&vec![0; sequences.len()]) || {
        let offsets: Vec<i64> = sequences.iter().map(offset).collect();
        is_together(&offsets)
    }
}

impl Waiting {
    /// How long a kernel waited for the last rank, at its beginning; `None` where it was not matched.
    pub(crate) fn of(&self, device: usize, row: u32) -> Option<i64> {
        let rows = self.rows.get(device)?;
        let found = rows.binary_search_by_key(&row, |known| known.0).ok()?;
        rows.get(found).map(|known| known.1)
    }

    fn add(&mut self, call: Call, sequences: &[Sequence], lateness: &mut [Lateness]) {
        let devices = sequences.len();
        let Some(count) = sequences.first().map(|first| first.kernels.len()) else { return };
        self.matched += count;
        for k in 0..count {
            let kernels = || sequences.iter().map(|own| (own.device as usize, own.kernels[k]));
            let Some((last, shortest)) =
                kernels().map(|(device, kernel)| (device, kernel.dur_ns)).min_by_key(|one| (one.1, one.0))
            else {
                continue;
            };
            let others = || kernels().filter(|one| one.0 != last);
            let second = others().map(|one| one.1.dur_ns).min().unwrap_or(shortest);
            let lost = others().fold(0i64, |sum, one| sum.saturating_add(one.1.dur_ns - shortest));
            let mean = kernels().map(|one| one.1.dur_ns as f64).sum::<f64>() / devices as f64;
            let squares = kernels().map(|one| (one.1.dur_ns as f64 - mean).powi(2)).sum::<f64>();
            for (device, kernel) in kernels() {
                let wait_ns = kernel.dur_ns - shortest;
                self.rows[device].push((kernel.row, wait_ns));
                let row = &mut lateness[device];
                row.collectives += 1;
                row.group = row.group.max(devices);
                row.wait_ns = row.wait_ns.saturating_add(wait_ns);
                row.late_ns += mean - kernel.dur_ns as f64;
                row.variance += squares / devices as f64;
            }
            let row = &mut lateness[last];
            row.last += 1;
            row.lost_ns = row.lost_ns.saturating_add(lost);
            row.mean_lost_ns += lost as f64 / (devices - 1) as f64;
            row.lost_squares += (lost as f64).powi(2);
            row.behind_ns = row.behind_ns.saturating_add(second - shortest);
            self.transfers.push((call, shortest, lost));
        }
    }
}
