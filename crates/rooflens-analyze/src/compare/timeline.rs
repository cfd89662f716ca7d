//! What a run did, step by step: the work of each device, or of the busiest host thread where there is no device,
//! and the time before each piece of work in which nothing ran.
//!
//! Every moment of a device belongs to one piece of work, as in the time ledger: durations are what an activity is
//! charged with, so that work and idle time add up to wall time, whatever overlaps.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rooflens_schema::tables::{Ops, PhaseKind};
use rooflens_schema::{NameId, RankTables};

use super::matching::without_digits;
use crate::kernel_catalog::KernelClass;
use crate::ledger::{KernelClasses, Line, charges, of_operator};
use crate::role::Roles;

/// Most enclosing operators that are looked at.
const DEEPEST: usize = 16;
/// Steps of a trace without phases.
pub(super) const WHOLE: &str = "all";
/// What follows the last operator of a step.
pub(super) const END: &str = "(end of the step)";

/// The steps of a rank, by phase.
#[derive(Debug, Clone, Default)]
pub struct RankTimeline {
    /// Whether the work is that of a device; else that of a host thread.
    pub on_device: bool,
    pub(crate) phases: BTreeMap<&'static str, Vec<TimelineStep>>,
    /// Work of no step, in a trace that has steps.
    pub(crate) outside: TimelineStep,
}

/// What encloses a piece of work, innermost first.
type Enclosing = Arc<[Arc<str>]>;

/// One step.
#[derive(Debug, Clone, Default)]
pub struct TimelineStep {
    pub(crate) items: Vec<WorkItem>,
}

/// A kernel or an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkItem {
    pub(crate) name: Arc<str>,
    pub(crate) dtype: Option<Arc<str>>,
    pub(crate) class: KernelClass,
    /// What encloses it, innermost first: operators, then the module without its number, then the layer.
    pub(crate) inside: Arc<[Arc<str>]>,
    /// Its own time: of a device, what it is charged with in the ledger.
    pub(crate) dur_ns: i64,
    pub(crate) wait_ns: i64,
    /// The ledger's line of that wait.
    pub(crate) cause: Line,
}

impl WorkItem {
    /// Whether it is a kernel: copies and fills of the driver are not.
    pub(super) fn is_kernel(&self) -> bool {
        is_kernel(self.class)
    }
}

/// Whether a class is that of kernels: copies and fills of the driver are not.
pub(super) fn is_kernel(class: KernelClass) -> bool {
    !matches!(class, KernelClass::Memcpy | KernelClass::Memset)
}

impl TimelineStep {
    pub(crate) fn dur_ns(&self) -> i64 {
        dur_ns(&self.items)
    }
}

pub(super) fn dur_ns<'a>(items: impl IntoIterator<Item = &'a WorkItem>) -> i64 {
    items.into_iter().fold(0_i64, |sum, item| sum.saturating_add(item.dur_ns).saturating_add(item.wait_ns))
}

impl RankTimeline {
    /// Of a rank whose facts are derived: one a device, by its number; else that of the host.
    pub fn all(tables: &RankTables) -> Vec<(Option<i32>, Self)> {
        let devices: BTreeSet<i32> = tables.kernels.device.iter().copied().collect();
        if devices.is_empty() {
            return vec![(None, host(tables))];
        }
        devices.into_iter().map(|index| (Some(index), device(tables, index))).collect()
    }
}

fn device(tables: &RankTables, index: i32) -> RankTimeline {
    let kernels = &tables.kernels;
    let types: HashMap<&str, Option<&String>> = tables
        .kernel_dim
        .name
        .iter()
        .map(String::as_str)
        .zip(tables.kernel_dim.dtype.iter().map(Option::as_ref))
        .collect();
    let (classes, roles) = (KernelClasses::new(tables), Roles::new(tables));
    let mut rows: Vec<usize> = (0..kernels.len()).filter(|&i| kernels.device[i] == index).collect();
    // Rows of a device follow each other.
    let Some(first) = rows.first().copied() else { return RankTimeline::default() };
    let charged = charges(tables, &roles, first..first + rows.len(), |_, _| {});
    rows.sort_by_key(|&i| (kernels.ts_ns[i], kernels.stream[i]));
    let mut shared = Shared::default();
    let mut steps: BTreeMap<i32, TimelineStep> = BTreeMap::new();
    let mut outside = TimelineStep::default();
    let has_phases = rows.iter().any(|&i| kernels.phase_id[i].get().is_some());
    for i in rows {
        let phase = kernels.phase_id[i].get();
        let name = tables.names.get(kernels.kernel_id[i]);
        let item = WorkItem {
            name: shared.text(name),
            dtype: types.get(name).copied().flatten().map(|text| shared.text(text)),
            class: classes.of(kernels.kernel_id[i]),
            inside: shared.around(
                tables,
                kernels.op_id[i].get(),
                kernels.module_id[i].get(),
                kernels.layer[i].get().is_some(),
            ),
            dur_ns: charged.get(i - first).copied().unwrap_or(0).max(0),
            wait_ns: kernels.idle_before_ns[i].max(0),
            cause: Line::of_gap(kernels.gap_cause[i]),
        };
        let step = if has_phases && phase.is_none() {
            &mut outside
        } else {
            steps.entry(phase.unwrap_or(-1)).or_default()
        };
        step.items.push(item);
    }
    RankTimeline { on_device: true, phases: by_kind(tables, steps), outside }
}

fn host(tables: &RankTables) -> RankTimeline {
    let ops = &tables.ops;
    let own = |i: usize| ops.dur_ns[i].saturating_sub(ops.inside_ns[i]).max(0);
    let mut busy: BTreeMap<i64, i64> = BTreeMap::new();
    for i in 0..ops.len() {
        let sum = busy.entry(ops.tid[i]).or_default();
        *sum = sum.saturating_add(own(i));
    }
    let Some((&thread, _)) = busy.iter().max_by_key(|(tid, ns)| (**ns, std::cmp::Reverse(**tid))) else {
        return RankTimeline::default();
    };
    let has_phases = ops.phase_id.iter().any(|phase| phase.get().is_some());
    let mut shared = Shared::default();
    // Of each step: its work, and where its outermost operators have come to.
    let mut steps: BTreeMap<i32, (TimelineStep, i64)> = BTreeMap::new();
    for i in (0..ops.len()).filter(|&i| ops.tid[i] == thread) {
        let phase = ops.phase_id[i].get();
        if has_phases && phase.is_none() {
            continue;
        }
        let begin = span(tables, phase).map_or(ops.ts_ns[i], |(begin, _)| begin);
        let (step, reached) = steps.entry(phase.unwrap_or(-1)).or_insert((TimelineStep::default(), begin));
        let wait_ns = if ops.depth[i] == 0 { ops.ts_ns[i].saturating_sub(*reached).max(0) } else { 0 };
        *reached = (*reached).max(ops.ts_ns[i].saturating_add(ops.dur_ns[i]));
        let name = tables.names.get(ops.name_id[i]);
        step.items.push(WorkItem {
            name: shared.text(name),
            dtype: ops.dtypes_id[i]
                .get()
                .and_then(|id| first_type(tables.names.get(id)))
                .map(|text| shared.text(&text)),
            class: of_operator(name),
            inside: shared.around(
                tables,
                ops.parent_id[i].get(),
                ops.module_id[i].get(),
                ops.layer[i].get().is_some(),
            ),
            dur_ns: own(i),
            wait_ns,
            cause: Line::CpuBound,
        });
    }
    let none = shared.around(tables, None, None, false);
    let ended = steps.into_iter().map(|(phase, (mut step, reached))| {
        if let Some((_, end)) = span(tables, Some(phase)) {
            let wait_ns = end.saturating_sub(reached).max(0);
            step.items.push(WorkItem {
                name: shared.text(END),
                dtype: None,
                class: KernelClass::Other,
                inside: Arc::clone(&none),
                dur_ns: 0,
                wait_ns,
                cause: Line::CpuBound,
            });
        }
        (phase, step)
    });
    let ended = ended.collect();
    RankTimeline { on_device: false, phases: by_kind(tables, ended), outside: TimelineStep::default() }
}

fn span(tables: &RankTables, phase: Option<i32>) -> Option<(i64, i64)> {
    let row = usize::try_from(phase?).ok().filter(|row| *row < tables.phases.len())?;
    let begin = tables.phases.ts_ns[row];
    Some((begin, begin.saturating_add(tables.phases.dur_ns[row])))
}

/// The first type that is one of numbers: `["c10::BFloat16","Scalar"]` is c10::BFloat16.
fn first_type(types: &str) -> Option<String> {
    let words = types.split(['[', ']', '"', ',', ' ']);
    let word = words
        .into_iter()
        .find(|word| !matches!(*word, "" | "Scalar" | "ScalarList" | "long" | "longint" | "int" | "bool"))?;
    Some(word.to_owned())
}

fn by_kind(
    tables: &RankTables,
    steps: BTreeMap<i32, TimelineStep>,
) -> BTreeMap<&'static str, Vec<TimelineStep>> {
    let mut phases: BTreeMap<&'static str, Vec<TimelineStep>> = BTreeMap::new();
    for (phase, step) in steps {
        phases.entry(tables.phase_kind(Some(phase)).map_or(WHOLE, PhaseKind::as_str)).or_default().push(step);
    }
    phases
}

/// An operator, a module, and whether there is a layer.
type Around = (Option<i32>, Option<NameId>, bool);

/// Each text, and each list of what encloses something, once.
#[derive(Default)]
struct Shared {
    texts: HashMap<String, Arc<str>>,
    around: HashMap<Around, Enclosing>,
    lists: HashMap<Vec<Arc<str>>, Enclosing>,
}

impl Shared {
    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.texts.insert(text.to_owned(), Arc::clone(&new));
        new
    }

    /// What encloses a piece of work, innermost first.
    fn around(
        &mut self,
        tables: &RankTables,
        op: Option<i32>,
        module: Option<NameId>,
        has_layer: bool,
    ) -> Enclosing {
        if let Some(known) = self.around.get(&(op, module, has_layer)) {
            return Arc::clone(known);
        }
        let mut list: Vec<Arc<str>> = ancestors(&tables.ops, op)
            .map(|row| self.text(tables.names.get(tables.ops.name_id[row])))
            .collect();
        // The same module of every layer is one place.
        list.extend(module.map(|id| self.text(&format!("{MODULE}{}", without_digits(tables.names.get(id))))));
        list.extend(has_layer.then(|| self.text(LAYER)));
        let shared = self.lists.entry(list.clone()).or_insert_with(|| list.into());
        let shared = Arc::clone(shared);
        self.around.insert((op, module, has_layer), Arc::clone(&shared));
        shared
    }
}

/// What a module is called among the things that enclose work.
pub(super) const MODULE: &str = "module ";
pub(super) const LAYER: &str = "layer";

fn ancestors(ops: &Ops, op: Option<i32>) -> impl Iterator<Item = usize> {
    let row = |id: i32| usize::try_from(id).ok().filter(|row| *row < ops.len());
    std::iter::successors(op.and_then(row), move |&at| ops.parent_id[at].get().and_then(row)).take(DEEPEST)
}
