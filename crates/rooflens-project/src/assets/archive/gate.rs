//! A reader that can be closed after so many bytes.
//!
//! The crates that read archives keep what stands in headers in memory: a zip's list of entries, a
//! tar's long names. A gate bounds what a header can make them read.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

/// How many bytes may still be read; none is no bound.
#[derive(Debug, Clone, Default)]
pub(super) struct Latch(Rc<Cell<Option<u64>>>);

impl Latch {
    pub(super) fn close_after(&self, bytes: u64) {
        self.0.set(Some(bytes));
    }

    pub(super) fn open(&self) {
        self.0.set(None);
    }

    /// Whether the bound was reached.
    pub(super) fn is_shut(&self) -> bool {
        self.0.get() == Some(0)
    }
}

/// A reader behind a latch.
pub(super) struct Gate<R> {
    inner: R,
    latch: Latch,
}

impl<R> Gate<R> {
    pub(super) fn new(inner: R, latch: Latch) -> Self {
        Self { inner, latch }
    }
}

impl<R: Read> Read for Gate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(left) = self.latch.0.get() else { return self.inner.read(buffer) };
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("a header is too long"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.inner.read(&mut buffer[..most])?;
        self.latch.0.set(Some(left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX))));
        Ok(count)
    }
}

impl<R: Seek> Seek for Gate<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
