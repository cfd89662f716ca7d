//! A whole input as one file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rooflens_analyze::analyses::Ledger;
use rooflens_ingest::InputSource;
use rooflens_schema::Notes;

use super::{FloorShares, Writer, floor_shares};
use crate::advise;
use crate::disk;
use crate::error::Error;
use crate::input::{Input, TraceFile};
use crate::job;
use crate::model::{ModelRecord, ModelRequest};
use crate::observer::SharedObserver;

/// Fails where the file to write is one of those that are read.
pub fn check_destination(inputs: &[PathBuf], output: &Path) -> Result<(), Error> {
    if inputs.iter().any(|input| disk::same_folder(input, output)) {
        let source = io::Error::other("it is the trace itself");
        return Err(Error::unwritable(output, source));
    }
    Ok(())
}

/// Writes an input as a file for the Perfetto UI. Answers whether it was ended early.
pub fn export(
    input: &Input,
    notes: &Notes,
    model: &ModelRequest,
    output: &Path,
    observer: &SharedObserver,
) -> Result<bool, Error> {
    let floors = shares(input, model, observer)?;
    let unwritable = |source: io::Error| Error::unwritable(output, source);
    // A file that is not whole would open and show less than there is.
    let mut part = output.to_owned().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = create(&part, output).and_then(Writer::new).map_err(unwritable).and_then(|mut writer| {
        let stopped =
            job::each_rank(input, notes, observer, |rank| writer.rank(&rank, &floors).map_err(unwritable))?;
        writer.finish(&notes.rows()).and_then(Output::finish).map_err(unwritable)?;
        std::fs::rename(&part, output).map_err(unwritable)?;
        Ok(stopped)
    });
    if written.is_err() {
        // What failed is told; that its rest is there or not is no more.
        let _ = std::fs::remove_file(&part);
    }
    written
}

/// Lower bounds take a first pass: they are those of all ranks together.
fn shares(input: &Input, model: &ModelRequest, observer: &SharedObserver) -> Result<FloorShares, Error> {
    let has_model =
        |run| crate::run::is_own(run) || ModelRecord::read(run).is_some_and(|record| record.config.is_some());
    let is_known = matches!(input, Input::Run(run) if has_model(run));
    if model.model.is_none() && !is_known {
        return Ok(FloorShares::new());
    }
    let is_stdin = |file: &TraceFile| file.source == InputSource::Stdin;
    if matches!(input, Input::Traces(files) if files.iter().any(is_stdin)) {
        let reason = "standard input can be read only once: save the trace to a file first".to_owned();
        return Err(Error::no_floor(reason));
    }
    let mut findings = job::analyze(input, &Notes::default(), None, observer)?.findings;
    advise::join_floor(input, model, &mut findings)?;
    Ok(findings.get::<Ledger>().map(floor_shares).unwrap_or_default())
}

enum Output {
    Plain(BufWriter<File>),
    Gzip(Box<BufWriter<GzEncoder<File>>>),
}

fn create(part: &Path, named: &Path) -> io::Result<Output> {
    let file = File::create(part)?;
    Ok(if named.extension().is_some_and(|ending| ending == "gz") {
        // Small pieces cost the encoder dearly.
        let encoder = GzEncoder::new(file, Compression::fast());
        Output::Gzip(Box::new(BufWriter::with_capacity(1 << 16, encoder)))
    } else {
        Output::Plain(BufWriter::with_capacity(1 << 16, file))
    })
}

impl Output {
    fn finish(self) -> io::Result<()> {
        match self {
            Output::Plain(mut out) => out.flush(),
            Output::Gzip(out) => out.into_inner().map_err(io::Error::from)?.finish().map(drop),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(out) => out.write(bytes),
            Output::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(out) => out.flush(),
            Output::Gzip(out) => out.flush(),
        }
    }
}
