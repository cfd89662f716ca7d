//! "Did you mean": the names nearest to one that is not known.

const SUGGESTIONS: usize = 3;
/// Names longer than this are compared by their beginning, to bound the work.
const LONGEST: usize = 128;

/// The edits from one name to another (an insertion, a removal, a replacement or a swap of neighbours each count one),
/// where they are few enough that one may have been meant: a third of the longer name, and always one. Beyond that a
/// suggestion is noise.
fn edits(wanted: &str, name: &str) -> Option<usize> {
    let beginning = |name: &str| name.chars().take(LONGEST).collect::<String>();
    let (wanted, name) = (beginning(wanted), beginning(name));
    let edits = strsim::osa_distance(&wanted, &name);
    (edits <= (longer(&wanted, &name) / 3).max(1)).then_some(edits)
}

fn longer(a: &str, b: &str) -> usize {
    a.chars().count().max(b.chars().count())
}

/// The candidate nearest to `wanted`, the first of equals, when one is near enough to be what was meant.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().filter_map(|name| Some((edits(wanted, name)?, name)));
    scored.min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}

/// The names most like `wanted`, best first: near enough but for their case, or with it as one of their parts, as
/// `kernels.share` has `share`.
pub fn near<'a>(wanted: &str, among: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| {
        let alike =
            edits(&wanted, name).map(|edits| 1.0 - edits as f64 / longer(&wanted, name).max(1) as f64);
        let is_part = |separators: &[char]| name.split(separators).any(|part| part == wanted);
        let has_it = is_part(&['.']) || (wanted.len() >= 4 && is_part(&['.', '_', '-']));
        if has_it { Some(alike.unwrap_or(0.0).max(0.9)) } else { alike }
    };
    let scored = among.into_iter().filter_map(|name| Some((likeness(&name.to_lowercase())?, name)));
    let mut scored: Vec<(f64, &str)> = scored.collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().take(SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_finds_its_word() {
        let options = ["small", "large", "tiny"];
        assert_eq!(nearest("smal", options), Some("small"));
        assert_eq!(nearest("lareg", options), Some("large"));
        assert_eq!(nearest("enormous", options), None);
        assert_eq!(nearest("", options), None);
        assert_eq!(nearest("ba", ["ab"]), Some("ab"), "a swap is one edit");
    }

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
