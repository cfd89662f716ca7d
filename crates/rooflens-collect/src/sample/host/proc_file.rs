//! A file of `/proc`, kept open and read again and again into the same room.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::io::fcntl_dupfd_cloexec;

/// Room to begin with: what most files need.
const ROOM: usize = 1 << 12;
/// No file of interest is longer.
const MOST: usize = 1 << 22;

/// Descriptors below this are left to others.
const LOWEST: i32 = 64;

/// A plain shell can write only to descriptors of one digit. A workload that inherits one shall not be given
/// a higher one since samples are taken.
fn out_of_the_way(file: File) -> File {
    fcntl_dupfd_cloexec(&file, LOWEST).map_or(file, File::from)
}

pub(super) struct ProcFile {
    file: File,
    room: Vec<u8>,
}

impl ProcFile {
    pub(super) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut opened = ProcFile { file: out_of_the_way(File::open(path)?), room: vec![0; ROOM] };
        // Finds out how much room it takes, before the beat begins.
        opened.read()?;
        Ok(opened)
    }

    pub(super) fn read(&mut self) -> io::Result<&str> {
        loop {
            let mut length = 0;
            while length < self.room.len() {
                match self.file.read_at(&mut self.room[length..], length as u64)? {
                    0 => break,
                    more => length += more,
                }
            }
            if length < self.room.len() || self.room.len() >= MOST {
                // A name that is not UTF-8 ends what can be read.
                let text = &self.room[..length];
                let valid = std::str::from_utf8(text).map_or_else(|error| error.valid_up_to(), |_| length);
                return Ok(std::str::from_utf8(&self.room[..valid]).unwrap_or_default());
            }
            self.room.resize(self.room.len() * 2, 0);
        }
    }

    pub(super) fn read_head(&mut self) -> io::Result<&str> {
        let length = self.file.read_at(&mut self.room, 0)?;
        let text = &self.room[..length];
        let valid = std::str::from_utf8(text).map_or_else(|error| error.valid_up_to(), |_| length);
        Ok(std::str::from_utf8(&self.room[..valid]).unwrap_or_default())
    }
}
