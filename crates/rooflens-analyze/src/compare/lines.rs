//! What changed in a phase, a line each, with the largest change first.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::account::{self, Account};
use super::matching::Matching;
use super::rank_sum::{adjusted, rank_sum};
use super::ratio::{FEWEST, Ratio, ratio};
use super::timeline::{END, RankTimeline, TimelineStep, WorkItem};
use crate::kernel_catalog::{self, ActivityHint};

/// Changes below this share of a line are never called one.
pub const LEAST_CHANGE: f64 = 0.01;
/// Rate of false discoveries among the lines that are called changed.
pub const LEVEL: f64 = 0.05;

/// Most names of a side in a label; of more, the one that takes longest stands for all.
const SHOWN: usize = 2;
/// Most characters of a name in a label that has several.
const LETTERS: usize = 26;

/// What became of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It exists on both sides.
    Same,
    /// One kernel is in the place of another, or other variants of one kernel are.
    Renamed,
    /// One kernel does what several did, within the same operator, module or layer.
    Fused,
    /// Several kernels do what one did, within the same operator, module or layer.
    Split,
    /// Other kernels do the work of the same operator.
    Replaced,
    /// Nothing of A matches it.
    OnlyInB,
    /// Nothing of B matches it.
    OnlyInA,
}

/// One line: work, or the wait before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedLine {
    /// The phase.
    pub phase: Cow<'static, str>,
    /// `work`, or `wait`: time in which nothing ran, before that work.
    pub what: Cow<'static, str>,
    /// Outcome.
    pub how: How,
    /// Its kernel class: on the side where it takes longer.
    #[serde(default)]
    pub class: Cow<'static, str>,
    /// The operator, module or layer that encloses it on both sides, where that is what it was matched by.
    pub inside: Option<String>,
    /// Names in A.
    pub(crate) a_names: Vec<String>,
    /// Names in B.
    pub(crate) b_names: Vec<String>,
    /// Short form for people.
    pub label: String,
    /// What it is made on in A and in B, where that differs.
    pub types: Option<(String, String)>,
    /// Calls per step in A; of kernels alone where there are any beside memory copies and fills.
    pub a_count: f64,
    /// Calls per step in B.
    pub b_count: f64,
    /// Time per step in A: the mean over its typical steps, the middle half of them. The lines of a phase add up to its step.
    pub a_ns: f64,
    /// Time per step in B.
    pub b_ns: f64,
    /// `b_ns − a_ns`.
    pub delta_ns: f64,
    /// What of `delta_ns` is beyond the change that all work of the phase shares: the place of a line is by this,
    /// times the steps.
    pub(crate) own_ns: f64,
    /// B / A of the medians; null where A has none of it or there are too few steps.
    pub(crate) ratio: Option<Ratio>,
    /// Probability of such a difference by chance, corrected for the number of lines; null where too few.
    pub p_adjusted: Option<f64>,
    /// Whether it is a change.
    pub is_change: bool,
    /// Why it was not judged, where it was not.
    pub not_judged: Option<Cow<'static, str>>,
}

/// A phase of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseChange {
    /// The phase.
    pub phase: Cow<'static, str>,
    /// Steps in A.
    pub a_steps: usize,
    /// Steps in B.
    pub b_steps: usize,
    /// Wall time of a typical step in A: work and idle.
    pub a_ns: f64,
    /// The same in B.
    pub b_ns: f64,
    /// B / A; null where there are too few steps.
    pub ratio: Option<Ratio>,
    /// B / A of half of the work that is on both sides, by time: what a slower machine does to all alike. Null
    /// where there is no such work.
    pub(crate) common_ratio: Option<f64>,
}

impl PhaseChange {
    /// By how much a typical step changed, as 0.03. `None` where A has no time.
    pub fn change(&self) -> Option<f64> {
        (self.a_ns > 0.0).then(|| self.b_ns / self.a_ns - 1.0)
    }
}

/// What changed between two timelines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineChange {
    /// Phases of both.
    pub phases: Vec<PhaseChange>,
    /// Where the time went on both sides: the whole trace, where both have as many steps, and each phase.
    #[serde(default)]
    pub accounts: Vec<Account>,
    /// Lines: changes first, largest first, then the rest.
    pub lines: Vec<ComparedLine>,
    /// Phases that only A has.
    pub only_a: Vec<Cow<'static, str>>,
    /// Phases that only B has.
    pub only_b: Vec<Cow<'static, str>>,
}

/// What changed in one place of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceChange {
    /// The rank, in their order.
    pub rank: usize,
    /// The device, by its order in the rank; null where the work is that of the host.
    pub device: Option<i32>,
    /// What changed.
    #[serde(flatten)]
    pub change: TimelineChange,
}

/// Compares the timelines of places that are on both sides. The place with the largest change comes first.
pub fn places<'a>(
    pairs: impl Iterator<Item = ((usize, Option<i32>), &'a RankTimeline, &'a RankTimeline)>,
) -> Vec<PlaceChange> {
    let compared = pairs.map(|((rank, device), a, b)| PlaceChange { rank, device, change: unjudged(a, b) });
    let mut places: Vec<PlaceChange> = compared.collect();
    // To look at more places is to ask more questions.
    judge_all(places.iter_mut().flat_map(|place| &mut place.change.lines).map(|line| Judged {
        p: &mut line.p_adjusted,
        ratio: line.ratio.as_ref(),
        a_ns: line.a_ns,
        delta_ns: line.delta_ns,
        is_change: &mut line.is_change,
    }));
    account::judge(places.iter_mut().flat_map(|place| &mut place.change.accounts));
    places.iter_mut().for_each(|place| place.change.sort());
    let largest = |place: &PlaceChange| {
        place.change.lines.first().filter(|line| line.is_change).map_or(0.0, |line| place.change.size(line))
    };
    // Sorting is stable: where nothing changed, the first stays first.
    places.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    places
}

/// Where the time of several places together went: the mean per place, or per step of any place.
pub fn all_places(pairs: &[(&RankTimeline, &RankTimeline)]) -> Vec<Account> {
    let mut accounts = account::of_places(pairs);
    account::judge(accounts.iter_mut());
    accounts
}

/// Compares two timelines.
pub fn timelines(a: &RankTimeline, b: &RankTimeline) -> TimelineChange {
    let place = places(std::iter::once(((0, None), a, b))).pop();
    place.map(|place| place.change).unwrap_or_default()
}

impl TimelineChange {
    /// What of a line's change is its own, over all steps.
    fn size(&self, line: &ComparedLine) -> f64 {
        let phase = self.phases.iter().find(|phase| phase.phase == line.phase);
        line.own_ns.abs() * phase.map_or(0, |phase| phase.a_steps) as f64
    }

    fn sort(&mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.sort_by(|a, b| {
            let by_size = self.size(b).total_cmp(&self.size(a));
            b.is_change.cmp(&a.is_change).then(by_size).then_with(|| a.label.cmp(&b.label))
        });
        self.lines = lines;
    }
}

fn unjudged(a: &RankTimeline, b: &RankTimeline) -> TimelineChange {
    let mut change = TimelineChange::default();
    for (phase, steps) in &a.phases {
        let Some(others) = b.phases.get(phase) else {
            change.only_a.push(Cow::Borrowed(*phase));
            continue;
        };
        let mut lines = lines(phase, steps, others, a.on_device);
        let common = common_ratio(&lines);
        lines.iter_mut().for_each(|line| line.own_ns -= (common.unwrap_or(1.0) - 1.0) * line.a_ns);
        change.phases.push(PhaseChange { common_ratio: common, ..of_phase(phase, steps, others) });
        change.lines.extend(lines);
    }
    change.only_b.extend(
        b.phases.keys().filter(|phase| !a.phases.contains_key(*phase)).map(|phase| Cow::Borrowed(*phase)),
    );
    change.accounts = account::accounts(a, b);
    change
}

fn of_phase(phase: &'static str, a: &[TimelineStep], b: &[TimelineStep]) -> PhaseChange {
    let durations =
        |steps: &[TimelineStep]| steps.iter().map(|step| step.dur_ns() as f64).collect::<Vec<f64>>();
    let (in_a, in_b) = (durations(a), durations(b));
    PhaseChange {
        phase: phase.into(),
        a_steps: a.len(),
        b_steps: b.len(),
        a_ns: mean(&in_a, &typical_steps(a)),
        b_ns: mean(&in_b, &typical_steps(b)),
        ratio: ratio(&in_a, &in_b),
        common_ratio: None,
    }
}

/// The steps of the middle half by wall time. Medians of parts do not add up to the median of the whole; means over
/// the same typical steps do, and a step that took far longer does not move them.
pub(super) fn typical(durations_ns: &[i64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..durations_ns.len()).collect();
    order.sort_by_key(|&step| (durations_ns[step], step));
    let cut = order.len() / 4;
    order[cut..order.len() - cut].to_vec()
}

fn typical_steps(steps: &[TimelineStep]) -> Vec<usize> {
    typical(&steps.iter().map(TimelineStep::dur_ns).collect::<Vec<i64>>())
}

/// The mean of some of the values; 0 for none.
pub(super) fn mean(values: &[f64], of: &[usize]) -> f64 {
    if of.is_empty() { 0.0 } else { of.iter().map(|&at| values[at]).sum::<f64>() / of.len() as f64 }
}

/// The ratio that divides the time of unchanged names in halves.
fn common_ratio(lines: &[ComparedLine]) -> Option<f64> {
    let is_plain =
        |line: &&ComparedLine| line.how == How::Same && line.a_count == line.b_count && line.a_ns > 0.0;
    let ratios: Vec<(f64, f64)> =
        lines.iter().filter(is_plain).map(|line| (line.b_ns / line.a_ns, line.a_ns)).collect();
    weighted_median(ratios)
}

/// The ratio that divides the weights behind the ratios in halves.
pub(super) fn weighted_median(mut ratios: Vec<(f64, f64)>) -> Option<f64> {
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = ratios.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let middle = ratios.into_iter().find(|(_, weight)| {
        below += weight;
        below >= half
    });
    middle.map(|(ratio, _)| ratio)
}

#[derive(Debug, Clone, Default)]
struct Half {
    work: Vec<f64>,
    wait: Vec<f64>,
    calls: Vec<f64>,
    /// Calls of kernels: without memory copies and fills.
    kernels: Vec<f64>,
    kernel_names: BTreeSet<String>,
    /// Time by name, by type and by class.
    names: BTreeMap<String, i64>,
    types: BTreeMap<String, i64>,
    classes: BTreeMap<&'static str, i64>,
}

fn halves(steps: &[TimelineStep], count: usize, of: impl Fn(&WorkItem) -> Option<usize>) -> Vec<Half> {
    let none = vec![0.0; steps.len()];
    let [work, wait, calls, kernels] = [none.clone(), none.clone(), none.clone(), none];
    let mut halves = vec![Half { work, wait, calls, kernels, ..Half::default() }; count];
    for (at, step) in steps.iter().enumerate() {
        for item in &step.items {
            let Some(half) = of(item).and_then(|line| halves.get_mut(line)) else { continue };
            half.work[at] += item.dur_ns as f64;
            half.wait[at] += item.wait_ns as f64;
            half.calls[at] += 1.0;
            if item.is_kernel() {
                half.kernels[at] += 1.0;
                half.kernel_names.insert(item.name.to_string());
            }
            *half.names.entry(item.name.to_string()).or_default() += item.dur_ns.max(1);
            *half.classes.entry(item.class.as_str()).or_default() += item.dur_ns.max(1);
            if let Some(dtype) = &item.dtype {
                *half.types.entry(dtype.to_string()).or_default() += item.dur_ns.max(1);
            }
        }
    }
    halves
}

fn lines(phase: &'static str, a: &[TimelineStep], b: &[TimelineStep], on_device: bool) -> Vec<ComparedLine> {
    let matching = Matching::of(a, b);
    let count = matching.proofs.len();
    let in_a = halves(a, count, |item| matching.line(0, item));
    let in_b = halves(b, count, |item| matching.line(1, item));
    let usual = (typical_steps(a), typical_steps(b));
    let mut lines = Vec::new();
    for ((a, b), proof) in in_a.iter().zip(&in_b).zip(&matching.proofs) {
        let mut add = |what| lines.push(line(phase, what, (a, b), &usual, proof.as_deref(), on_device));
        if !(a.names.contains_key(END) || b.names.contains_key(END)) {
            add("work");
        }
        if a.wait.iter().chain(&b.wait).any(|wait| *wait > 0.0) {
            add("wait");
        }
    }
    lines
}

fn line(
    phase: &'static str,
    what: &'static str,
    (a, b): (&Half, &Half),
    (usual_a, usual_b): &(Vec<usize>, Vec<usize>),
    proof: Option<&str>,
    on_device: bool,
) -> ComparedLine {
    let is_work = what == "work";
    let (in_a, in_b) = if is_work { (&a.work, &b.work) } else { (&a.wait, &b.wait) };
    // What a side clears or copies first is no kernel: only lines of nothing else count it.
    let has_kernels = !(a.kernel_names.is_empty() && b.kernel_names.is_empty());
    let counted =
        |half: &Half, usual: &[usize]| mean(if has_kernels { &half.kernels } else { &half.calls }, usual);
    let (a_count, b_count) = (counted(a, usual_a), counted(b, usual_b));
    let (a_ns, b_ns) = (mean(in_a, usual_a), mean(in_b, usual_b));
    let how = how(a, b, a_count, b_count, proof.is_some());
    let too_few = in_a.len().min(in_b.len()) < FEWEST;
    let main_type = |half: &Half| half.types.iter().max_by_key(|(_, ns)| **ns).map(|(name, _)| name.clone());
    let ratio = ratio(in_a, in_b);
    let types = main_type(a).zip(main_type(b)).filter(|(a, b)| is_work && a != b);
    let class = a.classes.iter().chain(&b.classes).max_by_key(|(_, ns)| **ns);
    ComparedLine {
        phase: phase.into(),
        what: what.into(),
        how,
        class: class.map_or("other", |(class, _)| class).into(),
        inside: proof.map(str::to_owned),
        label: label(what, how, a, b, on_device),
        a_names: by_time(a),
        b_names: by_time(b),
        types,
        a_count,
        b_count,
        a_ns,
        b_ns,
        delta_ns: b_ns - a_ns,
        own_ns: b_ns - a_ns,
        p_adjusted: match &ratio {
            Some(ratio) => Some(ratio.p),
            // A has none of it: only the ranks can tell.
            None if !too_few => rank_sum(in_a, in_b),
            None => None,
        },
        ratio,
        is_change: false,
        not_judged: too_few.then_some("fewer than four steps per side".into()),
    }
}

fn by_time(half: &Half) -> Vec<String> {
    let mut names: Vec<(&String, &i64)> = half.names.iter().collect();
    names.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    names.into_iter().map(|(name, _)| name.clone()).collect()
}

fn how(a: &Half, b: &Half, a_count: f64, b_count: f64, is_proven: bool) -> How {
    if a.names.is_empty() {
        return How::OnlyInB;
    }
    if b.names.is_empty() {
        return How::OnlyInA;
    }
    // A memory copy or fill that comes or goes beside kernels is neither a fusion nor a split of them.
    let kernels_only = !(a.kernel_names.is_empty() || b.kernel_names.is_empty());
    let names = |half: &Half| if kernels_only { half.kernel_names.len() } else { half.names.len() };
    let is_same =
        if kernels_only { a.kernel_names == b.kernel_names } else { a.names.keys().eq(b.names.keys()) };
    match (names(a), names(b)) {
        _ if is_same => How::Same,
        (1, 1) => How::Renamed,
        // Variants of one name: other tiles, types or versions.
        _ if !is_proven => How::Renamed,
        (_, 1) if b_count < a_count => How::Fused,
        (1, _) if b_count > a_count => How::Split,
        _ => How::Replaced,
    }
}

fn label(what: &str, how: How, a: &Half, b: &Half, on_device: bool) -> String {
    let short = |name: &String| {
        let is_kernel = on_device && name != END;
        if is_kernel { kernel_catalog::describe(name, ActivityHint::Kernel).short_name } else { name.clone() }
    };
    let side = |half: &Half| {
        let names = by_time(half);
        let mut shown: Vec<String> = names.iter().map(short).collect();
        shown.dedup();
        if how != How::Same || shown.len() > 1 {
            shown.iter_mut().for_each(clip);
        }
        if shown.len() > SHOWN {
            format!("{} + {} more", shown[0], shown.len() - 1)
        } else {
            shown.join(" + ")
        }
    };
    let work = match how {
        How::Same | How::OnlyInA => side(a),
        How::OnlyInB => side(b),
        _ => format!("{} → {}", side(a), side(b)),
    };
    match (what, on_device) {
        ("work", _) => work,
        (_, true) => format!("idle before {work}"),
        (_, false) if work == END => "host code at the end of the step".to_owned(),
        (_, false) => format!("host code before {work}"),
    }
}

fn clip(name: &mut String) {
    if name.chars().count() > LETTERS {
        *name = name.chars().take(LETTERS - 1).chain(['…']).collect();
    }
}

/// A row or line whose change is to be judged.
pub(super) struct Judged<'a> {
    /// Before correction; `None` where it is not to be judged.
    pub(super) p: &'a mut Option<f64>,
    pub(super) ratio: Option<&'a Ratio>,
    pub(super) a_ns: f64,
    pub(super) delta_ns: f64,
    pub(super) is_change: &'a mut bool,
}

/// Corrects for the number of rows or lines and says which changed.
pub(super) fn judge_all<'a>(all: impl Iterator<Item = Judged<'a>>) {
    let asked: Vec<Judged<'_>> = all.filter(|one| one.p.is_some()).collect();
    let p_values: Vec<f64> = asked.iter().filter_map(|one| *one.p).collect();
    for (one, p) in asked.into_iter().zip(adjusted(&p_values)) {
        *one.p = Some(p);
        let is_sure = one.ratio.is_none_or(Ratio::excludes_same);
        let is_enough = one.delta_ns.abs() >= LEAST_CHANGE * one.a_ns;
        *one.is_change = p < LEVEL && is_sure && is_enough && one.delta_ns != 0.0;
    }
}
