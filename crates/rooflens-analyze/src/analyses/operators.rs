//! Which framework operators take the time?

use std::collections::HashMap;

use rooflens_schema::{NameId, Opt, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::{ByName, FastMap, compact_if_many};
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::statistics::{DurationSummary, Durations, share};

/// Framework operators by name, most self time first. Every name is here.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Operators(pub Vec<OperatorStat>);

/// All calls of one operator.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OperatorStat {
    /// Name.
    pub name: String,
    /// Calls.
    pub count: usize,
    /// Host time: sum of durations, nested operators included.
    pub total_ns: i64,
    /// Host time less that of operators directly inside.
    pub self_ns: i64,
    /// Mean duration.
    pub mean_ns: f64,
    /// Median duration.
    pub p50_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Device time of everything launched inside its calls.
    pub device_ns: i64,
    /// Device time launched directly by it, not by an operator inside.
    pub self_device_ns: i64,
    /// Host memory allocated less released during its calls, operators inside included; null where the trace
    /// has no allocator events (`profile_memory`).
    pub cpu_memory_bytes: Option<i64>,
    /// The same less that of operators directly inside.
    pub self_cpu_memory_bytes: Option<i64>,
    /// Device memory allocated less released during its calls, operators inside included.
    pub device_memory_bytes: Option<i64>,
    /// The same less that of operators directly inside.
    pub self_device_memory_bytes: Option<i64>,
    /// Share of all operators' self time, 0 to 1.
    pub share: f64,
    /// Its calls by input shapes, most host time first; at most eight.
    pub shapes: Vec<ShapeStat>,
}

/// The calls of one operator with the same input shapes and types.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShapeStat {
    /// Input shapes as the trace has them.
    pub shapes: String,
    /// Input types as the trace has them.
    pub dtypes: String,
    /// Calls.
    pub count: usize,
    /// Host time.
    pub total_ns: i64,
    /// Device time launched inside.
    pub device_ns: i64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "operators",
    question: "Which framework operators take the time?",
    needs: "framework operators",
    is_special: false,
    finding: FindingType::list::<Operators>(),
    start: || Box::new(State::default()),
    explain: "\
One row per operator name, summed over ranks and threads. Every name is listed, most self time first.

- `count`: calls.
- `total_ns`: host time, sum of durations, ns. Recursive calls count each time.
- `self_ns`: host time less that of the operators directly inside, ns.
- `mean_ns`, `p50_ns`, `max_ns`: of a call's duration; the median is the lower of the two middle values.
- `device_ns`: device time of everything launched inside its calls, nested operators included, ns.
- `self_device_ns`: device time of what it launched itself, with no operator in between, ns.
- `cpu_memory_bytes`, `device_memory_bytes`: bytes allocated minus bytes freed during its calls, operators inside
  included, as `key_averages()` of torch.profiler counts them; `self_…`: less those of the operators directly
  inside. Null where the trace was recorded without `profile_memory`.
- `share`: self_ns / sum of all rows' self_ns, 0 to 1.
- `shapes`: its calls by recorded input shapes and types, the eight with the most host time.
",
};

#[derive(Default)]
struct State {
    rows: ByName<Row>,
    texts: ByName<()>,
    shapes: FastMap<(u32, u32, u32), ShapeSum>,
}

#[derive(Default)]
struct Row {
    durations: Durations,
    self_ns: i64,
    device_ns: i64,
    self_device_ns: i64,
    memory: Option<[Bytes; 2]>,
}

#[derive(Clone, Copy, Default)]
struct ShapeSum {
    count: usize,
    total_ns: i64,
    device_ns: i64,
}

impl ShapeSum {
    fn add(&mut self, other: ShapeSum) {
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.device_ns = self.device_ns.saturating_add(other.device_ns);
    }
}

/// How many shapes an operator shows.
const SHAPES: usize = 8;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let (ops, kernels) = (&tables.ops, &tables.kernels);
        let mut rows = self.rows.rank(&tables.names);
        let mut shapes = RankShapes::default();
        for i in 0..ops.len() {
            let slot = rows.slot(ops.name_id[i]);
            let row = rows.row(slot);
            row.durations.push(ops.dur_ns[i]);
            row.self_ns = row.self_ns.saturating_add(ops.dur_ns[i] - ops.inside_ns[i]);
            row.device_ns = row.device_ns.saturating_add(ops.device_ns[i]);
            if let Some(shape) = ops.shapes_id[i].get() {
                let sum = ShapeSum { count: 1, total_ns: ops.dur_ns[i], device_ns: ops.device_ns[i] };
                shapes.at((slot, shape, ops.dtypes_id[i])).add(sum);
            }
        }
        for (op, dur_ns) in kernels.op_id.iter().zip(&kernels.dur_ns) {
            if let Some(&name) = op.get().and_then(|op| ops.name_id.get(usize::try_from(op).ok()?)) {
                let row = rows.at(name);
                row.self_device_ns = row.self_device_ns.saturating_add(*dur_ns);
            }
        }
        if let Some(calls) = memory_of_calls(tables) {
            for (i, bytes) in calls.iter().enumerate() {
                let [total, own] = rows.at(ops.name_id[i]).memory.get_or_insert_default();
                total.add(*bytes);
                own.add(*bytes);
                let outer =
                    ops.parent_id[i].get().and_then(|outer| ops.name_id.get(usize::try_from(outer).ok()?));
                if let Some(&outer) = outer {
                    rows.at(outer).memory.get_or_insert_default()[1].less(*bytes);
                }
            }
        }
        for ((slot, shape, dtypes), sum) in shapes.sums {
            let shape = self.texts.slot(tables.names.get(shape));
            let dtypes = self.texts.slot(dtypes.get().map_or("", |dtypes| tables.names.get(dtypes)));
            self.shapes.entry((slot, shape, dtypes)).or_default().add(sum);
        }
        compact_if_many(self.rows.rows_mut().map(|row| &mut row.durations));
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let State { rows, texts, shapes } = *self;
        let texts: Vec<String> = texts.into_rows().map(|(text, ())| text).collect();
        let mut by_row: HashMap<u32, Vec<ShapeStat>> = HashMap::new();
        for ((slot, shape, dtypes), sum) in shapes {
            by_row.entry(slot).or_default().push(ShapeStat {
                shapes: texts[shape as usize].clone(),
                dtypes: texts[dtypes as usize].clone(),
                count: sum.count,
                total_ns: sum.total_ns,
                device_ns: sum.device_ns,
            });
        }
        let mut found: Vec<OperatorStat> = Vec::new();
        for (slot, (name, row)) in rows.into_rows().enumerate() {
            let shapes = by_row.remove(&(slot as u32)).map(most_host_time).unwrap_or_default();
            found.extend(stat(name, row, shapes));
        }
        let all_ns = found.iter().fold(0i64, |sum, row| sum.saturating_add(row.self_ns));
        for row in &mut found {
            row.share = share(row.self_ns, all_ns);
        }
        found.sort_by(|a, b| b.self_ns.cmp(&a.self_ns).then_with(|| a.name.cmp(&b.name)));
        (!found.is_empty()).then(|| Box::new(Operators(found)) as Box<dyn Finding>)
    }
}

fn most_host_time(mut shapes: Vec<ShapeStat>) -> Vec<ShapeStat> {
    shapes.sort_by(|a, b| {
        b.total_ns.cmp(&a.total_ns).then_with(|| (&a.shapes, &a.dtypes).cmp(&(&b.shapes, &b.dtypes)))
    });
    shapes.truncate(SHAPES);
    shapes
}

fn stat(name: String, row: Row, shapes: Vec<ShapeStat>) -> Option<OperatorStat> {
    let (count, total_ns, mean_ns) = (row.durations.count, row.durations.total_ns, row.durations.mean());
    let DurationSummary { percentiles: [p50_ns], max: max_ns, .. } = row.durations.summary([50])?;
    let Row { self_ns, device_ns, self_device_ns, memory, .. } = row;
    let bytes = |of: fn(&[Bytes; 2]) -> i64| memory.as_ref().map(of);
    Some(OperatorStat {
        name,
        count,
        total_ns,
        self_ns,
        mean_ns,
        p50_ns,
        max_ns,
        device_ns,
        self_device_ns,
        cpu_memory_bytes: bytes(|[total, _]| total.host),
        self_cpu_memory_bytes: bytes(|[_, own]| own.host),
        device_memory_bytes: bytes(|[total, _]| total.device),
        self_device_memory_bytes: bytes(|[_, own]| own.device),
        share: 0.0,
        shapes,
    })
}

/// An operator's row, its shapes and its types, in one rank's ids.
type ShapeKey = (u32, NameId, Opt<NameId>);

/// The sums of one rank by shapes. Most calls repeat the shapes of the last call of the operator,
/// which is looked at before the map.
#[derive(Default)]
struct RankShapes {
    positions: FastMap<ShapeKey, u32>,
    sums: Vec<(ShapeKey, ShapeSum)>,
    last: Vec<u32>,
}

impl RankShapes {
    fn at(&mut self, key: ShapeKey) -> &mut ShapeSum {
        let slot = key.0 as usize;
        if slot >= self.last.len() {
            self.last.resize(slot + 1, u32::MAX);
        }
        let known = self.last[slot];
        let position = match self.sums.get(known as usize) {
            Some((last, _)) if *last == key => known,
            _ => *self.positions.entry(key).or_insert_with(|| {
                self.sums.push((key, ShapeSum::default()));
                (self.sums.len() - 1) as u32
            }),
        };
        self.last[slot] = position;
        &mut self.sums[position as usize].1
    }
}

/// Bytes given less bytes taken back, on the host and on devices.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bytes {
    host: i64,
    device: i64,
}

impl Bytes {
    pub(crate) fn add(&mut self, other: Bytes) {
        self.host = self.host.saturating_add(other.host);
        self.device = self.device.saturating_add(other.device);
    }

    fn less(&mut self, other: Bytes) {
        self.host = self.host.saturating_sub(other.host);
        self.device = self.device.saturating_sub(other.device);
    }
}

/// Of each operator call of a rank, nested calls included; nothing where the trace has no allocator events.
fn memory_of_calls(tables: &RankTables) -> Option<Vec<Bytes>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, findings};

    fn rank(number: i32) -> Sample {
        // linear [0,100) holds addmm [10,70), which holds a view [20,30): self 40, 50, 10.
        // A second addmm [200,220) of another shape stands alone: self 20.
        // addmm launches 80 and 15 on the device, linear nothing itself; 5 has no operator.
        let mut sample = Sample::new(number);
        sample
            .op((1, 0, 100), "aten::linear", None, (40, 80), Some("[[4, 8]]"))
            .op((1, 10, 60), "aten::addmm", Some(0), (50, 80), Some("[[4, 8]]"))
            .op((1, 20, 10), "aten::view", Some(1), (10, 0), None)
            .op((1, 200, 20), "aten::addmm", None, (20, 15), Some("[[1, 8]]"));
        sample.kernel(0, 7, 50, 80, "gemm", "gemm").within(Some(1), None, None);
        sample.kernel(0, 7, 210, 15, "gemm", "gemm").within(Some(3), None, None);
        sample.kernel(0, 7, 300, 5, "gemm", "gemm");
        sample
    }

    #[test]
    fn sums_by_operator() {
        let found = findings(&[rank(0).tables]);
        let rows = &found.get::<Operators>().expect("operators").0;
        let names: Vec<_> =
            rows.iter().map(|row| (row.name.as_str(), row.count, row.total_ns, row.self_ns)).collect();
        assert_eq!(
            names,
            [("aten::addmm", 2, 80, 70), ("aten::linear", 1, 100, 40), ("aten::view", 1, 10, 10)]
        );
        let addmm = &rows[0];
        assert_eq!((addmm.mean_ns, addmm.p50_ns, addmm.max_ns), (40.0, 20, 60));
        assert_eq!((addmm.device_ns, addmm.self_device_ns), (95, 95));
        assert_eq!((rows[1].device_ns, rows[1].self_device_ns), (80, 0));
        // 70 of 70 + 40 + 10.
        assert!((addmm.share - 70.0 / 120.0).abs() < 1e-12);
        let shapes: Vec<_> =
            addmm.shapes.iter().map(|row| (row.shapes.as_str(), row.total_ns, row.device_ns)).collect();
        assert_eq!(shapes, [("[[4, 8]]", 60, 80), ("[[1, 8]]", 20, 15)]);
        assert!(rows[2].shapes.is_empty());
    }

    #[test]
    fn parity_076_memory_by_operator_by_hand() {
        let mut first = rank(0);
        // During linear and addmm 100 and 40 on the host, of which the view takes 40 back; the second addmm 7
        // on the device at its very end. At 150 no operator runs.
        for (ts_ns, bytes, device) in [(220, 7, 0), (5, 100, -1), (15, 40, -1), (30, -40, -1), (150, 999, -1)]
        {
            first.tables.memory.push(rooflens_schema::tables::MemoryRow {
                ts_ns,
                bytes,
                allocated_bytes: Opt::NONE,
                reserved_bytes: Opt::NONE,
                device,
                site_id: Opt::NONE,
            });
        }
        let memory = |found: &Findings| -> Vec<(String, [Option<i64>; 4])> {
            let rows = found.get::<Operators>().expect("operators").0.clone();
            let of = |row: OperatorStat| {
                let host = [row.cpu_memory_bytes, row.self_cpu_memory_bytes];
                let device = [row.device_memory_bytes, row.self_device_memory_bytes];
                (row.name, [host[0], host[1], device[0], device[1]])
            };
            rows.into_iter().map(of).collect()
        };
        let expected = |addmm, linear, view| {
            [("aten::addmm", addmm), ("aten::linear", linear), ("aten::view", view)]
                .map(|(name, bytes): (&str, [i64; 4])| (name.to_owned(), bytes.map(Some)))
        };
        // addmm: 40 - 40 with the view, 40 without it; linear: 100 + 40 - 40, itself 100.
        let one = expected([0, 40, 7, 7], [100, 100, 0, 0], [-40, -40, 0, 0]);
        assert_eq!(memory(&findings(&[first.tables.clone()])), one);
        // A rank without allocator events adds nothing, and alone has none.
        assert_eq!(memory(&findings(&[first.tables, rank(1).tables])), one);
        assert!(memory(&findings(&[rank(0).tables])).iter().all(|(_, bytes)| *bytes == [None; 4]));
    }

    #[test]
    fn two_ranks_with_other_ids_double_everything() {
        let mut second = Sample::new(1);
        second.tables.names.add("shifts every id");
        let mut twin = rank(1).tables;
        // Re-number the ids: each moves up by one behind the new name.
        let names = std::mem::take(&mut twin.names);
        names.iter().skip(1).for_each(|(_, text)| {
            second.tables.names.add(text);
        });
        let up = |id: NameId| NameId(id.0 + 1);
        twin.ops.name_id.iter_mut().for_each(|id| *id = up(*id));
        twin.ops.shapes_id.iter_mut().for_each(|id| *id = id.get().map(up).into());
        twin.kernels.kernel_id.iter_mut().for_each(|id| *id = up(*id));
        twin.names = second.tables.names;
        let found = findings(&[rank(0).tables, twin]);
        let rows = &found.get::<Operators>().expect("operators").0;
        let names: Vec<_> =
            rows.iter().map(|row| (row.name.as_str(), row.count, row.total_ns, row.self_ns)).collect();
        assert_eq!(
            names,
            [("aten::addmm", 4, 160, 140), ("aten::linear", 2, 200, 80), ("aten::view", 2, 20, 20)]
        );
        assert_eq!(rows[0].shapes[0].count, 2);
    }
}
