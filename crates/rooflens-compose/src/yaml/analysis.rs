//! Which ways of writing a text are open: plain, in single quotes, as a block.

/// Line breaks as YAML 1.1 knows them; a carriage return is written as an escape.
pub(super) fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What a text allows. Double quotes are always open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Analysis {
    pub(super) is_empty: bool,
    pub(super) has_breaks: bool,
    pub(super) allows_plain: bool,
    pub(super) allows_single_quotes: bool,
    pub(super) allows_block: bool,
}

impl Analysis {
    /// Looks at a text that stands outside brackets, as all of ours do.
    pub(super) fn of(text: &[char]) -> Self {
        let (Some(first), Some(last)) = (text.first(), text.last()) else {
            return Self {
                is_empty: true,
                has_breaks: false,
                allows_plain: true,
                allows_single_quotes: true,
                allows_block: false,
            };
        };
        let followed = |wanted: fn(char) -> bool, next: fn(char) -> bool| {
            text.windows(2).any(|pair| wanted(pair[0]) && next(pair[1]))
        };
        let has_breaks = text.iter().copied().any(is_break);
        let has_special = text.iter().copied().any(is_special);
        let has_space_after_break = followed(is_break, is_space);
        let has_break_after_space = followed(is_space, is_break);
        let is_edged = [*first, *last].into_iter().any(|char| is_space(char) || is_break(char));
        let only_double_quotes = has_break_after_space || has_special;
        Self {
            is_empty: false,
            has_breaks,
            allows_plain: !(is_edged || has_breaks || only_double_quotes || has_indicator(text)),
            allows_single_quotes: !(has_space_after_break || only_double_quotes),
            allows_block: !(is_space(*last) || only_double_quotes),
        }
    }
}

fn is_space(char: char) -> bool {
    char == ' '
}

/// Characters that are only written as escapes. The last code point counts, by an off-by-one of
/// `PyYAML` that has become the format.
fn is_special(char: char) -> bool {
    match char {
        '\u{feff}' | '\u{10ffff}' => true,
        '\n' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'.. => false,
        _ => true,
    }
}

/// Whether the text, unquoted, would be read as structure.
fn has_indicator(text: &[char]) -> bool {
    let is_gap = |char: char| matches!(char, '\0' | ' ' | '\t' | '\r') || is_break(char);
    if text.starts_with(&['-'; 3]) || text.starts_with(&['.'; 3]) {
        return true;
    }
    text.iter().enumerate().any(|(index, char)| {
        let gap_follows = || text.get(index + 1).is_none_or(|next| is_gap(*next));
        let gap_precedes = || index == 0 || is_gap(text[index - 1]);
        match char {
            '#' => gap_precedes(),
            ':' => gap_follows(),
            '?' | '-' => index == 0 && gap_follows(),
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                index == 0
            }
            _ => false,
        }
    })
}
