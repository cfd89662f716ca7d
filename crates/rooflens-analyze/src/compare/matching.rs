//! Which work of B is which work of A? By name; else by the name without what a new version of a library changes;
//! else by what encloses it: the same operator does the same work on both sides, and a module or layer that holds
//! several kernels on one side and one in their stead on the other shows a fusion. What nothing proves stays apart.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::timeline::{TimelineStep, WorkItem, is_kernel};
use crate::kernel_catalog::{ActivityHint, KernelClass, describe};

type Key = (Arc<str>, Arc<[Arc<str>]>);

/// To which line each piece of work belongs. Lines have the same number on both sides.
pub(super) struct Matching {
    /// Of A and of B.
    sides: [HashMap<Key, usize>; 2],
    /// Of each line: the operator, module or layer that shows that both sides are the same work; `None` where names do.
    pub(crate) proofs: Vec<Option<Arc<str>>>,
}

#[derive(Debug, Clone)]
struct Cell {
    key: Key,
    token: String,
    class: KernelClass,
    /// Calls per step.
    count: f64,
}

impl Matching {
    pub(crate) fn of(a: &[TimelineStep], b: &[TimelineStep]) -> Self {
        let (names_a, names_b) = (names(a), names(b));
        let cells_a = cells(a, &tokens(&names_a, &names_b));
        let cells_b = cells(b, &tokens(&names_b, &names_a));
        let mut matching = Matching { sides: Default::default(), proofs: Vec::new() };
        let (mut rest_a, mut rest_b) = (left_over(&cells_a, &cells_b), left_over(&cells_b, &cells_a));
        matching.by_enclosing(&mut rest_a, &mut rest_b);
        matching.by_class(&mut rest_a, &mut rest_b, &cells_a, &cells_b);
        // What is left belongs to its name.
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        for (cells, side) in [cells_a, cells_b].into_iter().zip(&mut matching.sides) {
            for cell in cells {
                side.entry(cell.key).or_insert_with(|| {
                    *lines.entry(cell.token).or_insert_with(|| {
                        matching.proofs.push(None);
                        matching.proofs.len() - 1
                    })
                });
            }
        }
        matching
    }

    /// The line of a piece of work of A (0) or B (1).
    pub(crate) fn line(&self, side: usize, item: &WorkItem) -> Option<usize> {
        self.sides[side].get(&(Arc::clone(&item.name), Arc::clone(&item.inside))).copied()
    }

    /// Puts cells of both sides on one line.
    fn join<'c>(
        &mut self,
        line: usize,
        a: impl IntoIterator<Item = &'c Cell>,
        b: impl IntoIterator<Item = &'c Cell>,
    ) {
        self.sides[0].extend(a.into_iter().map(|cell| (cell.key.clone(), line)));
        self.sides[1].extend(b.into_iter().map(|cell| (cell.key.clone(), line)));
    }

    /// Joins what stands in the same operator, module or layer, the tightest first.
    fn by_enclosing(&mut self, rest_a: &mut Vec<Cell>, rest_b: &mut Vec<Cell>) {
        let mut known: HashMap<(BTreeSet<String>, BTreeSet<String>), usize> = HashMap::new();
        for place in places(rest_a, rest_b) {
            for is_communication in [false, true] {
                let is_here = |cell: &Cell| {
                    cell.key.1.contains(&place)
                        && (cell.class == KernelClass::Communication) == is_communication
                };
                let (in_a, in_b): (Vec<&Cell>, Vec<&Cell>) = (
                    rest_a.iter().filter(|cell| is_here(cell)).collect(),
                    rest_b.iter().filter(|cell| is_here(cell)).collect(),
                );
                if in_a.is_empty() || in_b.is_empty() {
                    continue;
                }
                if !is_operator(&place) && !is_one_for_several(&in_a, &in_b) {
                    continue;
                }
                // The same replacement in several places is one line.
                let of = |cells: &[&Cell]| cells.iter().map(|cell| cell.token.clone()).collect();
                let line = *known.entry((of(&in_a), of(&in_b))).or_insert_with(|| {
                    self.proofs.push(Some(Arc::clone(&place)));
                    self.proofs.len() - 1
                });
                self.join(line, in_a, in_b);
                rest_a.retain(|cell| !is_here(cell));
                rest_b.retain(|cell| !is_here(cell));
            }
        }
    }

    /// Joins the only name of a class that A alone has with the only one that B alone has, called as often, where
    /// the trace does not tell what encloses them.
    fn by_class(
        &mut self,
        rest_a: &mut Vec<Cell>,
        rest_b: &mut Vec<Cell>,
        cells_a: &[Cell],
        cells_b: &[Cell],
    ) {
        let only = |rest: &[Cell], other: &[Cell], class: KernelClass| {
            let own: Vec<Cell> = rest
                .iter()
                .filter(|cell| cell.class == class && other.iter().all(|there| there.token != cell.token))
                .cloned()
                .collect();
            let tokens: BTreeSet<&String> = own.iter().map(|cell| &cell.token).collect();
            (tokens.len() == 1).then_some(own)
        };
        for &class in KernelClass::ALL.iter().filter(|class| **class != KernelClass::Other) {
            let (Some(in_a), Some(in_b)) = (only(rest_a, cells_b, class), only(rest_b, cells_a, class))
            else {
                continue;
            };
            let count = |cells: &[Cell]| cells.iter().map(|cell| cell.count).sum::<f64>();
            let is_bare = |cells: &[Cell]| cells.iter().all(|cell| cell.key.1.is_empty());
            if (count(&in_a) - count(&in_b)).abs() > 1e-6 || !(is_bare(&in_a) || is_bare(&in_b)) {
                continue;
            }
            let line = self.proofs.len();
            self.proofs.push(None);
            self.join(line, &in_a, &in_b);
            rest_a.retain(|cell| in_a.iter().all(|there| there.key != cell.key));
            rest_b.retain(|cell| in_b.iter().all(|there| there.key != cell.key));
        }
    }
}

fn names(steps: &[TimelineStep]) -> BTreeMap<String, KernelClass> {
    steps.iter().flat_map(|step| &step.items).map(|item| (item.name.to_string(), item.class)).collect()
}

fn cells(steps: &[TimelineStep], tokens: &HashMap<String, String>) -> Vec<Cell> {
    let mut found: BTreeMap<Key, Cell> = BTreeMap::new();
    let share = 1.0 / steps.len().max(1) as f64;
    for item in steps.iter().flat_map(|step| &step.items) {
        let key = (Arc::clone(&item.name), Arc::clone(&item.inside));
        let cell = found.entry(key.clone()).or_insert_with(|| Cell {
            key,
            token: tokens.get(&*item.name).cloned().unwrap_or_else(|| item.name.to_string()),
            class: item.class,
            count: 0.0,
        });
        cell.count += share;
    }
    found.into_values().collect()
}

/// Calls per step of each token.
fn calls<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> BTreeMap<&'c str, f64> {
    let mut calls = BTreeMap::new();
    cells.into_iter().for_each(|cell| *calls.entry(cell.token.as_str()).or_default() += cell.count);
    calls
}

/// What the other side has no match for: names that it does not have, and, of names that it calls less often, the
/// places that it does not have.
fn left_over(own: &[Cell], other: &[Cell]) -> Vec<Cell> {
    let (in_own, in_other) = (calls(own), calls(other));
    let there: BTreeSet<(&str, &[Arc<str>])> =
        other.iter().map(|cell| (cell.token.as_str(), &*cell.key.1)).collect();
    let is_left = |cell: &&Cell| match in_other.get(cell.token.as_str()) {
        None => true,
        Some(count) => {
            in_own.get(cell.token.as_str()).is_some_and(|own| *own > count + 1e-6)
                && !there.contains(&(cell.token.as_str(), &*cell.key.1))
        }
    };
    own.iter().filter(is_left).cloned().collect()
}

/// What encloses work of both sides, the tightest first.
fn places(a: &[Cell], b: &[Cell]) -> Vec<Arc<str>> {
    let depths = |cells: &[Cell]| {
        let mut depths: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (depth, place) in cells.iter().flat_map(|cell| cell.key.1.iter().enumerate()) {
            let least = depths.entry(Arc::clone(place)).or_insert(depth);
            *least = depth.min(*least);
        }
        depths
    };
    let (in_a, in_b) = (depths(a), depths(b));
    let mut both: Vec<(usize, Arc<str>)> =
        in_a.into_iter().filter_map(|(place, depth)| Some((depth.max(*in_b.get(&place)?), place))).collect();
    both.sort();
    both.into_iter().map(|(_, place)| place).collect()
}

/// Whether it is an operator, which does the same work whatever kernels it launches. A compiled region or a module
/// holds work of many kinds.
fn is_operator(place: &str) -> bool {
    place.contains("::") && !place.contains("Compiled")
}

/// Whether one side has one name where the other has several, each as often or a whole number of times as often.
/// Kernels decide where both sides have some: what else one clears or copies proves nothing.
fn is_one_for_several(a: &[&Cell], b: &[&Cell]) -> bool {
    let kernels = |cells: &[&Cell]| cells.iter().filter(|cell| is_kernel(cell.class)).count();
    if kernels(a) > 0 && kernels(b) > 0 && kernels(a) + kernels(b) < a.len() + b.len() {
        let only = |cells: &[&Cell]| -> Vec<Cell> {
            cells.iter().filter(|cell| is_kernel(cell.class)).map(|cell| (*cell).clone()).collect()
        };
        let (a, b) = (only(a), only(b));
        return is_one_for_several(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>());
    }
    let calls = |cells: &[&Cell]| calls(cells.iter().copied()).into_values().collect::<Vec<f64>>();
    let (in_a, in_b) = (calls(a), calls(b));
    let holds = |one: f64, several: &[f64]| {
        several.iter().all(|count| {
            let times = count / one;
            times >= 1.0 - 1e-6 && (times - times.round()).abs() < 1e-6
        })
    };
    match (in_a.as_slice(), in_b.as_slice()) {
        ([one], [other]) => (one - other).abs() < 1e-6 && a[0].class == b[0].class,
        ([one], several) | (several, [one]) => holds(*one, several),
        _ => false,
    }
}

/// What each name is compared as: itself where the other side has it, else its general form where the other side
/// has that of a name of the same class that is not here, else itself.
fn tokens(
    own: &BTreeMap<String, KernelClass>,
    other: &BTreeMap<String, KernelClass>,
) -> HashMap<String, String> {
    let there: BTreeSet<(String, KernelClass)> = other
        .iter()
        .filter(|(name, _)| !own.contains_key(*name))
        .map(|(name, class)| (general(name), *class))
        .collect();
    own.iter()
        .map(|(name, class)| {
            let general = general(name);
            let is_like = !other.contains_key(name) && there.contains(&(general.clone(), *class));
            (name.clone(), if is_like { general } else { name.clone() })
        })
        .collect()
}

/// A name without template arguments, parameters and numbers, as the catalog shortens it: what stays when tiles,
/// types or versions change.
fn general(name: &str) -> String {
    let short = without_digits(&describe(name, ActivityHint::Kernel).short_name);
    // A name of numbers alone has no general form.
    if short.chars().any(char::is_alphabetic) { short } else { name.to_owned() }
}

/// A `#` for each number.
pub(super) fn without_digits(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for char in name.chars() {
        if !char.is_ascii_digit() {
            out.push(char);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}
