//! A shortcut: most events of a stream equal the one before but for one string.

use crate::record::ChunkKind;

/// An event with one output string and nothing else of interest: what stands before that string, and after.
#[derive(Debug, Default)]
pub(super) struct Template {
    prefix: Vec<u8>,
    /// From the closing quote on; empty where nothing was learnt.
    suffix: Vec<u8>,
    kind: Option<ChunkKind>,
}

impl Template {
    /// Remembers an event. `piece` is its output, a part of `data` without escapes.
    pub(crate) fn learn(&mut self, data: &[u8], piece: &str, kind: ChunkKind) {
        let start = (piece.as_ptr() as usize).wrapping_sub(data.as_ptr() as usize);
        let end = start.wrapping_add(piece.len());
        let (Some(prefix), Some(suffix)) = (data.get(..start), data.get(end..)) else { return };
        if prefix.last() != Some(&b'"') || suffix.first() != Some(&b'"') {
            return;
        }
        self.prefix.clear();
        self.prefix.extend_from_slice(prefix);
        self.suffix.clear();
        self.suffix.extend_from_slice(suffix);
        self.kind = Some(kind);
    }

    /// The kind of output that an event brings which differs only in its string (`Some(None)`: none, the string is
    /// empty); appends the string. `None`: it is another event.
    pub fn matching(
        &self,
        data: &[u8],
        text: &mut String,
        reply: &mut Option<String>,
    ) -> Option<Option<ChunkKind>> {
        let kind = self.kind?;
        let middle = data.strip_prefix(self.prefix.as_slice())?.strip_suffix(self.suffix.as_slice())?;
        let before = text.len();
        append_string(middle, text)?;
        let added = &text[before..];
        if added.is_empty() {
            return Some(None);
        }
        if let (ChunkKind::Text, Some(reply)) = (kind, reply) {
            reply.push_str(added);
        }
        Some(Some(kind))
    }
}

/// Appends the value of a JSON string, given without its quotes. `None`, and nothing appended, if it is no such
/// string or has escapes of code points.
fn append_string(raw: &[u8], text: &mut String) -> Option<()> {
    if raw.iter().all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\') {
        text.push_str(std::str::from_utf8(raw).ok()?);
        return Some(());
    }
    let raw = std::str::from_utf8(raw).ok()?;
    let before = text.len();
    let mut rest = raw.chars();
    while let Some(char) = rest.next() {
        let char = match char {
            '\\' => rest.next().and_then(escaped),
            '"' | '\0'..='\x1f' => None,
            char => Some(char),
        };
        let Some(char) = char else {
            text.truncate(before);
            return None;
        };
        text.push(char);
    }
    Some(())
}

fn escaped(letter: char) -> Option<char> {
    Some(match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '"' | '\\' | '/' => letter,
        _ => return None,
    })
}
