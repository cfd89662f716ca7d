//! The nearest valid choice to a name that is not one.

/// The candidate nearest to `wanted`, when one is near enough to be what was meant.
///
/// Near enough is a third of the longer name in edits (an insertion, a removal, a replacement or a
/// swap of neighbours each count one), and always one edit: beyond that a suggestion is noise.
#[must_use]
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = wanted.chars().take(LONGEST).collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let chars: Vec<char> = candidate.chars().take(LONGEST).collect();
        let limit = (wanted.len().max(chars.len()) / 3).max(1);
        let distance = edits(&wanted, &chars);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Names longer than this are compared by their beginning, to bound the work.
const LONGEST: usize = 128;

/// The edits between two names (optimal string alignment).
fn edits(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, to) in right.iter().enumerate() {
            let replaced = above[column] + usize::from(from != to);
            let mut least = replaced.min(above[column + 1] + 1).min(line[column] + 1);
            let swapped = row > 0 && column > 0 && left[row - 1] == *to && right[column - 1] == *from;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            line.push(least);
        }
        before = std::mem::replace(&mut above, line);
    }
    above.last().copied().unwrap_or(0)
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
    }

    #[test]
    fn edits_are_counted() {
        let count = |left: &str, right: &str| {
            edits(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("ab", "ba"), 1);
        assert_eq!(count("", "abc"), 3);
    }
}
