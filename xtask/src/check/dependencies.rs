//! Every crate from outside has its reason in docs/decisions/dependencies.md.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::workspace;

const REASONS: &str = "docs/decisions/dependencies.md";

pub(crate) fn broken() -> Result<Vec<String>> {
    let metadata = workspace::metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| package["dependencies"].as_array().into_iter().flatten())
        .filter(|used| used["path"].is_null())
        .filter_map(|used| used["name"].as_str())
        .collect();
    let reasons = workspace::read(REASONS)?;
    let explained: BTreeSet<&str> =
        reasons.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let missing = used.difference(&explained).map(|name| format!("{name} has no row in {REASONS}"));
    let stale =
        explained.difference(&used).map(|name| format!("{REASONS} explains {name}, which nothing uses"));
    Ok(missing.chain(stale).collect())
}
