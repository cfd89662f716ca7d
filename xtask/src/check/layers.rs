//! Which crate may use which: the layers.

use anyhow::{Context, Result};

use crate::workspace;

/// Each crate and the crates of this workspace it may depend on, for building and for its tests.
const LAYERS: &[(&str, &[&str])] = &[
    ("rooflens-schema", &[]),
    ("rooflens-compose", &[]),
    ("rooflens-cost", &[]),
    ("rooflens-collect", &["rooflens-schema", "rooflens-compose"]),
    ("rooflens-project", &["rooflens-compose"]),
    ("rooflens-ingest", &["rooflens-schema"]),
    ("rooflens-analyze", &["rooflens-schema"]),
    ("rooflens-compare", &["rooflens-schema", "rooflens-analyze"]),
    ("rooflens-kernels", &["rooflens-analyze"]),
    ("rooflens-sample", &["rooflens-schema"]),
    (
        "rooflens-report",
        &["rooflens-schema", "rooflens-analyze", "rooflens-compare", "rooflens-kernels", "rooflens-cost"],
    ),
    (
        "rooflens-core",
        &[
            "rooflens-schema",
            "rooflens-ingest",
            "rooflens-analyze",
            "rooflens-compare",
            "rooflens-kernels",
            "rooflens-collect",
            "rooflens-compose",
            "rooflens-cost",
            "rooflens-project",
            "rooflens-report",
            "rooflens-sample",
        ],
    ),
    (
        "rooflens",
        &[
            "rooflens-core",
            "rooflens-schema",
            "rooflens-ingest",
            "rooflens-analyze",
            "rooflens-compare",
            "rooflens-kernels",
            "rooflens-collect",
            "rooflens-compose",
            "rooflens-cost",
            "rooflens-project",
            "rooflens-report",
            "rooflens-sample",
        ],
    ),
    // Reads the registries that it documents.
    ("xtask", &["rooflens-schema", "rooflens-analyze", "rooflens-cost", "rooflens-report", "rooflens-core"]),
];

pub fn broken() -> Result<Vec<String>> {
    let metadata = workspace::metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let mut broken = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
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
