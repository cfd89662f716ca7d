//! How long do steps and phases take, and which are slow?

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rooflens_schema::tables::{PhaseKind, PhaseSource};
use rooflens_schema::{NameId, Opt, RankTables};
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};
use crate::statistics::{mean, percentile, rise, share};

/// Steps, phases and annotated ranges, grouped by what they are.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Phases(pub Vec<PhaseStat>);

/// A group of like ranges: all `ProfilerStep#n`, all decode steps of an engine …
#[derive(Debug, Clone, Serialize)]
pub struct PhaseStat {
    /// Common name, numbers taken out: `ProfilerStep#*`.
    pub name: String,
    /// What the ranges do.
    pub kind: PhaseKind,
    /// Who says so.
    pub source: PhaseSource,
    /// How many ranges.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Mean duration.
    pub mean_ns: f64,
    /// Shortest.
    pub min_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Change of duration from first to last range by a straight line through all, as a share of
    /// the mean; `None` for fewer than eight ranges.
    pub drift: Option<f64>,
    /// Mean device time inside; `None` where nothing could be attributed.
    pub device_busy_ns: Option<f64>,
    /// Device time / time from beginning to end on host and device together, over all ranges.
    pub device_busy_share: Option<f64>,
    /// Mean number of device activities.
    pub activities: Option<f64>,
    /// Mean number of launching calls.
    pub launches: Option<f64>,
    /// Sequences in the batch, mean, where known.
    pub batch: Option<f64>,
    /// Prompt tokens in all ranges, where known.
    pub prefill_tokens: Option<i64>,
    /// New tokens in all ranges, where known.
    pub decode_tokens: Option<i64>,
    /// How sure Rooflens is, 0 to 1, for phases it found itself.
    pub confidence: Option<f64>,
    /// The slowest ranges, at most three.
    pub slowest: Vec<PhaseExample>,
    /// Durations in order of start, for a chart; at most 2,000, evenly picked.
    pub durations_ns: Vec<i64>,
}

/// One range.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseExample {
    /// Full name.
    pub name: String,
    /// Rank.
    pub rank: i32,
    /// Start, since the run's clock base.
    pub ts_ns: i64,
    /// Duration.
    pub dur_ns: i64,
}

const EXPLAIN: &str = "\
Steps, phases and annotated ranges, grouped by source, kind and name with numbers replaced by `*`, all
ranks together. Steps and phases come before plain ranges, in the order engine, profiler_step, pattern,
annotation, device_annotation, and then most time first.

- `count`, `total_ns`, `mean_ns`, `min_ns`, `max_ns`: of the ranges' durations, ns.
- `p50_ns`, `p90_ns`, `p99_ns`: percentiles by nearest rank, exact.
- `drift`: rise of a least-squares line through the durations in order of start, from the first range
  to the last, / mean_ns. 0.1: the last take a tenth of the mean longer. Null below eight ranges.
  Ranks share the slope, each at its own level.
- `device_busy_ns`: union of the activities that belong to a range, mean, ns.
- `device_busy_share`: sum of the same / sum of the times from where a range begins, on the host or on
  the device, to where it has ended on both.
- `activities`, `launches`: device activities and launching calls in a range, mean.
- `batch`: sequences in the batch, mean. `prefill_tokens`, `decode_tokens`: sums over all ranges.
- `confidence`: mean, 0 to 1, of phases found from the pattern of kernels.
- `slowest`: the three longest ranges.
- `durations_ns`: durations in order of start, at most 2,000, evenly picked.
";

/// The question of this file.
pub(super) struct PhasesAnalysis;

impl Analysis for PhasesAnalysis {
    fn name(&self) -> &'static str {
        "phases"
    }
    fn question(&self) -> &'static str {
        "How long do steps and phases take, and which are slow?"
    }
    fn explain(&self) -> &'static str {
        EXPLAIN
    }
    fn needs(&self) -> &'static str {
        "steps or annotations, and no repeating pattern"
    }
    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {
    groups: BTreeMap<(PhaseSource, PhaseKind, Arc<str>), Group>,
}

#[derive(Default)]
struct Group {
    /// Rank by rank, each in order of start.
    ranges: Vec<Span>,
    slowest: Vec<PhaseExample>,
    busy: Known,
    /// Time from the beginning to the end, host and device together, of the ranges whose device time
    /// is known.
    busy_of_ns: i64,
    activities: Known,
    launches: Known,
    batch: Known,
    prefill_tokens: Known,
    decode_tokens: Known,
    confidence: (f64, usize),
}

#[derive(Clone, Copy)]
struct Span {
    rank: i32,
    ts_ns: i64,
    dur_ns: i64,
}

/// The sum of a value that not every range has.
#[derive(Default)]
struct Known {
    sum: i64,
    count: usize,
}

impl Known {
    fn add(&mut self, value: Opt<i64>) {
        if let Some(value) = value.get() {
            self.sum = self.sum.saturating_add(value);
            self.count += 1;
        }
    }
    fn sum(&self) -> Option<i64> {
        (self.count > 0).then_some(self.sum)
    }
    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| mean(self.sum, self.count))
    }
}

/// How many of the slowest are shown.
const SLOWEST: usize = 3;
/// How many durations are given for a chart.
const CHARTED: usize = 2_000;
/// A line through fewer says nothing.
const DRIFT_NEEDS: usize = 8;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let phases = &tables.phases;
        let mut patterns: HashMap<NameId, Arc<str>> = HashMap::new();
        for i in 0..phases.len() {
            let name_id = phases.name_id[i];
            let pattern =
                patterns.entry(name_id).or_insert_with(|| pattern(tables.names.get(name_id)).into());
            let key = (phases.source[i], phases.kind[i], Arc::clone(pattern));
            let group = self.groups.entry(key).or_default();
            let span = Span { rank: tables.rank, ts_ns: phases.ts_ns[i], dur_ns: phases.dur_ns[i] };
            group.ranges.push(span);
            group.offer(span, tables.names.get(name_id));
            group.busy.add(phases.device_busy_ns[i]);
            if phases.device_busy_ns[i].is_some() {
                // The device may begin, and mostly ends, after the host: the step lasts until both are done.
                let end = phases.ts_ns[i].saturating_add(phases.dur_ns[i]);
                let first = phases.device_first_ns[i].get().unwrap_or(span.ts_ns).min(span.ts_ns);
                let last = phases.device_last_ns[i].get().unwrap_or(end).max(end);
                group.busy_of_ns = group.busy_of_ns.saturating_add(last.saturating_sub(first));
            }
            group.activities.add(phases.activities[i]);
            group.launches.add(phases.launches[i]);
            group.batch.add(phases.batch[i]);
            group.prefill_tokens.add(phases.prefill_tokens[i]);
            group.decode_tokens.add(phases.decode_tokens[i]);
            if let Some(confidence) = phases.confidence[i] {
                group.confidence = (group.confidence.0 + confidence, group.confidence.1 + 1);
            }
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let groups = self.groups.into_iter();
        let mut found: Vec<PhaseStat> =
            groups.map(|((source, kind, name), group)| group.stat(source, kind, &name)).collect();
        // Stable, and the map was in order: ties stay by source, kind and name.
        found.sort_by_key(|row| (!row.is_step(), order(row.source), Reverse(row.total_ns)));
        (!found.is_empty()).then(|| Box::new(Phases(found)) as Box<dyn Finding>)
    }
}

impl PhaseStat {
    /// Whether the ranges are steps or phases, not just annotated, and lie on the host's timeline or
    /// were found by Rooflens.
    pub fn is_step(&self) -> bool {
        self.kind != PhaseKind::Range && self.source != PhaseSource::DeviceAnnotation
    }
}

impl Phases {
    /// The steps with the most time, of the source that knows best what they do.
    pub fn main_step(&self) -> Option<&PhaseStat> {
        self.0.first().filter(|row| row.is_step())
    }
}

/// Sources that know better what a step does come first.
fn order(source: PhaseSource) -> u8 {
    match source {
        PhaseSource::Engine => 0,
        PhaseSource::ProfilerStep => 1,
        PhaseSource::Pattern => 2,
        PhaseSource::Annotation => 3,
        PhaseSource::DeviceAnnotation => 4,
    }
}

/// A name with each run of digits replaced by `*`.
fn pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for character in name.chars() {
        if !character.is_ascii_digit() {
            pattern.push(character);
        } else if !pattern.ends_with('*') {
            pattern.push('*');
        }
    }
    pattern
}

impl Group {
    /// Keeps a range if it is among the slowest; the name is copied only then.
    fn offer(&mut self, Span { rank, ts_ns, dur_ns }: Span, name: &str) {
        let key = |example: &PhaseExample| (Reverse(example.dur_ns), example.rank, example.ts_ns);
        let at = self.slowest.partition_point(|example| key(example) <= (Reverse(dur_ns), rank, ts_ns));
        if at < SLOWEST {
            self.slowest.insert(at, PhaseExample { name: name.to_owned(), rank, ts_ns, dur_ns });
            self.slowest.truncate(SLOWEST);
        }
    }

    fn stat(mut self, source: PhaseSource, kind: PhaseKind, name: &str) -> PhaseStat {
        let mut durations: Vec<i64> = self.ranges.iter().map(|range| range.dur_ns).collect();
        let count = durations.len();
        let total_ns = durations.iter().fold(0i64, |sum, dur_ns| sum.saturating_add(*dur_ns));
        let mean_ns = mean(total_ns, count);
        let mut series = Vec::new();
        let mut rest = durations.as_slice();
        for rank in self.ranges.chunk_by(|a, b| a.rank == b.rank) {
            let (of_rank, after) = rest.split_at(rank.len());
            series.push(of_rank);
            rest = after;
        }
        let drift = (count >= DRIFT_NEEDS && mean_ns > 0.0)
            .then(|| rise(series.into_iter()).map(|rise| rise / mean_ns))
            .flatten();
        let mut at = |percent| percentile(&mut durations, percent).unwrap_or_default();
        let (min_ns, p50_ns, p90_ns, p99_ns, max_ns) = (at(0), at(50), at(90), at(99), at(100));
        self.ranges.sort_by_key(|range| (range.ts_ns, range.rank));
        let charted = count.min(CHARTED);
        let durations_ns = (0..charted).map(|i| self.ranges[i * count / charted].dur_ns).collect();
        PhaseStat {
            name: name.to_owned(),
            kind,
            source,
            count,
            total_ns,
            mean_ns,
            min_ns,
            p50_ns,
            p90_ns,
            p99_ns,
            max_ns,
            drift,
            device_busy_ns: self.busy.mean(),
            device_busy_share: self
                .busy
                .sum()
                .filter(|_| self.busy_of_ns > 0)
                .map(|busy| share(busy, self.busy_of_ns)),
            activities: self.activities.mean(),
            launches: self.launches.mean(),
            batch: self.batch.mean(),
            prefill_tokens: self.prefill_tokens.sum(),
            decode_tokens: self.decode_tokens.sum(),
            confidence: (self.confidence.1 > 0).then(|| self.confidence.0 / self.confidence.1 as f64),
            slowest: self.slowest,
            durations_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, findings};

    #[test]
    fn numbers_are_taken_out_of_names() {
        assert_eq!(pattern("ProfilerStep#12"), "ProfilerStep#*");
        assert_eq!(
            pattern("execute_context_1(888_788544)_generation_0(0)"),
            "execute_context_*(*_*)_generation_*(*)"
        );
        assert_eq!(pattern("forward"), "forward");
    }

    #[test]
    fn steps_are_grouped_and_described() {
        // Ten decode steps of 100, 110 … 190 ns: mean 145, and the line rises by 90 = 0.62 means.
        // Half of the time the device is busy: 50, 55 … 95, in sum 725 of 1450.
        let mut sample = Sample::new(0);
        for i in 0..10 {
            let dur = 100 + 10 * i;
            sample.phase(
                i * 1000,
                dur,
                &format!("step[DECODE bs={i}]"),
                PhaseKind::Decode,
                PhaseSource::Engine,
            );
            sample.work(dur / 2, 40, 3);
        }
        sample.phase(20_000, 90_000, "warm up", PhaseKind::Range, PhaseSource::Annotation);
        let found = findings(&[sample.tables]);
        let rows = &found.get::<Phases>().expect("phases").0;
        assert_eq!(rows.len(), 2);
        let step = &rows[0];
        assert_eq!(
            (step.name.as_str(), step.count, step.total_ns, step.mean_ns),
            ("step[DECODE bs=*]", 10, 1450, 145.0)
        );
        assert_eq!(
            (step.min_ns, step.p50_ns, step.p90_ns, step.p99_ns, step.max_ns),
            (100, 140, 180, 190, 190)
        );
        assert!((step.drift.expect("ten ranges") - 90.0 / 145.0).abs() < 1e-9);
        assert_eq!((step.device_busy_ns, step.device_busy_share), (Some(72.5), Some(0.5)));
        assert_eq!((step.activities, step.launches, step.batch), (Some(40.0), Some(3.0), None));
        let slowest: Vec<_> = step.slowest.iter().map(|range| (range.name.as_str(), range.dur_ns)).collect();
        assert_eq!(
            slowest,
            [("step[DECODE bs=9]", 190), ("step[DECODE bs=8]", 180), ("step[DECODE bs=7]", 170)]
        );
        assert_eq!(step.durations_ns, [100, 110, 120, 130, 140, 150, 160, 170, 180, 190]);
        assert_eq!((rows[1].name.as_str(), rows[1].drift, rows[1].launches), ("warm up", None, None));
    }

    #[test]
    fn ranks_share_a_group_and_many_durations_are_thinned() {
        let rank = |number: i32| {
            let mut sample = Sample::new(number);
            for i in 0..1500 {
                let dur = 10 + i64::from(number);
                sample.phase(
                    i * 100,
                    dur,
                    &format!("ProfilerStep#{i}"),
                    PhaseKind::Step,
                    PhaseSource::ProfilerStep,
                );
            }
            sample.tables
        };
        let found = findings(&[rank(0), rank(1)]);
        let rows = &found.get::<Phases>().expect("phases").0;
        assert_eq!((rows.len(), rows[0].count, rows[0].durations_ns.len()), (1, 3000, 2000));
        // Each rank is flat at its own level, so nothing drifts.
        assert_eq!(rows[0].drift, Some(0.0));
        let slowest: Vec<_> = rows[0].slowest.iter().map(|range| (range.rank, range.ts_ns)).collect();
        assert_eq!(slowest, [(1, 0), (1, 100), (1, 200)]);
    }
}
