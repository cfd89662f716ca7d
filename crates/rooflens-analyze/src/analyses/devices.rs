//! Where does each device's time go?

use std::ops::Range;

use rooflens_schema::RankTables;
use rooflens_schema::tables::{self, DeviceRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::interval::{self, Interval, runs};
use crate::role::{Role, Roles};
use crate::statistics::share;

/// Where each device's time goes: one row for each rank and device with activity.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Devices(pub Vec<DeviceTime>);

/// One device's time between its first and last activity.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeviceTime {
    /// Rank.
    pub rank: i32,
    /// Device index.
    pub device: i32,
    /// Device name, where the trace gives one.
    pub name: Option<String>,
    /// Compute capability or architecture, as `9.4` or `gfx942`, where the trace gives it.
    pub architecture: Option<String>,
    /// Streaming multiprocessors or compute units, where the trace gives them.
    pub compute_units: Option<i32>,
    /// Size of its memory, where the trace gives it.
    pub memory_bytes: Option<i64>,
    /// The device that these three tell, where the trace gives no name.
    pub recognised: Option<Recognised>,
    /// From the start of its first activity to the end of its last.
    pub span_ns: i64,
    /// Time with at least one activity.
    pub busy_ns: i64,
    /// `span_ns - busy_ns`.
    pub idle_ns: i64,
    /// Time with at least one compute kernel.
    pub compute_ns: i64,
    /// Time with at least one communication kernel.
    pub communication_ns: i64,
    /// Part of it with no compute kernel running.
    pub exposed_communication_ns: i64,
    /// Part of it behind compute.
    pub hidden_communication_ns: i64,
    /// Time with at least one copy or fill.
    pub copy_ns: i64,
    /// Part of it with neither compute nor communication running.
    pub exposed_copy_ns: i64,
    /// Activities.
    pub activities: usize,
    /// Streams with activity.
    pub streams: usize,
    /// Busy share over time, for a chart.
    pub timeline: DeviceTimeline,
}

/// A device that was recognised without a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recognised {
    /// Its name in the catalog.
    pub device: String,
    /// What it was recognised by, in words.
    pub by: String,
}

/// Shares of equal slices of the device's span.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeviceTimeline {
    /// Start of the first slice.
    pub start_ns: i64,
    /// Length of a slice.
    pub slice_ns: i64,
    /// Share of each slice with compute running, 0 to 1.
    #[serde(serialize_with = "in_full")]
    #[schemars(with = "Vec<f64>")]
    pub compute: Vec<f32>,
    /// Share with communication and no compute.
    #[serde(serialize_with = "in_full")]
    #[schemars(with = "Vec<f64>")]
    pub communication: Vec<f32>,
    /// Share with copies and neither.
    #[serde(serialize_with = "in_full")]
    #[schemars(with = "Vec<f64>")]
    pub copy: Vec<f32>,
}

/// Writes shares with the digits of a 64-bit float.
fn in_full<S: Serializer>(shares: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(shares.iter().map(|share| f64::from(*share)))
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "devices",
    question: "Where does each device's time go?",
    needs: "device activity",
    is_special: false,
    finding: FindingType::list::<Devices>(),
    start: || Box::new(State::default()),
    explain: "\
One row for each rank and device with activity. Times are exact unions of intervals, in ns: two
activities at once count once. busy_ns = compute_ns + exposed_communication_ns + exposed_copy_ns.

- `span_ns`: end of the last activity - start of the first.
- `busy_ns`: time with at least one activity: kernel, copy or fill.
- `idle_ns`: span_ns - busy_ns; `gaps` has the causes.
- `compute_ns`: time with at least one kernel that is not communication.
- `communication_ns`: time with at least one kernel of class `communication`.
- `exposed_communication_ns`: the part of it with no compute kernel running.
- `hidden_communication_ns`: communication_ns - exposed_communication_ns.
- `copy_ns`: time with at least one copy or fill by the driver (kinds memcpy and memset).
- `exposed_copy_ns`: the part of it with neither compute nor communication running.
- `name`, `architecture`, `compute_units`, `memory_bytes`: what the trace says of the device; where it lists none of
  this number, what it says of all that it lists, if they are alike. Where it gives no name,
  `recognised` is the only device of the catalog with this architecture, number of units and size of memory.
- `timeline`: compute, exposed communication and exposed copies as shares of each of up to 120 equal
  slices of the span.
",
};

#[derive(Default)]
struct State {
    found: Vec<DeviceTime>,
}

/// How many slices a timeline has.
const SLICES: i64 = 120;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let roles = Roles::new(tables);
        for (_, rows) in runs(&tables.kernels.device) {
            self.found.push(device_time(tables, &roles, rows));
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let mut found = self.found;
        found.sort_by_key(|row| (row.rank, row.device));
        (!found.is_empty()).then(|| Box::new(Devices(found)) as Box<dyn Finding>)
    }
}

fn device_time(tables: &RankTables, roles: &Roles<'_>, rows: Range<usize>) -> DeviceTime {
    let kernels = &tables.kernels;
    let (mut compute, mut communication, mut copy) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for i in rows.clone() {
        let activity = interval::span(kernels.ts_ns[i], kernels.dur_ns[i]);
        (first, last) = (first.min(activity.0), last.max(activity.1));
        match roles.at(i) {
            Role::Compute => compute.push(activity),
            Role::Communication => communication.push(activity),
            Role::Copy => copy.push(activity),
        }
    }
    let (compute, communication, copy) =
        (interval::merge(compute), interval::merge(communication), interval::merge(copy));
    let exposed_communication = interval::subtract(&communication, &compute);
    let kernel_time = interval::union(&compute, &exposed_communication);
    let exposed_copy = interval::subtract(&copy, &kernel_time);

    let span_ns = interval::length((first, last));
    let (compute_ns, communication_ns) =
        (interval::total_length(&compute), interval::total_length(&communication));
    let exposed_communication_ns = interval::total_length(&exposed_communication);
    let exposed_copy_ns = interval::total_length(&exposed_copy);
    let busy_ns = interval::total_length(&kernel_time).saturating_add(exposed_copy_ns);
    let device = kernels.device[rows.start];
    let told = described(&tables.devices, device);
    DeviceTime {
        rank: tables.rank,
        device,
        name: told.as_ref().map(|told| told.name.clone()).filter(|name| !name.trim().is_empty()),
        compute_units: told.as_ref().and_then(|told| told.units.get()),
        memory_bytes: told.as_ref().and_then(|told| told.memory_bytes.get()),
        architecture: told.and_then(|told| told.architecture),
        recognised: None,
        span_ns,
        busy_ns,
        idle_ns: span_ns - busy_ns,
        compute_ns,
        communication_ns,
        exposed_communication_ns,
        hidden_communication_ns: communication_ns - exposed_communication_ns,
        copy_ns: interval::total_length(&copy),
        exposed_copy_ns,
        activities: rows.len(),
        // Sorted by stream within the device.
        streams: runs(&kernels.stream[rows]).count(),
        timeline: timeline((first, last), &compute, &exposed_communication, &exposed_copy),
    }
}

/// What the trace says of a device. ROCm numbers devices behind the processors in kernels, but from 0 in the header:
/// where none has the index, all that are listed stand for it if they are alike.
fn described(listed: &tables::Devices, device: i32) -> Option<DeviceRow> {
    if let Some(row) = listed.device.iter().position(|&index| index == device) {
        return listed.row(row);
    }
    let properties = |row: usize| {
        let row = listed.row(row)?;
        Some((row.name, row.memory_bytes.get(), row.units.get(), row.architecture))
    };
    let are_alike = (1..listed.len()).all(|row| properties(row) == properties(0));
    listed.row(0).filter(|_| are_alike)
}

fn timeline(
    (start_ns, end_ns): Interval,
    compute: &[Interval],
    communication: &[Interval],
    copy: &[Interval],
) -> DeviceTimeline {
    let span_ns = interval::length((start_ns, end_ns));
    // Rounded up, so that the slices reach the end; short spans get fewer slices.
    let slice_ns = (span_ns / SLICES + i64::from(span_ns % SLICES != 0)).max(1);
    let slices = (span_ns / slice_ns + i64::from(span_ns % slice_ns != 0)) as usize;
    let shares = |part: &[Interval]| -> Vec<f32> {
        let covered = interval::coverage(part, start_ns, slice_ns, slices);
        let of_slice = |(i, covered): (usize, i64)| {
            // The last slice ends with the span.
            let whole = slice_ns.min(span_ns - slice_ns.saturating_mul(i as i64));
            share(covered, whole) as f32
        };
        covered.into_iter().enumerate().map(of_slice).collect()
    };
    DeviceTimeline {
        start_ns,
        slice_ns,
        compute: shares(compute),
        communication: shares(communication),
        copy: shares(copy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Random, Sample, findings};

    #[test]
    fn parts_of_a_device() {
        // stream 7: compute [0,100), [200,300)
        // stream 9: communication [50,150): 50 behind compute, 50 exposed
        // stream 11: copies [140,180) and [250,260): 10 behind communication, 10 behind compute, 30 exposed
        // busy = [0,180) + [200,300) = 280 of 300; idle 20.
        let mut sample = Sample::new(3);
        sample.kernel(1, 7, 0, 100, "gemm", "gemm").kernel(1, 7, 200, 100, "gemm", "gemm");
        sample.kernel(1, 9, 50, 100, "ncclDevKernel_AllReduce", "communication");
        sample.memcpy(1, 11, 140, 40, "Memcpy DtoH").memset(1, 11, 250, 10, "Memset");
        let rows = sample.find::<Devices>().0;
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.rank, row.device, row.activities, row.streams), (3, 1, 5, 3));
        assert_eq!((row.span_ns, row.busy_ns, row.idle_ns), (300, 280, 20));
        assert_eq!((row.compute_ns, row.communication_ns, row.copy_ns), (200, 100, 50));
        assert_eq!((row.exposed_communication_ns, row.hidden_communication_ns), (50, 50));
        assert_eq!(row.exposed_copy_ns, 30);
        // 300 / 120 = 2.5, rounded up to 3: 100 slices.
        assert_eq!((row.timeline.slice_ns, row.timeline.compute.len()), (3, 100));
        // [99,102) has 1 ns of compute and 2 of exposed communication.
        let at = |part: &[f32]| (part[33] * 3.0).round() as i32;
        assert_eq!((at(&row.timeline.compute), at(&row.timeline.communication)), (1, 2));
    }

    #[test]
    fn devices_that_are_listed_under_other_numbers() {
        let name_of = |listed: &[(i32, &str)]| {
            let mut sample = Sample::new(0);
            sample.kernel(2, 7, 0, 100, "gemm", "gemm");
            for (device, name) in listed {
                let (device, name) = (*device, (*name).to_owned());
                let (memory_bytes, units) = (Some(206_141_652_992).into(), Some(304).into());
                let architecture = Some("9.4".to_owned());
                sample.tables.devices.push(DeviceRow { device, name, memory_bytes, units, architecture });
            }
            let found = findings(&[sample.tables]);
            let row = &found.get::<Devices>().expect("activity").0[0];
            (row.name.clone(), row.compute_units)
        };
        let named = |name: &str| (Some(name.to_owned()), Some(304));
        assert_eq!(name_of(&[(0, "a"), (2, "b")]), named("b"));
        assert_eq!(name_of(&[(0, "a"), (1, "a")]), named("a"));
        assert_eq!(name_of(&[(0, "")]), (None, Some(304)));
        // Which of these it is nobody knows.
        assert_eq!(name_of(&[(0, "a"), (1, "b")]), (None, None));
        assert_eq!(name_of(&[]), (None, None));
    }

    #[test]
    fn parts_add_up_to_busy_on_random_devices() {
        let mut random = Random(7);
        for _ in 0..200 {
            let mut sample = Sample::new(0);
            for stream in 0..3 {
                let mut ts = 0;
                for _ in 0..random.below(8) {
                    ts += random.below(9);
                    let dur = random.below(12);
                    match random.below(3) {
                        0 => sample.kernel(0, stream, ts, dur, "gemm", "gemm"),
                        1 => sample.kernel(0, stream, ts, dur, "nccl", "communication"),
                        _ => sample.memcpy(0, stream, ts, dur, "Memcpy"),
                    };
                    ts += dur;
                }
            }
            let kernels = &sample.tables.kernels;
            let mut all: Vec<_> = kernels
                .ts_ns
                .iter()
                .zip(&kernels.dur_ns)
                .map(|(ts, dur)| interval::span(*ts, *dur))
                .collect();
            all.sort();
            let union = interval::union_length(all.into_iter());
            let found = findings(&[sample.tables]);
            let Some(Devices(rows)) = found.get::<Devices>() else { continue };
            let row = &rows[0];
            assert_eq!(row.busy_ns, union);
            assert_eq!(row.busy_ns, row.compute_ns + row.exposed_communication_ns + row.exposed_copy_ns);
            assert_eq!(row.idle_ns, row.span_ns - row.busy_ns);
        }
    }
}
