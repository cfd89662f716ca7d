//! `rooflens export`: a trace for the Perfetto UI.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rooflens_analyze::analyses::Ledger;
use rooflens_schema::Notes;

use crate::advise;
use crate::commands::exit_of;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::floors;
use crate::inputs::{self, Input};
use crate::job;
use crate::perfetto::{self, FloorShares, Writer};
use crate::progress;
use crate::saved;

const EXAMPLES: &str = "\
Examples:
  rooflens export trace.json.gz -o seen.json.gz          open it in https://ui.perfetto.dev
  rooflens analyze seen.json.gz                          the same answers as from trace.json.gz
  rooflens export runs/tp8 -o tp8.json.gz                all ranks of a saved run, only for viewing
  rooflens export trace.json --model config.json --hardware h100 -o seen.json.gz";

/// Export a trace for the Perfetto UI, with phases, layers and the time ledger
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Trace, folder with the traces of one job, or a run directory; several traces are the ranks of
    /// one job
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    reading: inputs::Reading,
    #[command(flatten)]
    floor: floors::Args,
    /// File to write; compressed if its name ends with .gz
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    if args.inputs.iter().any(|input| saved::same_folder(input, &args.output)) {
        let source = io::Error::other("it is the trace itself");
        return Err(CliError::Unwritable { path: args.output, source });
    }
    let notes = Notes::default();
    let input = args.reading.resolve(&args.inputs, &notes)?;
    let floors = shares(&args, &input, console)?;
    let unwritable = |source: io::Error| CliError::Unwritable { path: args.output.clone(), source };
    // A file that is not whole would open and show less than there is.
    let mut part = args.output.clone().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let written =
        create(&part, &args.output).and_then(Writer::new).map_err(unwritable).and_then(|mut writer| {
            let stopped = progress::follow(console, input.stored_bytes(), |watch| {
                job::each_rank(&input, &notes, watch, |rank| writer.rank(rank, &floors).map_err(unwritable))
            })?;
            writer.finish(&notes.rows()).and_then(Output::finish).map_err(unwritable)?;
            std::fs::rename(&part, &args.output).map_err(unwritable)?;
            Ok(stopped)
        });
    if written.is_err() {
        // What failed is told; that its rest is there or not is no more.
        let _ = std::fs::remove_file(&part);
    }
    let stopped = written?;
    console.warn_of_loss(&notes.rows());
    console.say(&format!("trace: {} (open it in https://ui.perfetto.dev)", args.output.display()));
    Ok(exit_of(stopped))
}

/// Least times take a first pass: they are those of all ranks together.
fn shares(args: &Args, input: &Input, console: &Console) -> Result<FloorShares, CliError> {
    let is_own = matches!(input, Input::Run(run) if crate::run::is_own(run));
    if args.floor.model.is_none() && !is_own {
        return Ok(FloorShares::new());
    }
    if args.inputs.iter().any(|input| input == Path::new("-")) {
        let reason = "standard input can be read only once: save the trace, then name it".to_owned();
        return Err(CliError::NoFloor { reason });
    }
    let notes = Notes::default();
    let outcome =
        progress::follow(console, input.stored_bytes(), |watch| job::analyze(input, &notes, None, watch));
    let mut findings = outcome?.findings;
    advise::join_floor(input, &args.floor, &mut findings)?;
    Ok(findings.get::<Ledger>().map(perfetto::floor_shares).unwrap_or_default())
}

/// A file, compressed or not.
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
