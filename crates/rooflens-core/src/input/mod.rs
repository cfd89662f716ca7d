//! From paths to what is read: a run written earlier, or the traces of one job.

pub(crate) mod gemm_log;
pub(crate) mod ranks;

use std::path::{Path, PathBuf};

use rooflens_collect::nsys_export::{self, ExportError, NsysExport};
use rooflens_ingest::privacy::Privacy;
use rooflens_ingest::{
    Artefact, IngestError, InputSource, keep_one_a_set, ncu, no_progress, rank_files, rank_in_name, recognise,
};
use rooflens_schema::{Notes, RunDir};

use crate::environment;
use crate::error::{Error, Hint};
use crate::observer::{Event, SharedObserver};
use crate::shell::word;

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
    let mut input = resolve(paths, notes, observer)?;
    input.capture(&options.captures, observer)?;
    if let (Input::Traces(files), true) = (&mut input, options.keep_private) {
        files.iter_mut().for_each(|file| file.privacy = Privacy::Keep);
    }
    gemm_log::attach(&mut input, &options.gemms)?;
    Ok(input)
}

/// One rank's trace.
#[derive(Debug)]
pub struct TraceFile {
    pub(crate) source: InputSource,
    pub(crate) rank_by_name: Option<i32>,
    pub(crate) privacy: Privacy,
    pub(crate) gemms: Option<PathBuf>,
    /// The trace that was recorded while the graphs it replays were captured.
    pub(crate) capture: Option<InputSource>,
    /// Keeps a file that was made for reading until it is read.
    pub(crate) _export: Option<NsysExport>,
}

impl TraceFile {
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

    pub(crate) fn path(&self) -> String {
        match &self.source {
            InputSource::File(path) => path.display().to_string(),
            InputSource::Stdin => "-".to_owned(),
        }
    }
}

impl Input {
    /// Gives the traces those of captures: one for all ranks, or one a rank in their order.
    fn capture(&mut self, captures: &[PathBuf], observer: &SharedObserver) -> Result<(), Error> {
        if captures.is_empty() {
            return Ok(());
        }
        let sources = captures.iter().map(|path| Ok(file(path, observer)?.source));
        let sources: Vec<InputSource> = sources.collect::<Result<_, Error>>()?;
        let message = match self {
            Input::Run(run) => {
                let path = run.root().display();
                format!("{path} is a run directory: a capture is read together with the traces")
            }
            Input::Traces(files) if sources.len() != 1 && sources.len() != files.len() => format!(
                "{} captures for {} traces: give one for all, or one for each in their order",
                sources.len(),
                files.len()
            ),
            Input::Traces(files) => {
                let one_each = files.iter_mut().zip(sources.iter().cycle());
                one_each.for_each(|(file, source)| file.capture = Some(source.clone()));
                return Ok(());
            }
        };
        Err(Error::usage(message).command("rooflens analyze decode.json.gz --capture capture.json.gz"))
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
        return Err(Error::usage("no trace or run was named").command("rooflens analyze trace.json.gz"));
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
                return Err(Error::usage("`-` (standard input) is given more than once")
                    .command("zcat trace.json.gz | rooflens analyze -"));
            }
            files.push(TraceFile::new(InputSource::Stdin, None));
        } else if RunDir::has_trace(path) {
            let message = format!("{} is a run directory: it is analysed alone", path.display());
            return Err(Error::usage(message).command(format!("rooflens analyze {}", word(path))));
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
            Some(inside) => Error::data(format!(
                "no trace in folder {}, but there is one in {}",
                path.display(),
                inside.display()
            ))
            .words(format!("name that folder instead: {}", word(&inside))),
            None => Error::unreadable(IngestError::EmptyFolder { path }),
        },
        error => Error::unreadable(error),
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
        return Err(missing(path));
    }
    let source = InputSource::File(path.to_owned());
    // A pipe can be looked at only once; the reader will say whether it is a trace.
    if path.is_file() {
        let artefact = Artefact::open(&source, no_progress()).map_err(Error::unreadable)?;
        let head = &artefact.probe().head;
        if head.starts_with(ncu::MAGIC) || ncu::csv::is_csv(head) {
            let message = format!(
                "{} is a Nsight Compute report: it has single launches and no timeline",
                path.display()
            );
            return Err(Error::data(message).command(format!("rooflens kernels analyze {}", word(path))));
        }
        if head.starts_with(nsys_export::MAGIC) {
            let what = format!("exporting {} with nsys", path.display());
            observer.event(&Event::Working { what: &what });
            let export = nsys_export::export(environment::nsys(), path).map_err(|error| not_exported(&error));
            observer.event(&Event::Finished);
            let export = export?;
            let source = InputSource::File(export.file().to_owned());
            return Ok(TraceFile { _export: Some(export), ..TraceFile::new(source, rank_in_name(path)) });
        }
        if recognise(artefact.probe()).is_none() {
            // Gives the error that tells how the file begins.
            rooflens_ingest::read(artefact, &Notes::default()).map_err(Error::unreadable)?;
        }
    }
    Ok(TraceFile::new(source, rank_in_name(path)))
}

fn not_exported(error: &ExportError) -> Error {
    let elsewhere = |report: &Path| {
        let made = report.with_extension("sqlite");
        format!("nsys export --type sqlite -o {} {}", word(&made), word(report))
    };
    let hint = match error {
        ExportError::NoProgram { report, .. } => Hint::leading(
            "install Nsight Systems, set ROOFLENS_NSYS=PATH, or export on a machine that has it:",
            elsewhere(report),
        ),
        ExportError::Newer { report, .. } => Hint::leading(
            "set ROOFLENS_NSYS=PATH to a newer nsys, or export on the machine that recorded the report:",
            elsewhere(report),
        ),
        ExportError::Failed { report, .. } => Hint::command(elsewhere(report)),
        ExportError::Folder { .. } => Hint::words("set TMPDIR=DIR to a folder with free space"),
    };
    let is_damaged = matches!(error, ExportError::Failed { .. });
    let kind = if is_damaged { Error::data } else { Error::environment };
    kind(error.to_string()).hinted(hint)
}

pub(crate) fn missing(path: &Path) -> Error {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let analyze = |path: &Path| format!("rooflens analyze {}", word(path));
    let hint = match files_near(path).as_slice() {
        [] => Hint::command("find . -name '*.json*'"),
        [one] => Hint::leading(format!("did you mean {}?", one.display()), analyze(one)),
        [first, others @ ..] => {
            let others: Vec<String> = others.iter().map(name).collect();
            let words = format!("similar names nearby: {}, {};", name(first), others.join(", "));
            Hint::leading(words, analyze(first))
        }
    };
    Error::data(format!("{} does not exist", path.display())).hinted(hint)
}

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
