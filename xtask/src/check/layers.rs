//! Which crate may use which: the layers.

use anyhow::{Context, Result};

use crate::workspace;

/// The crates of this workspace that a crate may depend on, for building and for its tests.
enum Uses {
    These(&'static [&'static str]),
    /// Every crate that stands above it in the list.
    AllAbove,
}
use Uses::{AllAbove, These};

/// Each crate and what it may use.
const LAYERS: &[(&str, Uses)] = &[
    ("rooflens-schema", These(&[])),
    ("rooflens-compose", These(&[])),
    ("rooflens-cost", These(&[])),
    ("rooflens-collect", These(&["rooflens-schema", "rooflens-compose"])),
    ("rooflens-ingest", These(&["rooflens-schema"])),
    ("rooflens-analyze", These(&["rooflens-schema"])),
    ("rooflens-load", These(&["rooflens-schema"])),
    ("rooflens-store", These(&["rooflens-schema"])),
    ("rooflens-queries", These(&[])),
    ("rooflens-report", These(&["rooflens-schema", "rooflens-analyze", "rooflens-cost"])),
    ("rooflens-core", AllAbove),
    (
        "rooflens-serve",
        These(&[
            "rooflens-schema",
            "rooflens-analyze",
            "rooflens-queries",
            "rooflens-report",
            "rooflens-core",
        ]),
    ),
    ("rooflens-python", These(&["rooflens-schema", "rooflens-analyze", "rooflens-report", "rooflens-core"])),
    ("rooflens", AllAbove),
    // Shares no code with what it measures.
    ("rooflens-mock", These(&[])),
    // Reads the registries that it documents.
    (
        "xtask",
        These(&[
            "rooflens-schema",
            "rooflens-analyze",
            "rooflens-cost",
            "rooflens-report",
            "rooflens-core",
            "rooflens-store",
            "rooflens-queries",
        ]),
    ),
];

/// What a crate may use; nothing where it has no layer.
fn allowed(name: &str) -> Option<Vec<&'static str>> {
    let at = LAYERS.iter().position(|(layer, _)| *layer == name)?;
    Some(match &LAYERS[at].1 {
        These(names) => names.to_vec(),
        AllAbove => LAYERS[..at].iter().map(|(layer, _)| *layer).collect(),
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
        for used in used.filter_map(|used| used["name"].as_str()).filter(|used| !allowed.contains(used)) {
            broken.push(format!("{name} uses {used}; it may use only: {}", allowed.join(", ")));
        }
    }
    Ok(broken)
}
