//! Short names that tell rows apart.

use std::collections::{BTreeMap, BTreeSet};

/// Words that are added to a short name at most.
const MOST_WORDS: usize = 3;
/// A longer word is a name of its own.
const LONGEST_WORD: usize = 24;

/// Adds to short names that several rows share what differs in their full names, in brackets; a number where no
/// word does. `rows` are the full and the short name of each.
pub(crate) fn tell_apart<'a>(rows: impl Iterator<Item = (&'a str, &'a mut String)>) {
    let mut groups: BTreeMap<String, Vec<(&str, &mut String)>> = BTreeMap::new();
    for (full, short) in rows {
        groups.entry(short.clone()).or_default().push((full, short));
    }
    for (_, mut group) in groups.into_iter().filter(|(_, group)| group.len() > 1) {
        group.sort_by_key(|row| row.0);
        let words: Vec<Vec<&str>> = group.iter().map(|row| words(row.0)).collect();
        let common: BTreeSet<&str> =
            words[0].iter().copied().filter(|word| words.iter().all(|other| other.contains(word))).collect();
        let labels: Vec<String> = words
            .iter()
            .map(|words| {
                let own = words.iter().filter(|word| !common.contains(*word) && word.len() <= LONGEST_WORD);
                own.copied().take(MOST_WORDS).collect::<Vec<&str>>().join(" ")
            })
            .collect();
        for (number, (_, short)) in group.into_iter().enumerate() {
            let label = &labels[number];
            let is_alone = labels.iter().filter(|other| *other == label).count() == 1;
            *short = match label.as_str() {
                // The plain one of several: the others have something added.
                "" if is_alone => continue,
                _ if is_alone => format!("{short} [{label}]"),
                "" => format!("{short} [#{}]", number + 1),
                _ => format!("{short} [{label} #{}]", number + 1),
            };
        }
    }
}

fn words(name: &str) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let split = name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    split.filter(|word| seen.insert(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rows: &[(&str, &str)]) -> Vec<String> {
        let mut short: Vec<String> = rows.iter().map(|row| row.1.to_owned()).collect();
        tell_apart(rows.iter().map(|row| row.0).zip(&mut short));
        short
    }

    #[test]
    fn what_differs_is_added() {
        let found = told(&[
            ("void copy<float, 4>(int)", "copy"),
            ("void copy<c10::BFloat16, 4>(int)", "copy"),
            ("void gemm<float>(int)", "gemm"),
        ]);
        assert_eq!(found, ["copy [float]", "copy [c10 BFloat16]", "gemm"]);
        // One has nothing of its own; two differ in no word; the same name twice.
        assert_eq!(told(&[("f<a>", "f"), ("f<a, b>", "f")]), ["f", "f [b]"]);
        assert_eq!(told(&[("f(a, b)", "f"), ("f(b, a)", "f")]), ["f [#1]", "f [#2]"]);
        // A number is none of the words.
        let three = told(&[("f(a, 2)", "f"), ("f(a)", "f"), ("f( a )", "f")]);
        assert_eq!(three, ["f [2]", "f [#2]", "f [#1]"]);
        assert_eq!(told(&[("f", "f"), ("f", "f")]), ["f [#1]", "f [#2]"]);
    }
}
