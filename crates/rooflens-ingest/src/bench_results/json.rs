//! JSON as Python writes it, with `NaN` and `Infinity`, one document or one per line.

use serde_json::Value as Json;

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

pub(super) fn number(of: &Json, key: &str) -> Option<f64> {
    of.get(key)?.as_f64()
}

pub(super) fn whole(of: &Json, key: &str) -> Option<i64> {
    let value = of.get(key)?;
    value.as_i64().or_else(|| {
        value.as_f64().filter(|value| value.fract() == 0.0 && value.abs() < 9e15).map(|value| value as i64)
    })
}

pub(super) fn text<'j>(of: &'j Json, key: &str) -> Option<&'j str> {
    of.get(key)?.as_str().filter(|text| !text.is_empty())
}

pub(super) fn list<'j>(of: &'j Json, key: &str) -> &'j [Json] {
    of.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// A time in whole nanoseconds; `None` for what is no time.
pub(super) fn nanoseconds(value: Option<f64>, per_unit: f64) -> Option<i64> {
    let ns = value? * per_unit;
    (ns.is_finite() && ns.abs() < 9e18).then(|| ns.round() as i64)
}

/// The time that a date says, since 1970: 20261115-221231, or 2026-11-15T22:11:08 with or without a fraction and a zone.
/// Without a zone it is taken for UTC: a client does not say where it ran.
pub(super) fn moment(text: &str) -> Option<i64> {
    let separators: &[u8] = if text.as_bytes().get(4) == Some(&b'-') { b"--T::" } else { b"\0\0-\0\0" };
    let mut rest = text.as_bytes();
    let mut parts = [0_i64; 6];
    for (at, part) in parts.iter_mut().enumerate() {
        let (digits, after) = rest.split_at_checked(if at == 0 { 4 } else { 2 })?;
        *part = std::str::from_utf8(digits).ok()?.parse().ok()?;
        rest = match separators.get(at) {
            Some(0) | None => after,
            Some(separator) => after.strip_prefix(&[*separator])?,
        };
    }
    let [year, month, day, hour, minute, second] = parts;
    let is_one =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    // Days from 1970 in the proleptic Gregorian calendar, with years that begin in March.
    let (years, months) = (year - i64::from(month < 3), (month + 9) % 12);
    let days = 365 * years + years.div_euclid(4) - years.div_euclid(100)
        + years.div_euclid(400)
        + (153 * months + 2) / 5
        + day
        - 719_469;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - zone(rest)?;
    is_one.then_some(seconds.checked_mul(1_000_000_000)?)
}

/// Seconds that a zone is ahead of UTC, after a fraction that is not needed.
fn zone(text: &[u8]) -> Option<i64> {
    let fraction = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    match &text[fraction..] {
        b"" | b"Z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let number = |tens: &u8, ones: &u8| {
                let digit = |byte: &u8| char::from(*byte).to_digit(10).map(i64::from);
                Some(digit(tens)? * 10 + digit(ones)?)
            };
            let ahead = (number(h1, h2)? * 60 + number(m1, m2)?) * 60;
            Some(if *sign == b'-' { -ahead } else { ahead })
        }
        _ => None,
    }
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

    #[test]
    fn dates_as_clients_write_them() {
        // date --date='2026-11-15 22:11:08 UTC' +%s
        let expected = Some(1_794_780_668_000_000_000);
        for text in [
            "20261115-221108",
            "2026-11-15T22:11:08Z",
            "2026-11-15T22:11:08.204049",
            "2026-11-15T23:11:08+01:00",
        ] {
            assert_eq!(moment(text), expected, "{text}");
        }
        assert_eq!(moment("2024-02-29T00:00:00Z"), Some(1_709_164_800_000_000_000));
        assert_eq!(moment("1970-01-01T00:00:00Z"), Some(0));
        for text in [
            "",
            "yesterday",
            "2026-13-15T22:11:08Z",
            "2026-11-15",
            "20261115-2211",
            "2026-11-15T22:11:08 CET",
            "é026-11-15T22:11:08",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
