//! Text from a trace is hostile until it went through here.

/// Without what a terminal or browser would obey rather than show: control characters, marks that
/// reverse or hide text, and stacked accents. Line breaks and tabs become spaces.
pub fn clean(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
            c if c.is_control() || obeyed(c) => None,
            c => Some(c),
        })
        .collect()
}

fn obeyed(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{0300}'..='\u{036f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Columns a character takes on a terminal; never too few.
pub(crate) fn char_width(c: char) -> usize {
    let wide = matches!(c,
        '\u{1100}'..='\u{115f}' | '\u{231a}'..='\u{231b}' | '\u{23e9}'..='\u{23f3}'
        | '\u{2614}'..='\u{2615}' | '\u{2648}'..='\u{2653}' | '\u{267f}'..='\u{27bf}'
        | '\u{2b05}'..='\u{2b55}' | '\u{2e80}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe10}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{16fe0}'..='\u{1b2ff}'
        | '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}');
    if wide { 2 } else { 1 }
}

/// Columns a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// The text in at most `columns` columns, an ellipsis where its middle was: kernels differ at both
/// ends of their names.
pub fn elide(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let head = (columns - 1) * 2 / 3;
    let tail = columns - 1 - head;
    let mut out = prefix(text.chars(), head);
    out.push('…');
    let end = prefix(text.chars().rev(), tail);
    out.extend(end.chars().rev());
    out
}

fn prefix(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += char_width(*c);
            used <= columns
        })
        .collect()
}

/// The text in lines of at most `columns` columns, broken between words; a longer word is broken
/// where it must be. At least one line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let needed = width(word);
        if used > 0 && used + 1 + needed > columns {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut().filter(|_| used > 0) {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            if used + char_width(c) > columns {
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
            used += char_width(c);
        }
    }
    lines
}

/// A sentence in pieces, and which of them stood between backticks. Where the backticks do not pair
/// there is no code.
pub fn pieces(sentence: &str) -> Vec<(&str, bool)> {
    if !sentence.matches('`').count().is_multiple_of(2) {
        return vec![(sentence, false)];
    }
    sentence.split('`').enumerate().map(|(index, words)| (words, index % 2 == 1)).collect()
}

/// The first sentence, and the others: what is read at a glance, and what is read then. A point between backticks, or
/// one that no capital letter follows, ends none.
pub(crate) fn first_sentence(sentences: &str) -> (&str, &str) {
    let is_outside = |at: usize| sentences[..at].matches('`').count().is_multiple_of(2);
    let begins = |rest: &str| rest.trim_start_matches('`').starts_with(|first: char| first.is_uppercase());
    let ends = sentences.match_indices(". ").map(|(at, _)| at + 1);
    let mut ends = ends.filter(|at| is_outside(*at) && begins(&sentences[at + 1..]));
    match ends.next() {
        Some(at) => (&sentences[..at], &sentences[at + 1..]),
        None => (sentences, ""),
    }
}

/// The text's first `characters`, and how much was cut.
pub(crate) fn clip(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((at, _)) => {
            let more = text[at..].chars().count() as i64;
            format!("{}… ({} more)", &text[..at], crate::format::plural(more, "character"))
        }
    }
}

/// Text that is only text in HTML and XML, in content and in attributes.
pub(crate) fn without_markup(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_obeyed() {
        assert_eq!(clean("a\u{1b}[31mb\u{7}\r\nc\u{202e}d\u{9b}2J\u{0}e"), "a[31mb  cd2Je");
        assert_eq!(clean("é e\u{301}"), "é e");
    }

    #[test]
    fn the_first_sentence_stands_alone() {
        let (first, rest) = first_sentence("GPU 8.5% busy, as in `a. B`, e.g. here. Idle 91.5%. More.");
        assert_eq!((first, rest), ("GPU 8.5% busy, as in `a. B`, e.g. here.", "Idle 91.5%. More."));
        assert_eq!(first_sentence("One. `Two` follows."), ("One.", "`Two` follows."));
        assert_eq!(first_sentence("Only one."), ("Only one.", ""));
        assert_eq!(first_sentence(""), ("", ""));
    }

    #[test]
    fn both_ends_of_a_name_stay() {
        assert_eq!(elide("abcdefghij", 10), "abcdefghij");
        assert_eq!(elide("abcdefghij", 7), "abcd…ij");
        assert_eq!(elide("abc", 1), "…");
        assert_eq!(elide("abc", 0), "");
        assert_eq!(width(&elide("漢字漢字漢字", 6)), 5);
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("the device is idle", 10), ["the device", "is idle"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn backticks_pair() {
        assert_eq!(pieces("see `f` now"), [("see ", false), ("f", true), (" now", false)]);
        assert_eq!(pieces("a`b"), [("a`b", false)]);
    }

    #[test]
    fn a_clip_says_what_was_cut() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abcdef", 4), "abcd… (2 characters more)");
    }
}
