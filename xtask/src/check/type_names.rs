//! One name, one thing: no two public types of the crates share a name.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use crate::workspace;

/// Names that several types may have, each with its reason.
const SHARED: &[(&str, &str)] = &[
    (
        "Args",
        "the arguments of one command of the command line, always written with their module: `run::Args`",
    ),
    ("MetricsServer", "a build without the feature `serve` has an empty type in its place"),
    ("ModelTokenizer", "a build without the feature `tokenizers` has an empty type in its place"),
];

const KINDS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// Where public types are defined, by name: the file and its line.
type Definitions = BTreeMap<String, Vec<String>>;

pub fn broken() -> Result<Vec<String>> {
    let mut definitions = Definitions::new();
    for file in workspace::files()?.iter().filter(|file| is_library_code(file)) {
        add(&mut definitions, &file.to_string_lossy(), &workspace::read(file)?);
    }
    let is_shared = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let several = definitions.iter().filter(|(_, places)| places.len() > 1);
    let mut broken: Vec<String> = several
        .clone()
        .filter(|(name, _)| !is_shared(name))
        .map(|(name, places)| format!("{name} is the name of {} types: {}", places.len(), places.join(", ")))
        .collect();
    let unused = SHARED.iter().filter(|(shared, _)| !several.clone().any(|(name, _)| name == shared));
    broken
        .extend(unused.map(|(name, _)| {
            format!("xtask/src/check/type_names.rs lists {name}, which no two types share")
        }));
    Ok(broken)
}

fn is_library_code(file: &Path) -> bool {
    let parts: Vec<_> = file.iter().collect();
    matches!(parts[..], [crates, _, src, ..] if crates == "crates" && src == "src")
        && file.extension().is_some_and(|kind| kind == "rs")
}

/// Adds the public types of a file. What only its crate or module sees may have any name.
fn add(definitions: &mut Definitions, file: &str, text: &str) {
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(name) = public_type(line) {
            definitions.entry(name.to_owned()).or_default().push(format!("{file}:{number}"));
        }
    }
}

/// The type that a line defines. A `type` in a trait or an implementation has no `pub`.
fn public_type(line: &str) -> Option<&str> {
    let (kind, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
    let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
    (KINDS.contains(&kind) && end > 0).then(|| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found() {
        assert_eq!(public_type("pub struct Step {"), Some("Step"));
        assert_eq!(public_type("    pub enum Launch<'a> {"), Some("Launch"));
        assert_eq!(public_type("pub type Row = Vec<String>;"), Some("Row"));
        assert_eq!(public_type("pub struct Ncu;"), Some("Ncu"));
        assert_eq!(public_type("pub(crate) struct Step {"), None);
        assert_eq!(public_type("struct Step {"), None);
        assert_eq!(public_type("/// pub struct Step"), None);
        assert_eq!(public_type("pub fn step() {"), None);
        assert_eq!(public_type("pub use step::Step;"), None);
    }

    #[test]
    fn two_of_one_name_are_found() {
        let mut definitions = Definitions::new();
        add(&mut definitions, "crates/a/src/lib.rs", "pub struct Plan;\n");
        add(&mut definitions, "crates/b/src/plan.rs", "//! Plans.\n\npub enum Plan {}\npub struct Other;\n");
        assert_eq!(definitions["Plan"], ["crates/a/src/lib.rs:1", "crates/b/src/plan.rs:3"]);
        assert_eq!(definitions["Other"].len(), 1);
    }

    #[test]
    fn tests_and_programs_beside_the_crates_do_not_count() {
        assert!(is_library_code(Path::new("crates/rooflens-cost/src/step.rs")));
        assert!(!is_library_code(Path::new("crates/rooflens-cost/tests/step.rs")));
        assert!(!is_library_code(Path::new("xtask/src/make_trace/scenario.rs")));
    }
}
