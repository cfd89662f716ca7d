//! How near the kernels of a phase came to their roof: by class, layer, operator of the model and kernel.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::align::{Group, StepKernel, align};
use super::fit::{Coverage, disagreements};
use super::operators::{OperatorFloor, Role, StepModel};
use super::sequences::{Alike, KernelNames, Sequences};
use crate::kernel_catalog::{ActivityHint, KernelClass, describe};

/// What kernels had to do, and how near they came to what the device can do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Achieved {
    /// FLOPs that the results need.
    pub flops: f64,
    /// Bytes that must move.
    pub bytes: f64,
    /// What limits it on this device: `compute` or `memory`.
    pub limit: Cow<'static, str>,
    /// The device's rate for these FLOPs, in their formats; null where there are none.
    pub peak_flops_per_s: Option<f64>,
    /// The device's memory bandwidth; null where no bytes move.
    pub peak_bytes_per_s: Option<f64>,
    /// FLOPs by the time that it took.
    pub flops_per_s: f64,
    /// Bytes by the time that it took.
    pub bytes_per_s: f64,
    /// Lower bound by the time that it took, 0 to 1.
    pub roof_share: f64,
    /// Time above the lower bound.
    pub lost_ns: i64,
}

/// An operator of the model over all layers and steps of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorTime {
    /// Its name; operators that one kernel computes are listed together.
    pub operator: String,
    /// Class of the static model.
    pub class: Cow<'static, str>,
    /// Number of executions: layers × steps.
    pub count: usize,
    /// The kernels that do it, the one with the most time first; at most three.
    pub kernels: Vec<String>,
    /// Their time.
    pub ns: i64,
    /// Their lower bound.
    pub floor_ns: i64,
    /// What they achieved.
    #[serde(flatten)]
    pub achieved: Achieved,
}

/// A kernel in a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelTime {
    /// Full name.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// Its class.
    pub class: KernelClass,
    /// The operators of the model that it does; empty where none asks for it.
    pub operators: Vec<String>,
    /// How often it ran.
    pub count: usize,
    /// Time that it is charged with.
    pub ns: i64,
    /// Its lower bound.
    pub floor_ns: i64,
    /// What it achieved; null where no operator asks for it.
    pub achieved: Option<Achieved>,
}

/// Sums of work, before they are divided by anything.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) ns: i64,
    pub(crate) floor_ns: f64,
    pub(crate) flops: f64,
    pub(crate) bytes: f64,
    pub(crate) compute_ns: f64,
    pub(crate) memory_ns: f64,
    pub(crate) count: usize,
}

impl Sum {
    fn add_work(&mut self, work: &OperatorFloor, share: f64) {
        self.flops += work.flops * share;
        self.bytes += work.bytes * share;
        self.compute_ns += work.compute_ns * share;
        self.memory_ns += work.memory_ns * share;
    }

    /// The lower bound in whole nanoseconds, never above the time.
    pub(crate) fn floor(&self) -> i64 {
        (self.floor_ns.round() as i64).clamp(0, self.ns.max(0))
    }

    /// What was achieved; none where nothing had to be done or it took no time.
    pub(crate) fn achieved(&self) -> Option<Achieved> {
        if self.ns <= 0 || (self.flops <= 0.0 && self.bytes <= 0.0) {
            return None;
        }
        let rate = |amount: f64, ns: f64| amount * 1e9 / ns;
        let peak = |amount: f64, ns: f64| (amount > 0.0 && ns > 0.0).then(|| rate(amount, ns));
        Some(Achieved {
            flops: self.flops,
            bytes: self.bytes,
            limit: if self.compute_ns > self.memory_ns { "compute".into() } else { "memory".into() },
            peak_flops_per_s: peak(self.flops, self.compute_ns),
            peak_bytes_per_s: peak(self.bytes, self.memory_ns),
            flops_per_s: rate(self.flops, self.ns as f64),
            bytes_per_s: rate(self.bytes, self.ns as f64),
            roof_share: self.floor() as f64 / self.ns as f64,
            lost_ns: self.ns - self.floor(),
        })
    }
}

/// What the alignment of a phase's steps with the model tells.
#[derive(Debug, Default)]
pub struct PhaseEfficiency {
    pub(crate) classes: BTreeMap<KernelClass, Sum>,
    pub(crate) layers: BTreeMap<i32, Sum>,
    pub(crate) layer_classes: BTreeMap<(i32, KernelClass), Sum>,
    pub(crate) operators: Vec<OperatorTime>,
    pub(crate) kernels: Vec<KernelTime>,
    pub(crate) floors: BTreeMap<&'static str, OperatorSum>,
    pub(crate) unspent_ns: f64,
    pub(crate) missing_ns: f64,
    /// What of the steps contradicts the model, in words; empty where nothing does.
    pub(crate) disagreements: Vec<String>,
}

/// Lower bound, FLOPs and bytes of a class of the static model.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OperatorSum {
    pub(crate) ns: f64,
    pub(crate) flops: f64,
    pub(crate) bytes: f64,
}

/// Steps that are alike and have less of a phase's kernel time prove nothing against a model by themselves.
const LEAST_TELLING: f64 = 0.1;
/// Where no two steps are alike, so much of the time must contradict it.
const MOST_OF_ALL: f64 = 0.5;
/// Contradictions that are named of such steps.
const NAMED: usize = 3;

pub(crate) fn of_phase(
    sequences: &Sequences,
    names: &KernelNames,
    model: &dyn StepModel,
) -> Result<PhaseEfficiency, String> {
    let mut found = Folding { all_ns: sequences.alike.iter().map(Alike::ns).sum(), ..Folding::default() };
    for alike in &sequences.alike {
        let operators = total(alike, model)?;
        found.add(alike, &operators);
    }
    Ok(found.finish(names))
}

fn total(alike: &Alike, model: &dyn StepModel) -> Result<Vec<OperatorFloor>, String> {
    let mut sum: Vec<OperatorFloor> = Vec::new();
    for step in &alike.steps {
        let operators = model.operators(step)?;
        if sum.is_empty() {
            sum = operators;
            continue;
        }
        if sum.len() != operators.len() {
            return Err("steps with the same kernels have different operators".to_owned());
        }
        for (all, one) in sum.iter_mut().zip(operators) {
            all.ns += one.ns;
            all.compute_ns += one.compute_ns;
            all.memory_ns += one.memory_ns;
            all.flops += one.flops;
            all.bytes += one.bytes;
        }
    }
    Ok(sum)
}

#[derive(Default)]
struct Folding {
    found: PhaseEfficiency,
    all_ns: i64,
    disagreeing_ns: i64,
    of_few: Vec<String>,
    operators: BTreeMap<Vec<&'static str>, OperatorFold>,
    kernels: BTreeMap<u32, KernelFold>,
}

#[derive(Default)]
struct OperatorFold {
    class: &'static str,
    order: usize,
    sum: Sum,
    kernels: BTreeMap<u32, i64>,
}

#[derive(Default)]
struct KernelFold {
    class: Option<KernelClass>,
    operators: Vec<&'static str>,
    sum: Sum,
}

impl Folding {
    fn add(&mut self, alike: &Alike, operators: &[OperatorFloor]) {
        let steps = alike.steps.len();
        for operator in operators {
            let class = self.found.floors.entry(operator.class).or_default();
            class.ns += operator.ns;
            class.flops += operator.flops;
            class.bytes += operator.bytes;
        }
        for kernel in &alike.kernels {
            let fold = self.kernels.entry(kernel.name).or_default();
            fold.class = Some(kernel.class);
            fold.sum.ns = fold.sum.ns.saturating_add(kernel.ns);
            fold.sum.count += steps;
            let class = self.found.classes.entry(kernel.class).or_default();
            class.ns = class.ns.saturating_add(kernel.ns);
        }
        let groups = alike.is_ordered.then(|| align(operators, &per_step(alike))).flatten();
        let groups = groups.unwrap_or_else(|| by_class(operators, alike));
        let unspent_before = self.found.unspent_ns;
        for group in &groups {
            self.spend(alike, operators, group, steps);
        }
        let mut coverage = self.cover(alike, operators, &groups);
        coverage.unspent_ns = self.found.unspent_ns - unspent_before;
        let told = disagreements(alike, operators, &coverage);
        if told.is_empty() {
            return;
        }
        self.disagreeing_ns = self.disagreeing_ns.saturating_add(alike.ns());
        // A step cut off by the recording shows only some of its kernels.
        let is_telling = alike.ns() as f64 >= LEAST_TELLING * self.all_ns as f64;
        let into = if is_telling { &mut self.found.disagreements } else { &mut self.of_few };
        for disagreement in told {
            if !into.contains(&disagreement) {
                into.push(disagreement);
            }
        }
    }

    fn cover(&mut self, alike: &Alike, operators: &[OperatorFloor], groups: &[Group]) -> Coverage {
        let mut done = vec![false; operators.len()];
        let mut placed = vec![false; operators.len()];
        for group in groups {
            for &at in &group.operators {
                let role = Role::of(operators[at].class);
                placed[at] = true;
                done[at] = group.kernels.iter().any(|kernel| role.is_proved_by(alike.kernels[*kernel].class));
            }
        }
        let mut coverage = Coverage::default();
        for (at, operator) in operators.iter().enumerate() {
            let role = Role::of(operator.class);
            if role == Role::Collective {
                continue;
            }
            coverage.bound_ns += operator.ns;
            let is_main = operator.ns > 0.0 && role.is_main();
            coverage.main += usize::from(is_main);
            coverage.done += usize::from(is_main && done[at]);
            self.found.missing_ns += if placed[at] { 0.0 } else { operator.ns };
        }
        coverage
    }

    fn spend(&mut self, alike: &Alike, operators: &[OperatorFloor], group: &Group, steps: usize) {
        let work: Vec<&OperatorFloor> = group.operators.iter().map(|at| &operators[*at]).collect();
        // A collective has a line of its own, and what is fused with it (a norm) costs next to nothing.
        if work.iter().any(|operator| Role::of(operator.class) == Role::Collective) {
            return;
        }
        let shares = shares(alike, &work, &group.kernels);
        let bound: f64 = work.iter().map(|operator| operator.ns).sum();
        let spent = spill(bound, &shares, alike, &group.kernels);
        self.found.unspent_ns += (bound - spent.iter().sum::<f64>()).max(0.0);
        let names: Vec<&'static str> =
            work.iter().filter(|operator| operator.ns > 0.0).map(|operator| operator.name).collect();
        if names.is_empty() {
            return;
        }
        let order = self.operators.len();
        let fold = self.operators.entry(names.clone()).or_insert_with(|| OperatorFold {
            class: work[0].class,
            order,
            ..OperatorFold::default()
        });
        fold.sum.count += steps;
        for ((at, share), floor_ns) in group.kernels.iter().zip(&shares).zip(&spent) {
            let kernel = &alike.kernels[*at];
            fold.sum.ns = fold.sum.ns.saturating_add(kernel.ns);
            fold.sum.floor_ns += floor_ns;
            let time = fold.kernels.entry(kernel.name).or_default();
            *time = time.saturating_add(kernel.ns);
            let own = self.kernels.entry(kernel.name).or_default();
            for name in names.iter().filter(|_| *share > 0.0) {
                if !own.operators.contains(name) {
                    own.operators.push(name);
                }
            }
            let class = self.found.classes.entry(kernel.class).or_default();
            for sum in [&mut own.sum, class] {
                sum.floor_ns += floor_ns;
                work.iter().for_each(|operator| sum.add_work(operator, *share));
            }
            // The layer is the model's: what a pattern of names calls a layer may begin elsewhere.
            if let Some(layer) = work[0].layer {
                let whole = self.found.layers.entry(layer).or_default();
                let cell = self.found.layer_classes.entry((layer, kernel.class)).or_default();
                for sum in [whole, cell] {
                    sum.ns = sum.ns.saturating_add(kernel.ns);
                    sum.floor_ns += floor_ns;
                    work.iter().for_each(|operator| sum.add_work(operator, *share));
                }
            }
        }
        work.iter().for_each(|operator| fold.sum.add_work(operator, 1.0));
    }

    fn finish(mut self, names: &KernelNames) -> PhaseEfficiency {
        if self.found.disagreements.is_empty()
            && self.disagreeing_ns as f64 >= MOST_OF_ALL * self.all_ns.max(1) as f64
        {
            self.of_few.truncate(NAMED);
            self.found.disagreements = std::mem::take(&mut self.of_few);
        }
        let name = |id: u32| names.names.get(id as usize).cloned().unwrap_or_default();
        let short = |id: u32| describe(&name(id), ActivityHint::Kernel).short_name.to_string();
        let mut operators: Vec<(usize, OperatorTime)> = Vec::new();
        for (words, fold) in self.operators {
            let Some(achieved) = fold.sum.achieved() else { continue };
            let mut kernels: Vec<(u32, i64)> = fold.kernels.into_iter().collect();
            kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.1));
            operators.push((
                fold.order,
                OperatorTime {
                    operator: words.join(" + "),
                    class: fold.class.into(),
                    count: fold.sum.count,
                    kernels: kernels.into_iter().take(3).map(|kernel| short(kernel.0)).collect(),
                    ns: fold.sum.ns,
                    floor_ns: fold.sum.floor(),
                    achieved,
                },
            ));
        }
        operators.sort_by_key(|row| row.0);
        self.found.operators = operators.into_iter().map(|row| row.1).collect();
        let kernel = |(id, fold): (u32, KernelFold)| KernelTime {
            short_name: short(id),
            name: name(id),
            class: fold.class.unwrap_or(KernelClass::Other),
            operators: fold.operators.into_iter().map(str::to_owned).collect(),
            count: fold.sum.count,
            ns: fold.sum.ns,
            floor_ns: fold.sum.floor(),
            achieved: fold.sum.achieved(),
        };
        let mut kernels: Vec<KernelTime> = self.kernels.into_iter().map(kernel).collect();
        kernels.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
        self.found.kernels = kernels;
        self.found
    }
}

fn per_step(alike: &Alike) -> Vec<StepKernel> {
    // Lower bounds are of all steps, so times are too.
    let kernel = |kernel: &super::sequences::Kernel| StepKernel {
        class: kernel.class,
        ns: kernel.ns as f64,
        matrix: kernel.matrix,
    };
    alike.kernels.iter().map(kernel).collect()
}

/// Which part of the work each kernel of a group does. Where an operator is run as several GEMMs, each does its
/// own; else the longest does it all, and what else is there prepares or merges.
fn shares(alike: &Alike, work: &[&OperatorFloor], kernels: &[usize]) -> Vec<f64> {
    let time = |at: usize| alike.kernels[kernels[at]].ns;
    let mut longest: Vec<usize> = (0..kernels.len()).collect();
    longest.sort_by_key(|&at| (std::cmp::Reverse(time(at)), at));
    let mut shares = vec![0.0; kernels.len()];
    if let [operator] = work {
        let role = Role::of(operator.class);
        let fits = |at: usize| role.misfit(alike.kernels[kernels[at]].class) == Some(0.0);
        let mut doers: Vec<usize> =
            longest.iter().copied().filter(|&at| fits(at)).take(operator.parts.len()).collect();
        // A helper of a few microseconds is no GEMM of its own.
        let is_work = |at: &usize| time(*at) as f64 >= 0.1 * time(longest[0]) as f64;
        if operator.parts.len() > 1 && doers.len() == operator.parts.len() && doers.iter().all(is_work) {
            doers.sort_unstable();
            for (at, part) in doers.into_iter().zip(&operator.parts) {
                shares[at] = *part;
            }
            return shares;
        }
    }
    if let Some(&first) = longest.first() {
        shares[first] = 1.0;
    }
    shares
}

/// Spends a lower bound on kernels by their shares, at most their time; what is left goes to the others of the
/// group, the longest first.
fn spill(bound: f64, shares: &[f64], alike: &Alike, kernels: &[usize]) -> Vec<f64> {
    let time = |at: usize| alike.kernels[kernels[at]].ns.max(0) as f64;
    let mut spent: Vec<f64> =
        shares.iter().enumerate().map(|(at, share)| (bound * share).min(time(at))).collect();
    let mut left = bound - spent.iter().sum::<f64>();
    let mut order: Vec<usize> = (0..kernels.len()).collect();
    order.sort_by(|a, b| time(*b).total_cmp(&time(*a)));
    for at in order {
        let more = left.min(time(at) - spent[at]).max(0.0);
        spent[at] += more;
        left -= more;
    }
    spent
}

/// Without the order of kernels: each operator is done by the kernels of the classes that fit it best, all
/// together.
fn by_class(operators: &[OperatorFloor], alike: &Alike) -> Vec<Group> {
    let mut groups: BTreeMap<Vec<KernelClass>, Group> = BTreeMap::new();
    let mut classes: Vec<KernelClass> = alike.kernels.iter().map(|kernel| kernel.class).collect();
    classes.sort_unstable();
    classes.dedup();
    for (at, operator) in operators.iter().enumerate() {
        let role = Role::of(operator.class);
        let misfits = || classes.iter().filter_map(|class| Some((role.misfit(*class)?, *class)));
        let Some(least) = misfits().map(|(misfit, _)| misfit).min_by(f64::total_cmp) else { continue };
        let best: Vec<KernelClass> =
            misfits().filter(|(misfit, _)| *misfit <= least).map(|(_, class)| class).collect();
        let of_classes = |classes: &[KernelClass]| {
            let rows = alike.kernels.iter().enumerate().filter(|(_, kernel)| classes.contains(&kernel.class));
            rows.map(|(at, _)| at).collect()
        };
        let kernels = of_classes(&best);
        let group = groups.entry(best).or_insert_with(|| Group { operators: Vec::new(), kernels });
        group.operators.push(at);
    }
    groups.into_values().collect()
}
