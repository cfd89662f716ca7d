//! Text that is only text in HTML.

use crate::text;

/// Characters of a full name.
const LONGEST: usize = 4_000;
/// Characters of a sentence.
const SENTENCE: usize = 1_000;

pub(crate) fn title_attribute(help: &str) -> String {
    if help.is_empty() { String::new() } else { format!(" title=\"{}\"", escape(help)) }
}

/// A sentence as HTML; what stands between backticks is code.
pub fn prose(sentence: &str) -> String {
    let piece =
        |(words, is_code)| if is_code { format!("<code>{}</code>", escape(words)) } else { escape(words) };
    text::pieces(&text::clip(sentence, SENTENCE)).into_iter().map(piece).collect()
}

/// Text that is only text, in content and in attributes.
pub fn escape(words: &str) -> String {
    text::without_markup(&text::clip(&text::clean(words), LONGEST))
}

/// JSON that cannot end the element it stands in.
pub(crate) fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
