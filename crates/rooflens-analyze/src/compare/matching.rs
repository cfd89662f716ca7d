//! Which work of B is which work of A? By name; else by the name without what a new version of a library
//! changes; else by its place: what stands between the same neighbours on both sides was replaced.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::timeline::Step;
use crate::profiled::name_key;

/// Most pairs of places that are compared to line two steps up.
const PAIRS: usize = 9_000_000;

/// To which line each piece of work belongs. Lines have the same number on both sides.
pub(super) struct Matching {
    a: Side,
    b: Side,
    /// How many lines there are.
    pub lines: usize,
}

/// One side: lines by place for steps like most, by name for others.
struct Side {
    usual: Vec<String>,
    by_place: Vec<usize>,
    by_name: HashMap<String, usize>,
    tokens: HashMap<String, String>,
}

impl Matching {
    pub fn of(a: &[Step], b: &[Step]) -> Self {
        let (names_a, names_b) = (names(a), names(b));
        let (tokens_a, tokens_b) = (tokens(&names_a, &names_b), tokens(&names_b, &names_a));
        let (usual_a, usual_b) = (usual(a, &tokens_a), usual(b, &tokens_b));
        let known_a: BTreeSet<&str> = tokens_a.values().map(String::as_str).collect();
        let known_b: BTreeSet<&str> = tokens_b.values().map(String::as_str).collect();
        // A line for each token, then those of replaced groups.
        let all: BTreeSet<&str> = known_a.union(&known_b).copied().collect();
        let mut line: HashMap<String, usize> =
            all.iter().enumerate().map(|(line, token)| ((*token).to_owned(), line)).collect();
        let (mut place_a, mut place_b) = (places(&usual_a, &line), places(&usual_b, &line));
        let mut lines = line.len();
        let mut groups: Vec<(BTreeSet<String>, usize)> = Vec::new();
        for (in_a, in_b) in holes(&usual_a, &usual_b) {
            let gone: BTreeSet<String> = usual_a[in_a.clone()]
                .iter()
                .filter(|token| !known_b.contains(token.as_str()))
                .cloned()
                .collect();
            let new = usual_b[in_b.clone()].iter().filter(|token| !known_a.contains(token.as_str())).cloned();
            let foreign: BTreeSet<String> = gone.into_iter().chain(new).collect();
            if foreign.is_empty() || in_a.is_empty() || in_b.is_empty() {
                continue;
            }
            // The same replacement in each layer is one line.
            let known = groups.iter_mut().find(|(tokens, _)| !tokens.is_disjoint(&foreign));
            let group = match known {
                Some((tokens, group)) => {
                    tokens.extend(foreign.iter().cloned());
                    *group
                }
                None => {
                    groups.push((foreign.clone(), lines));
                    lines += 1;
                    lines - 1
                }
            };
            foreign.iter().for_each(|token| _ = line.insert(token.clone(), group));
            place_a[in_a].fill(group);
            place_b[in_b].fill(group);
        }
        // What is foreign and was met in a group belongs to it wherever it is.
        for (usual, places) in [(&usual_a, &mut place_a), (&usual_b, &mut place_b)] {
            for (token, place) in usual.iter().zip(places) {
                let by_name = line[token];
                if by_name >= all.len() {
                    *place = by_name;
                }
            }
        }
        let side = |usual, by_place, tokens| Side { usual, by_place, by_name: line.clone(), tokens };
        Matching { a: side(usual_a, place_a, tokens_a), b: side(usual_b, place_b, tokens_b), lines }
    }

    /// The line of each piece of work of a step of A, and whether the step is like most.
    pub fn of_a(&self, step: &Step) -> (Vec<usize>, bool) {
        self.a.lines(step)
    }

    /// The same for B.
    pub fn of_b(&self, step: &Step) -> (Vec<usize>, bool) {
        self.b.lines(step)
    }
}

impl Side {
    fn lines(&self, step: &Step) -> (Vec<usize>, bool) {
        let tokens: Vec<&String> =
            step.items.iter().filter_map(|item| self.tokens.get(&*item.name)).collect();
        if tokens.iter().copied().eq(self.usual.iter()) {
            return (self.by_place.clone(), true);
        }
        (tokens.into_iter().map(|token| self.by_name[token]).collect(), false)
    }
}

fn names(steps: &[Step]) -> BTreeSet<String> {
    steps.iter().flat_map(|step| &step.items).map(|item| item.name.to_string()).collect()
}

/// What each name is compared as: itself where the other side has it, else its general form where the other
/// side has that of a name that is not here, else itself.
fn tokens(own: &BTreeSet<String>, other: &BTreeSet<String>) -> HashMap<String, String> {
    let there: BTreeSet<String> = other.difference(own).map(|name| general(name)).collect();
    own.iter()
        .map(|name| {
            let general = general(name);
            let token =
                if !other.contains(name) && there.contains(&general) { general } else { name.clone() };
            (name.clone(), token)
        })
        .collect()
}

/// A name without template arguments, parameters and numbers: what stays when tiles, types or versions change.
pub(super) fn general(name: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    for char in name_key(name).chars() {
        match char {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            char if char.is_ascii_digit() => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            char => out.push(char),
        }
    }
    // A name of parameters alone has no general form.
    if out.chars().any(char::is_alphabetic) { out } else { name.to_owned() }
}

/// The sequence that most steps have.
fn usual(steps: &[Step], tokens: &HashMap<String, String>) -> Vec<String> {
    let mut counts: BTreeMap<Vec<&String>, usize> = BTreeMap::new();
    for step in steps {
        *counts.entry(step.items.iter().filter_map(|item| tokens.get(&*item.name)).collect()).or_default() +=
            1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(sequence, _)| sequence.into_iter().cloned().collect()).unwrap_or_default()
}

fn places(usual: &[String], line: &HashMap<String, usize>) -> Vec<usize> {
    usual.iter().map(|token| line[token]).collect()
}

type Hole = (std::ops::Range<usize>, std::ops::Range<usize>);

/// What lies between the places that both sequences have in common, by the longest common subsequence.
fn holes(a: &[String], b: &[String]) -> Vec<Hole> {
    let begin = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let end = a[begin..].iter().rev().zip(b[begin..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (in_a, in_b) = (&a[begin..a.len() - end], &b[begin..b.len() - end]);
    let (n, m) = (in_a.len(), in_b.len());
    if n.saturating_mul(m) > PAIRS {
        return Vec::new();
    }
    // longest[i][j]: of what follows i and j.
    let width = m + 1;
    let mut longest = vec![0_u32; (n + 1) * width];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            longest[i * width + j] = if in_a[i] == in_b[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut from) = (0, 0, (0, 0));
    let mut found = Vec::new();
    let mut close = |from: (usize, usize), to: (usize, usize)| {
        if from != to {
            found.push((begin + from.0..begin + to.0, begin + from.1..begin + to.1));
        }
    };
    while i < n && j < m {
        if in_a[i] == in_b[j] {
            close(from, (i, j));
            (i, j) = (i + 1, j + 1);
            from = (i, j);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    close(from, (n, m));
    found
}
