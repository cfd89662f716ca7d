//! From paths to what is read: a run written earlier, or the traces of one job.

pub(crate) mod gemm_log;
pub(crate) mod ranks;

use std::path::{Path, PathBuf};

use rooflens_collect::nsys_export::{self, NsysExport};
use rooflens_ingest::privacy::Privacy;
use rooflens_ingest::{
    Artefact, IngestError, InputSource, keep_one_a_set, ncu, no_progress, rank_files, rank_in_name, recognise,
};
use rooflens_schema::{Notes, RunDir};

use crate::environment;
use crate::error::Error;
use crate::observer::{Event, SharedObserver};

/// What is read.
#[derive(Debug)]
pub enum Input {
    /// A run written earlier: its facts are stored.
    Run(RunDir),
    /// Traces, one a rank.
    Traces(Vec<TraceFile>),
}

/// How traces are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Traces that were recorded while the replayed graphs were captured: one for all ranks, or one per rank.
    pub captures: Vec<PathBuf>,
    /// Whether paths, addresses and environment values in names of the trace are kept.
    pub keep_private: bool,
    /// Logs of cuBLAS, cuBLASLt, hipBLASLt or rocBLAS, matched with the kernels by order.
    pub gemms: Vec<PathBuf>,
}

/// Finds out what paths stand for, without reading the traces themselves. Notes are about what was left out.
pub fn open_input(
    paths: &[PathBuf],
    options: &ReadOptions,
    notes: &Notes,
    observer: &SharedObserver,
) -> Result<Input, Error> {
    let input = resolve(paths, notes, observer)?;
    let mut input = input.with_captures(&options.captures, observer)?.keeping_private(options.keep_private);
    gemm_log::attach(&mut input, &options.gemms)?;
    Ok(input)
}

/// One rank's trace.
#[derive(Debug)]
pub struct TraceFile {
    /// Where it is.
    pub(crate) source: InputSource,
    /// The rank that its name tells.
    pub(crate) rank_by_name: Option<i32>,
    /// Whether what is private in it is taken out.
    pub(crate) privacy: Privacy,
    /// The log of a BLAS library whose calls its kernels ran.
    pub(crate) gemms: Option<PathBuf>,
    /// The trace that was recorded while the graphs it replays were captured.
    pub(crate) capture: Option<InputSource>,
    /// Keeps a file that was made for reading until it is read.
    pub(crate) _export: Option<NsysExport>,
}

impl TraceFile {
    /// A trace as it is, alone.
    pub(crate) fn new(source: InputSource, rank_by_name: Option<i32>) -> Self {
        TraceFile {
            source,
            rank_by_name,
            privacy: Privacy::Remove,
            gemms: None,
            capture: None,
            _export: None,
        }
    }
}

impl TraceFile {
    /// Its path, as it was typed or found.
    pub(crate) fn path(&self) -> String {
        match &self.source {
            InputSource::File(path) => path.display().to_string(),
            InputSource::Stdin => "-".to_owned(),
        }
    }
}

impl Input {
    /// The same, with what is private kept if requested.
    fn keeping_private(mut self, keep: bool) -> Self {
        if let Input::Traces(files) = &mut self
            && keep
        {
            files.iter_mut().for_each(|file| file.privacy = Privacy::Keep);
        }
        self
    }

    /// The same, with the traces of captures: one for all ranks, or one a rank in their order.
    fn with_captures(mut self, captures: &[PathBuf], observer: &SharedObserver) -> Result<Self, Error> {
        if captures.is_empty() {
            return Ok(self);
        }
        let sources = captures.iter().map(|path| Ok(file(path, observer)?.source));
        let sources: Vec<InputSource> = sources.collect::<Result<_, Error>>()?;
        match &mut self {
            Input::Run(run) => {
                return Err(Error::CaptureOfRun { path: run.root().to_owned() });
            }
            Input::Traces(files) if sources.len() != 1 && sources.len() != files.len() => {
                return Err(Error::CaptureCount { captures: sources.len(), traces: files.len() });
            }
            Input::Traces(files) => {
                let one_each = files.iter_mut().zip(sources.iter().cycle());
                one_each.for_each(|(file, source)| file.capture = Some(source.clone()));
            }
        }
        Ok(self)
    }

    /// Bytes to read, as they are stored; `None` where that is not known.
    pub(crate) fn stored_bytes(&self) -> Option<u64> {
        let Input::Traces(files) = self else { return None };
        let length = |file: &TraceFile| match &file.source {
            InputSource::File(path) => {
                std::fs::metadata(path).ok().filter(|data| data.is_file()).map(|data| data.len())
            }
            InputSource::Stdin => None,
        };
        files.iter().map(length).sum()
    }
}

/// What the paths stand for. Everything that can be known to fail without reading a trace fails here.
fn resolve(paths: &[PathBuf], notes: &Notes, observer: &SharedObserver) -> Result<Input, Error> {
    if paths.is_empty() {
        return Err(Error::NoInput);
    }
    if let [path] = paths
        && RunDir::has_trace(path)
    {
        return Ok(Input::Run(RunDir::new(path)));
    }
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            if files.iter().any(|file: &TraceFile| file.source == InputSource::Stdin) {
                return Err(Error::StdinTwice);
            }
            files.push(TraceFile::new(InputSource::Stdin, None));
        } else if RunDir::has_trace(path) {
            return Err(Error::RunAmongOthers { path: path.clone() });
        } else if path.is_dir() {
            files.extend(folder(path, notes)?);
        } else {
            files.push(file(path, observer)?);
        }
    }
    // Files of one process, named one by one as a shell's `*` does, are one input.
    keep_one_a_set(&mut files, |file| match &file.source {
        InputSource::File(path) => Some(path),
        InputSource::Stdin => None,
    });
    Ok(Input::Traces(files))
}

fn folder(path: &Path, notes: &Notes) -> Result<Vec<TraceFile>, Error> {
    let found = rank_files(path, notes).map_err(|error| match error {
        IngestError::EmptyFolder { path } => match traces_near(&path) {
            Some(inside) => Error::TracesElsewhere { path, inside },
            None => Error::Unreadable(IngestError::EmptyFolder { path }),
        },
        error => Error::Unreadable(error),
    })?;
    Ok(found
        .into_iter()
        .map(|file| TraceFile::new(InputSource::File(file.path), file.rank_by_name))
        .collect())
}

/// A folder near one without traces that has some: below it, or the run it belongs to.
fn traces_near(folder: &Path) -> Option<PathBuf> {
    let run = folder.parent().filter(|parent| RunDir::has_trace(parent)).map(Path::to_owned);
    run.or_else(|| {
        let mut below: Vec<PathBuf> =
            std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        below.sort();
        let has_traces = |path: &PathBuf| {
            path.is_dir() && (RunDir::has_trace(path) || rank_files(path, &Notes::default()).is_ok())
        };
        below.into_iter().find(has_traces)
    })
}

fn file(path: &Path, observer: &SharedObserver) -> Result<TraceFile, Error> {
    if !path.exists() {
        return Err(Error::Missing { path: path.to_owned(), near: files_near(path) });
    }
    let source = InputSource::File(path.to_owned());
    // A pipe can be looked at only once; the reader will say whether it is a trace.
    if path.is_file() {
        let artefact = Artefact::open(&source, no_progress()).map_err(Error::Unreadable)?;
        let head = &artefact.probe().head;
        if head.starts_with(ncu::MAGIC) || ncu::csv::is_csv(head) {
            return Err(Error::NotATimeline { path: path.to_owned() });
        }
        if head.starts_with(nsys_export::MAGIC) {
            let what = format!("exporting {} with nsys", path.display());
            observer.event(&Event::Working { what: &what });
            let export = nsys_export::export(environment::nsys(), path).map_err(Error::Export);
            observer.event(&Event::Finished);
            let export = export?;
            let source = InputSource::File(export.file().to_owned());
            return Ok(TraceFile { _export: Some(export), ..TraceFile::new(source, rank_in_name(path)) });
        }
        if recognise(artefact.probe()).is_none() {
            // Gives the error that tells how the file begins.
            rooflens_ingest::read(artefact, &Notes::default()).map_err(Error::Unreadable)?;
        }
    }
    Ok(TraceFile::new(source, rank_in_name(path)))
}

/// Paths in the same folder with a similar name.
pub(crate) fn files_near(path: &Path) -> Vec<PathBuf> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { return vec![] };
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let names: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect();
    rooflens_compose::near(&name, names.iter().map(String::as_str))
        .iter()
        .map(|near| path.with_file_name(near))
        .collect()
}
