//! Hints for names that do not exist.

/// Names that are listed at most: beyond that a list helps nobody.
const LISTED: usize = 40;

pub(crate) fn hint<'n>(wanted: &str, what: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    if let Some(near) = nearest(wanted, &names) {
        return Some(format!("did you mean '{near}'?"));
    }
    match names.len() {
        0 => None,
        1..=LISTED => Some(format!("{what}: {}", names.join(", "))),
        more => Some(format!("{what}: {}, and {} more", names[..LISTED].join(", "), more - LISTED)),
    }
}

/// The name that differs by few letters, or that holds the one that was written, or is held by it.
fn nearest<'n>(wanted: &str, names: &[&'n str]) -> Option<&'n str> {
    let wanted = wanted.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&wanted, &name.to_lowercase());
    let near = names.iter().map(|name| (distance(name), *name)).min()?;
    if near.0 <= (wanted.chars().count() / 3).max(1) {
        return Some(near.1);
    }
    let is_part = |name: &&&str| wanted.len() > 2 && (name.contains(&wanted) || wanted.contains(**name));
    names.iter().find(is_part).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_others_listed() {
        let tables = ["kernels", "kernel_rollup", "runs"];
        let hint = |wanted| hint(wanted, "tables", tables.into_iter()).unwrap_or_default();
        assert_eq!(hint("kernel"), "did you mean 'kernels'?");
        assert_eq!(hint("Runs"), "did you mean 'runs'?");
        assert_eq!(hint("kernel_rollups"), "did you mean 'kernel_rollup'?");
        assert_eq!(hint("rollup"), "did you mean 'kernel_rollup'?");
        assert_eq!(hint("requests"), "tables: kernels, kernel_rollup, runs");
    }
}
