//! An input: a file or standard input, decompressed on the way.

use std::fs::File;
use std::io::{Cursor, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use flate2::read::MultiGzDecoder;

use crate::error::IngestError;

/// How much of an input a format may look at to recognise it.
const PROBE_BYTES: usize = 64 * 1024;

/// Where an input comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputSource {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// An open input.
pub struct Artefact {
    name: String,
    probe: Probe,
    /// Bytes of the input as it is stored, if known: for progress.
    pub(crate) stored_bytes: Option<u64>,
    file: Option<PathBuf>,
    gzip: bool,
    progress: ReadProgress,
    threads: Option<NonZeroUsize>,
    reader: Box<dyn Read + Send>,
}

/// The beginning of an input, for recognising its format.
#[derive(Debug, Clone)]
pub struct Probe {
    /// File name, without its folder; `-` for standard input.
    pub(crate) name: String,
    /// The first bytes, decompressed; at most 64 KiB.
    pub head: Vec<u8>,
}

impl Artefact {
    /// Opens an input; compressed ones are recognised by their first bytes, not by name.
    pub fn open(source: &InputSource, progress: ReadProgress) -> Result<Self, IngestError> {
        match source {
            InputSource::File(path) => {
                let fail = |source| IngestError::Io { path: path.clone(), source };
                let file = File::open(path).map_err(fail)?;
                let length = file.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
                Self::from_reader(file_name(path), path.clone(), Box::new(file), length, progress)
            }
            InputSource::Stdin => Self::from_reader(
                "-".to_owned(),
                PathBuf::from("-"),
                Box::new(std::io::stdin()),
                None,
                progress,
            ),
        }
    }

    /// An input from memory: for tests and fuzzing.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, IngestError> {
        let reader = Box::new(Cursor::new(bytes.to_vec()));
        Self::from_reader(
            name.to_owned(),
            PathBuf::from(name),
            reader,
            Some(bytes.len() as u64),
            no_progress(),
        )
    }

    fn from_reader(
        name: String,
        path: PathBuf,
        stored: Box<dyn Read + Send>,
        stored_bytes: Option<u64>,
        progress: ReadProgress,
    ) -> Result<Self, IngestError> {
        let mut stored = Counted { inner: stored, progress: progress.clone() };
        let magic = read_some(&mut stored, 2).0;
        let gzip = magic == [0x1f, 0x8b];
        let stored = Cursor::new(magic).chain(stored);
        let mut reader: Box<dyn Read + Send> =
            if gzip { Box::new(MultiGzDecoder::new(stored)) } else { Box::new(stored) };
        let (head, error) = read_some(&mut reader, PROBE_BYTES);
        if head.is_empty() {
            return Err(match error {
                Some(source) => IngestError::Io { path, source },
                None => IngestError::Empty { source_name: name },
            });
        }
        // A damaged stream still gives its beginning; the format's reader meets the damage later.
        let beginning = Cursor::new(head.clone());
        let reader: Box<dyn Read + Send> = match error {
            Some(error) => Box::new(beginning.chain(Failing(Some(error)))),
            None => Box::new(beginning.chain(reader)),
        };
        let file = path.is_file().then_some(path);
        Ok(Artefact {
            name: name.clone(),
            probe: Probe { name, head },
            stored_bytes,
            file,
            gzip,
            progress,
            threads: None,
            reader,
        })
    }

    /// The same, to be read on at most so many threads: for inputs that are read at the same time as others.
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// How many threads may turn its bytes into rows: all cores by default.
    pub(crate) fn threads(&self) -> usize {
        let all = || thread::available_parallelism().map_or(2, usize::from);
        self.threads.map_or_else(all, usize::from)
    }

    /// File name, without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is, for formats whose records stand in several files; `None` for what is no file.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The beginning.
    pub fn probe(&self) -> &Probe {
        &self.probe
    }

    /// The whole, for a format that jumps about in it. What is compressed, or is no file, is taken into
    /// memory, up to where its stream breaks off.
    pub(crate) fn into_whole(mut self) -> (Whole, Option<std::io::Error>) {
        if let Some(path) = self.file.take().filter(|_| !self.gzip) {
            return (Whole::File(path), None);
        }
        let mut bytes = Vec::new();
        let error = self.reader.read_to_end(&mut bytes).err();
        (Whole::Bytes(bytes), error)
    }

    pub(crate) fn progress(&self) -> ReadProgress {
        self.progress.clone()
    }

    pub(crate) fn into_reader(self) -> Box<dyn Read + Send> {
        self.reader
    }
}

pub(crate) enum Whole {
    File(PathBuf),
    /// Its bytes.
    Bytes(Vec<u8>),
}

/// Told the number of stored bytes that were just read; answers whether to read on.
pub type ReadProgress = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// A [`ReadProgress`] that nobody watches and nobody stops.
pub fn no_progress() -> ReadProgress {
    Arc::new(|_| true)
}

/// The message of the error that a stopped reader gives.
pub(crate) const STOPPED: &str = "stopped by the user";

struct Counted {
    inner: Box<dyn Read + Send>,
    progress: ReadProgress,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if (self.progress)(count as u64) { Ok(count) } else { Err(std::io::Error::other(STOPPED)) }
    }
}

struct Failing(Option<std::io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn read_some(reader: &mut dyn Read, count: usize) -> (Vec<u8>, Option<std::io::Error>) {
    let mut bytes = Vec::new();
    let error = reader.take(count as u64).read_to_end(&mut bytes).err();
    (bytes, error)
}
