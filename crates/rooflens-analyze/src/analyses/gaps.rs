//! Why were devices idle?

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use rooflens_schema::tables::GapCause;
use rooflens_schema::{NameId, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::frames::without_address;
use crate::by_name::compact_if_many;
use crate::facts::CallsById;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::host_kind::HostKind;
use crate::host_thread::{Cover, HostThreads};
use crate::interval::{self, Interval, rows_of, runs};
use crate::statistics::{Durations, share};

/// Why devices were idle, by cause, most time first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Gaps(pub Vec<GapStat>);

/// All gaps of one cause, over all devices.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GapStat {
    /// The cause.
    pub cause: GapCause,
    /// What the cause means.
    pub meaning: Cow<'static, str>,
    /// Gaps.
    pub count: usize,
    /// Time the whole device was idle.
    pub total_ns: i64,
    /// Share of idle time, 0 to 1; `None` for the tail, which is not part of it.
    pub share_of_idle: Option<f64>,
    /// Median gap.
    pub p50_ns: i64,
    /// Longest gap.
    pub max_ns: i64,
    /// What the host did meanwhile, most idle time first, where the cause is the host's; adds up to `total_ns`.
    #[serde(default)]
    pub hosts: Vec<GapHost>,
    /// The longest gaps, at most three.
    pub examples: Vec<GapExample>,
}

/// One gap.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GapExample {
    /// Rank.
    pub rank: i32,
    /// Device.
    pub device: i32,
    /// Start of the gap, since the run's clock base.
    pub ts_ns: i64,
    /// Length.
    pub dur_ns: i64,
    /// Activity that ended before it, short name.
    pub before: Option<String>,
    /// Activity that ended it, short name.
    pub after: Option<String>,
    /// What covers most of the gap on the launching thread: an operator, an annotated range, a runtime
    /// call or a Python frame. Null where nothing does.
    pub host: Option<String>,
    /// What that is; null where the trace does not say which thread launched.
    pub host_kind: Option<HostKind>,
    /// How much of the gap it covers.
    pub covered_ns: Option<i64>,
    /// The same / the gap, 0 to 1.
    pub covered_share: Option<f64>,
    /// The call that waited for the device when the gap began, where the cause is that wait.
    pub waited_in: Option<String>,
}

/// What the host did during gaps of one cause.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GapHost {
    /// What covers most of each of these gaps; null where nothing does, and for the rest of a long list.
    pub name: Option<String>,
    /// What that is; null for the rest of a long list.
    pub kind: Option<HostKind>,
    /// Gaps.
    pub count: usize,
    /// Idle time in them.
    pub idle_ns: i64,
    /// The part of it that is covered.
    pub covered_ns: i64,
    /// Their share of the idle time of the cause, 0 to 1.
    pub share: f64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "gaps",
    question: "Why were devices idle?",
    needs: "device activity",
    is_special: false,
    finding: FindingType::list::<Gaps>(),
    start: || Box::new(State::default()),
    explain: "\
Idle time of whole devices (no activity on any stream) between a device's first and last activity, by
the cause that ends it, most time first. Without the tail, total_ns adds up to the idle_ns of `devices`.

- `cause`, `meaning`: a word of `kernels.gap_cause` and its definition. `tail`, from a device's last
  activity to the end of the trace, is not idle time and is listed last.
- `count`, `total_ns`, `p50_ns`, `max_ns`: of the gaps, ns. `share_of_idle`: total_ns / all idle time.
- `examples`: the three longest, with the activities around them. `host` is what covers the gap on the
  thread that launched the activity after it: the innermost operator, annotated range, runtime call or
  Python frame that overlaps at least half of it (`covered_ns`, `covered_share`), or calls of one name that
  do so together. `host_kind` says what that is; kernel compilation, garbage collection, page faults and the
  profiler's own work count before what is inside them. `nothing_recorded` where nothing covers half;
  a call that merely ends in the gap is not its cause. `waited_in`: the call that held the host up (`sync`).
- `hosts`: the same over all gaps that a late host caused, by name; `idle_ns` adds up to `total_ns`.
",
};

#[derive(Default)]
struct State {
    causes: BTreeMap<GapCause, Cause>,
    devices: usize,
}

#[derive(Default)]
struct Cause {
    durations: Durations,
    hosts: BTreeMap<(Option<String>, HostKind), Meanwhile>,
    examples: Vec<Candidate>,
}

struct Candidate {
    example: GapExample,
    around: Option<Around>,
}

/// The activities before and after a gap, as rows of the rank at hand.
#[derive(Clone, Copy)]
struct Around {
    before: Option<usize>,
    after: Option<usize>,
}

#[derive(Default, Clone, Copy)]
struct Meanwhile {
    count: usize,
    idle_ns: i64,
    covered_ns: i64,
}

impl Meanwhile {
    fn add(&mut self, other: Meanwhile) {
        self.count += other.count;
        self.idle_ns = self.idle_ns.saturating_add(other.idle_ns);
        self.covered_ns = self.covered_ns.saturating_add(other.covered_ns);
    }
}

/// How many of the longest gaps are shown.
const EXAMPLES: usize = 3;
/// How many of the names with the most idle time are shown.
const HOSTS: usize = 8;

/// Whether the host was late: then what it did meanwhile is what the device waited for.
fn is_of_host(cause: GapCause) -> bool {
    matches!(cause, GapCause::LaunchBound | GapCause::CpuBound | GapCause::Sync)
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        for i in (0..kernels.len()).filter(|&i| kernels.idle_before_ns[i] > 0) {
            let cause = match kernels.gap_cause[i] {
                // Every idle nanosecond has a row, whatever the passes made of it.
                GapCause::None | GapCause::Tail => GapCause::Unknown,
                cause => cause,
            };
            let dur_ns = kernels.idle_before_ns[i];
            let gap = (kernels.device[i], kernels.ts_ns[i].saturating_sub(dur_ns), dur_ns);
            self.causes.entry(cause).or_default().add(
                tables.rank,
                gap,
                Around { before: None, after: Some(i) },
            );
        }
        for (device, rows) in runs(&kernels.device) {
            self.devices += 1;
            let end = |i: &usize| interval::span(kernels.ts_ns[*i], kernels.dur_ns[*i]).1;
            let Some(last) = rows.max_by_key(end) else { continue };
            let tail_ns = interval::length((end(&last), tables.meta.last_ns));
            if tail_ns > 0 {
                let gap = (device, end(&last), tail_ns);
                self.causes.entry(GapCause::Tail).or_default().add(
                    tables.rank,
                    gap,
                    Around { before: Some(last), after: None },
                );
            }
        }
        let mut threads = Threads::default();
        self.hosts(tables, &mut threads);
        describe(tables, &mut threads, &mut self.causes);
        compact_if_many(self.causes.values_mut().map(|cause| &mut cause.durations));
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let idle = self.causes.iter().filter(|(cause, _)| **cause != GapCause::Tail);
        let idle_ns = idle.fold(0i64, |sum, (_, cause)| sum.saturating_add(cause.durations.total_ns));
        let mut found: Vec<GapStat> = Vec::new();
        for (cause, gaps) in self.causes {
            let (count, total_ns) = (gaps.durations.count, gaps.durations.total_ns);
            let Some(summary) = gaps.durations.summary([50]) else { continue };
            let [p50_ns] = summary.percentiles;
            found.push(GapStat {
                cause,
                meaning: cause.doc().into(),
                count,
                total_ns,
                share_of_idle: (cause != GapCause::Tail).then(|| share(total_ns, idle_ns)),
                p50_ns,
                max_ns: summary.max,
                hosts: hosts(gaps.hosts, total_ns),
                examples: gaps.examples.into_iter().map(|candidate| candidate.example).collect(),
            });
        }
        found.sort_by_key(|row| (row.cause == GapCause::Tail, Reverse(row.total_ns), row.cause));
        (self.devices > 0).then(|| Box::new(Gaps(found)) as Box<dyn Finding>)
    }
}

impl State {
    fn hosts<'a>(&mut self, tables: &'a RankTables, threads: &mut Threads<'a>) {
        let kernels = &tables.kernels;
        let mut sums: HashMap<(GapCause, Option<NameId>, HostKind), Meanwhile> = HashMap::new();
        for i in (0..kernels.len()).filter(|&i| kernels.idle_before_ns[i] > 0) {
            if !is_of_host(kernels.gap_cause[i]) {
                continue;
            }
            let idle_ns = kernels.idle_before_ns[i];
            let gap = (kernels.ts_ns[i].saturating_sub(idle_ns), kernels.ts_ns[i]);
            let Some(cover) = threads.cover(tables, i, gap) else { continue };
            let sum = sums.entry((kernels.gap_cause[i], cover.name, cover.kind)).or_default();
            sum.add(Meanwhile { count: 1, idle_ns, covered_ns: cover.covered_ns });
        }
        for ((cause, name, kind), sum) in sums {
            let name = name.map(|name| host_name(tables, name));
            self.causes.entry(cause).or_default().hosts.entry((name, kind)).or_default().add(sum);
        }
    }
}

fn hosts(found: BTreeMap<(Option<String>, HostKind), Meanwhile>, total_ns: i64) -> Vec<GapHost> {
    let row = |name, kind, sum: Meanwhile| GapHost {
        name,
        kind,
        count: sum.count,
        idle_ns: sum.idle_ns,
        covered_ns: sum.covered_ns,
        share: share(sum.idle_ns, total_ns),
    };
    let mut rows: Vec<GapHost> =
        found.into_iter().map(|((name, kind), sum)| row(name, Some(kind), sum)).collect();
    rows.sort_by_key(|row| Reverse(row.idle_ns));
    if rows.len() > HOSTS {
        let mut rest = Meanwhile::default();
        for GapHost { count, idle_ns, covered_ns, .. } in rows.drain(HOSTS..) {
            rest.add(Meanwhile { count, idle_ns, covered_ns });
        }
        rows.push(row(None, None, rest));
    }
    rows
}

impl Cause {
    fn add(&mut self, rank: i32, (device, ts_ns, dur_ns): (i32, i64, i64), around: Around) {
        self.durations.push(dur_ns);
        let key = |gap: &GapExample| (Reverse(gap.dur_ns), gap.rank, gap.device, gap.ts_ns);
        let new = (Reverse(dur_ns), rank, device, ts_ns);
        let at = self.examples.partition_point(|known| key(&known.example) <= new);
        if at < EXAMPLES {
            let example = GapExample { rank, device, ts_ns, dur_ns, ..GapExample::default() };
            self.examples.insert(at, Candidate { example, around: Some(around) });
            self.examples.truncate(EXAMPLES);
        }
    }
}

/// Threads of the rank at hand and what was launched on them, once asked.
#[derive(Default)]
struct Threads<'a> {
    known: Option<(HostThreads<'a>, CallsById)>,
}

impl<'a> Threads<'a> {
    fn of(&mut self, tables: &'a RankTables, i: usize) -> Option<(&HostThreads<'a>, i64)> {
        let (threads, launches) =
            self.known.get_or_insert_with(|| (HostThreads::new(tables), CallsById::new(&tables.api)));
        let call = launches.get(tables.kernels.corr_id[i].get()?)?;
        Some((threads, tables.api.tid[call]))
    }

    fn cover(&mut self, tables: &'a RankTables, i: usize, during: Interval) -> Option<Cover> {
        let (threads, tid) = self.of(tables, i)?;
        Some(threads.covering(tid, during))
    }
}

fn describe<'a>(tables: &'a RankTables, threads: &mut Threads<'a>, causes: &mut BTreeMap<GapCause, Cause>) {
    let dim_rows = tables.kernel_dim_rows();
    for (cause, found) in causes {
        for Candidate { example: gap, around } in &mut found.examples {
            let Some(around) = around.take() else { continue };
            let before = around.before.or_else(|| ended_at(tables, gap.device, gap.ts_ns));
            gap.before = before.map(|i| short_name(tables, &dim_rows, i));
            gap.after = around.after.map(|i| short_name(tables, &dim_rows, i));
            // The launching thread is that of the activity which ended the gap, or, in the tail, of the last.
            let Some((threads, tid)) = around.after.or(before).and_then(|i| threads.of(tables, i)) else {
                continue;
            };
            let cover = threads.covering(tid, interval::span(gap.ts_ns, gap.dur_ns));
            gap.host = cover.name.map(|name| host_name(tables, name));
            gap.host_kind = Some(cover.kind);
            gap.covered_ns = Some(cover.covered_ns);
            gap.covered_share = Some(share(cover.covered_ns, gap.dur_ns));
            if *cause == GapCause::Sync {
                let waited = threads.waiting_at(tid, gap.ts_ns);
                gap.waited_in = waited.map(|name| tables.names.get(name).to_owned());
            }
        }
    }
}

fn host_name(tables: &RankTables, name: NameId) -> String {
    without_address(tables.names.get(name)).into_owned()
}

fn ended_at(tables: &RankTables, device: i32, ts_ns: i64) -> Option<usize> {
    let kernels = &tables.kernels;
    rows_of(&kernels.device, device).find(|&i| interval::span(kernels.ts_ns[i], kernels.dur_ns[i]).1 == ts_ns)
}

fn short_name(tables: &RankTables, dim_rows: &[u32], i: usize) -> String {
    let id = tables.kernels.kernel_id[i];
    let row = dim_rows.get(id.index()).and_then(|&row| tables.kernel_dim.short_name.get(row as usize));
    row.map_or_else(|| tables.names.get(id).to_owned(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::ApiKind;

    use super::*;
    use crate::analyses::Devices;
    use crate::sample::{Random, Sample, findings};

    #[test]
    fn causes_add_up_to_idle_time() {
        // Device 0: [0,10) idle 20 [30,40) idle 5 [45,50), then 50 to the end of the trace at 100.
        // Idle 25 of 50: 20 launch-bound while the thread is in aten::add, 5 dispatch.
        let mut sample = Sample::new(0);
        sample.op((1, 8, 30), "aten::add", None, (30, 10), None);
        sample.api(1, 25, 3, "cudaLaunchKernel", ApiKind::Launch, Some(2));
        sample.frame(1, 0, 100, "main");
        sample.kernel(0, 7, 0, 10, "a", "gemm");
        sample.kernel(0, 7, 30, 10, "b", "gemm").idle(20, GapCause::LaunchBound).launched(2, 5, 0);
        sample.kernel(0, 7, 45, 5, "a", "gemm").idle(5, GapCause::Dispatch);
        let rows = sample.find::<Gaps>().0;
        let causes: Vec<_> =
            rows.iter().map(|row| (row.cause, row.count, row.total_ns, row.share_of_idle)).collect();
        let expected = [
            (GapCause::LaunchBound, 1, 20, Some(0.8)),
            (GapCause::Dispatch, 1, 5, Some(0.2)),
            (GapCause::Tail, 1, 50, None),
        ];
        assert_eq!(causes, expected);
        let gap = &rows[0].examples[0];
        assert_eq!((gap.ts_ns, gap.dur_ns), (10, 20));
        assert_eq!((gap.before.as_deref(), gap.after.as_deref()), (Some("<a>"), Some("<b>")));
        assert_eq!(gap.host.as_deref(), Some("aten::add"));
        let tail = &rows[2].examples[0];
        assert_eq!((tail.ts_ns, tail.before.as_deref(), tail.after.as_deref()), (50, Some("<a>"), None));
    }

    #[test]
    fn idle_law_holds_on_random_ranks() {
        let mut random = Random(3);
        let causes = [GapCause::LaunchBound, GapCause::Sync, GapCause::None, GapCause::Unknown];
        let ranks: Vec<_> = (0..5).map(|rank| random_rank(&mut random, rank, &causes)).collect();
        let found = findings(&ranks);
        let idle: i64 = found.get::<Devices>().expect("activity").0.iter().map(|row| row.idle_ns).sum();
        let gaps = &found.get::<Gaps>().expect("activity").0;
        let of_gaps: i64 =
            gaps.iter().filter(|row| row.cause != GapCause::Tail).map(|row| row.total_ns).sum();
        assert!(idle > 0);
        assert_eq!(of_gaps, idle);
        assert!(gaps.iter().all(|row| row.examples.len() == row.count.min(3)));
        assert!(gaps.iter().all(|row| row.examples[0].dur_ns == row.max_ns));
    }

    fn random_rank(random: &mut Random, rank: i32, causes: &[GapCause]) -> RankTables {
        let mut sample = Sample::new(rank);
        for device in 0..2 {
            for stream in 0..2 {
                let mut ts = random.below(10);
                for _ in 0..20 {
                    let dur = random.below(10);
                    sample.kernel(device, stream, ts, dur, "k", "gemm");
                    ts += dur + random.below(30);
                }
            }
            let kernels = &mut sample.tables.kernels;
            let mut rows: Vec<usize> = (0..kernels.len()).filter(|&i| kernels.device[i] == device).collect();
            rows.sort_by_key(|&i| kernels.ts_ns[i]);
            let mut reached = kernels.ts_ns[rows[0]];
            for i in rows {
                kernels.idle_before_ns[i] = (kernels.ts_ns[i] - reached).max(0);
                kernels.gap_cause[i] = causes[random.below(causes.len() as u64) as usize];
                reached = reached.max(kernels.ts_ns[i] + kernels.dur_ns[i]);
            }
        }
        sample.tables
    }
}
