//! What a trace tells beside the work: paths with user names, addresses, environments, keys. All of it
//! is taken out of the words of a trace as they come in, so that no table, finding or report can hold it.
//!
//! By allow-list where there can be one: of a path only what stands in an installed package, otherwise
//! the file's name; of `NAME=value` only numbers, switches and data types.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use rooflens_schema::{Notes, RankTables, Severity, Stage};

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
        remove: assignments,
    },
    Kind { one: "key", many: "keys", may_be: |signs| signs.longest_word >= 20, remove: keys },
    Kind {
        one: "account or link",
        many: "accounts and links",
        may_be: |signs| signs.points_elsewhere,
        remove: accounts_and_links,
    },
    Kind { one: "address", many: "addresses", may_be: |signs| signs.numbers_apart, remove: addresses },
    Kind { one: "path", many: "paths", may_be: |signs| signs.slashes, remove: folders },
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
    let is_node = has_nodes && !is_of_machine(text);
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

/// Signs of what may be private, found in one look: most texts have none.
#[derive(Debug, Default, PartialEq, Eq)]
struct Signs {
    /// `=` right behind a name, `--`, or a zero: values of the environment or of options.
    assigns: bool,
    /// The longest run of letters, digits, `_`, `-` and `.`.
    longest_word: usize,
    /// `@` or `://`.
    points_elsewhere: bool,
    /// Three dots or colons in one run of hexadecimal digits.
    numbers_apart: bool,
    /// `/` or `\`.
    slashes: bool,
}

impl Signs {
    fn of(text: &str) -> Self {
        let mut signs = Signs::default();
        let (mut word, mut marks, mut before) = (0, 0, b' ');
        for &byte in text.as_bytes() {
            word = if byte.is_ascii_alphanumeric() || b"_-.".contains(&byte) { word + 1 } else { 0 };
            signs.longest_word = signs.longest_word.max(word);
            match byte {
                b'.' | b':' => marks += 1,
                _ if byte.is_ascii_hexdigit() => {}
                _ => marks = 0,
            }
            signs.numbers_apart |= marks >= 3;
            match byte {
                b'=' => signs.assigns |= before.is_ascii_alphanumeric() || before == b'_',
                b'-' => signs.assigns |= before == b'-',
                0 => signs.assigns = true,
                b'@' => signs.points_elsewhere = true,
                b'/' => {
                    signs.slashes = true;
                    signs.points_elsewhere |= before == b'/';
                }
                b'\\' => signs.slashes = true,
                _ => {}
            }
            before = byte;
        }
        signs
    }
}

/// The text without `user@host.domain`, `user@host:/path` and `scheme://…`.
fn accounts_and_links(text: &str) -> Option<String> {
    replace(text, |text, at| {
        if !begins(text, at, ".-") {
            return None;
        }
        let rest = &text[at..];
        let word = &rest[..run(rest, |letter| !letter.is_whitespace() && !"\"'<>()[]{},;".contains(letter))];
        if let Some((scheme, behind)) = word.split_once("://")
            && !scheme.is_empty()
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
            && !behind.is_empty()
        {
            return Some((word.len(), "<link>".to_owned()));
        }
        let (user, behind) = word.split_once('@')?;
        let named = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let host = &behind[..run(behind, named)];
        // `name@2` is a version and `range@domain` a range; a host has a domain, or a place behind it.
        let is_host = host.trim_end_matches('.').contains('.')
            || behind[host.len()..].starts_with(":/")
            || behind[host.len()..].starts_with(":~");
        let is_account = !user.is_empty()
            && user.chars().all(named)
            && host.starts_with(|letter: char| letter.is_ascii_alphabetic());
        (is_account && is_host).then(|| (user.len() + 1 + host.len(), "<account>".to_owned()))
    })
}

/// The text without network addresses. A machine's own (`127.0.0.1`, `0.0.0.0`, `::1`) tells nothing.
fn addresses(text: &str) -> Option<String> {
    replace(text, |text, at| {
        if !begins(text, at, ".:-") {
            return None;
        }
        let rest = &text[at..];
        let word = &rest[..run(rest, |letter| letter.is_alphanumeric() || "._:".contains(letter))];
        let digits = &word[..run(word, |letter| letter.is_ascii_digit() || letter == '.')];
        let whole = digits.len() == word.len() || word[digits.len()..].starts_with(':');
        if let Ok(address) = digits.trim_end_matches('.').parse::<Ipv4Addr>()
            && whole
        {
            let own = address.is_loopback() || address.is_unspecified();
            return (!own).then(|| (digits.trim_end_matches('.').len(), "<address>".to_owned()));
        }
        let address = word.parse::<Ipv6Addr>().ok()?;
        // `c10::detail` reads as hexadecimal, too; a real address has more parts than names have.
        let parts = word.split(':').filter(|part| !part.is_empty()).count();
        (parts >= 4 && !address.is_loopback()).then(|| (word.len(), "<address>".to_owned()))
    })
}

/// Behind these folders a path is that of an installed package.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];
/// In these, the next folder is a person's.
const HOMES: [&str; 2] = ["home", "Users"];

/// First folders of paths on machines; names of nodes seldom begin so.
const ROOTS: [&str; 12] =
    ["root", "mnt", "media", "tmp", "var", "usr", "opt", "srv", "etc", "private", "workspace", "scratch"];

/// Whether a text holds a path that begins as those of machines do, and not only as names of nodes do.
fn is_of_machine(text: &str) -> bool {
    let folders = || text.split(['/', '\\']);
    let first = |at: usize| text[at + 1..].split('/').next().is_some_and(|folder| ROOTS.contains(&folder));
    let is_root = |(at, _): (usize, &str)| begins(text, at, "/\\.~-)") && first(at);
    text.contains('\\')
        || text.contains("~/")
        || folders().any(|folder| HOMES.contains(&folder))
        || text.match_indices('/').any(is_root)
}

fn folders(text: &str) -> Option<String> {
    if !text.contains(['/', '\\']) {
        return None;
    }
    // `path(line): function`, as frames are written: here a path may hold spaces.
    if let Some(end) = text.find(".py(").map(|dot| dot + 3)
        && is_rooted(text)
    {
        let rest = folders(&text[end..]);
        return shortened(&text[..end]).map(|path| path + rest.as_deref().unwrap_or(&text[end..]));
    }
    replace(text, |text, at| {
        if !begins(text, at, "/\\.~-)") {
            return None;
        }
        let path = &text[at..at + run(&text[at..], is_of_path)];
        let has_home = || path.split(['/', '\\']).any(|folder| HOMES.contains(&folder));
        if !is_rooted(path) && !has_home() {
            return None;
        }
        // A full stop or colon at the end is the sentence's.
        let path = path.trim_end_matches(['.', ':']);
        Some((path.len(), shortened(path)?))
    })
}

fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || "/\\._-+~@%:#$".contains(letter)
}

/// Whether it is a path from a root: `/a/b`, `~/a`, `C:\a`.
fn is_rooted(path: &str) -> bool {
    let bytes = path.as_bytes();
    match bytes {
        [b'/', second, ..] => *second != b'/' && path[1..].contains('/'),
        [b'~', ..] => path.contains('/'),
        [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// What stays of a path; `None` where all of it does.
fn shortened(path: &str) -> Option<String> {
    let folders: Vec<&str> = path.split(['/', '\\']).collect();
    let behind = folders.iter().rposition(|folder| PACKAGES.contains(folder)).or_else(|| standard(&folders));
    let kept = match behind {
        Some(at) => folders[at + 1..].join("/"),
        // A person's folder itself has no name that may stay.
        None if folders
            .iter()
            .rposition(|folder| HOMES.contains(folder))
            .is_some_and(|at| at + 2 >= folders.len()) =>
        {
            "<home>".to_owned()
        }
        None => folders
            .last()
            .map(|&name| name.to_owned())
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "<folder>".to_owned()),
    };
    (kept != path).then_some(kept)
}

/// The folder of Python's own modules: `lib/python3.11`.
fn standard(folders: &[&str]) -> Option<usize> {
    let version = |folder: &str| {
        folder
            .strip_prefix("python")
            .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    (1..folders.len().saturating_sub(1))
        .rev()
        .find(|&i| folders[i - 1].starts_with("lib") && version(folders[i]))
}

/// How keys of the usual services begin, and how long they are at least.
const KEYS: [(&str, usize); 12] = [
    ("hf_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("sk-", 20),
    ("nvapi-", 20),
    ("xoxb-", 20),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("eyJ", 30),
];

/// A name with one of these in it holds a secret, however it is spelled.
const SECRET_NAMES: [&str; 7] = ["token", "password", "passwd", "secret", "api_key", "apikey", "credential"];

/// Values that tell nothing about anybody.
const PLAIN: [&str; 16] = [
    "true", "false", "on", "off", "yes", "no", "none", "null", "fp32", "fp16", "bf16", "fp8", "int8", "int4",
    "float", "half",
];

/// The text without the values of `NAME=value` and `--password value`.
fn assignments(text: &str) -> Option<String> {
    // Environments stand in reports as one text, their entries ended by zeros.
    if text.contains('\0') {
        return Some("<environment>".to_owned());
    }
    replace(text, |text, at| {
        if !begins(text, at, "") {
            return None;
        }
        let rest = &text[at..];
        let name = &rest[..run(rest, |letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))];
        let value_at = name.len() + 1;
        let is_option = text[..at].ends_with("--") || name.starts_with("--");
        let sign = rest[name.len()..].chars().next()?;
        if !(sign == '=' || (sign == ' ' && is_option && is_secret(name))) {
            return None;
        }
        if !is_secret(name) && !is_environment(name) {
            return None;
        }
        let value = &rest[value_at..];
        let value = &value[..run(value, |letter| !letter.is_whitespace() && !"\"',;)]}>".contains(letter))];
        let plain = value.is_empty() || value == "<removed>" || (!is_secret(name) && tells_nothing(value));
        (!plain).then(|| (value_at + value.len(), format!("{name}{sign}<removed>")))
    })
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_NAMES.iter().any(|secret| name.contains(secret))
}

/// Whether it is written as variables of the environment are.
fn is_environment(name: &str) -> bool {
    name.len() >= 3
        && name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn tells_nothing(value: &str) -> bool {
    value.parse::<f64>().is_ok() || PLAIN.contains(&value.to_ascii_lowercase().as_str())
}

/// The text without keys that can be told by how they begin.
fn keys(text: &str) -> Option<String> {
    if !KEYS.iter().any(|(beginning, _)| text.contains(beginning)) {
        return None;
    }
    replace(text, |text, at| {
        if !begins(text, at, "-") {
            return None;
        }
        let rest = &text[at..];
        let (beginning, least) = KEYS.iter().find(|(beginning, _)| rest.starts_with(beginning))?;
        let word = &rest[..run(rest, |letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))];
        // A name of words is no key: keys have digits and capitals, or many digits.
        let random = word[beginning.len()..].bytes().filter(u8::is_ascii_digit).count() >= 2;
        (word.len() >= *least && random).then(|| (word.len(), "<key>".to_owned()))
    })
}
