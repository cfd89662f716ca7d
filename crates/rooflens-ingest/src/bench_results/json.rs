//! JSON as Python writes it, with `NaN` and `Infinity`, one document or one per line.

use serde_json::Value as Json;

/// Whether the first bytes begin an object.
pub(super) fn begins_an_object(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    head.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// The documents of a file, and how many lines could not be read.
pub(super) fn documents(bytes: &[u8]) -> (Vec<Json>, i64) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(whole) = parse(bytes) {
        return (vec![whole], 0);
    }
    let mut damaged = 0;
    let mut take = |line: &[u8]| {
        let document = parse(line);
        damaged += i64::from(document.is_none());
        document
    };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let documents = lines.filter_map(&mut take).collect();
    (documents, damaged)
}

fn parse(text: &[u8]) -> Option<Json> {
    serde_json::from_slice(text).ok().or_else(|| serde_json::from_slice(&without_bare_words(text)?).ok())
}

/// Puts null in place of `NaN`, `Infinity` and `-Infinity` outside of strings; `None` where there is none.
fn without_bare_words(text: &[u8]) -> Option<Vec<u8>> {
    const WORDS: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    let (mut clean, mut at) = (Vec::with_capacity(text.len()), 0);
    let (mut is_string, mut is_changed) = (false, false);
    while let Some(&byte) = text.get(at) {
        let word = WORDS.iter().find(|word| !is_string && text[at..].starts_with(word));
        if let Some(word) = word {
            clean.extend_from_slice(b"null");
            (at, is_changed) = (at + word.len(), true);
            continue;
        }
        let is_escape = is_string && byte == b'\\';
        is_string ^= byte == b'"';
        let taken = if is_escape { 2 } else { 1 };
        clean.extend(text[at..].iter().take(taken));
        at += taken;
    }
    is_changed.then_some(clean)
}

/// A number of an object.
pub(super) fn number(of: &Json, key: &str) -> Option<f64> {
    of.get(key)?.as_f64()
}

/// A whole number of an object.
pub(super) fn whole(of: &Json, key: &str) -> Option<i64> {
    let value = of.get(key)?;
    value.as_i64().or_else(|| {
        value.as_f64().filter(|value| value.fract() == 0.0 && value.abs() < 9e15).map(|value| value as i64)
    })
}

/// A text of an object that is not empty.
pub(super) fn text<'j>(of: &'j Json, key: &str) -> Option<&'j str> {
    of.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The list of an object; empty where it has none.
pub(super) fn list<'j>(of: &'j Json, key: &str) -> &'j [Json] {
    of.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// A time in whole nanoseconds; `None` for what is no time.
pub(super) fn nanoseconds(value: Option<f64>, per_unit: f64) -> Option<i64> {
    let ns = value? * per_unit;
    (ns.is_finite() && ns.abs() < 9e18).then(|| ns.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_writes_words() {
        let text = br#"{"a": NaN, "b": -Infinity, "c": "say \"NaN\" \\", "d": [Infinity, 1.5]}"#;
        let (found, damaged) = documents(text);
        let expected = serde_json::json!({"a": null, "b": null, "c": "say \"NaN\" \\", "d": [null, 1.5]});
        assert_eq!((found, damaged), (vec![expected], 0));
    }

    #[test]
    fn lines_and_damage() {
        let (found, damaged) = documents(b"{\"a\": 1}\n\n{\"a\": 2\n{\"a\": 3}\n{\"a");
        assert_eq!((found.len(), damaged), (2, 2));
        assert!(begins_an_object(b"\xef\xbb\xbf \n{") && !begins_an_object(b"[1]") && !begins_an_object(b""));
        assert_eq!(nanoseconds(Some(1e12), 1e9), None);
        assert_eq!(nanoseconds(Some(0.054_957_501_999_979_286), 1e9), Some(54_957_502));
    }
}
