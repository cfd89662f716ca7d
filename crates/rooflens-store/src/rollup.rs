//! What is summed up of a run when it is added.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use foldhash::HashMap;

use crate::error::StoreError;
use crate::source::{big, int, text};
use crate::tables::{StoreTable, table};

/// NVML's reasons that mean heat or power: software and hardware power caps, slowdowns, thermal slowdowns. Idling, and
/// clocks that somebody set, are not among them.
const THROTTLED: i64 = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// The lower edge of the bucket of a duration: 16 buckets in each power of two.
#[must_use]
pub(crate) fn bucket(duration_ns: i64) -> i64 {
    let value = duration_ns.max(0);
    let bits = 63 - (value | 1).leading_zeros();
    let shift = bits.saturating_sub(4);
    value >> shift << shift
}

/// Calls of a kernel: how many, and how long they took.
#[derive(Clone, Copy)]
pub(crate) struct CallSums {
    pub(crate) count: i64,
    pub(crate) total_ns: i64,
    pub(crate) min_ns: i64,
    pub(crate) max_ns: i64,
}

impl CallSums {
    fn one(duration_ns: i64) -> Self {
        CallSums { count: 1, total_ns: duration_ns, min_ns: duration_ns, max_ns: duration_ns }
    }

    pub(crate) fn add(&mut self, other: CallSums) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Sums, and how many calls are in each bucket of durations.
type KernelSums = (CallSums, BTreeMap<i64, i64>);

/// Which sum: kernel, rank, phase.
type KernelKey = (i64, i32, Arc<str>);

#[derive(Default)]
pub(crate) struct KernelRollup {
    sums: HashMap<KernelKey, KernelSums>,
    words: HashMap<String, Arc<str>>,
    devices: std::collections::BTreeSet<(i32, i32)>,
}

impl KernelRollup {
    /// Adds rows of the table `kernels`.
    pub fn add(&mut self, batch: &RecordBatch) {
        let big = |name: &str| big(batch, name);
        let (Some(kernel), Some(dur), Some(rank), Some(device), Some(phase)) =
            (big("kernel_id"), big("dur_ns"), int(batch, "rank"), int(batch, "device"), text(batch, "phase"))
        else {
            return;
        };
        let mut word: Arc<str> = Arc::from("");
        for row in 0..batch.num_rows() {
            if *word != *phase.value(row) {
                let new = phase.value(row);
                word = self.words.entry(new.to_owned()).or_insert_with(|| Arc::from(new)).clone();
            }
            self.devices.insert((rank.value(row), device.value(row)));
            let key = (kernel.value(row), rank.value(row), Arc::clone(&word));
            let duration = dur.value(row);
            let call = CallSums::one(duration);
            match self.sums.entry(key) {
                Entry::Occupied(mut known) => {
                    let (sums, buckets) = known.get_mut();
                    sums.add(call);
                    *buckets.entry(bucket(duration)).or_insert(0) += 1;
                }
                Entry::Vacant(new) => drop(new.insert((call, [(bucket(duration), 1)].into()))),
            }
        }
    }

    /// Devices that ran something; `None` without any.
    pub(crate) fn devices(&self) -> Option<i32> {
        i32::try_from(self.devices.len()).ok().filter(|&devices| devices > 0)
    }

    /// The tables `kernel_rollup` and `kernel_histogram`, in their order.
    pub(crate) fn batches(&self, run_id: &str) -> Result<[RecordBatch; 2], StoreError> {
        let mut keys: Vec<&KernelKey> = self.sums.keys().collect();
        keys.sort_unstable();
        let sums: Vec<(&KernelKey, &KernelSums)> =
            keys.into_iter().filter_map(|key| Some((key, self.sums.get(key)?))).collect();
        let mut rollup = Columns::new("kernel_rollup");
        rollup.text(sums.iter().map(|_| Some(run_id)));
        rollup.int(sums.iter().map(|(key, _)| Some(key.1)));
        rollup.big(sums.iter().map(|(key, _)| Some(key.0)));
        rollup.text(sums.iter().map(|(key, _)| Some(&*key.2)));
        rollup.sums(sums.iter().map(|(_, (sums, _))| sums));
        let mut histogram = Columns::new("kernel_histogram");
        let rows =
            || sums.iter().flat_map(|(key, (_, buckets))| buckets.iter().map(move |bucket| (key, bucket)));
        histogram.text(rows().map(|_| Some(run_id)));
        histogram.int(rows().map(|(key, _)| Some(key.1)));
        histogram.big(rows().map(|(key, _)| Some(key.0)));
        histogram.text(rows().map(|(key, _)| Some(&*key.2)));
        histogram.big(rows().map(|(_, (&from, _))| Some(from)));
        histogram.big(rows().map(|(_, (_, &count))| Some(count)));
        Ok([rollup.batch()?, histogram.batch()?])
    }
}

/// Collects the columns of a roll-up in the order of its declaration.
pub(crate) struct Columns {
    table: Option<&'static StoreTable>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    pub(crate) fn new(name: &str) -> Self {
        Columns { table: table(name), arrays: Vec::new() }
    }

    pub(crate) fn text<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) {
        self.arrays.push(Arc::new(values.collect::<StringArray>()));
    }

    pub(crate) fn int(&mut self, values: impl Iterator<Item = Option<i32>>) {
        self.arrays.push(Arc::new(values.collect::<Int32Array>()));
    }

    pub(crate) fn big(&mut self, values: impl Iterator<Item = Option<i64>>) {
        self.arrays.push(Arc::new(values.collect::<Int64Array>()));
    }

    pub(crate) fn double(&mut self, values: impl Iterator<Item = Option<f64>>) {
        self.arrays.push(Arc::new(values.collect::<Float64Array>()));
    }

    /// Number, sum, least and most.
    pub(crate) fn sums<'a>(&mut self, sums: impl Iterator<Item = &'a CallSums> + Clone) {
        self.big(sums.clone().map(|one| Some(one.count)));
        self.big(sums.clone().map(|one| Some(one.total_ns)));
        self.big(sums.clone().map(|one| Some(one.min_ns)));
        self.big(sums.map(|one| Some(one.max_ns)));
    }

    pub(crate) fn batch(self) -> Result<RecordBatch, StoreError> {
        let failed = |error: ArrowError| StoreError::table("write", "a roll-up", error);
        let table =
            self.table.ok_or_else(|| StoreError::table("write", "a roll-up", "it is not declared"))?;
        RecordBatch::try_new(table.schema(), self.arrays).map_err(failed)
    }
}

#[derive(Default)]
struct PhaseSums {
    steps: i64,
    total_ns: i64,
    told: [Option<i64>; 6],
}

const TOLD: [&str; 6] =
    ["device_busy_ns", "prefill_tokens", "decode_tokens", "kv_tokens", "activities", "launches"];

#[derive(Default)]
pub(crate) struct PhaseRollup {
    sums: BTreeMap<(i32, String), PhaseSums>,
}

impl PhaseRollup {
    pub fn add(&mut self, batch: &RecordBatch) {
        let big = |name: &str| big(batch, name);
        let (Some(rank), Some(id), Some(step), Some(kind), Some(dur)) = (
            int(batch, "rank"),
            int(batch, "phase_id"),
            int(batch, "step_id"),
            text(batch, "kind"),
            big("dur_ns"),
        ) else {
            return;
        };
        use arrow_array::Array;
        for row in 0..batch.num_rows() {
            if !step.is_valid(row) || step.value(row) != id.value(row) {
                continue;
            }
            let sums = self.sums.entry((rank.value(row), kind.value(row).to_owned())).or_default();
            sums.steps += 1;
            sums.total_ns += dur.value(row);
            for (sum, name) in sums.told.iter_mut().zip(TOLD) {
                if let Some(value) = big(name).filter(|column| column.is_valid(row)).map(|c| c.value(row)) {
                    *sum = Some(sum.unwrap_or(0) + value);
                }
            }
        }
    }

    pub(crate) fn batch(&self, run_id: &str) -> Result<RecordBatch, StoreError> {
        let mut columns = Columns::new("phase_rollup");
        columns.text(self.sums.iter().map(|_| Some(run_id)));
        columns.int(self.sums.keys().map(|(rank, _)| Some(*rank)));
        columns.text(self.sums.keys().map(|(_, kind)| Some(kind.as_str())));
        columns.big(self.sums.values().map(|sums| Some(sums.steps)));
        columns.big(self.sums.values().map(|sums| Some(sums.total_ns)));
        for told in 0..TOLD.len() {
            columns.big(self.sums.values().map(|sums| sums.told[told]));
        }
        columns.batch()
    }
}

#[derive(Default)]
struct DeviceSums {
    samples: i64,
    throttled: i64,
    reasons: i64,
    clocks: (i64, i64),
    clock_min: Option<i32>,
    power: (i64, i64),
    temperature_max: Option<i32>,
    energy: Option<(i64, i64)>,
}

#[derive(Default)]
pub(crate) struct DeviceRollup {
    sums: BTreeMap<i32, DeviceSums>,
}

impl DeviceRollup {
    pub fn add(&mut self, batch: &RecordBatch) {
        use arrow_array::Array;
        let ints = |name: &str| int(batch, name);
        let big = |name: &str| big(batch, name);
        let (Some(device), Some(clock), Some(temperature), Some(reasons), Some(power), Some(energy)) = (
            ints("device"),
            ints("sm_clock_mhz"),
            ints("temperature_c"),
            big("throttle_reasons"),
            big("power_mw"),
            big("energy_mj"),
        ) else {
            return;
        };
        for row in (0..batch.num_rows()).filter(|&row| device.is_valid(row)) {
            let sums = self.sums.entry(device.value(row)).or_default();
            sums.samples += 1;
            if reasons.is_valid(row) {
                sums.reasons |= reasons.value(row);
                sums.throttled += i64::from(reasons.value(row) & THROTTLED != 0);
            }
            if clock.is_valid(row) {
                let mhz = clock.value(row);
                sums.clocks = (sums.clocks.0 + i64::from(mhz), sums.clocks.1 + 1);
                sums.clock_min = Some(sums.clock_min.map_or(mhz, |least| least.min(mhz)));
            }
            if power.is_valid(row) {
                sums.power = (sums.power.0 + power.value(row), sums.power.1 + 1);
            }
            if temperature.is_valid(row) {
                sums.temperature_max = sums.temperature_max.max(Some(temperature.value(row)));
            }
            if energy.is_valid(row) {
                let now = energy.value(row);
                sums.energy =
                    Some(sums.energy.map_or((now, now), |(least, most)| (least.min(now), most.max(now))));
            }
        }
    }

    pub(crate) fn batch(&self, run_id: &str) -> Result<RecordBatch, StoreError> {
        let mean = |(sum, count): (i64, i64)| (count > 0).then(|| sum as f64 / count as f64);
        let sums = || self.sums.values();
        let mut columns = Columns::new("device_rollup");
        columns.text(sums().map(|_| Some(run_id)));
        columns.int(self.sums.keys().map(|&device| Some(device)));
        columns.big(sums().map(|one| Some(one.samples)));
        columns.big(sums().map(|one| Some(one.throttled)));
        columns.big(sums().map(|one| Some(one.reasons)));
        columns.double(sums().map(|one| mean(one.clocks)));
        columns.int(sums().map(|one| one.clock_min));
        columns.double(sums().map(|one| mean(one.power)));
        columns.int(sums().map(|one| one.temperature_max));
        columns.big(sums().map(|one| one.energy.map(|(least, most)| most - least)));
        columns.batch()
    }
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn buckets_are_a_sixteenth_of_a_power_of_two() {
        for value in 0..32 {
            assert_eq!(bucket(value), value);
        }
        assert_eq!((bucket(32), bucket(33), bucket(34)), (32, 32, 34));
        assert_eq!((bucket(1_000), bucket(1_023), bucket(1_024)), (992, 992, 1_024));
        assert_eq!(bucket(-5), 0);
        for value in [100, 12_345, 987_654_321, i64::MAX] {
            let from = bucket(value);
            assert!(from <= value && (value - from) as f64 / value as f64 <= 1.0 / 16.0, "{value}");
            assert_eq!(bucket(from), from);
        }
    }
}
