//! What do collectives cost, and which rank waits for which?

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use rooflens_schema::RankTables;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::{ByName, FastMap, compact_if_many};
use crate::collectives::{Algorithm, Call, Matching, Waiting, bus_factor, link_factor};
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::statistics::{DurationSummary, Durations};

/// What collectives cost, and who waits for whom.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Communication {
    /// Communication kernels.
    pub count: usize,
    /// Sum of their durations.
    pub total_ns: i64,
    /// By collective, type, size, group and algorithm, most time first.
    pub collectives: Vec<CollectiveStat>,
    /// For each rank, how long it waited in collectives for the last to arrive. Empty for one rank.
    pub waits: Vec<RankWait>,
    /// Collectives that could be matched across ranks.
    pub matched: usize,
    /// The link that bandwidths are compared with; null where the device is not known.
    pub link: Option<Link>,
    /// What is null, and why.
    #[serde(default)]
    pub not_computed: BTreeMap<Cow<'static, str>, String>,
    /// By kernel: what the ledger and the search for stragglers look at.
    #[serde(skip)]
    pub(crate) waiting: Waiting,
}

/// All calls of one collective with the same type, size, group and algorithm.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CollectiveStat {
    /// Collective, or the kernel's short name where the trace does not tell.
    pub name: String,
    /// Element type.
    pub dtype: Option<String>,
    /// Ranks in the group.
    pub group_size: Option<i32>,
    /// Bytes of one call (the larger of in and out); `None` where the trace does not tell.
    pub bytes: Option<i64>,
    /// How the data moves, where the name of the kernel says so.
    pub algorithm: Option<Algorithm>,
    /// Calls.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Median duration.
    pub p50_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Median time from the arrival of the last rank to the end; null where ranks are not matched.
    pub transfer_p50_ns: Option<i64>,
    /// Sum over ranks and calls of the time before the last rank arrived; null where ranks are not matched.
    pub wait_ns: Option<i64>,
    /// Bytes / median transfer time, in GB/s (algorithm bandwidth). Where ranks are not matched the median
    /// duration is used instead: the bandwidth is at least this.
    pub algorithm_gb_per_s: Option<f64>,
    /// The same times the collective's factor, e.g. 2(n-1)/n for all-reduce (bus bandwidth).
    pub bus_gb_per_s: Option<f64>,
    /// What crosses the links of a device / what they can carry; null where the link is not known.
    pub link_share: Option<f64>,
}

/// A device's links to the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The device.
    pub device: String,
    /// `scale_up` (NVLink, xGMI), or `host` (PCIe) where the device has no other.
    pub kind: Cow<'static, str>,
    /// All links of the device together, one direction.
    pub gb_per_s: f64,
    /// Links that each lead to one other device, where no switch connects them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct_links: Option<u32>,
}

/// One rank's waiting.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RankWait {
    /// Rank.
    pub rank: i32,
    /// Device, as the rank's trace numbers it.
    #[serde(default)]
    pub device: i32,
    /// Sum over matched collectives of its duration less the shortest duration among the ranks: the
    /// rank that arrives last has the shortest.
    pub wait_ns: i64,
    /// Matched collectives that it took part in.
    #[serde(default)]
    pub collectives: usize,
    /// Collectives in which it was the last to arrive.
    pub last_to_arrive: usize,
    /// Time that the other ranks waited in those, added up.
    #[serde(default)]
    pub lost_to_it_ns: i64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "communication",
    question: "What do collectives cost, and which rank waits for which?",
    needs: "communication kernels",
    is_special: false,
    finding: FindingType::object::<Communication>(),
    start: || Box::new(State::default()),
    explain: "\
Kernels of class `communication`, grouped by collective, element type, size, ranks in the group and algorithm.

- `count`, `total_ns`, `p50_ns`, `max_ns`: of the kernels' durations, ns, waiting included.
- `bytes`: the larger of what a rank puts in and gets out, elements times the size of the type.
- `algorithm`: one_shot, two_shot, tree or nvls, by the name of the kernel. NCCL's RING kernels also run other
  algorithms, so null for these.
- `matched`: collectives found on more than one rank: the k-th of the same group, name, type and size on each. If
  ranks have different numbers of them, or more ranks have them than the group has, none of those is matched.
  Without a process group they must have run at the same time, by the clocks or, with at least 8 of them, by their
  ends.
- `transfer_p50_ns`: median over matched collectives of the shortest duration among the ranks: the rank that arrives
  last does not wait. `wait_ns`: the sum of how much longer the others took. Clocks are not used.
- `algorithm_gb_per_s`: bytes / transfer_p50_ns, in 10^9 bytes per second; bytes / p50_ns where ranks are not
  matched, which then includes waiting.
- `bus_gb_per_s`: the same times 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and
  all-to-all, 1 for broadcast, reduce, send and receive, with n ranks in the group
  (NVIDIA/nccl-tests, doc/PERFORMANCE.md).
- `link_share`: bytes over the device's links in one direction / time / `link.gb_per_s`: as the bus bandwidth, but
  a one-shot all-reduce moves n-1 messages and one that the switch reduces (nvls) 1. Null for groups of more
  than 8, which may span nodes.
- `waits`: for each rank, `wait_ns` is the sum over matched collectives of its duration minus the shortest among the
  ranks read; `last_to_arrive` counts those in which its own was the shortest; `lost_to_it_ns` is how long the
  others waited in those.
",
};

#[derive(Default)]
struct State {
    count: usize,
    total_ns: i64,
    texts: ByName<()>,
    calls: FastMap<Call, Durations>,
    matching: Matching,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let (calls, mut count, mut total_ns) = (&mut self.calls, self.count, self.total_ns);
        self.matching.rank(tables, &mut self.texts, |row, call| {
            let dur_ns = tables.kernels.dur_ns[row].max(0);
            count += 1;
            total_ns = total_ns.saturating_add(dur_ns);
            calls.entry(call).or_default().push(dur_ns);
        });
        (self.count, self.total_ns) = (count, total_ns);
        compact_if_many(self.calls.values_mut());
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        if self.count == 0 {
            return None;
        }
        let texts: Vec<String> = self.texts.into_rows().map(|(text, ())| text).collect();
        let several = self.matching.has_several();
        let waiting = self.matching.finish(|slot| texts.get(slot as usize).cloned().unwrap_or_default());
        let mut transfers: HashMap<Call, (Durations, i64)> = HashMap::new();
        for (call, ns, wait_ns) in &waiting.transfers {
            let (durations, waits) = transfers.entry(*call).or_default();
            durations.push(*ns);
            *waits = waits.saturating_add(*wait_ns);
        }
        let stat = |(call, durations)| stat(call, durations, transfers.remove(&call), &texts);
        let mut collectives: Vec<CollectiveStat> = self.calls.into_iter().filter_map(stat).collect();
        collectives.sort_by(|a, b| {
            let key = |row: &CollectiveStat| {
                (row.name.clone(), row.dtype.clone(), row.bytes, row.group_size, row.algorithm)
            };
            b.total_ns.cmp(&a.total_ns).then_with(|| key(a).cmp(&key(b)))
        });
        let mut waits: Vec<RankWait> = waiting
            .lateness
            .iter()
            .map(|row| RankWait {
                rank: row.device.rank,
                device: row.device.device,
                wait_ns: row.wait_ns,
                collectives: row.collectives,
                last_to_arrive: row.last,
                lost_to_it_ns: row.lost_ns,
            })
            .collect();
        waits.sort_by_key(|wait| (wait.rank, wait.device));
        let mut not_computed = BTreeMap::from([("link_share".into(), NO_LINK.to_owned())]);
        if waits.is_empty() {
            not_computed.insert("waits".into(), if several { UNMATCHED } else { ONE_RANK }.to_owned());
        }
        Some(Box::new(Communication {
            count: self.count,
            total_ns: self.total_ns,
            collectives,
            waits,
            matched: waiting.matched,
            link: None,
            not_computed,
            waiting,
        }))
    }
}

const ONE_RANK: &str = "only one rank was given: waiting for other ranks cannot be separated from transfer";
const UNMATCHED: &str = "the ranks' collectives cannot be matched: they have different numbers of them, or did \
                         not run at the same time; waiting for other ranks cannot be separated from transfer";
const NO_LINK: &str = "the device is not known: --hardware sets it";
const MAY_SPAN_NODES: i32 = 8;

impl Communication {
    /// Compares bandwidths with the links of a device. `among` answers the GB/s that it has to the others of a group
    /// of so many.
    pub fn compare_with(&mut self, link: Link, among: impl Fn(u64) -> f64) {
        for row in &mut self.collectives {
            let ranks = row.group_size.filter(|ranks| *ranks <= MAY_SPAN_NODES);
            let factor = ranks.and_then(|ranks| link_factor(&row.name, row.algorithm, ranks));
            let rate = row.algorithm_gb_per_s.zip(factor).map(|(rate, factor)| rate * factor);
            let ranks = ranks.and_then(|ranks| u64::try_from(ranks).ok());
            let link = ranks.map_or(link.gb_per_s, &among);
            row.link_share = rate.filter(|_| link > 0.0).map(|rate| rate / link);
        }
        self.link = Some(link);
        self.not_computed.remove("link_share");
    }

    /// Says why bandwidths are not compared with a link.
    pub fn without_link(&mut self, reason: String) {
        self.not_computed.insert("link_share".into(), reason);
    }
}

fn stat(
    call: Call,
    durations: Durations,
    transfers: Option<(Durations, i64)>,
    texts: &[String],
) -> Option<CollectiveStat> {
    let text = |slot: u32| texts.get(slot as usize).cloned().unwrap_or_default();
    let name = text(call.name);
    let (count, total_ns) = (durations.count, durations.total_ns);
    let DurationSummary { percentiles: [p50_ns], max: max_ns, .. } = durations.summary([50])?;
    let wait_ns = transfers.as_ref().map(|(_, wait_ns)| *wait_ns);
    let transfer = transfers.and_then(|(durations, _)| durations.summary([50]));
    let transfer_p50_ns = transfer.map(|DurationSummary { percentiles: [p50_ns], .. }| p50_ns);
    let moved_ns = transfer_p50_ns.unwrap_or(p50_ns);
    // Bytes per nanosecond are 10^9 bytes per second.
    let algorithm = call.bytes.filter(|_| moved_ns > 0).map(|bytes| bytes as f64 / moved_ns as f64);
    let factor = call.group_size.and_then(|ranks| bus_factor(&name, ranks));
    Some(CollectiveStat {
        name,
        dtype: call.dtype.map(text),
        group_size: call.group_size,
        bytes: call.bytes,
        algorithm: call.algorithm,
        count,
        total_ns,
        p50_ns,
        max_ns,
        transfer_p50_ns,
        wait_ns,
        algorithm_gb_per_s: algorithm,
        bus_gb_per_s: algorithm.zip(factor).map(|(rate, factor)| rate * factor),
        link_share: None,
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
        // Sorted 10 10 20 30 40 50: median 20. Without waiting 20 and 10, of which the lower is the median:
        // 2000 B / 10 ns = 200 GB/s; times 2 * 3/4 = 300.
        assert_eq!((row.p50_ns, row.max_ns), (20, 50));
        assert_eq!((row.transfer_p50_ns, row.wait_ns), (Some(10), Some(70)));
        assert_eq!((row.algorithm_gb_per_s, row.bus_gb_per_s), (Some(200.0), Some(300.0)));
        let lost: Vec<_> = found.waits.iter().map(|row| row.lost_to_it_ns).collect();
        assert_eq!(lost, [20, 50, 0]);
        let mut found = found.clone();
        assert_eq!(found.collectives[0].link_share, None);
        let link =
            Link { device: "d".to_owned(), kind: "scale_up".into(), gb_per_s: 600.0, direct_links: None };
        found.compare_with(link, |_| 600.0);
        assert_eq!(found.collectives[0].link_share, Some(0.5));
    }

    #[test]
    fn uneven_ranks_and_single_ranks_are_not_matched() {
        let found = findings(&[rank(0, &[(0, 50), (100, 10)]), rank(1, &[(30, 20)])]);
        let found = found.get::<Communication>().expect("collectives");
        assert_eq!((found.matched, found.waits.len(), found.count), (0, 0, 3));
        let found = findings(&[rank(0, &[(0, 50)])]);
        let found = found.get::<Communication>().expect("collectives");
        assert_eq!(found.matched, 0);
        assert!(found.not_computed["waits"].starts_with("only one rank"));
        // One rank alone: the bandwidth contains waiting, 2000 B / 50 ns.
        assert_eq!(found.collectives[0].algorithm_gb_per_s, Some(40.0));
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
    fn clocks_apart_are_compared_by_the_ends_of_many_kernels() {
        // Ten kernels of two machines whose clocks are 5,000 apart: rank 1 is always 10 late. Where the pace of
        // the second is its own, they are not one job.
        let rank = |number: i32, skew: i64, late: i64, pace: i64| {
            let mut sample = Sample::new(number);
            for k in 0..10 {
                sample.kernel(
                    0,
                    9,
                    k * pace + late,
                    30 - late,
                    "multimem_all_reduce_kernel",
                    "communication",
                );
            }
            sample.tables.meta.base_unix_ns = Some(1_000_000 + skew);
            sample.tables
        };
        let found = |ranks: &[RankTables]| findings(ranks).get::<Communication>().expect("some").clone();
        let same = found(&[rank(0, 0, 0, 100), rank(1, 5_000, 10, 100)]);
        let waits: Vec<_> = same.waits.iter().map(|row| (row.wait_ns, row.last_to_arrive)).collect();
        assert_eq!((same.matched, waits), (10, vec![(100, 0), (0, 10)]));
        assert_eq!(found(&[rank(0, 0, 0, 100), rank(1, 5_000, 10, 170)]).matched, 0);
    }

    #[test]
    fn devices_of_one_trace_wait_for_each_other_too() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 9, 0, 50, "multimem_all_reduce_kernel", "communication");
        sample.kernel(1, 9, 20, 30, "multimem_all_reduce_kernel", "communication");
        let found = sample.find::<Communication>();
        let waits: Vec<_> = found.waits.iter().map(|row| (row.device, row.wait_ns)).collect();
        assert_eq!((found.matched, waits), (1, vec![(0, 20), (1, 0)]));
    }
}
