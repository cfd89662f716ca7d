//! Places in a text, and how to show them.

/// A stretch of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// The stretch from `start` to before `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The stretch of `text` it covers; nothing where the two do not fit.
    #[must_use]
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or("")
    }

    /// The column of its start in `text`, in characters from 1.
    #[must_use]
    pub fn column(&self, text: &str) -> usize {
        text.get(..self.start).map_or(0, |before| before.chars().count()) + 1
    }
}

/// How many characters are shown on each side of a place: enough to find it in a long text.
const CONTEXT: usize = 40;
/// How many characters a pointer underlines at most.
const UNDERLINE: usize = 40;

/// Two lines that show a place: the text around it, and a line of carets under it.
pub(crate) fn pointer(text: &str, span: Span) -> String {
    let before = text.get(..span.start).unwrap_or(text);
    let after = text.get(span.start..).unwrap_or("");
    let cut_before = before.char_indices().rev().nth(CONTEXT - 1).map_or(0, |(at, _)| at);
    let cut_after = after.char_indices().nth(2 * CONTEXT).map_or(after.len(), |(at, _)| at);
    // A line break or a tab would move the carets away from their place.
    let shown = |part: &str| part.replace(|char: char| char.is_control(), " ");
    let lead = if cut_before > 0 { "…" } else { "" };
    let tail = if cut_after < after.len() { "…" } else { "" };
    let left = format!("{lead}{}", shown(&before[cut_before..]));
    let carets = span.of(text).chars().take(UNDERLINE).count().max(1);
    format!(
        "    {left}{}{tail}\n    {}{}",
        shown(&after[..cut_after]),
        " ".repeat(left.chars().count()),
        "^".repeat(carets)
    )
}

/// The first characters of a text, for a message.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(UNDERLINE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
