//! What a trace tells beside the work: paths with user names, addresses, environments, keys. All of it
//! is taken out of the words of a trace as they come in, so that no table, finding or report can hold it.
//!
//! By allow-list where there can be one: of a path only what stands in an installed package, otherwise
//! the file's name; of `NAME=value` only numbers, switches and data types.

mod network;
mod paths;
mod secrets;
mod signs;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;

use rooflens_schema::{Notes, RankTables, Severity, Stage};

use self::signs::Signs;

/// Whether what is private is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Privacy {
    /// It is taken out.
    #[default]
    Remove,
    /// It is kept: the tables are for the one who recorded them.
    Keep,
}

/// A kind of private thing: what a note calls it, and how it is taken out of a text.
struct Kind {
    one: &'static str,
    many: &'static str,
    /// Whether a text may have it: traces have hundreds of thousands of names, most of them plain.
    may_be: fn(&Signs) -> bool,
    /// The text without it; `None` where there is none.
    remove: fn(&str) -> Option<String>,
}

/// In this order: a key in an address is the address's, a path in an assignment the assignment's.
const KINDS: [Kind; 5] = [
    Kind {
        one: "environment value",
        many: "environment values",
        may_be: |signs| signs.assigns,
        remove: secrets::assignments,
    },
    Kind { one: "key", many: "keys", may_be: |signs| signs.longest_word >= 20, remove: secrets::keys },
    Kind {
        one: "account or link",
        many: "accounts and links",
        may_be: |signs| signs.points_elsewhere,
        remove: network::accounts_and_links,
    },
    Kind {
        one: "address",
        many: "addresses",
        may_be: |signs| signs.numbers_apart,
        remove: network::addresses,
    },
    Kind { one: "path", many: "paths", may_be: |signs| signs.slashes, remove: paths::folders },
];

/// Takes what is private out of every word of the tables, and notes how much that was.
pub fn remove(tables: &mut RankTables, notes: &Notes) {
    let removed: RefCell<BTreeMap<usize, i64>> = RefCell::default();
    let count = |kind| *removed.borrow_mut().entry(kind).or_default() += 1;
    // Nodes of ONNX are named like paths: `/model/layers.0/attn/MatMul`.
    let has_nodes = tables.meta.format == "tensorrt";
    tables.reword(&|text| public(text, &count, has_nodes));
    let removed = removed.into_inner();
    let parts: Vec<String> = removed.iter().map(|(&kind, &count)| words(&KINDS[kind], count)).collect();
    let message = format!("removed: {}; --keep-private keeps them", parts.join(", "));
    let count = removed.values().sum();
    notes.add_many(Stage::Ingest, Severity::Info, "private", &tables.meta.source, count, message);
}

fn words(kind: &Kind, count: i64) -> String {
    format!("{count} {}", if count == 1 { kind.one } else { kind.many })
}

/// The text without what is private; `None` where nothing is. Tells the kinds that were found. In an engine
/// that `has_nodes`, a path is one only where it begins as paths of machines do.
fn public(text: &str, found: &dyn Fn(usize), has_nodes: bool) -> Option<String> {
    let mut cleaned = None;
    let signs = Signs::of(text);
    let is_node = has_nodes && !paths::is_of_machine(text);
    let may_be = |kind: &Kind| (kind.may_be)(&signs) && !(is_node && kind.one == "path");
    for (number, kind) in KINDS.iter().enumerate().filter(|(_, kind)| may_be(kind)) {
        if let Some(without) = (kind.remove)(cleaned.as_deref().unwrap_or(text)) {
            found(number);
            cleaned = Some(without);
        }
    }
    cleaned
}

/// Rebuilds a text from pieces: `each` answers, for the rest of the text, how many bytes to replace and
/// by what. `None` where nothing was replaced.
fn replace(text: &str, each: impl Fn(&str, usize) -> Option<(usize, String)>) -> Option<String> {
    let mut built: Option<String> = None;
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        match each(text, at) {
            Some((length, by)) if length > 0 => {
                built.get_or_insert_with(|| text[..at].to_owned()).push_str(&by);
                at += length;
            }
            _ => {
                if let Some(built) = &mut built {
                    built.push(letter);
                }
                at += letter.len_utf8();
            }
        }
    }
    built
}

/// Whether a word may begin at this place: nothing, or something that is no part of a word, stands before.
fn begins(text: &str, at: usize, also_part_of_words: &str) -> bool {
    let part =
        |letter: char| letter.is_alphanumeric() || letter == '_' || also_part_of_words.contains(letter);
    !text[..at].chars().next_back().is_some_and(part)
}

/// How many bytes from here on belong to the same word.
fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !belongs(letter)).unwrap_or(text.len())
}
