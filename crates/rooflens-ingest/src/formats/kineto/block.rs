//! Cutting the array of events into blocks, and reading one.
//!
//! A cut is a guess: it falls where an event seems to begin. A wrong guess (the pattern may stand
//! inside a name) leaves the block before it ending in the middle of an event; `pipeline` then joins
//! the two and reads them again. So guessing costs time, never truth.

use memchr::{memchr, memrchr};

use super::event::EventReader;
use super::scan::{Cursor, Stop};

/// How reading a block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Between two events.
    Clean,
    /// Behind the bracket that closes the array, at this offset.
    Closed(usize),
    /// In the middle of the event that begins at this offset.
    Incomplete(usize),
}

/// What events of this trace begin with.
#[derive(Debug, Clone)]
pub struct EventStart {
    /// The first key, quotes included.
    first_key: Vec<u8>,
}

impl EventStart {
    /// Learns from the first event at or after `at`; the profiler itself writes `"ph"` first.
    pub fn learn(text: &[u8], at: usize) -> Self {
        let mut cursor = Cursor::new(text, at);
        let first_key = (|| {
            cursor.expect(b'{').ok()?;
            let key = cursor.string().ok()?;
            (!key.bytes.is_empty() && key.bytes.len() <= 32).then(|| [b"\"", key.bytes, b"\""].concat())
        })();
        EventStart { first_key: first_key.unwrap_or_else(|| b"\"ph\"".to_vec()) }
    }

    fn is_at(&self, text: &[u8], brace: usize) -> bool {
        let behind = text[brace + 1..].trim_ascii_start();
        let before = text[..brace].trim_ascii_end();
        behind.starts_with(&self.first_key) && matches!(before.last(), None | Some(b',' | b'['))
    }

    /// Offset of the last event that seems to begin after the first byte.
    pub fn last(&self, text: &[u8]) -> Option<usize> {
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
    pub fn next(&self, text: &[u8], mut from: usize) -> Option<usize> {
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
pub fn read_block(text: &[u8], at: usize, start: &EventStart, reader: &mut EventReader<'_>) -> End {
    let mut cursor = Cursor::new(text, at);
    loop {
        let event = match cursor.peek() {
            Err(_) => return End::Clean,
            Ok(b',') => {
                cursor = Cursor::new(text, cursor.at() + 1);
                continue;
            }
            Ok(b']') => return End::Closed(cursor.at() + 1),
            Ok(_) => cursor.at(),
        };
        match reader.event(text, &mut cursor) {
            Ok(()) => {}
            Err(Stop::End) => return End::Incomplete(event),
            Err(Stop::Bad) => {
                reader.rows.counts.damaged += 1;
                // From the event's own beginning: damage may have swallowed the ones behind it.
                match start.next(text, event + 1) {
                    Some(next) => cursor = Cursor::new(text, next),
                    None => return End::Clean,
                }
            }
        }
    }
}
