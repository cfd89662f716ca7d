//! User-visible text is written in the words of PyTorch, vLLM, Nsight and the papers: phrases that translate
//! them away are refused, each with what to write instead.
//!
//! Checked are the README, `docs/` (whose reference pages are generated from help texts and doc comments; not
//! the decisions, which are history), the files that `rooflens init` writes, and string literals of `crates/*/src`.

use std::path::Path;

use anyhow::Result;

use super::source;
use crate::workspace;

/// What not to write, and what to write instead; in lower case, found as whole words whatever the case and the
/// line breaks. Only phrases that are always wrong in this repository.
const PHRASES: &[(&str, &str)] = &[
    ("least time", "lower bound"),
    ("least times", "lower bounds"),
    ("matrix product", "matmul or GEMM"),
    ("matrix products", "matmuls or GEMMs"),
    ("dealt out", "sharded, or the name of the parallelism"),
    ("dealing out", "sharding, or the name of the parallelism"),
    ("make tokens", "decode, or generate tokens"),
    ("making tokens", "decode, or generating tokens"),
    ("tokens made", "generated tokens"),
    ("read prompts", "prefill"),
    ("reading prompts", "prefill"),
    ("so many", "this many"),
    ("must cost", "cost, or lower bound"),
    ("useful operations", "model FLOPs"),
    ("useful flops", "model FLOPs"),
    ("copied keys and values", "expanded KV heads"),
    ("cached keys and values", "KV cache"),
    ("heads of keys and values", "KV heads"),
    ("keys and values in the cache", "KV cache"),
    ("tokens a second", "tokens/s"),
    ("a token a step", "one token per step"),
    ("one a rank", "one per rank"),
    ("one a file", "one per file"),
    ("one a core", "one per core"),
    ("a row a", "one row per"),
    ("one row a", "one row per"),
    ("bytes an event", "bytes per event"),
    ("registers a thread", "registers per thread"),
    ("shared memory a block", "shared memory per block"),
    ("where it is not said", "by default"),
    ("does not tell", "does not record, or does not say"),
    ("do not tell", "do not show, or do not say"),
    ("not told", "not reported"),
    ("is told by", "is reported by"),
    ("cannot be told", "cannot be determined"),
    ("rests on", "is based on, or assumptions"),
    ("held against", "compared with"),
    ("held to", "checked against"),
    ("in sight", "attended"),
    ("of whom", "which of them"),
    ("passed over", "skipped"),
    ("passed unseen", "passed, but a change this small could not have been detected"),
    ("breaks off", "ends early"),
    ("what follows is missing", "the rest is missing"),
    ("for want of", "for lack of, or out of"),
    ("room on the disk", "disk space"),
    ("in order of first sight", "in order of first appearance"),
    ("list of texts", "list of strings"),
    ("a text or", "a string or"),
    ("must be a text", "must be a string"),
    ("is no text", "is not a string"),
    ("is no number", "is not a number"),
    ("is no event", "is not an event"),
    ("likeliest", "most likely"),
    ("made on the spot", "generated"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("is mended", "is fixed"),
    ("the slower side", "the bottleneck"),
    ("behind each other", "one after another"),
    ("there already", "already"),
    ("what is called otherwise", "what has another name"),
];

/// Where such a phrase is part of the matter, with its reason.
const ALLOWED: &[(&str, &str)] = &[
    ("docs/decisions/", "what was decided in its time"),
    ("docs/parity.md", "quotes the features of another project in its own words"),
];

pub(crate) fn broken() -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for file in workspace::files()? {
        let Some(kind) = kind(&file) else { continue };
        let Ok(text) = std::fs::read_to_string(workspace::root().join(&file)) else { continue };
        let found = match kind {
            Kind::Prose => in_text(1, &text),
            Kind::Code => source::literals(&text).flat_map(|(line, text)| in_text(line, &text)).collect(),
        };
        broken.extend(found.into_iter().map(|(line, phrase, better)| {
            format!("{}:{line}: \"{phrase}\": write \"{better}\"", file.display())
        }));
    }
    Ok(broken)
}

enum Kind {
    Prose,
    Code,
}

fn kind(file: &Path) -> Option<Kind> {
    let name = file.to_str()?;
    if ALLOWED.iter().any(|(folder, _)| name.starts_with(folder)) {
        return None;
    }
    if name == "README.md"
        || name.starts_with("docs/") && name.ends_with(".md")
        || name.contains("/skeleton/")
    {
        // Among the files that a project is made of are Rust files of the library, too.
        return if name.ends_with(".rs") { Some(Kind::Code) } else { Some(Kind::Prose) };
    }
    let is_source = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
    let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
    (is_source && !is_test).then_some(Kind::Code)
}

/// The phrases in a text that begins at a line: line, phrase, what to write instead.
fn in_text(first: usize, text: &str) -> Vec<(usize, &'static str, &'static str)> {
    // White space of any kind and length is one space; each byte knows the line it comes from.
    let mut flat = String::from(" ");
    let mut lines = vec![first];
    let mut line = first;
    for letter in text.chars() {
        if letter == '\n' {
            line += 1;
        }
        if letter.is_whitespace() {
            if !flat.ends_with(' ') {
                flat.push(' ');
                lines.push(line);
            }
            continue;
        }
        for small in letter.to_lowercase() {
            flat.push(small);
            lines.resize(flat.len(), line);
        }
    }
    let is_word =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let mut found = Vec::new();
    for (phrase, better) in PHRASES {
        for (at, _) in flat.match_indices(phrase) {
            let before = flat[..at].chars().next_back();
            let after = flat[at + phrase.len()..].chars().next();
            if !is_word(before) && !is_word(after) {
                found.push((lines[at], *phrase, *better));
            }
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_named_with_its_line_and_what_to_write_instead() {
        let text = "The first line.\nLayers are dealt\nout over stages; the Least Time is shown.\n";
        assert_eq!(
            in_text(7, text),
            [(8, "dealt out", "sharded, or the name of the parallelism"), (9, "least time", "lower bound"),]
        );
    }

    #[test]
    fn only_whole_words_count() {
        assert_eq!(in_text(1, "recommended; at least timed; least_time; holds so manyfold"), []);
    }

    #[test]
    fn literals_of_code_are_text_and_comments_are_not() {
        let source = "// a matrix product\nlet a = 'x';\nlet b = \"one matrix \\\n         product\";\n";
        let found: Vec<_> = source::literals(source).flat_map(|(line, text)| in_text(line, &text)).collect();
        assert_eq!(found, [(3, "matrix product", "matmul or GEMM")]);
    }

    #[test]
    fn phrases_are_in_lower_case_and_unique() {
        let mut phrases: Vec<&str> = PHRASES.iter().map(|(phrase, _)| *phrase).collect();
        assert!(phrases.iter().all(|phrase| phrase.to_lowercase() == *phrase));
        let count = phrases.len();
        phrases.sort_unstable();
        phrases.dedup();
        assert_eq!(phrases.len(), count);
    }

    #[test]
    fn what_users_see_is_checked_and_history_is_not() {
        let is_checked = |name: &str| kind(Path::new(name)).is_some();
        assert!(
            is_checked("README.md") && is_checked("docs/running.md") && is_checked("docs/reference/cli.md")
        );
        assert!(is_checked("crates/rooflens-core/src/error/mod.rs"));
        assert!(
            !is_checked("docs/decisions/0001-hand-written-event-scanner.md") && !is_checked("CHANGELOG.md")
        );
        assert!(!is_checked("crates/rooflens/tests/cli/cost.rs"));
    }
}
