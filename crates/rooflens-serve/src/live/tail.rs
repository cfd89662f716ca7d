//! The lines that were added to a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Bytes that are read at once.
const AT_ONCE: u64 = 256 << 10;
/// Of a file that is longer when it is first seen, only the end counts.
const AT_FIRST: u64 = 1 << 20;
/// A line that is longer is no line of ours.
const LONGEST: usize = 1 << 20;

pub(crate) struct Tail {
    path: PathBuf,
    at: Option<u64>,
    rest: Vec<u8>,
}

impl Tail {
    pub(crate) fn new(path: PathBuf) -> Self {
        Tail { path, at: None, rest: Vec::new() }
    }

    pub(crate) fn lines(&mut self) -> Vec<Vec<u8>> {
        self.read().unwrap_or_default()
    }

    fn read(&mut self) -> std::io::Result<Vec<Vec<u8>>> {
        // A link may lead anywhere.
        let length =
            std::fs::symlink_metadata(&self.path).ok().filter(|data| data.is_file()).map(|data| data.len());
        let Some(length) = length else { return Ok(Vec::new()) };
        let at = match self.at {
            Some(at) if at <= length => at,
            // It was written again from the beginning.
            Some(_) => 0,
            None => length.saturating_sub(AT_FIRST),
        };
        if at == length {
            self.at = Some(at);
            return Ok(Vec::new());
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(at))?;
        let read = file.take(AT_ONCE).read_to_end(&mut self.rest)?;
        self.at = Some(at + read as u64);
        let mut lines: Vec<Vec<u8>> = self.rest.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        self.rest = lines.pop().unwrap_or_default();
        if self.rest.len() > LONGEST {
            self.rest.clear();
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_whole_new_lines_are_given() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut tail = Tail::new(path.clone());
        assert!(tail.lines().is_empty());
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(tail.lines(), [b"one"]);
        file.write_all(b"o\n").unwrap();
        assert_eq!(tail.lines(), [b"two"]);
        assert!(tail.lines().is_empty());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Tail::new(link).lines().is_empty());
    }
}
