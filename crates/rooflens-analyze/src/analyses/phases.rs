//! How long do steps and phases take, and which are slow?

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rooflens_schema::tables::{PhaseKind, PhaseSource, Phases as Table};
use rooflens_schema::{NameId, Opt, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::launches_work;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::interval;
use crate::percentile::nearest_rank;
use crate::statistics::{mean, rise, share};

/// Steps, phases and annotated ranges, grouped by what they are.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Phases(pub Vec<PhaseStat>);

/// A group of like ranges: all `ProfilerStep#n`, all decode steps of an engine …
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PhaseStat {
    /// Common name, numbers taken out: `ProfilerStep#*`. Of several names of a step, the engine's.
    pub name: String,
    /// The other names of the same steps.
    #[serde(default)]
    pub also_named: Vec<String>,
    /// Whether the ranges are steps.
    #[serde(default)]
    pub role: PhaseRole,
    /// What the ranges do.
    pub kind: PhaseKind,
    /// Source of the phase.
    pub source: PhaseSource,
    /// How many ranges.
    pub count: usize,
    /// Ranges whose time is not a step's, by reason. Left out of every statistic here, unless all are flawed.
    #[serde(default)]
    pub flawed: Vec<FlawedSteps>,
    /// From beginning to end on the host; null for ranges of a device.
    pub host: Option<Extent>,
    /// From the start of the first activity to the end of the last; null where there is none.
    pub device_span: Option<Extent>,
    /// Union of the activities; null where there is none.
    pub device_busy: Option<Extent>,
    /// Whose durations `drift`, `slowest` and `durations_ns` are of: `device` (`device_span`) or `host`.
    #[serde(default)]
    pub timeline: Cow<'static, str>,
    /// Change of duration from first to last range by a straight line through all, as a share of
    /// the mean; `None` for fewer than eight ranges.
    pub drift: Option<f64>,
    /// `device_busy` / `device_span`, over all ranges; / `host` where the device's extent is not known.
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
    /// Which range each of `durations_ns` is of: `[rank, number, ts_ns]`.
    #[serde(default)]
    pub durations_of: Vec<(i32, usize, i64)>,
}

/// What a range is to the steps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseRole {
    /// It is a step.
    Step,
    /// It holds steps that say more, as `ProfilerStep#3` around steps of an engine.
    HoldsSteps,
    /// Any other annotated range.
    #[default]
    Range,
}

impl PhaseRole {
    /// The word in JSON and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            PhaseRole::Step => "step",
            PhaseRole::HoldsSteps => "holds_steps",
            PhaseRole::Range => "range",
        }
    }
}

/// Steps that the recording disturbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlawedSteps {
    /// `cut`, `profiler` or `unrecorded_work`.
    pub reason: String,
    /// How many.
    pub steps: usize,
}

/// Durations of ranges on one timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extent {
    /// Sum.
    pub total_ns: i64,
    /// Mean.
    pub(crate) mean_ns: f64,
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
}

impl Extent {
    /// Of durations, which are re-ordered; none of none.
    pub fn of(durations: &mut [i64]) -> Option<Self> {
        let total_ns = durations.iter().fold(0i64, |sum, dur_ns| sum.saturating_add(*dur_ns));
        let mean_ns = mean(total_ns, durations.len());
        let [min_ns, p50_ns, p90_ns, p99_ns, max_ns] =
            [0, 50, 90, 99, 100].map(|percent| nearest_rank(durations, percent));
        let (min_ns, p50_ns, p90_ns) = (min_ns?, p50_ns?, p90_ns?);
        Some(Extent { total_ns, mean_ns, min_ns, p50_ns, p90_ns, p99_ns: p99_ns?, max_ns: max_ns? })
    }
}

/// One range.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PhaseExample {
    /// Full name.
    pub name: String,
    /// Rank.
    pub rank: i32,
    /// Start, since the run's clock base: on the host, or on the device for a range of a device.
    pub ts_ns: i64,
    /// Duration on the `timeline` of its group.
    pub dur_ns: i64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "phases",
    question: "How long do steps and phases take, and which are slow?",
    needs: "steps or annotations, and no repeating pattern",
    is_special: false,
    finding: FindingType::list::<Phases>(),
    start: || Box::new(State::default()),
    explain: "\
Steps, phases and annotated ranges, grouped by source, kind and name with numbers replaced by `*`, all
ranks together. Steps come before ranges that hold steps and plain ranges, in the order engine,
profiler_step, pattern, annotation, device_annotation, and then most time first. A range that the profiler
recorded on the host and again on the device is one row.

- `role`: `step`; `holds_steps`, a range around more specific steps; `range`, any other. Annotations of one
  kind that nest or overlap on one timeline are one step: `also_named` has its other names.
- `count`: ranges, flawed ones included.
- `flawed`: steps that the recording disturbed. `profiler`: the profiler was started or stopped in them, or its
  own work covers 1 % of them. `unrecorded_work`: for 1 % of them the host waited for device work that is not
  in the trace. `cut`: the recording ended in them. No statistic counts them, unless every step is flawed.
- `host`: from begin to end on the host. A host runs ahead of its device, so this is not how long a step takes.
- `device_span`: from the start of the first activity to the end of the last. `device_busy`: union of the
  activities. Both are null for a range that waits for a backward pass: autograd launches more of it from another
  thread than the range's own thread launches.
  All three have `total_ns`, `mean_ns`, `min_ns`, `max_ns`, and `p50_ns`, `p90_ns`, `p99_ns` by nearest rank, exact.
- `timeline`: `device` where every range has a `device_span`, else `host`: the clock of `drift`, `slowest` and
  `durations_ns`.
- `drift`: rise of a least-squares line through the durations in order of start, from the first range to the last, /
  mean. 0.1: the last ranges take a tenth of the mean longer. Null below eight ranges. Ranks share the slope, with
  their own intercept.
- `device_busy_share`: sum of device_busy / sum of device_span; of the time on the host where the device's is not
  known.
- `activities`, `launches`: device activities and launching calls in a range, mean.
- `batch`: sequences in the batch, mean. `prefill_tokens`, `decode_tokens`: sums over all ranges.
- `confidence`: mean, 0 to 1, of phases found from the pattern of kernels.
- `slowest`: the three longest ranges.
- `durations_ns`: durations in order of start, at most 2,000, evenly sampled. `durations_of`: the range of each, as
  `[rank, number, ts_ns]`. The number is that of the trace where it has one for each range of the group; else it
  counts the ranges of the group on its rank from 0, in order of start, flawed ones included.
",
};

#[derive(Default)]
struct State {
    groups: BTreeMap<(PhaseRole, PhaseSource, PhaseKind, Arc<str>), Group>,
}

#[derive(Default)]
struct Group {
    ranges: Vec<Span>,
    also_named: BTreeSet<Arc<str>>,
    flaws: BTreeMap<String, usize>,
    batch: PartialSum,
    prefill_tokens: PartialSum,
    decode_tokens: PartialSum,
    confidence: (f64, usize),
}

#[derive(Clone)]
struct Span {
    name: Arc<str>,
    rank: i32,
    told: Option<usize>,
    number: usize,
    ts_ns: i64,
    host_ns: Option<i64>,
    device_ns: Option<i64>,
    busy_ns: Option<i64>,
    whole_ns: i64,
    activities: Opt<i64>,
    launches: Opt<i64>,
    is_flawed: bool,
}

#[derive(Default)]
struct PartialSum {
    sum: i64,
    count: usize,
}

impl PartialSum {
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
        let are_steps = phases.are_steps();
        let on_host: HashSet<NameId> =
            (0..phases.len()).filter(|&i| !phases.device[i].is_some()).map(|i| phases.name_id[i]).collect();
        let names = names_of_steps(phases);
        let backward = Backward::of(tables);
        let mut texts: HashMap<NameId, (Arc<str>, Arc<str>)> = HashMap::new();
        let mut text = |row: usize| {
            let id = phases.name_id[row];
            let made = || (tables.names.get(id).into(), pattern(tables.names.get(id)).into());
            texts.entry(id).or_insert_with(made).clone()
        };
        for i in 0..phases.len() {
            let is_name = phases.step_id[i].get().is_some_and(|step| step != i as i32);
            let drawn_again =
                phases.source[i] == PhaseSource::DeviceAnnotation && on_host.contains(&phases.name_id[i]);
            if is_name || drawn_again {
                continue;
            }
            let role = match phases.kind[i] {
                _ if are_steps[i] => PhaseRole::Step,
                PhaseKind::Range => PhaseRole::Range,
                _ => PhaseRole::HoldsSteps,
            };
            let others = names.get(&(i as i32)).map_or(&[][..], Vec::as_slice);
            let all = || others.iter().copied().chain([i]);
            let best = all().min_by_key(|&row| (order(phases.source[row]), row)).unwrap_or(i);
            let (name, pattern) = text(best);
            let key = (role, phases.source[best], phases.kind[i], Arc::clone(&pattern));
            let group = self.groups.entry(key).or_default();
            group.also_named.extend(all().map(|row| text(row).1).filter(|other| *other != pattern));
            group.add(tables, i, name, backward.is_behind(phases, i));
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let groups = self.groups.into_iter();
        let mut found: Vec<PhaseStat> =
            groups.map(|((role, source, kind, name), group)| group.stat(role, source, kind, &name)).collect();
        // Stable, and the map was in order: ties stay by source, kind and name.
        found.sort_by_key(|row| {
            let total = row.host.as_ref().or(row.device_span.as_ref()).map_or(0, |extent| extent.total_ns);
            (row.role, order(row.source), Reverse(total))
        });
        (!found.is_empty()).then(|| Box::new(Phases(found)) as Box<dyn Finding>)
    }
}

fn names_of_steps(phases: &Table) -> HashMap<i32, Vec<usize>> {
    let mut names: HashMap<i32, Vec<usize>> = HashMap::new();
    for row in 0..phases.len() {
        if let Some(step) = phases.step_id[row].get().filter(|step| *step != row as i32) {
            names.entry(step).or_default().push(row);
        }
    }
    names
}

impl PhaseStat {
    pub(crate) fn is_step(&self) -> bool {
        self.role == PhaseRole::Step
    }

    /// How long they take, on the timeline that tells best.
    pub fn extent(&self) -> Option<&Extent> {
        match &*self.timeline {
            DEVICE => self.device_span.as_ref(),
            _ => self.host.as_ref(),
        }
    }

    /// The key of [`PhaseStat::extent`] in JSON.
    pub(crate) fn extent_key(&self) -> &'static str {
        if self.timeline == DEVICE { "device_span" } else { "host" }
    }

    pub(crate) fn device_busy_ns(&self) -> Option<f64> {
        self.device_busy.as_ref().map(|busy| busy.mean_ns)
    }
}

const DEVICE: &str = "device";
const HOST: &str = "host";

impl Phases {
    pub(crate) fn main_step(&self) -> Option<&PhaseStat> {
        self.0.first().filter(|row| row.is_step())
    }
}

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

/// How operators of a backward pass begin.
pub(crate) const BACKWARD: &str = "autograd::engine::evaluate_function";

/// When launching calls began, by thread, of threads that run a backward pass. Autograd has a thread of its own for each
/// device, and the ranges around a backward pass are on the thread that waits for it. That thread may run gradients of
/// tensors on the host itself.
#[derive(Default)]
struct Backward {
    launches: HashMap<i64, Vec<i64>>,
}

impl Backward {
    fn of(tables: &RankTables) -> Self {
        let (ops, api, names) = (&tables.ops, &tables.api, &tables.names);
        let mut is_autograd = vec![false; names.len()];
        for (id, _) in names.iter().filter(|(_, name)| name.starts_with(BACKWARD)) {
            is_autograd[id.index()] = true;
        }
        if !is_autograd.contains(&true) {
            return Backward::default();
        }
        let rows = ops.name_id.iter().zip(&ops.tid).filter(|(id, _)| is_autograd[id.index()]);
        let mut launches: HashMap<i64, Vec<i64>> = rows.map(|(_, tid)| (*tid, Vec::new())).collect();
        for row in (0..api.len()).filter(|&i| launches_work(api.kind[i])) {
            if let Some(of_thread) = launches.get_mut(&api.tid[row]) {
                of_thread.push(api.ts_ns[row]);
            }
        }
        launches.values_mut().for_each(|of_thread| of_thread.sort_unstable());
        Backward { launches }
    }

    fn is_behind(&self, phases: &Table, i: usize) -> bool {
        let Some(own) = phases.tid[i].get().filter(|_| phases.kind[i] == PhaseKind::Range) else {
            return false;
        };
        let (start, end) = interval::span(phases.ts_ns[i], phases.dur_ns[i]);
        let within = |of_thread: &Vec<i64>| {
            let before = |moment: i64| of_thread.partition_point(|&start| start < moment);
            before(end).saturating_sub(before(start)) as i64
        };
        let others = self.launches.iter().filter(|(tid, _)| **tid != own);
        let theirs: i64 = others.map(|(_, of_thread)| within(of_thread)).sum();
        theirs > phases.launches[i].get().unwrap_or(0)
    }
}

fn mean_of(ranges: &[Span], value: fn(&Span) -> Opt<i64>) -> Option<f64> {
    let mut known = PartialSum::default();
    ranges.iter().for_each(|range| known.add(value(range)));
    known.mean()
}

impl Group {
    fn add(&mut self, tables: &RankTables, i: usize, name: Arc<str>, is_backward: bool) {
        let phases = &tables.phases;
        let (start, end) = interval::span(phases.ts_ns[i], phases.dur_ns[i]);
        let worked = phases.activities[i].get().is_some_and(|activities| activities > 0);
        let on_device = phases.device_first_ns[i].get().zip(phases.device_last_ns[i].get());
        let is_device_range = phases.device[i].is_some();
        let device = on_device.filter(|_| !is_backward).or(is_device_range.then_some((start, end)));
        let flaw = phases.excluded[i].as_ref();
        if let Some(flaw) = flaw {
            *self.flaws.entry(flaw.clone()).or_default() += 1;
        }
        self.ranges.push(Span {
            name,
            rank: tables.rank,
            told: phases.step[i].get().and_then(|step| usize::try_from(step).ok()),
            number: 0,
            ts_ns: start,
            host_ns: (!is_device_range).then_some(phases.dur_ns[i]),
            device_ns: device.map(interval::length),
            busy_ns: phases.device_busy_ns[i].get().filter(|_| worked && !is_backward),
            // A host that runs ahead began long before: only the device's own time is what it could be busy in.
            whole_ns: interval::length(device.unwrap_or((start, end))),
            activities: phases.activities[i],
            launches: phases.launches[i],
            is_flawed: flaw.is_some(),
        });
        self.batch.add(phases.batch[i]);
        self.prefill_tokens.add(phases.prefill_tokens[i]);
        self.decode_tokens.add(phases.decode_tokens[i]);
        if let Some(confidence) = phases.confidence[i] {
            self.confidence = (self.confidence.0 + confidence, self.confidence.1 + 1);
        }
    }

    fn stat(mut self, role: PhaseRole, source: PhaseSource, kind: PhaseKind, name: &str) -> PhaseStat {
        let count = self.ranges.len();
        number(&mut self.ranges);
        if self.ranges.iter().any(|range| !range.is_flawed) {
            self.ranges.retain(|range| !range.is_flawed);
        }
        let extent = |part: fn(&Span) -> Option<i64>| {
            Extent::of(&mut self.ranges.iter().filter_map(part).collect::<Vec<i64>>())
        };
        let (host, device_span, device_busy) =
            (extent(|range| range.host_ns), extent(|range| range.device_ns), extent(|range| range.busy_ns));
        let busy_of_ns = self.ranges.iter().filter(|range| range.busy_ns.is_some());
        let busy_of_ns = busy_of_ns.fold(0i64, |sum, range| sum.saturating_add(range.whole_ns));
        let device_busy_share =
            device_busy.as_ref().filter(|_| busy_of_ns > 0).map(|busy| share(busy.total_ns, busy_of_ns));
        let is_on_device = self.ranges.iter().all(|range| range.device_ns.is_some());
        let duration =
            |range: &Span| if is_on_device { range.device_ns } else { range.host_ns }.unwrap_or_default();
        let durations: Vec<i64> = self.ranges.iter().map(duration).collect();
        let drift = drift(&self.ranges, &durations);
        self.ranges.sort_by_key(|range| (range.ts_ns, range.rank));
        let charted = self.ranges.len().min(CHARTED);
        let picked: Vec<&Span> =
            (0..charted).map(|i| &self.ranges[i * self.ranges.len() / charted]).collect();
        let durations_ns = picked.iter().map(|range| duration(range)).collect();
        let durations_of = picked.iter().map(|range| (range.rank, range.number, range.ts_ns)).collect();
        self.ranges.sort_by_key(|range| (Reverse(duration(range)), range.rank, range.ts_ns));
        let example = |range: &Span| PhaseExample {
            name: range.name.to_string(),
            rank: range.rank,
            ts_ns: range.ts_ns,
            dur_ns: duration(range),
        };
        let flawed = self.flaws.iter();
        PhaseStat {
            name: name.to_owned(),
            also_named: self.also_named.iter().map(ToString::to_string).collect(),
            role,
            kind,
            source,
            count,
            flawed: flawed
                .map(|(reason, steps)| FlawedSteps { reason: reason.clone(), steps: *steps })
                .collect(),
            host,
            device_span,
            device_busy,
            timeline: if is_on_device { DEVICE } else { HOST }.into(),
            drift,
            device_busy_share,
            activities: mean_of(&self.ranges, |range| range.activities),
            launches: mean_of(&self.ranges, |range| range.launches),
            batch: self.batch.mean(),
            prefill_tokens: self.prefill_tokens.sum(),
            decode_tokens: self.decode_tokens.sum(),
            confidence: (self.confidence.1 > 0).then(|| self.confidence.0 / self.confidence.1 as f64),
            slowest: self.ranges.iter().take(SLOWEST).map(example).collect(),
            durations_ns,
            durations_of,
        }
    }
}

fn number(ranges: &mut [Span]) {
    let has_numbers = ranges.iter().all(|range| range.told.is_some());
    for of_rank in ranges.chunk_by_mut(|a, b| a.rank == b.rank) {
        of_rank.sort_by_key(|range| range.ts_ns);
        for (place, range) in of_rank.iter_mut().enumerate() {
            range.number = range.told.filter(|_| has_numbers).unwrap_or(place);
        }
    }
}

fn drift(ranges: &[Span], durations: &[i64]) -> Option<f64> {
    let total = durations.iter().fold(0i64, |sum, dur_ns| sum.saturating_add(*dur_ns));
    let mean_ns = mean(total, durations.len());
    if durations.len() < DRIFT_NEEDS || mean_ns <= 0.0 {
        return None;
    }
    let mut series = Vec::new();
    let mut rest = durations;
    for rank in ranges.chunk_by(|a, b| a.rank == b.rank) {
        let (of_rank, after) = rest.split_at(rank.len());
        series.push(of_rank);
        rest = after;
    }
    rise(series.into_iter()).map(|rise| rise / mean_ns)
}

#[cfg(test)]
mod tests;
