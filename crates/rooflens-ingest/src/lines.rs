//! The lines of a text, one at a time: logs are read without being held.

use std::io::{BufRead, BufReader, Read};

/// Longer lines are cut: no log has one.
const LONGEST: usize = 1 << 20;

/// Gives each line, without its end, to `take`. What is no UTF-8 is replaced. The error where the text
/// breaks off.
pub(crate) fn each(from: impl Read, mut take: impl FnMut(&str)) -> Option<std::io::Error> {
    each_up_to(from, LONGEST, |line, _| take(line))
}

/// The same, with lines of up to so many bytes. With each line comes whether it is whole: neither too long nor, as
/// the last one of a text that was cut, without its end.
pub(crate) fn each_up_to(
    from: impl Read,
    longest: usize,
    mut take: impl FnMut(&str, bool),
) -> Option<std::io::Error> {
    let mut reader = BufReader::with_capacity(1 << 16, from);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader).take(longest as u64).read_until(b'\n', &mut line);
        let (ended, error) = match read {
            Ok(0) => return None,
            Ok(_) => (line.last() == Some(&b'\n'), None),
            Err(error) => (true, Some(error)),
        };
        if !line.is_empty() {
            let text = String::from_utf8_lossy(&line);
            take(text.trim_end_matches(['\n', '\r']), line.last() == Some(&b'\n'));
        }
        if error.is_some() {
            return error;
        }
        if !ended
            && line.len() == longest
            && let Err(error) = skip_line(&mut reader)
        {
            return Some(error);
        }
    }
}

fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        let (count, found) = match memchr::memchr(b'\n', buffer) {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(count);
        if found {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length() {
        let long = "x".repeat(LONGEST + 7);
        let text = format!("one\r\n\n{long}\nlast");
        let mut lines = Vec::new();
        assert!(each(text.as_bytes(), |line| lines.push(line.to_owned())).is_none());
        let lengths: Vec<usize> = lines.iter().map(String::len).collect();
        assert_eq!(lengths, [3, 0, LONGEST, 4]);
        assert_eq!((lines[0].as_str(), lines[3].as_str()), ("one", "last"));
    }
}
