//! Which type an unquoted scalar has: YAML 1.1's patterns, by hand.
//!
//! Loading and dumping know different ones: `OmegaConf` widens the floats and drops the timestamps
//! of its loader only, so a dumped text is quoted where either side could misread it.

use super::tag::Tag;

/// The type of a plain scalar, as `OmegaConf`'s loader finds it.
pub(super) fn load_tag(text: &str) -> Tag {
    let bytes = text.as_bytes();
    if is_float(bytes) || is_loader_float(bytes) {
        Tag::Float
    } else if is_int(bytes) {
        Tag::Int
    } else {
        word_tag(text).unwrap_or(Tag::Str)
    }
}

/// Whether `PyYAML`'s dumper would read the text, unquoted, as something other than text.
pub(super) fn dumper_misreads(text: &str) -> bool {
    let bytes = text.as_bytes();
    is_float(bytes) || is_int(bytes) || is_timestamp(bytes) || word_tag(text).is_some()
}

fn word_tag(text: &str) -> Option<Tag> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Tag::Null),
        "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "true" | "True" | "TRUE" | "false" | "False"
        | "FALSE" | "on" | "On" | "ON" | "off" | "Off" | "OFF" => Some(Tag::Bool),
        "<<" => Some(Tag::Merge),
        "=" => Some(Tag::Value),
        _ => None,
    }
}

/// Binary, octal, hexadecimal, decimal and sexagesimal whole numbers, with underscores anywhere
/// after the first digit.
fn is_int(text: &[u8]) -> bool {
    let text = unsigned(text);
    match text {
        [b'0', b'b', digits @ ..] => all(digits, |b| matches!(b, b'0' | b'1' | b'_')),
        [b'0', b'x', digits @ ..] => all(digits, |b| b.is_ascii_hexdigit() || b == b'_'),
        [b'0'] => true,
        [b'0', digits @ ..] => all(digits, |b| matches!(b, b'0'..=b'7' | b'_')),
        [b'1'..=b'9', rest @ ..] => {
            let rest = skip(rest, digit_or_underscore);
            rest.is_empty() || sexagesimal_tail(rest).is_some_and(<[u8]>::is_empty)
        }
        _ => false,
    }
}

/// The floats of `PyYAML`: a dot is needed, and a sign in the exponent.
fn is_float(text: &[u8]) -> bool {
    if is_special_float(text) {
        return true;
    }
    match unsigned(text) {
        [b'0'..=b'9', rest @ ..] => {
            let rest = skip(rest, digit_or_underscore);
            match rest {
                [b'.', rest @ ..] => {
                    let rest = skip(rest, digit_or_underscore);
                    rest.is_empty() || is_exponent(rest, SignRule::Needed)
                }
                _ => matches!(sexagesimal_tail(rest), Some([b'.', rest @ ..])
                    if skip(rest, digit_or_underscore).is_empty()),
            }
        }
        // A leading dot takes no sign.
        [b'.', b'0'..=b'9', rest @ ..] if text.first() == Some(&b'.') => {
            let rest = skip(rest, digit_or_underscore);
            rest.is_empty() || is_exponent(rest, SignRule::Needed)
        }
        _ => false,
    }
}

/// The floats `OmegaConf` adds: `1e3`, `1.5e3`; underscores only between digits.
fn is_loader_float(text: &[u8]) -> bool {
    let text = unsigned(text);
    let rest = skip(text, digit_or_underscore);
    let head = &text[..text.len() - rest.len()];
    if !is_strict_digits(head) {
        return false;
    }
    match rest {
        [b'.', rest @ ..] => is_exponent(skip(rest, digit_or_underscore), SignRule::Optional),
        rest => is_exponent(rest, SignRule::Optional),
    }
}

fn is_special_float(text: &[u8]) -> bool {
    matches!(unsigned(text), b".inf" | b".Inf" | b".INF") || matches!(text, b".nan" | b".NaN" | b".NAN")
}

/// A date, or a date with a time.
fn is_timestamp(text: &[u8]) -> bool {
    let parse = || {
        let rest = digits(text, 4, 4)?;
        let rest = digits(rest.strip_prefix(b"-")?, 1, 2)?;
        let rest = digits(rest.strip_prefix(b"-")?, 1, 2)?;
        if rest.is_empty() {
            return (text.len() == 10).then_some(());
        }
        let time = match rest {
            [b'T' | b't', time @ ..] => time,
            [b' ' | b'\t', ..] => skip(rest, blank),
            _ => return None,
        };
        let rest = digits(time, 1, 2)?;
        let rest = digits(rest.strip_prefix(b":")?, 2, 2)?;
        let rest = digits(rest.strip_prefix(b":")?, 2, 2)?;
        let rest = match rest {
            [b'.', rest @ ..] => skip(rest, |b| b.is_ascii_digit()),
            rest => rest,
        };
        if rest.is_empty() {
            return Some(());
        }
        let zone = match skip(rest, blank) {
            b"Z" => return Some(()),
            [b'+' | b'-', zone @ ..] => digits(zone, 1, 2)?,
            _ => return None,
        };
        match zone {
            [] => Some(()),
            [b':', minutes @ ..] => digits(minutes, 2, 2)?.is_empty().then_some(()),
            _ => None,
        }
    };
    parse().is_some()
}

#[derive(Clone, Copy, PartialEq)]
enum SignRule {
    Needed,
    Optional,
}

/// `e5`, `E-5`, to the end of the text.
fn is_exponent(text: &[u8], sign: SignRule) -> bool {
    let [b'e' | b'E', rest @ ..] = text else { return false };
    let digits = unsigned(rest);
    (digits.len() < rest.len() || sign == SignRule::Optional) && all(digits, |b| b.is_ascii_digit())
}

/// What follows one or more groups of `:` and a number below 60.
fn sexagesimal_tail(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    while let [b':', after @ ..] = rest {
        rest = match after {
            [b'0'..=b'5', b'0'..=b'9', rest @ ..] | [b'0'..=b'9', rest @ ..] => rest,
            _ => return None,
        };
    }
    (rest.len() < text.len()).then_some(rest)
}

/// Digits with single underscores between them.
fn is_strict_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.split(|b| *b == b'_').all(|part| all(part, |b| b.is_ascii_digit()))
}

/// What follows as many digits as there are, when they are `min` to `max`.
fn digits(text: &[u8], min: usize, max: usize) -> Option<&[u8]> {
    let count = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    (count >= min).then(|| &text[count..])
}

fn unsigned(text: &[u8]) -> &[u8] {
    match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    }
}

fn skip(text: &[u8], accepted: impl Fn(u8) -> bool) -> &[u8] {
    let count = text.iter().take_while(|b| accepted(**b)).count();
    &text[count..]
}

/// Whether there are bytes and all are accepted.
fn all(text: &[u8], accepted: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.iter().all(|b| accepted(*b))
}

fn digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

fn blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loader_types() {
        let table: &[(Tag, &[&str])] = &[
            (Tag::Int, &["0", "017", "0x1F", "0b11", "1_000", "1:30", "190:20:30", "-5", "+5", "0_", "1_"]),
            (
                Tag::Float,
                &[
                    "1e3", "1e-3", "1E3", ".5", "5.", "1.e3", ".inf", "-.INF", ".nan", "1:30.5", "1_.5",
                    "1.5e3",
                ],
            ),
            (
                Tag::Str,
                &[
                    "+.5",
                    "inf",
                    "nan",
                    "1e5_0",
                    "0o17",
                    "08",
                    "2020-01-01",
                    "y",
                    "N",
                    "1:60",
                    ".",
                    "_1",
                    "-",
                    "1__0e3",
                    ".5e3",
                ],
            ),
            (Tag::Bool, &["yes", "NO", "On", "off", "true"]),
            (Tag::Null, &["", "~", "null", "NULL"]),
        ];
        for (tag, texts) in table {
            for text in *texts {
                assert_eq!(load_tag(text), *tag, "{text:?}");
            }
        }
    }

    #[test]
    fn dumper_types() {
        for text in ["2020-01-01", "2020-1-1 10:00:00", "2020-01-01T1:02:03.4 +01:30", "1.0", "=", "<<"] {
            assert!(dumper_misreads(text), "{text:?}");
        }
        for text in ["1e3", "2020-1-1", "2020-01-01 10:00", "x", "0o17", "1.5e3"] {
            assert!(!dumper_misreads(text), "{text:?}");
        }
    }
}
