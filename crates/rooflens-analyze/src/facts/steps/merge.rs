//! From the leaves to the roots: which range is the step, which another name of it, which only holds steps.

use std::collections::HashSet;

use rooflens_schema::tables::{PhaseKind, PhaseSource, Phases};
use rooflens_schema::{Names, Opt};

use super::Contradictions;
use super::forest::{Forest, span, without_numbers};

/// How well a name knows what a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Authority {
    /// A word: `decode`.
    Word,
    /// A number: `ProfilerStep#3`, `decode_step_3`.
    Numbered,
    /// An engine's own annotation of a forward pass.
    Engine,
}

/// Steps while they are found.
pub(super) struct Steps<'a> {
    phases: &'a mut Phases,
    names: &'a Names,
    /// For each row, the row that it is a further name of: itself for a step, none for what holds steps.
    same_as: Vec<Option<usize>>,
    disagreeing: HashSet<usize>,
    first_disagreement: String,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(phases: &'a mut Phases, names: &'a Names) -> Self {
        let same_as = vec![None; phases.len()];
        Steps { phases, names, same_as, disagreeing: HashSet::new(), first_disagreement: String::new() }
    }

    /// Finds the steps of a forest.
    pub(crate) fn resolve(&mut self, forest: &Forest) {
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
    pub fn finish(self) -> Contradictions {
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

    /// The steps of a range that holds the steps `inner`.
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

    /// Whether a range is one forward pass by what its name means.
    fn is_one_pass(&self, row: usize) -> bool {
        self.authority(row) == Authority::Engine && is_pass(self.phases.kind[row])
    }

    fn know_less(&self, row: usize, inner: &[usize]) -> bool {
        inner.iter().all(|step| self.authority(*step) < self.authority(row))
    }

    fn are_of_engines(&self, a: usize, b: usize) -> bool {
        [a, b].iter().all(|row| self.authority(*row) == Authority::Engine)
    }

    /// Whether nine tenths of the longer are in both.
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

/// A forward pass of a language model.
fn is_pass(kind: PhaseKind) -> bool {
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
