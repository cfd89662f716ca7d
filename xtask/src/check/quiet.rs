//! Only the command line prints, exits, looks at a terminal or sets a signal handler: everything else can be called
//! by anybody.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value as Json;

use crate::workspace;

/// What only the command line may say.
const WORDS: &[&str] = &[
    concat!("print", "ln!("),
    concat!("print", "!("),
    concat!("db", "g!("),
    concat!("process::", "exit"),
    concat!("io::", "stdout()"),
    concat!("io::", "stderr()"),
    concat!(".is_", "terminal()"),
];

/// What only the command line may use, however far below.
const CRATES: &[&str] =
    &["clap", "indicatif", "console", "ctrlc", "terminal_size", "signal-hook", "crossterm"];

/// Where such a word is not what it seems, with its reason.
const ALLOWED: &[(&str, &str)] = &[(
    "crates/rooflens-collect/src/execute/transform.rs",
    "what a program of the project prints goes to the user",
)];

/// Crates that are programs of their own: nobody calls them.
const PROGRAMS: &[&str] = &["rooflens-mock"];

pub fn broken() -> Result<Vec<String>> {
    let mut broken = printing()?;
    broken.extend(using()?);
    Ok(broken)
}

fn printing() -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for file in workspace::files()? {
        let name = file.to_string_lossy().into_owned();
        let is_library =
            name.starts_with("crates/rooflens-") && name.contains("/src/") && name.ends_with(".rs");
        let is_library =
            is_library && !PROGRAMS.iter().any(|program| name.starts_with(&format!("crates/{program}/")));
        let is_test = name.contains("/tests/") || name.ends_with("/tests.rs");
        if !is_library || is_test || ALLOWED.iter().any(|(allowed, _)| *allowed == name) {
            continue;
        }
        let text = workspace::read(&file)?;
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in (1..).zip(code.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for word in WORDS.iter().filter(|word| code.contains(**word)) {
                broken.push(format!("{name}:{number}: {word} belongs in crates/rooflens"));
            }
        }
    }
    Ok(broken)
}

/// The way from a library to a crate that it may not use.
fn using() -> Result<Vec<String>> {
    let metadata = workspace::resolved()?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let names: BTreeMap<&str, &str> = packages
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")?;
    let uses: BTreeMap<&str, Vec<&str>> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, normal(node)))).collect();
    let mut broken = Vec::new();
    for (id, name) in names.iter().filter(|(_, name)| is_library(name)) {
        let mut seen = BTreeSet::from([*id]);
        let mut rest = vec![*id];
        while let Some(next) = rest.pop() {
            rest.extend(uses.get(next).into_iter().flatten().copied().filter(|other| seen.insert(other)));
        }
        let wrong = seen.iter().filter_map(|id| names.get(id)).filter(|used| CRATES.contains(used));
        broken.extend(wrong.map(|used| format!("{name} uses {used}: cargo tree -p {name} -i {used}")));
    }
    Ok(broken)
}

fn is_library(name: &str) -> bool {
    name.starts_with("rooflens-") && !PROGRAMS.contains(&name)
}

/// What a package uses besides its tests and its build script.
fn normal(node: &Json) -> Vec<&str> {
    let is_normal = |used: &&Json| {
        used["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let used = node["deps"].as_array().into_iter().flatten();
    used.filter(is_normal).filter_map(|used| used["pkg"].as_str()).collect()
}
