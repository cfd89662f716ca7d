//! The kernels of steps in the order they ran, steps with the same kernels together.

use rooflens_schema::tables::{Ops, PhaseKind, Phases};
use rooflens_schema::{NameId, RankTables};

use super::operators::{StepAsked, StepShape};
use crate::by_name::FastMap;
use crate::facts::is_pass;
use crate::kernel_catalog::KernelClass;
use crate::product::product;

/// Different sequences that are kept of a phase; the steps of further ones are added up by class.
const MOST_SEQUENCES: usize = 128;

/// The steps of a phase, on all devices.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequences {
    pub(super) alike: Vec<Alike>,
    /// By names of kernels: where in `alike`.
    known: FastMap<Vec<u32>, usize>,
}

/// Steps that ran the same kernels in the same order.
#[derive(Debug, Clone)]
pub(super) struct Alike {
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) steps: Vec<StepAsked>,
    /// Whether the order is known: beyond [`MOST_SEQUENCES`] kernels are added up by name.
    pub(crate) is_ordered: bool,
}

/// A kernel at its place in a step; times are of all steps.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    pub(crate) name: u32,
    pub(crate) class: KernelClass,
    pub(crate) ns: i64,
    pub(crate) matrix: Option<(u64, u64)>,
}

/// Names of kernels, each once over all ranks.
#[derive(Debug, Clone, Default)]
pub(crate) struct KernelNames {
    pub(super) names: Vec<String>,
    known: FastMap<String, u32>,
}

impl KernelNames {
    pub(crate) fn add(&mut self, name: &str) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.known.insert(name.to_owned(), id);
        id
    }
}

/// A kernel of the rank at hand, with the time that it is charged with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ran {
    pub(crate) phase: i32,
    /// Row of `kernels` or, on a host, of `ops`.
    pub(crate) row: usize,
    pub(crate) ts_ns: i64,
    pub(crate) ns: i64,
    pub(crate) name: NameId,
    pub(crate) class: KernelClass,
    pub(crate) operator: Option<usize>,
}

/// Adds the kernels of one device's steps to the sequences of their kinds.
pub fn add(
    into: &mut dyn FnMut(StepAsked, Vec<Kernel>),
    names: &mut KernelNames,
    tables: &RankTables,
    mut ran: Vec<Ran>,
) {
    let phases = &tables.phases;
    ran.sort_by_key(|one| (one.phase, one.ts_ns, one.row));
    let mut ids: FastMap<NameId, u32> = FastMap::default();
    let mut matrices = Matrices::default();
    let mut ordinals: FastMap<PhaseKind, usize> = FastMap::default();
    let mut steps: Vec<&[Ran]> = ran.chunk_by(|a, b| a.phase == b.phase).collect();
    // Rows of `phases` are sorted by thread as well: the order of steps is that of their starts.
    steps.sort_by_key(|step| phases.ts_ns.get(step[0].phase as usize));
    for step in steps {
        let row = step[0].phase as usize;
        let Some(kind) = phases.kind.get(row).copied().filter(|kind| is_pass(*kind)) else { continue };
        let ordinal = ordinals.entry(kind).or_default();
        let kernels = step
            .iter()
            .map(|one| Kernel {
                name: *ids.entry(one.name).or_insert_with(|| names.add(tables.names.get(one.name))),
                class: one.class,
                ns: one.ns,
                matrix: one.operator.and_then(|operator| matrices.of(tables, operator)),
            })
            .collect();
        into(StepAsked { kind, ordinal: *ordinal, shape: shape_of(phases, row) }, kernels);
        *ordinal += 1;
    }
}

fn shape_of(phases: &Phases, row: usize) -> StepShape {
    let columns = [&phases.batch, &phases.prefill_tokens, &phases.decode_tokens, &phases.kv_tokens];
    let [batch, prefill_tokens, decode_tokens, kv_tokens] = columns.map(|column| column[row].get());
    StepShape { steps: 1, batch, prefill_tokens, decode_tokens, kv_tokens }
}

/// The matrices of operators, each asked for once.
#[derive(Default)]
struct Matrices {
    known: FastMap<(NameId, NameId), Option<(u64, u64)>>,
}

impl Matrices {
    /// Of the operator, or of the nearest around it that is a GEMM.
    fn of(&mut self, tables: &RankTables, operator: usize) -> Option<(u64, u64)> {
        let ops = &tables.ops;
        let mut at = Some(operator);
        for _ in 0..4 {
            let row = at.filter(|row| *row < ops.len())?;
            if let Some(shapes) = ops.shapes_id[row].get() {
                let name = ops.name_id[row];
                let found = *self.known.entry((name, shapes)).or_insert_with(|| {
                    product(tables.names.get(name), tables.names.get(shapes)).and_then(|made| made.matrix)
                });
                if found.is_some() {
                    return found;
                }
            }
            at = ops.parent_id[row].get().and_then(|parent| usize::try_from(parent).ok());
        }
        None
    }
}

impl Alike {
    pub(super) fn ns(&self) -> i64 {
        self.kernels.iter().map(|kernel| kernel.ns).sum()
    }
}

impl Sequences {
    pub(crate) fn is_empty(&self) -> bool {
        self.alike.is_empty()
    }

    /// Steps of which only the kernels' times are known, not their order.
    pub(crate) fn unordered(steps: Vec<StepAsked>, kernels: Vec<Kernel>) -> Self {
        let alike = vec![Alike { kernels, steps, is_ordered: false }];
        Sequences { alike, known: FastMap::default() }
    }

    pub(crate) fn push(&mut self, step: StepAsked, kernels: Vec<Kernel>) {
        let key: Vec<u32> = kernels.iter().map(|kernel| kernel.name).collect();
        let is_full = self.alike.len() >= MOST_SEQUENCES;
        match self.known.get(&key) {
            Some(&at) => {
                let alike = &mut self.alike[at];
                alike.steps.push(step);
                for (sum, kernel) in alike.kernels.iter_mut().zip(kernels) {
                    sum.ns = sum.ns.saturating_add(kernel.ns);
                }
            }
            None if is_full => self.push_unordered(step, kernels),
            None => {
                self.known.insert(key, self.alike.len());
                self.alike.push(Alike { kernels, steps: vec![step], is_ordered: true });
            }
        }
    }

    fn push_unordered(&mut self, step: StepAsked, kernels: Vec<Kernel>) {
        if self.alike.last().is_none_or(|last| last.is_ordered) {
            self.alike.push(Alike { kernels: Vec::new(), steps: Vec::new(), is_ordered: false });
        }
        let Some(rest) = self.alike.last_mut() else { return };
        rest.steps.push(step);
        for kernel in kernels {
            match rest.kernels.iter_mut().find(|known| known.name == kernel.name) {
                Some(known) => known.ns = known.ns.saturating_add(kernel.ns),
                None => rest.kernels.push(Kernel { matrix: None, ..kernel }),
            }
        }
    }
}

/// The operators of a host thread, in place of a device's kernels: what passes on to an operator of its own class
/// (`aten::linear` to `aten::addmm`) counts with it.
pub(crate) struct OfHost<'a> {
    ops: &'a Ops,
    /// By row of `ops`: class and own time, where it has any.
    own: FastMap<usize, (KernelClass, i64)>,
}

impl<'a> OfHost<'a> {
    pub(crate) fn new(ops: &'a Ops) -> Self {
        OfHost { ops, own: FastMap::default() }
    }

    pub(crate) fn add(&mut self, row: usize, ns: i64, class: KernelClass) {
        let own = self.own.entry(row).or_insert((class, 0));
        own.1 = own.1.saturating_add(ns);
    }

    pub(crate) fn finish(self) -> Vec<Ran> {
        let mut sums: FastMap<usize, i64> = FastMap::default();
        for (&row, &(class, ns)) in &self.own {
            let mut owner = row;
            while let Some(parent) = self.parent(owner).filter(|parent| {
                class != KernelClass::Other && self.own.get(parent).is_some_and(|own| own.0 == class)
            }) {
                owner = parent;
            }
            let sum = sums.entry(owner).or_default();
            *sum = sum.saturating_add(ns);
        }
        let ran = |(row, ns): (usize, i64)| {
            Some(Ran {
                phase: self.ops.phase_id[row].get()?,
                row,
                ts_ns: self.ops.ts_ns[row],
                ns,
                name: self.ops.name_id[row],
                class: self.own.get(&row)?.0,
                operator: Some(row),
            })
        };
        sums.into_iter().filter_map(ran).collect()
    }

    fn parent(&self, row: usize) -> Option<usize> {
        self.ops.parent_id[row].get().and_then(|parent| usize::try_from(parent).ok())
    }
}
