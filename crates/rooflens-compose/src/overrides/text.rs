//! Elements as text again, as Hydra writes them into the overrides of a sweep's jobs.

use super::element::{OverrideElement, QuotedString};
use super::error::ValueError;
use crate::value::{Int, float_repr};

/// What stands between the items of a list or mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spacing {
    /// `[1,2]`, `{a:1}`.
    #[default]
    Tight,
    /// `[1, 2]`, `{a: 1}`.
    Spaced,
}

impl OverrideElement {
    /// The element as text that reads as the same element, with one exception that is Hydra's: an
    /// interpolation without quotes comes out escaped.
    ///
    /// # Errors
    /// [`ValueError::NestedSweep`] where there is a sweep in it.
    pub fn to_text(&self, spacing: Spacing) -> Result<String, ValueError> {
        let mut out = String::new();
        self.write(spacing, &mut out)?;
        Ok(out)
    }

    fn write(&self, spacing: Spacing, out: &mut String) -> Result<(), ValueError> {
        let (comma, colon) = match spacing {
            Spacing::Tight => (",", ":"),
            Spacing::Spaced => (", ", ": "),
        };
        match self {
            OverrideElement::Null => out.push_str("null"),
            OverrideElement::Bool(true) => out.push_str("True"),
            OverrideElement::Bool(false) => out.push_str("False"),
            OverrideElement::Int(Int::Small(small)) => out.push_str(&small.to_string()),
            OverrideElement::Int(Int::Big(digits)) => out.push_str(digits),
            OverrideElement::Float(float) => out.push_str(&float_repr(*float)),
            OverrideElement::Str(text) => write_escaped(text, out),
            OverrideElement::Quoted(quoted) => quoted.write(out),
            OverrideElement::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { comma } else { "" });
                    item.write(spacing, out)?;
                }
                out.push(']');
            }
            OverrideElement::Map(pairs) => {
                out.push('{');
                for (index, (key, value)) in pairs.iter().enumerate() {
                    out.push_str(if index > 0 { comma } else { "" });
                    key.write(spacing, out)?;
                    out.push_str(colon);
                    value.write(spacing, out)?;
                }
                out.push('}');
            }
            OverrideElement::Sweep(sweep) => {
                return Err(ValueError::NestedSweep { kind: sweep.kind_name() });
            }
        }
        Ok(())
    }
}

fn write_escaped(text: &str, out: &mut String) {
    for char in text.chars() {
        if "\\()[]{}:=, \t".contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
}

impl QuotedString {
    /// The text in its quotes again.
    #[must_use]
    pub fn with_quotes(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Backslashes count only before a quote, where each is doubled; the closing quote is one too.
    fn write(&self, out: &mut String) {
        let quote = self.quote.character();
        out.push(quote);
        let mut slashes = 0;
        for char in self.text.chars() {
            if char == quote {
                out.extend(std::iter::repeat_n('\\', slashes + 1));
            }
            slashes = if char == '\\' { slashes + 1 } else { 0 };
            out.push(char);
        }
        out.extend(std::iter::repeat_n('\\', slashes));
        out.push(quote);
    }
}

/// The text between quotes, the quotes themselves and the escapes before a quote removed.
pub(super) fn unquoted(inside: &str, quote: char) -> String {
    let mut out = String::with_capacity(inside.len());
    let mut slashes = 0;
    for char in inside.chars() {
        if char == '\\' {
            slashes += 1;
            continue;
        }
        // An odd number before a quote: half of them, and the last belongs to the quote.
        let kept = if char == quote { slashes / 2 } else { slashes };
        out.extend(std::iter::repeat_n('\\', kept));
        slashes = 0;
        out.push(char);
    }
    out.extend(std::iter::repeat_n('\\', slashes / 2));
    out
}
