//! Which crate may use which: the layers.

use anyhow::{Context, Result};

use crate::workspace;

/// The crates of this workspace that a crate may depend on, for building and for its tests.
enum Uses {
    /// Their names without `rooflens-`, with blanks between them.
    These(&'static str),
    AllAbove,
}
use Uses::{AllAbove, These};

/// Each crate and what it may use.
const LAYERS: &[(&str, Uses)] = &[
    ("rooflens-schema", These("")),
    ("rooflens-compose", These("")),
    ("rooflens-cost", These("")),
    ("rooflens-collect", These("schema compose")),
    ("rooflens-ingest", These("schema")),
    ("rooflens-analyze", These("schema")),
    ("rooflens-load", These("schema")),
    ("rooflens-store", These("schema")),
    ("rooflens-queries", These("")),
    ("rooflens-report", These("schema analyze cost")),
    ("rooflens-core", AllAbove),
    ("rooflens-serve", These("schema analyze queries report core")),
    ("rooflens-python", These("schema analyze report core")),
    ("rooflens", AllAbove),
    // Shares no code with what it measures.
    ("rooflens-mock", These("")),
    // Reads the registries that it documents.
    ("xtask", These("schema analyze cost report core store queries")),
];

/// What a crate may use; nothing where it has no layer.
fn allowed(name: &str) -> Option<Vec<String>> {
    let at = LAYERS.iter().position(|(layer, _)| *layer == name)?;
    Some(match &LAYERS[at].1 {
        These(names) => names.split_whitespace().map(|name| format!("rooflens-{name}")).collect(),
        AllAbove => LAYERS[..at].iter().map(|(layer, _)| (*layer).to_owned()).collect(),
    })
}

pub(crate) fn broken() -> Result<Vec<String>> {
    let metadata = workspace::metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let mut broken = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(allowed) = allowed(name) else {
            broken.push(format!("{name} has no layer: add it to LAYERS in xtask/src/check/layers.rs"));
            continue;
        };
        // What is in the workspace has a path instead of a registry.
        let used =
            package["dependencies"].as_array().into_iter().flatten().filter(|used| used["path"].is_string());
        for used in used
            .filter_map(|used| used["name"].as_str())
            .filter(|used| !allowed.iter().any(|name| name == used))
        {
            broken.push(format!("{name} uses {used}; it may use only: {}", allowed.join(", ")));
        }
    }
    Ok(broken)
}
