//! How long an answer may be.

/// Characters of an answer. An agent reads about a quarter as many tokens.
pub(crate) const MOST: usize = 24_000;
/// Characters of one cell of a table.
pub(crate) const CELL: usize = 160;

/// An answer that is not too long, and what to ask next.
pub(crate) fn bounded(text: &str, next: &str) -> String {
    let mut answer = cut(text, MOST);
    if answer.len() < text.len() {
        // A table is not cut within a line.
        answer.truncate(answer.rfind('\n').unwrap_or(answer.len()));
        answer.push_str("\n[The rest was cut: ask for less.]");
    }
    if !next.is_empty() {
        answer.push_str("\n\nNext: ");
        answer.push_str(next);
    }
    answer
}

/// The beginning of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_are_cut_between_lines() {
        let text = "a line\n".repeat(MOST);
        let answer = bounded(&text, "explain gaps");
        assert!(answer.len() < MOST + 200);
        assert!(answer.contains("a line\n[The rest was cut") && answer.ends_with("Next: explain gaps"));
        assert_eq!(bounded("short", ""), "short");
        assert_eq!(cut("äöü", 2), "äö");
    }
}
