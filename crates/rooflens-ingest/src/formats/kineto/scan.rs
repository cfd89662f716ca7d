//! A cursor over JSON text: just what a trace needs, nothing allocated, nothing recursive.
//!
//! It looks for the end of strings and containers eight bytes at a time, never validates what it
//! skips, and accepts what real traces contain although JSON forbids it: bare `NaN`, control
//! characters in strings, invalid UTF-8.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanStop {
    /// The text ends in the middle of a value.
    End,
    /// What stands here cannot be.
    Bad,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) escaped: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// A high bit at (and perhaps above) each zero byte; the lowest one set is exact.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

fn word_at(text: &[u8], at: usize) -> Option<u64> {
    let bytes = text.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The text without the byte-order mark and white space in front.
pub(crate) fn without_blank(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start()
}

/// First quote or backslash of eight bytes.
#[inline]
fn quote_or_backslash_in(word: u64) -> Option<usize> {
    let hits = zero_bytes(word ^ (ONES * u64::from(b'"'))) | zero_bytes(word ^ (ONES * u64::from(b'\\')));
    (hits != 0).then_some((hits.trailing_zeros() / 8) as usize)
}

/// First quote or backslash at or after `at`.
#[inline]
fn quote_or_backslash(text: &[u8], mut at: usize) -> Option<usize> {
    // Most strings are short; the others are long enough to be worth a call.
    for _ in 0..2 {
        let Some(word) = word_at(text, at) else { break };
        if let Some(hit) = quote_or_backslash_in(word) {
            return Some(at + hit);
        }
        at += 8;
    }
    memchr::memchr2(b'"', b'\\', text.get(at..)?).map(|hit| at + hit)
}

/// First quote, bracket or brace at or after `at`.
fn structural(text: &[u8], mut at: usize) -> Option<usize> {
    // `[ ] { }` with bits 0x26 set are all 0x7f; so are `Y _ y` and DEL, which the caller passes over.
    while let Some(word) = word_at(text, at) {
        let hits =
            zero_bytes(word ^ (ONES * u64::from(b'"'))) | zero_bytes((word | (ONES * 0x26)) ^ (ONES * 0x7f));
        if hits != 0 {
            return Some(at + (hits.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let rest = text.get(at..)?;
    rest.iter().position(|byte| matches!(byte, b'"' | b'[' | b']' | b'{' | b'}')).map(|i| at + i)
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8], at: usize) -> Self {
        Cursor { text, at }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Passes over white space and tells the byte there.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, ScanStop> {
        match self.text.get(self.at) {
            Some(&byte) if byte > b' ' => Ok(byte),
            _ => self.peek_after_blank(),
        }
    }

    /// The same where white space stands here, or nothing.
    fn peek_after_blank(&mut self) -> Result<u8, ScanStop> {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\n') => {
                    self.at += 1;
                    // What is printed over several lines is indented, by spaces.
                    while let Some(word) = word_at(self.text, self.at) {
                        let spaces = ((word ^ (ONES * u64::from(b' '))).trailing_zeros() / 8) as usize;
                        self.at += spaces;
                        if spaces < 8 {
                            break;
                        }
                    }
                }
                Some(&byte) => return Ok(byte),
                None => return Err(ScanStop::End),
            }
        }
    }

    /// Passes over `byte`, which must be next.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), ScanStop> {
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(ScanStop::Bad)
        }
    }

    /// Passes over `byte` if it is next.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> Result<bool, ScanStop> {
        let there = self.peek()? == byte;
        self.at += usize::from(there);
        Ok(there)
    }

    #[inline]
    pub(crate) fn string(&mut self) -> Result<Raw<'a>, ScanStop> {
        self.expect(b'"')?;
        let start = self.at;
        let hit = quote_or_backslash(self.text, start).ok_or(ScanStop::End)?;
        if self.text[hit] == b'"' {
            self.at = hit + 1;
            return Ok(Raw { bytes: &self.text[start..hit], escaped: false });
        }
        self.escaped_string(start, hit)
    }

    /// The same from the first backslash on.
    fn escaped_string(&mut self, start: usize, backslash: usize) -> Result<Raw<'a>, ScanStop> {
        let mut hit = backslash;
        while self.text[hit] == b'\\' {
            hit = quote_or_backslash(self.text, hit + 2).ok_or(ScanStop::End)?;
        }
        self.at = hit + 1;
        Ok(Raw { bytes: &self.text[start..hit], escaped: true })
    }

    #[inline]
    pub(crate) fn key(&mut self) -> Result<&'a [u8], ScanStop> {
        // Most keys are short: one look finds their end.
        let start = self.at + 1;
        if self.text.get(self.at) == Some(&b'"')
            && let Some(length) = word_at(self.text, start).and_then(quote_or_backslash_in)
            && self.text[start + length] == b'"'
            && self.text.get(start + length + 1) == Some(&b':')
        {
            self.at = start + length + 2;
            return Ok(&self.text[start..start + length]);
        }
        let key = self.string()?;
        self.expect(b':')?;
        Ok(key.bytes)
    }

    /// After a value in an object: `true` where another key follows, `false` at the end.
    #[inline]
    pub(crate) fn another_key(&mut self) -> Result<bool, ScanStop> {
        match self.peek()? {
            b',' => {
                self.at += 1;
                // A trailing comma is not JSON, but loses nothing.
                Ok(!self.take(b'}')?)
            }
            b'}' => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(ScanStop::Bad),
        }
    }

    pub(crate) fn skip(&mut self) -> Result<(), ScanStop> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' | b'[' => self.skip_container(),
            _ => self.bare().map(drop),
        }
    }

    fn skip_container(&mut self) -> Result<(), ScanStop> {
        let mut depth = 0usize;
        loop {
            let hit = structural(self.text, self.at).ok_or(ScanStop::End)?;
            self.at = hit;
            match self.text[hit] {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads a bare word: a number, `true`, `null`, `NaN`, `-Infinity`.
    #[inline]
    pub(crate) fn bare(&mut self) -> Result<&'a [u8], ScanStop> {
        self.peek()?;
        let start = self.at;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'0'..=b'9' | b'.' | b'-' | b'+' | b'a'..=b'z' | b'A'..=b'Z' => self.at += 1,
                // Only what can follow a value ends a word: `12x4` and `1\u{1}` are damage.
                b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r' if self.at > start => {
                    return Ok(&self.text[start..self.at]);
                }
                _ => return Err(ScanStop::Bad),
            }
        }
        Err(ScanStop::End)
    }

    /// Reads digits that end where a value may end: the value and the end. Anything else is left to the
    /// careful ways.
    #[inline]
    fn digits(&self, from: usize) -> Option<(i64, usize)> {
        let mut value = 0i64;
        let mut at = from;
        loop {
            let digit = self.text.get(at)?.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
            at += 1;
        }
        (1..=16).contains(&(at - from)).then_some((value, at))
    }

    fn ends_value(&self, at: usize) -> bool {
        matches!(self.text.get(at), Some(b',' | b'}' | b'\n' | b' ' | b']' | b'\r' | b'\t'))
    }

    /// Reads an integer, quoted or not; anything else that is a value is passed over.
    #[inline]
    pub(crate) fn integer(&mut self) -> Result<Option<i64>, ScanStop> {
        let first = self.peek()?;
        if let Some((value, end)) = self.digits(self.at).filter(|&(_, end)| self.ends_value(end)) {
            self.at = end;
            return Ok(Some(value));
        }
        match first {
            b'"' => Ok(parse_integer(self.string()?.bytes)),
            b'{' | b'[' => self.skip_container().map(|()| None),
            _ => {
                let word = self.bare()?;
                match parse_integer(word) {
                    Some(value) => Ok(Some(value)),
                    None => number_or_word(word).map(|_| None),
                }
            }
        }
    }

    /// Reads a time in microseconds, as nanoseconds; the flag tells whether it had a fraction.
    /// `None` for a value that is no finite number.
    #[inline]
    pub(crate) fn microseconds(&mut self) -> Result<Option<(i64, bool)>, ScanStop> {
        let first = self.peek()?;
        // What the profiler writes: up to sixteen digits, a point, three digits.
        if let Some((whole, end)) = self.digits(self.at).filter(|&(whole, _)| whole < 9_000_000_000_000_000) {
            if self.ends_value(end) {
                self.at = end;
                return Ok(Some((whole * 1000, false)));
            }
            if self.text[end] == b'.'
                && let Some((thousandths, last)) = self.digits(end + 1)
                && last == end + 4
                && self.ends_value(last)
            {
                self.at = last;
                return Ok(Some((whole * 1000 + thousandths, true)));
            }
        }
        match first {
            b'"' => Ok(parse_thousandths(self.string()?.bytes)),
            b'{' | b'[' => self.skip_container().map(|()| None),
            _ => {
                let word = self.bare()?;
                match parse_thousandths(word) {
                    Some(value) => Ok(Some(value)),
                    None => number_or_word(word).map(|_| None),
                }
            }
        }
    }

    /// Reads up to three integers of an array, as `[64, 1, 1]`.
    pub(crate) fn triple(&mut self) -> Result<Option<[i64; 3]>, ScanStop> {
        if self.peek()? != b'[' {
            return self.skip().map(|()| None);
        }
        let start = self.at;
        self.skip_container()?;
        let inside = &self.text[start + 1..self.at - 1];
        let mut values = [1i64; 3];
        for (slot, part) in values.iter_mut().zip(inside.split(|&byte| byte == b',')) {
            match parse_integer(part.trim_ascii()) {
                Some(value) => *slot = value,
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }
}

/// Accepts a word that is a value though not the wanted one; refuses damage such as `12x4`.
fn number_or_word(word: &[u8]) -> Result<(), ScanStop> {
    let text = std::str::from_utf8(word).map_err(|_| ScanStop::Bad)?;
    let known =
        matches!(text, "null" | "true" | "false" | "NaN" | "nan" | "Infinity" | "-Infinity" | "inf" | "-inf");
    if known || text.parse::<f64>().is_ok() { Ok(()) } else { Err(ScanStop::Bad) }
}

/// An integer; `None` for anything else or out of range.
fn parse_integer(word: &[u8]) -> Option<i64> {
    let (negative, digits) = match word {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, word),
    };
    if digits.is_empty() || digits.len() > 18 {
        // Rare: very long numbers take the slow and exact way.
        return std::str::from_utf8(word).ok()?.parse().ok();
    }
    let mut value = 0i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// A decimal number times 1,000, exactly, rounded half away from zero past the third decimal; the
/// flag tells whether it had decimals. `None` for anything else or out of range.
///
/// Never by way of `f64`: at epoch microseconds its step is a quarter of a microsecond.
fn parse_thousandths(word: &[u8]) -> Option<(i64, bool)> {
    let (negative, rest) = match word {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, word),
    };
    let mut parts = rest.splitn(2, |byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = (parts.next()?, parts.next());
    let exponent = match exponent {
        None => 0,
        Some(text) => parse_integer(text.strip_prefix(b"+").unwrap_or(text))?.clamp(-10_000, 10_000),
    };
    let point = mantissa.iter().position(|&byte| byte == b'.');
    let (whole, decimals) = match point {
        None => (mantissa, &[][..]),
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
    };
    let digits = || whole.iter().chain(decimals);
    if whole.is_empty() || point.is_some() && decimals.is_empty() || !digits().all(u8::is_ascii_digit) {
        return None;
    }
    // The digits up to thousandths count; the one behind them rounds.
    let counted = whole.len() as i64 + exponent + 3;
    let mut value = 0i64;
    for position in 0..counted.max(0) {
        let digit = digits().nth(usize::try_from(position).ok()?).map_or(0, |byte| byte - b'0');
        value = value.checked_mul(10)?.checked_add(i64::from(digit))?;
        if value == 0 && position as usize > mantissa.len() {
            break;
        }
    }
    let behind = usize::try_from(counted).ok().and_then(|position| digits().nth(position));
    value = value.checked_add(i64::from(behind.is_some_and(|&byte| byte >= b'5')))?;
    Some((if negative { -value } else { value }, point.is_some() || exponent < 0))
}

/// The text of a string, escapes resolved; the flag tells whether anything in it was not valid.
pub(crate) fn unescape(raw: &[u8], escaped: bool) -> (String, bool) {
    if !escaped {
        let invalid = raw.iter().any(|&byte| byte < 0x20);
        return match std::str::from_utf8(raw) {
            Ok(text) => (text.to_owned(), invalid),
            Err(_) => (String::from_utf8_lossy(raw).into_owned(), true),
        };
    }
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw);
    quoted.push(b'"');
    match serde_json::from_slice::<String>(&quoted) {
        Ok(text) => (text, false),
        Err(_) => (String::from_utf8_lossy(raw).into_owned(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("12", 12_000),
            ("1712195495978941.965", 1_712_195_495_978_941_965),
            ("1365627862757.064", 1_365_627_862_757_064),
            ("0.5", 500),
            ("0.0004999", 0),
            ("0.0005", 1),
            ("-3.25", -3_250),
            ("1.1999999999", 1_200),
            ("1e3", 1_000_000),
            ("2.5E-3", 3),
            ("1.712195495978941965e15", 1_712_195_495_978_941_965),
            ("1712195495978941965e-3", 1_712_195_495_978_941_965),
            ("5e-4", 1),
            ("4e-4", 0),
            ("1e-999", 0),
            ("0e999999", 0),
            ("7.5", 7_500),
        ] {
            assert_eq!(parse_thousandths(text.as_bytes()).map(|(ns, _)| ns), Some(nanoseconds), "{text}");
        }
        for text in
            ["", "-", ".5", "x", "99999999999999999999", "1.2.3", "1e400", "1e", "NaN", "1.", "--1", "1e5x"]
        {
            assert_eq!(parse_thousandths(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_quick_way_agrees_with_the_careful_one() {
        for word in [
            "0",
            "12",
            "1712195495978941.965",
            "0.500",
            "0.5",
            "1.25",
            "9999999999999999",
            "123456789012345678",
        ] {
            let text = format!("{word},");
            let quick = Cursor::new(text.as_bytes(), 0).microseconds().unwrap();
            assert_eq!(
                quick.map(|(ns, _)| ns),
                parse_thousandths(word.as_bytes()).map(|(ns, _)| ns),
                "{word}"
            );
            assert_eq!(
                Cursor::new(text.as_bytes(), 0).integer().unwrap(),
                parse_integer(word.as_bytes()),
                "{word}"
            );
        }
        for word in ["12x", "1.2x3", "1.234.5"] {
            assert!(Cursor::new(word.as_bytes(), 0).microseconds().is_err(), "{word}");
        }
    }

    #[test]
    fn skips_what_it_should() {
        let text = br#"{"a": [1, "]\"}", {"b": [[]]}], "c": NaN} , 7"#;
        let mut cursor = Cursor::new(text, 0);
        cursor.skip().unwrap();
        assert_eq!(cursor.peek(), Ok(b','));
        assert_eq!(Cursor::new(b"[[[", 0).skip(), Err(ScanStop::End));
        assert_eq!(Cursor::new(b"12\x014,", 0).skip(), Err(ScanStop::Bad));
    }

    #[test]
    fn strings_of_any_length_and_indentation_are_read() {
        for length in 0..40 {
            let text = "x".repeat(length);
            for blanks in ["", " ", "\n", "\n    ", "\r\n\t ", "\n              \n "] {
                let object = format!("{blanks}\"{text}\"{blanks}:{blanks}\"{text}\\\"{text}\"{blanks},");
                let mut cursor = Cursor::new(object.as_bytes(), 0);
                cursor.peek().unwrap();
                assert_eq!(cursor.key(), Ok(text.as_bytes()), "{object:?}");
                let value = cursor.string().unwrap();
                assert_eq!((value.bytes.len(), value.escaped), (2 * length + 2, true), "{object:?}");
                assert_eq!(cursor.peek(), Ok(b','));
                // A text that ends earlier ends in the middle of something.
                let cut = object.len() - blanks.len() - 2;
                let mut cursor = Cursor::new(&object.as_bytes()[..cut], 0);
                let value = cursor.key().and_then(|_| cursor.string());
                assert_eq!(value, Err(ScanStop::End), "{object:?}");
            }
        }
    }

    #[test]
    fn a_million_brackets_need_no_stack() {
        let text = vec![b'['; 1_000_000];
        assert_eq!(Cursor::new(&text, 0).skip(), Err(ScanStop::End));
    }

    #[test]
    fn reads_strings_and_triples() {
        let mut cursor = Cursor::new(br#""a\"b\u0041" [64, 2, 1] [1, "x"] "7" "#, 0);
        let raw = cursor.string().unwrap();
        assert_eq!(unescape(raw.bytes, raw.escaped), ("a\"bA".to_owned(), false));
        assert_eq!(cursor.triple(), Ok(Some([64, 2, 1])));
        assert_eq!(cursor.triple(), Ok(None));
        assert_eq!(cursor.integer(), Ok(Some(7)));
    }
}
