//! How lines of a text are joined.

use std::borrow::Cow;

/// Adds what a line break and those directly after it are read as: one is a space, and of several
/// the first is dropped. The breaks that only YAML 1.1 has are all kept.
pub(super) fn push_folded(text: &mut String, first: char, further: &str) {
    if first != '\n' {
        text.push(first);
    } else if further.is_empty() {
        text.push(' ');
    }
    text.push_str(further);
}

/// Adds a piece; a text of one piece is not copied.
pub(super) fn append<'a>(text: &mut Cow<'a, str>, piece: &'a str) {
    if text.is_empty() {
        *text = Cow::Borrowed(piece);
    } else {
        text.to_mut().push_str(piece);
    }
}
