//! Cutting the array of events into blocks, and reading one.
//!
//! A cut is a guess: it falls where an event seems to begin. A wrong guess (the pattern may stand
//! inside a name) leaves the block before it ending in the middle of an event; `pipeline` then joins
//! the two and reads them again. So guessing costs time, never truth.

use memchr::{memchr, memrchr};

use super::event::EventReader;
use super::scan::{Cursor, ScanStop};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    Clean,
    /// Behind the bracket that closes the array, at this offset.
    Closed(usize),
    /// In the middle of the event that begins at this offset.
    Incomplete(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct EventStart {
    /// First keys, quotes included.
    first_keys: Vec<Vec<u8>>,
}

impl EventStart {
    /// Learns from the first event at `at`. The profiler itself writes `"ph"` first, and `"name"` in
    /// the metadata it begins with; programs that sort keys write `"args"` or `"cat"`.
    pub(crate) fn learn(text: &[u8], at: usize) -> Self {
        let mut first_keys: Vec<Vec<u8>> =
            [&b"\"ph\""[..], b"\"name\"", b"\"args\"", b"\"cat\""].map(<[u8]>::to_vec).into();
        let mut cursor = Cursor::new(text, at);
        if let Ok(()) = cursor.expect(b'{')
            && let Ok(key) = cursor.string()
            && (1..=32).contains(&key.bytes.len())
        {
            first_keys.push([b"\"", key.bytes, b"\""].concat());
        }
        EventStart { first_keys }
    }

    fn is_at(&self, text: &[u8], brace: usize) -> bool {
        let behind = text[brace + 1..].trim_ascii_start();
        let before = text[..brace].trim_ascii_end();
        self.first_keys.iter().any(|key| behind.starts_with(key))
            && matches!(before.last(), None | Some(b',' | b'['))
    }

    /// Offset of the last event that seems to begin after the first byte.
    pub(crate) fn last(&self, text: &[u8]) -> Option<usize> {
        let mut end = text.len();
        while let Some(brace) = memrchr(b'{', &text[..end]).filter(|&brace| brace > 0) {
            if self.is_at(text, brace) {
                return Some(brace);
            }
            end = brace;
        }
        None
    }

    /// Offset of the first event that seems to begin at or after `from`.
    pub(crate) fn next(&self, text: &[u8], mut from: usize) -> Option<usize> {
        while let Some(brace) = text.get(from..).and_then(|rest| memchr(b'{', rest)).map(|i| from + i) {
            if self.is_at(text, brace) {
                return Some(brace);
            }
            from = brace + 1;
        }
        None
    }
}

/// Reads the events of a block from `at`; an event that cannot be read is counted and passed over.
pub(crate) fn read_block(
    text: &[u8],
    at: usize,
    start: &EventStart,
    reader: &mut EventReader<'_>,
) -> BlockEnd {
    let mut cursor = Cursor::new(text, at);
    loop {
        let event = match cursor.peek() {
            Err(_) => return BlockEnd::Clean,
            Ok(b',') => {
                cursor = Cursor::new(text, cursor.at() + 1);
                continue;
            }
            Ok(b']') => return BlockEnd::Closed(cursor.at() + 1),
            Ok(_) => cursor.at(),
        };
        match reader.event(&mut cursor) {
            Ok(()) => {}
            Err(ScanStop::End) => return BlockEnd::Incomplete(event),
            Err(ScanStop::Bad) => {
                reader.rows.counts.damaged += 1;
                // From the event's own beginning: damage may have swallowed the ones behind it.
                match start.next(text, event + 1) {
                    Some(next) => cursor = Cursor::new(text, next),
                    None => return BlockEnd::Clean,
                }
            }
        }
    }
}
