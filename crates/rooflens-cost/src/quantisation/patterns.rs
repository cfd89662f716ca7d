//! Patterns of module paths, by which checkpoints say what is quantised, and what is not.

use std::collections::HashMap;

use regex_lite::{Regex, RegexBuilder};

#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Every,
    /// A regular expression that matches from the start.
    Expression(Regex),
    /// What stands between stars, which are anything; it ends where a name ends.
    Stars(Vec<String>),
    /// The path itself, a part of it at its end, or all below it.
    Path(String),
}

pub(crate) const WANTED: &str = "paths of modules, or expressions without look-around";

impl Pattern {
    /// Reads a pattern; nothing where it is an expression that cannot be matched.
    pub fn read(text: &str) -> Option<Self> {
        if matches!(text, "Linear" | "*") {
            return Some(Pattern::Every);
        }
        if let Some(expression) = text.strip_prefix("re:") {
            // As large as its text, and no larger: repetitions by number could make it take any time.
            let limit = 4_096 + 64 * expression.len();
            let built = RegexBuilder::new(&format!("^(?:{expression})")).size_limit(limit).build();
            return built.ok().map(Pattern::Expression);
        }
        // Stars are shell patterns to ModelOpt and regular expressions to others, who mean the same.
        if text.contains('*') {
            return Some(Pattern::Stars(text.split('*').map(str::to_owned).collect()));
        }
        Some(Pattern::Path(text.to_owned()))
    }
}

/// Whether `path` begins as `parts` say, with anything between them, and a name ends there.
fn between_stars(parts: &[String], path: &str) -> bool {
    let [first, middle @ .., last] = parts else { return false };
    let Some(mut rest) = path.strip_prefix(first.as_str()) else { return false };
    for part in middle {
        // The first place will do: what comes after may stand anywhere behind it.
        let Some(at) = rest.find(part.as_str()) else { return false };
        rest = &rest[at + part.len()..];
    }
    if last.is_empty() {
        return true;
    }
    while let Some(at) = rest.find(last.as_str()) {
        let behind = &rest[at + last.len()..];
        if behind.is_empty() || behind.starts_with('.') {
            return true;
        }
        rest = &rest[at..];
        let mut characters = rest.chars();
        characters.next();
        rest = characters.as_str();
    }
    false
}

/// Numbered patterns, found by path without trying each: a checkpoint may name every matrix it has.
#[derive(Debug, Default)]
pub(crate) struct Patterns<'a> {
    every: Option<usize>,
    paths: HashMap<&'a str, usize>,
    tried: Vec<(&'a Pattern, usize)>,
}

impl<'a> Patterns<'a> {
    /// Adds a pattern; of equal ones the first counts.
    pub fn add(&mut self, pattern: &'a Pattern, number: usize) {
        match pattern {
            Pattern::Every => self.every = Some(self.every.map_or(number, |known| known.min(number))),
            Pattern::Path(path) => {
                self.paths.entry(path.as_str()).or_insert(number);
            }
            Pattern::Expression(_) | Pattern::Stars(_) => self.tried.push((pattern, number)),
        }
    }

    pub(crate) fn effort(&self) -> usize {
        let of = |pattern: &Pattern| match pattern {
            Pattern::Expression(regex) => regex.as_str().len(),
            // Plain text is found many times as quickly.
            Pattern::Stars(parts) => 1 + parts.iter().map(String::len).sum::<usize>() / 64,
            Pattern::Every | Pattern::Path(_) => 0,
        };
        self.tried.iter().map(|(pattern, _)| of(pattern)).sum()
    }

    pub(crate) fn first(&self, path: &str) -> Option<usize> {
        let mut first = self.every;
        let is_lower = |first: Option<usize>, number: usize| first.is_none_or(|known| number < known);
        // A path matches whole names only: every run of names is looked up.
        for begin in std::iter::once(0).chain(path.match_indices('.').map(|(at, _)| at + 1)) {
            let ends = path[begin..].match_indices('.').map(|(at, _)| begin + at);
            for end in ends.chain([path.len()]) {
                let found = self.paths.get(&path[begin..end]).filter(|number| is_lower(first, **number));
                first = found.copied().or(first);
            }
        }
        for (pattern, number) in &self.tried {
            let matches = |pattern: &Pattern| match pattern {
                Pattern::Expression(regex) => regex.is_match(path),
                Pattern::Stars(parts) => between_stars(parts, path),
                Pattern::Every | Pattern::Path(_) => false,
            };
            if is_lower(first, *number) && matches(pattern) {
                first = Some(*number);
            }
        }
        first
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let pattern = Pattern::read(pattern).unwrap();
        let mut patterns = Patterns::default();
        patterns.add(&pattern, 0);
        patterns.first(path).is_some()
    }

    #[test]
    fn names_match_whole() {
        let path = "model.layers.12.self_attn.q_proj";
        let matching = "Linear * q_proj self_attn model.layers.12 layers.12.self_attn *self_attn* model.layers.1* \
            model.layers.*.self_attn *.12.* *q_proj re:.*q_proj re:model re:.*layers\\.(1|12)\\..*";
        for pattern in matching.split(' ').chain([path]) {
            assert!(matches(pattern, path), "{pattern}");
        }
        let others = "proj q layers.1 model.layers.1 self_attn.q *.1.* *q_pro re:q_proj model.*.attn";
        for pattern in others.split(' ').chain([""]) {
            assert!(!matches(pattern, path), "{pattern}");
        }
    }

    #[test]
    fn the_last_part_may_stand_more_than_once() {
        assert!(matches("*aba", "ababa") && matches("x*é", "xéé.é") && !matches("*aba", "abab"));
    }

    #[test]
    fn expressions_that_cannot_be_matched_are_none() {
        for text in ["re:(", "re:(?!x)y", "re:(a{1,900}){900}"] {
            assert!(Pattern::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_first_counts() {
        let texts = ["re:.*b", "a.b", "Linear", "a.b"];
        let read: Vec<Pattern> = texts.iter().map(|text| Pattern::read(text).unwrap()).collect();
        let mut patterns = Patterns::default();
        for (number, pattern) in read.iter().enumerate() {
            patterns.add(pattern, number);
        }
        assert_eq!(
            [patterns.first("a.b"), patterns.first("b"), patterns.first("c")],
            [Some(0), Some(0), Some(2)]
        );
    }
}
