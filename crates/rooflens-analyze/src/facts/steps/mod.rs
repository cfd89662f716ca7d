//! One step, however many annotations name it.
//!
//! An engine, a framework, a profiler and a user may each put a range around the same forward pass, on the host
//! and again on the device. The ranges of a timeline make a forest by what lies in what (`forest.rs`); from the
//! leaves to the roots, each range is a step, a further name of the step inside it, or a range that only holds
//! steps. Decision 20 has the rules with an example of each.

mod forest;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use forest::{Forest, span, without_numbers};
use rooflens_schema::tables::{PhaseKind, PhaseSource, Phases};
use rooflens_schema::{NameId, Names, Opt, RankTables};

/// What two names of one step disagree on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contradictions {
    /// Steps with names that disagree.
    pub steps: usize,
    /// The first of them, in words.
    pub first: String,
}

/// Fills `phases.step_id`; adds to each step what its other names say of it.
pub(super) fn merge(tables: &mut RankTables) -> Contradictions {
    let named_on_host: HashSet<NameId> = rows(&tables.phases, |phases, row| !is_on_device(phases, row))
        .map(|row| tables.phases.name_id[row])
        .collect();
    let on_host = Forest::of_threads(
        tables,
        says_what_it_does(&tables.phases, |phases, row| !is_on_device(phases, row)),
    );
    let on_device = Forest::of_devices(
        tables,
        says_what_it_does(&tables.phases, |phases, row| {
            is_on_device(phases, row) && !named_on_host.contains(&phases.name_id[row])
        }),
    );
    let mut steps = Steps::new(&mut tables.phases, &tables.names);
    steps.resolve(&on_host);
    steps.resolve(&on_device);
    let contradictions = steps.finish();
    join_device_ranges(&mut tables.phases);
    contradictions
}

fn is_on_device(phases: &Phases, row: usize) -> bool {
    phases.device[row].is_some()
}

fn rows<'a>(
    phases: &'a Phases,
    wanted: impl Fn(&Phases, usize) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    (0..phases.len()).filter(move |&row| wanted(phases, row))
}

fn says_what_it_does(phases: &Phases, wanted: impl Fn(&Phases, usize) -> bool) -> Vec<usize> {
    rows(phases, |phases, row| phases.kind[row] != PhaseKind::Range && wanted(phases, row)).collect()
}

/// A range that the profiler drew again on the device is of the step that it has on the host: by order where there
/// are as many of the name on both, else the last that began before.
fn join_device_ranges(phases: &mut Phases) {
    let mut on_host: HashMap<NameId, Vec<usize>> = HashMap::new();
    let mut drawn_again: HashMap<(NameId, i32), Vec<usize>> = HashMap::new();
    for row in 0..phases.len() {
        let name = phases.name_id[row];
        match phases.device[row].get() {
            None => on_host.entry(name).or_default().push(row),
            Some(device) if phases.source[row] == PhaseSource::DeviceAnnotation => {
                drawn_again.entry((name, device)).or_default().push(row);
            }
            Some(_) => {}
        }
    }
    for ((name, _), rows) in drawn_again {
        let Some(hosts) = on_host.get(&name) else { continue };
        for (number, &row) in rows.iter().enumerate() {
            let before = || hosts.partition_point(|&host| phases.ts_ns[host] <= phases.ts_ns[row]);
            let host = if hosts.len() == rows.len() { number } else { before().saturating_sub(1) };
            phases.step_id[row] = hosts.get(host).map_or(Opt::NONE, |&host| phases.step_id[host]);
        }
    }
}

/// How well a name knows what a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Authority {
    Word,
    /// A number: `ProfilerStep#3`, `decode_step_3`.
    Numbered,
    Engine,
}

/// Steps while they are found.
struct Steps<'a> {
    phases: &'a mut Phases,
    names: &'a Names,
    /// For each row, the row that it is a further name of: itself for a step, none for what holds steps.
    same_as: Vec<Option<usize>>,
    disagreeing: HashSet<usize>,
    first_disagreement: String,
}

impl<'a> Steps<'a> {
    fn new(phases: &'a mut Phases, names: &'a Names) -> Self {
        let same_as = vec![None; phases.len()];
        Steps { phases, names, same_as, disagreeing: HashSet::new(), first_disagreement: String::new() }
    }

    fn resolve(&mut self, forest: &Forest) {
        let mut inside: Vec<Vec<usize>> = vec![Vec::new(); forest.rows.len()];
        // What lies in a range stands behind it: from the last to the first, what is inside is known.
        for place in (0..forest.rows.len()).rev() {
            let inner = std::mem::take(&mut inside[place]);
            let steps = self.decide(forest.rows[place], inner);
            if let Some(parent) = forest.parents[place] {
                inside[parent].extend(steps);
            }
        }
    }

    /// Writes down which step each row is of.
    pub(crate) fn finish(self) -> Contradictions {
        for row in 0..self.phases.len() {
            let mut step = self.same_as[row];
            while let Some(next) = step.and_then(|step| self.same_as[step]).filter(|next| Some(*next) != step)
            {
                step = Some(next);
            }
            self.phases.step_id[row] = step.map(|step| step as i32).into();
        }
        Contradictions { steps: self.disagreeing.len(), first: self.first_disagreement }
    }

    fn decide(&mut self, row: usize, inner: Vec<usize>) -> Vec<usize> {
        let kind = self.phases.kind[row];
        let (alike, others): (Vec<usize>, Vec<usize>) = inner.into_iter().partition(|&step| {
            kind == PhaseKind::Step || [kind, PhaseKind::Step].contains(&self.phases.kind[step])
        });
        match alike.as_slice() {
            [] => self.alone(row, others),
            // `ProfilerStep#3` around one decode step tells less than what it holds, and may hold more.
            [one] if kind == PhaseKind::Step && self.phases.kind[*one] != PhaseKind::Step => {
                if !self.phases.step[*one].is_some() {
                    self.phases.step[*one] = self.phases.step[row];
                }
                with(others, *one)
            }
            [one] => {
                self.join(row, *one);
                self.alone(row, others)
            }
            _ if self.are_parts(row, &alike) => {
                self.phases.kind[row] = self.phases.kind[alike[0]];
                alike.iter().for_each(|part| self.join(row, *part));
                self.alone(row, others)
            }
            _ if self.is_one_pass(row) && self.know_less(row, &alike) => {
                alike.iter().for_each(|part| self.join(row, *part));
                self.alone(row, others)
            }
            // What is inside repeats: the range is the loop around it.
            _ => {
                for &step in alike.iter().filter(|_| kind != PhaseKind::Step) {
                    self.phases.kind[step] = kind;
                }
                [alike, others].concat()
            }
        }
    }

    /// A range that is a step itself; `others` inside it do something else, or are said to.
    fn alone(&mut self, row: usize, others: Vec<usize>) -> Vec<usize> {
        self.same_as[row] = Some(row);
        let (mut names, mut apart) = (Vec::new(), Vec::new());
        let only = others.len() == 1;
        for step in others {
            let is_name = is_pass(self.phases.kind[row])
                && is_pass(self.phases.kind[step])
                && ((self.is_one_pass(row) && self.know_less(row, &[step]))
                    || (only && (self.are_of_engines(row, step) || self.are_as_long(row, step))));
            if is_name { names.push(step) } else { apart.push(step) }
        }
        names.iter().for_each(|name| self.join(row, *name));
        with(apart, row)
    }

    fn authority(&self, row: usize) -> Authority {
        match self.phases.source[row] {
            PhaseSource::Engine => Authority::Engine,
            _ if self.phases.step[row].is_some() => Authority::Numbered,
            _ => Authority::Word,
        }
    }

    fn is_one_pass(&self, row: usize) -> bool {
        self.authority(row) == Authority::Engine && is_pass(self.phases.kind[row])
    }

    fn know_less(&self, row: usize, inner: &[usize]) -> bool {
        inner.iter().all(|step| self.authority(*step) < self.authority(row))
    }

    fn are_of_engines(&self, a: usize, b: usize) -> bool {
        [a, b].iter().all(|row| self.authority(*row) == Authority::Engine)
    }

    fn are_as_long(&self, outer: usize, inner: usize) -> bool {
        let (a, b) = (span(self.phases, outer), span(self.phases, inner));
        let longer = a.1.saturating_sub(a.0).max(b.1.saturating_sub(b.0));
        let common = a.1.min(b.1).saturating_sub(a.0.max(b.0));
        common.saturating_mul(10) >= longer.saturating_mul(9)
    }

    /// Whether ranges inside a numbered step are its parts, as `decode attention` and `decode mlp`: words that do
    /// the same kind of work, none of them twice.
    fn are_parts(&self, row: usize, inner: &[usize]) -> bool {
        let kind = self.phases.kind[inner[0]];
        let mut seen = HashSet::new();
        self.authority(row) > Authority::Word
            && kind != PhaseKind::Step
            && inner.iter().all(|&step| {
                self.phases.kind[step] == kind
                    && self.authority(step) == Authority::Word
                    && seen.insert(without_numbers(self.names, self.phases.name_id[step]))
            })
    }

    /// Makes `name` a further name of the step `row`, which learns what that says.
    fn join(&mut self, row: usize, name: usize) {
        self.same_as[row] = Some(row);
        self.same_as[name] = Some(row);
        let knows_better = self.authority(name) > self.authority(row);
        let kinds = [self.phases.kind[row], self.phases.kind[name]];
        // A part of a mixed step may do one of the two.
        let is_whole = self.are_of_engines(row, name) || self.are_as_long(row, name);
        if is_whole && kinds[1] != PhaseKind::Step && kinds[0] != kinds[1] {
            self.disagree(row, name, "kind", kinds.map(PhaseKind::as_str));
            if knows_better || kinds[1] == PhaseKind::Mixed {
                self.phases.kind[row] = kinds[1];
            }
        }
        let Phases { step, batch, prefill_tokens, decode_tokens, kv_tokens, .. } = &mut *self.phases;
        // Counters of two programs differ: no contradiction.
        learn(step, row, name, false);
        let mut wrong = Vec::new();
        for (what, column) in [
            ("batch", batch),
            ("prefill tokens", prefill_tokens),
            ("decode tokens", decode_tokens),
            ("KV cache tokens", kv_tokens),
        ] {
            if let Some(values) = learn(column, row, name, knows_better) {
                wrong.push((what, values.map(|value| value.to_string())));
            }
        }
        for (what, [a, b]) in wrong {
            self.disagree(row, name, what, [&a, &b]);
        }
    }

    fn disagree(&mut self, row: usize, name: usize, what: &str, [a, b]: [&str; 2]) {
        self.disagreeing.insert(row);
        if self.first_disagreement.is_empty() {
            let text = |row: usize| self.names.get(self.phases.name_id[row]);
            self.first_disagreement = format!("{what}: {a} by `{}`, {b} by `{}`", text(row), text(name));
        }
    }
}

pub(crate) fn is_pass(kind: PhaseKind) -> bool {
    matches!(kind, PhaseKind::Prefill | PhaseKind::Decode | PhaseKind::Mixed)
}

fn with(mut steps: Vec<usize>, one: usize) -> Vec<usize> {
    steps.push(one);
    steps
}

/// Takes over what only `name` tells, or what it tells better. Two values that differ are handed back.
fn learn(column: &mut [Opt<i64>], row: usize, name: usize, knows_better: bool) -> Option<[i64; 2]> {
    let (own, other) = (column[row].get(), column[name].get());
    if own.is_none() || (other.is_some() && knows_better) {
        column[row] = other.into();
    }
    own.zip(other).filter(|(a, b)| a != b).map(|(a, b)| [a, b])
}
