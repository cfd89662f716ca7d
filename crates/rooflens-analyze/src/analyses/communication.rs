//! What do collectives cost, and who waits for whom?

use std::collections::{BTreeMap, HashMap};

use rooflens_schema::{NameId, RankTables};
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::by_name::{ByName, compact_if_many};
use crate::finding::{Finding, Findings};
use crate::role::{Role, Roles};
use crate::statistics::{Durations, Summary};

/// What collectives cost, and who waits for whom.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Communication {
    /// Communication kernels.
    pub count: usize,
    /// Sum of their durations.
    pub total_ns: i64,
    /// By collective, type, size and group, most time first.
    pub collectives: Vec<CollectiveStat>,
    /// For each rank, how long it waited in collectives for the last to arrive. Empty for one rank.
    pub waits: Vec<RankWait>,
    /// Collectives that could be matched across ranks.
    pub matched: usize,
}

/// All calls of one collective with the same type, size and group.
#[derive(Debug, Clone, Serialize)]
pub struct CollectiveStat {
    /// Collective, or the kernel's short name where the trace does not tell.
    pub name: String,
    /// Element type.
    pub dtype: Option<String>,
    /// Ranks in the group.
    pub group_size: Option<i32>,
    /// Bytes of one call (the larger of in and out); `None` where the trace does not tell.
    pub bytes: Option<i64>,
    /// Calls.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Median duration.
    pub p50_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Bytes / median duration, in GB/s (algorithm bandwidth).
    pub algorithm_gb_per_s: Option<f64>,
    /// The same times the collective's factor, e.g. 2(n-1)/n for all-reduce (bus bandwidth).
    pub bus_gb_per_s: Option<f64>,
}

/// One rank's waiting.
#[derive(Debug, Clone, Serialize)]
pub struct RankWait {
    /// Rank.
    pub rank: i32,
    /// Sum over matched collectives of its duration less the shortest duration among the ranks: the
    /// rank that arrives last has the shortest.
    pub wait_ns: i64,
    /// Collectives in which it was the last to arrive.
    pub last_to_arrive: usize,
}

const EXPLAIN: &str = "\
Kernels of class `communication`, grouped by collective, element type, size and ranks in the group.

- `count`, `total_ns`, `p50_ns`, `max_ns`: of the kernels' durations, ns. They contain waiting.
- `bytes`: the larger of what a rank puts in and gets out, elements times the size of the type.
- `algorithm_gb_per_s`: bytes / p50_ns, in 10^9 bytes a second.
- `bus_gb_per_s`: the same times 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and
  all-to-all, 1 for broadcast, reduce, send and receive, with n ranks in the group
  (NVIDIA/nccl-tests, doc/PERFORMANCE.md).
- `matched`: collectives found on more than one rank: the k-th of the same group, name, type and size
  on each. Where ranks have different numbers of them, or more ranks have them than the group counts,
  none of those is matched.
- `waits`: for each rank, `wait_ns` is the sum over matched collectives of its duration less the
  shortest among the ranks read; `last_to_arrive` counts those in which its own was the shortest: who
  comes last waits least.
";

/// The question of this file.
pub(super) struct CommunicationAnalysis;

impl Analysis for CommunicationAnalysis {
    fn name(&self) -> &'static str {
        "communication"
    }
    fn question(&self) -> &'static str {
        "What do collectives cost, and who waits for whom?"
    }
    fn explain(&self) -> &'static str {
        EXPLAIN
    }
    fn needs(&self) -> &'static str {
        "communication kernels"
    }
    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {
    count: usize,
    total_ns: i64,
    /// Names of collectives, types and groups, each text once over all ranks.
    texts: ByName<()>,
    calls: HashMap<Call, Durations, foldhash::fast::RandomState>,
    sequences: HashMap<(Call, Option<u32>), Sequence, foldhash::fast::RandomState>,
}

/// What calls have in common; names are positions in `texts`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Call {
    name: u32,
    dtype: Option<u32>,
    group_size: Option<i32>,
    bytes: Option<i64>,
}

/// The same calls of one group on every rank, of which only the shortest so far is kept: memory does
/// not grow with the ranks.
#[derive(Default)]
struct Sequence {
    shortest: Vec<Instance>,
    /// Each rank's sum of durations.
    ranks: Vec<(i32, i64)>,
    /// The ranks have different numbers of calls, so that they cannot be matched by counting.
    uneven: bool,
}

/// One collective over the ranks seen so far.
#[derive(Clone, Copy)]
struct Instance {
    dur_ns: i64,
    rank: i32,
    /// On the wall clock: the last start and the first end.
    latest_start: i64,
    earliest_end: i64,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        let roles = Roles::new(tables);
        let mut rows: Vec<usize> =
            (0..kernels.len()).filter(|&i| roles.at(i) == Role::Communication).collect();
        rows.sort_by_key(|&i| kernels.ts_ns[i]);
        let details = Details::new(tables);
        let dim_rows = tables.kernel_dim_rows();
        let mut short_names: HashMap<NameId, u32, foldhash::fast::RandomState> = HashMap::default();
        let mut sequences: HashMap<(Call, Option<u32>), Vec<Instance>, foldhash::fast::RandomState> =
            HashMap::default();
        for i in rows {
            let dur_ns = kernels.dur_ns[i].max(0);
            self.count += 1;
            self.total_ns = self.total_ns.saturating_add(dur_ns);
            let (call, group) = match details.of(i) {
                Some(row) => self.described(tables, row),
                None => {
                    let id = kernels.kernel_id[i];
                    let name = *short_names.entry(id).or_insert_with(|| {
                        let row = dim_rows.get(id.index()).map_or(usize::MAX, |&row| row as usize);
                        let known = tables.kernel_dim.short_name.get(row).map(String::as_str);
                        self.texts.slot(known.unwrap_or_else(|| tables.names.get(id)))
                    });
                    (Call { name, dtype: None, group_size: None, bytes: None }, None)
                }
            };
            self.calls.entry(call).or_default().push(dur_ns);
            let start = kernels.ts_ns[i].saturating_add(tables.meta.base_unix_ns.unwrap_or(0));
            sequences.entry((call, group)).or_default().push(Instance {
                dur_ns,
                rank: tables.rank,
                latest_start: start,
                earliest_end: start.saturating_add(dur_ns),
            });
        }
        for (key, instances) in sequences {
            let sequence = self.sequences.entry(key).or_default();
            sequence.add(tables.rank, instances);
            // Without a group only the clock tells whether kernels belong together.
            sequence.uneven |= key.1.is_none() && tables.meta.base_unix_ns.is_none();
        }
        compact_if_many(self.calls.values_mut());
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        if self.count == 0 {
            return None;
        }
        let (matched, waits) = waits(self.sequences);
        let texts: Vec<String> = self.texts.into_rows().map(|(text, ())| text).collect();
        let mut collectives: Vec<CollectiveStat> =
            self.calls.into_iter().filter_map(|(call, durations)| stat(call, durations, &texts)).collect();
        collectives.sort_by(|a, b| {
            let key = |row: &CollectiveStat| (row.name.clone(), row.dtype.clone(), row.bytes, row.group_size);
            b.total_ns.cmp(&a.total_ns).then_with(|| key(a).cmp(&key(b)))
        });
        Some(Box::new(Communication {
            count: self.count,
            total_ns: self.total_ns,
            collectives,
            waits,
            matched,
        }))
    }
}

impl State {
    /// The call and group of a row of `collectives`.
    fn described(&mut self, tables: &RankTables, row: usize) -> (Call, Option<u32>) {
        let collectives = &tables.collectives;
        let mut slot = |id: NameId| self.texts.slot(tables.names.get(id));
        let dtype_id = collectives.dtype_id[row].get();
        let elements = collectives.in_elements[row].get().max(collectives.out_elements[row].get());
        let size = dtype_id.and_then(|dtype| element_bytes(tables.names.get(dtype)));
        let call = Call {
            name: slot(collectives.collective_id[row]),
            dtype: dtype_id.map(&mut slot),
            group_size: collectives.group_size[row].get(),
            bytes: elements.zip(size).and_then(|(elements, size)| elements.checked_mul(size)),
        };
        (call, collectives.group_id[row].get().map(slot))
    }
}

/// Finds the row of `collectives` that belongs to a kernel.
struct Details<'a> {
    tables: &'a RankTables,
    /// Correlation id, start, row; sorted. Kernels of one graph launch share the first.
    rows: Vec<(i64, i64, usize)>,
}

impl<'a> Details<'a> {
    fn new(tables: &'a RankTables) -> Self {
        let collectives = &tables.collectives;
        let with_corr = (0..collectives.len())
            .filter_map(|row| Some((collectives.corr_id[row].get()?, collectives.ts_ns[row], row)));
        let mut rows: Vec<_> = with_corr.collect();
        rows.sort_unstable();
        Details { tables, rows }
    }

    fn of(&self, kernel: usize) -> Option<usize> {
        let kernels = &self.tables.kernels;
        let (corr, ts_ns) = (kernels.corr_id[kernel].get()?, kernels.ts_ns[kernel]);
        let exact = self.rows.partition_point(|row| (row.0, row.1) < (corr, ts_ns));
        let found = self.rows.get(exact).filter(|row| (row.0, row.1) == (corr, ts_ns));
        let first = self.rows.partition_point(|row| row.0 < corr);
        let found = found.or_else(|| self.rows.get(first).filter(|row| row.0 == corr));
        found.map(|row| row.2)
    }
}

impl Sequence {
    fn add(&mut self, rank: i32, instances: Vec<Instance>) {
        let total_ns = instances.iter().fold(0i64, |sum, one| sum.saturating_add(one.dur_ns));
        if self.ranks.is_empty() {
            self.shortest = instances;
        } else if self.shortest.len() != instances.len() {
            self.uneven = true;
            self.shortest = Vec::new();
        } else {
            for (known, new) in self.shortest.iter_mut().zip(instances) {
                if (new.dur_ns, new.rank) < (known.dur_ns, known.rank) {
                    (known.dur_ns, known.rank) = (new.dur_ns, new.rank);
                }
                known.latest_start = known.latest_start.max(new.latest_start);
                known.earliest_end = known.earliest_end.min(new.earliest_end);
            }
        }
        self.ranks.push((rank, total_ns));
    }

    /// Whether the k-th calls of the ranks are one collective.
    fn matches(&self, call: Call, has_group: bool) -> bool {
        let ranks = self.ranks.len();
        let within_group = call.group_size.is_none_or(|size| i64::from(size) >= ranks as i64);
        // No rank leaves a collective before the last has come.
        let together = || self.shortest.iter().all(|one| one.latest_start < one.earliest_end);
        ranks > 1 && !self.uneven && within_group && (has_group || together())
    }
}

/// How many collectives were matched, and each rank's waiting in them.
fn waits<H>(sequences: HashMap<(Call, Option<u32>), Sequence, H>) -> (usize, Vec<RankWait>) {
    let mut matched = 0;
    let mut by_rank: BTreeMap<i32, RankWait> = BTreeMap::new();
    for ((call, group), sequence) in sequences {
        if !sequence.matches(call, group.is_some()) {
            continue;
        }
        matched += sequence.shortest.len();
        let least_ns = sequence.shortest.iter().fold(0i64, |sum, one| sum.saturating_add(one.dur_ns));
        for (rank, total_ns) in sequence.ranks {
            let row = by_rank.entry(rank).or_insert(RankWait { rank, wait_ns: 0, last_to_arrive: 0 });
            row.wait_ns = row.wait_ns.saturating_add(total_ns.saturating_sub(least_ns));
        }
        for one in sequence.shortest {
            if let Some(row) = by_rank.get_mut(&one.rank) {
                row.last_to_arrive += 1;
            }
        }
    }
    (matched, by_rank.into_values().collect())
}

fn stat(call: Call, durations: Durations, texts: &[String]) -> Option<CollectiveStat> {
    let text = |slot: u32| texts.get(slot as usize).cloned().unwrap_or_default();
    let name = text(call.name);
    let (count, total_ns) = (durations.count, durations.total_ns);
    let Summary { percentiles: [p50_ns], max: max_ns, .. } = durations.summary([50])?;
    // Bytes a nanosecond are 10^9 bytes a second.
    let algorithm = call.bytes.filter(|_| p50_ns > 0).map(|bytes| bytes as f64 / p50_ns as f64);
    let factor = call.group_size.and_then(|ranks| bus_factor(&name, ranks));
    Some(CollectiveStat {
        name,
        dtype: call.dtype.map(text),
        group_size: call.group_size,
        bytes: call.bytes,
        count,
        total_ns,
        p50_ns,
        max_ns,
        algorithm_gb_per_s: algorithm,
        bus_gb_per_s: algorithm.zip(factor).map(|(rate, factor)| rate * factor),
    })
}

/// What algorithm bandwidth is multiplied with to compare it with a link's, by NVIDIA/nccl-tests,
/// doc/PERFORMANCE.md. `None` for collectives that it does not list.
fn bus_factor(collective: &str, ranks: i32) -> Option<f64> {
    if ranks < 2 {
        return None;
    }
    let word: String = collective
        .chars()
        .filter(char::is_ascii_alphabetic)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    let is = |words: &[&str]| words.iter().any(|part| word.contains(part));
    let others = f64::from(ranks - 1) / f64::from(ranks);
    if is(&["allreduce"]) {
        Some(2.0 * others)
    } else if is(&["allgather", "reducescatter", "alltoall"]) {
        Some(others)
    } else if is(&["broadcast", "reduce", "send", "recv", "receive"]) {
        Some(1.0)
    } else {
        None
    }
}

/// Bytes of an element, by PyTorch's name of its type: `c10::ScalarType`, or as in Python.
fn element_bytes(dtype: &str) -> Option<i64> {
    let name = dtype.to_ascii_lowercase();
    let name = name.trim_start_matches("torch.").trim_start_matches("c10::");
    Some(match name {
        "byte" | "char" | "bool" | "uint8" | "int8" | "qint8" | "quint8" => 1,
        // Two four-bit values share an element of one byte.
        "float4_e2m1fn_x2" => 1,
        _ if name.starts_with("float8") => 1,
        "half" | "bfloat16" | "short" | "float16" | "int16" | "uint16" => 2,
        "float" | "int" | "float32" | "int32" | "uint32" | "qint32" | "complexhalf" => 4,
        "double" | "long" | "float64" | "int64" | "uint64" | "complexfloat" | "complex64" => 8,
        "complexdouble" | "complex128" => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, findings};

    /// A rank with all-reduces of 1,000 bf16 elements in a group of four, by start and duration.
    fn rank(number: i32, calls: &[(i64, i64)]) -> RankTables {
        let mut sample = Sample::new(number);
        for (corr, &(ts, dur)) in calls.iter().enumerate() {
            sample.kernel(0, 9, ts, dur, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "communication");
            sample.launched(corr as i64, 0, 0);
            sample.collective("allreduce", "BFloat16", (1000, 1000), ("tp", 4));
        }
        sample.tables
    }

    #[test]
    fn bandwidth_and_waits() {
        // First call: 50, 20, 40: rank 1 comes last, the others wait 30 and 20.
        // Second call: 10, 30, 10: ranks 0 and 2 are equal, the lower counts; rank 1 waits 20.
        let ranks =
            [rank(0, &[(0, 50), (100, 10)]), rank(1, &[(30, 20), (80, 30)]), rank(2, &[(10, 40), (100, 10)])];
        let found = findings(&ranks);
        let found = found.get::<Communication>().expect("collectives");
        assert_eq!((found.count, found.total_ns, found.matched), (6, 160, 2));
        let waits: Vec<_> =
            found.waits.iter().map(|row| (row.rank, row.wait_ns, row.last_to_arrive)).collect();
        assert_eq!(waits, [(0, 30, 1), (1, 20, 1), (2, 20, 0)]);
        assert_eq!(found.collectives.len(), 1);
        let row = &found.collectives[0];
        assert_eq!(
            (row.name.as_str(), row.dtype.as_deref(), row.bytes),
            ("allreduce", Some("BFloat16"), Some(2000))
        );
        // Sorted 10 10 20 30 40 50: median 20, 2000 B / 20 ns = 100 GB/s; times 2 * 3/4 = 150.
        assert_eq!((row.p50_ns, row.max_ns), (20, 50));
        assert_eq!((row.algorithm_gb_per_s, row.bus_gb_per_s), (Some(100.0), Some(150.0)));
    }

    #[test]
    fn uneven_ranks_and_single_ranks_are_not_matched() {
        let found = findings(&[rank(0, &[(0, 50), (100, 10)]), rank(1, &[(30, 20)])]);
        let found = found.get::<Communication>().expect("collectives");
        assert_eq!((found.matched, found.waits.len(), found.count), (0, 0, 3));
        let found = findings(&[rank(0, &[(0, 50)])]);
        assert_eq!(found.get::<Communication>().expect("collectives").matched, 0);
    }

    #[test]
    fn kernels_without_details_match_by_the_clock() {
        let rank = |number: i32, start: i64, base: Option<i64>| {
            let mut sample = Sample::new(number);
            sample.kernel(0, 9, start, 20, "multimem_all_reduce_kernel", "communication");
            sample.tables.meta.base_unix_ns = base;
            sample.tables
        };
        let matched = |ranks: &[RankTables]| {
            let found = findings(ranks);
            let found = found.get::<Communication>().expect("collectives");
            assert_eq!(found.collectives[0].name, "<multimem_all_reduce_kernel>");
            found.matched
        };
        // [0,20) and, ten later on the wall clock, [10,30) were running together; [50,70) was not.
        assert_eq!(matched(&[rank(0, 0, Some(1000)), rank(1, 0, Some(1010))]), 1);
        assert_eq!(matched(&[rank(0, 0, Some(1000)), rank(1, 0, Some(1050))]), 0);
        assert_eq!(matched(&[rank(0, 0, None), rank(1, 0, None)]), 0);
    }

    #[test]
    fn factors_and_sizes() {
        assert_eq!(bus_factor("allreduce_coalesced", 8), Some(1.75));
        assert_eq!(bus_factor("_allgather_base", 8), Some(0.875));
        assert_eq!(bus_factor("reduce_scatter_tensor_coalesced", 4), Some(0.75));
        assert_eq!(bus_factor("all_to_allv", 2), Some(0.5));
        assert_eq!(bus_factor("broadcast", 4), Some(1.0));
        assert_eq!(bus_factor("reduce", 4), Some(1.0));
        assert_eq!(bus_factor("barrier", 4), None);
        assert_eq!(bus_factor("allreduce", 1), None);
        let sizes = [
            ("Float", 4),
            ("BFloat16", 2),
            ("Float8_e4m3fn", 1),
            ("Long", 8),
            ("torch.float16", 2),
            ("Byte", 1),
        ];
        for (dtype, bytes) in sizes {
            assert_eq!(element_bytes(dtype), Some(bytes), "{dtype}");
        }
        assert_eq!(element_bytes("Undefined"), None);
    }
}
