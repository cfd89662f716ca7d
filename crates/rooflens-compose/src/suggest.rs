//! The nearest valid choice to a name that is not one.

/// The candidate nearest to `wanted`, when one is near enough to be what was meant.
///
/// Near enough is a third of the longer name in edits (an insertion, a removal, a replacement or a
/// swap of neighbours each count one), and always one edit: beyond that a suggestion is noise.
#[must_use]
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let beginning = |name: &str| name.chars().take(LONGEST).collect::<String>();
    let wanted = beginning(wanted);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let name = beginning(candidate);
        let limit = (wanted.chars().count().max(name.chars().count()) / 3).max(1);
        let distance = strsim::osa_distance(&wanted, &name);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Names longer than this are compared by their beginning, to bound the work.
const LONGEST: usize = 128;

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
}
