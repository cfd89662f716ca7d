//! Names that may have been meant.

/// How alike two names must be to be suggested, 0 to 1: a third of the letters may differ.
const ALIKE: f64 = 2.0 / 3.0;
/// How many names are suggested.
const SUGGESTIONS: usize = 3;

/// The names most like `name`, best first.
#[must_use]
pub fn near<'a>(name: &str, among: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> = among
        .into_iter()
        .map(|known| (likeness(&wanted, &known.to_lowercase()), known))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, known)| *known);
    scored.into_iter().take(SUGGESTIONS).map(|(_, known)| known.to_owned()).collect()
}

/// Few edits apart, or a part of the other.
fn likeness(wanted: &str, known: &str) -> f64 {
    let edits = strsim::normalized_damerau_levenshtein(wanted, known);
    let is_part = |separators: &[char]| known.split(separators).any(|part| part == wanted);
    if is_part(&['.']) || (wanted.len() >= 4 && is_part(&['.', '_', '-'])) { edits.max(0.9) } else { edits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger() {
        let names = ["kernels", "kernels.share", "devices", "gaps", "launch_bound"];
        assert_eq!(near("kernals", names), ["kernels"]);
        assert_eq!(near("gpas", names), ["gaps"]);
        assert_eq!(near("Launch_bond", names), ["launch_bound"]);
        assert_eq!(near("share", names), ["kernels.share"]);
        assert_eq!(near("busy_ns", ["devices.busy_ns", "busy"]), ["devices.busy_ns"]);
        assert!(near("quux", names).is_empty());
    }
}
