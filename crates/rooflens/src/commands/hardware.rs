//! `rooflens hardware`: devices whose figures are measured here.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use rooflens_core::exit::Exit;
use rooflens_core::hardware::{self, MeasureRequest, MeasuredDevice};
use rooflens_core::shell::word;
use rooflens_core::text::aligned;
use rooflens_report::format::amount;

use crate::args::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  rooflens hardware measure                         peak rates of this machine, into hardware/ of the project
  rooflens hardware measure --device cuda:0 --seconds 30 --name my-gpu
  rooflens list hardware                            all known devices, with those of the project
  rooflens explain my-gpu                           its figures";

/// Measure the peak rates of a device
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measure matrix multiplications and bandwidth with PyTorch, and write hardware/NAME.toml
    #[command(after_help = MEASURE_EXAMPLES)]
    Measure(MeasureArgs),
}

const MEASURE_EXAMPLES: &str = "\
Examples:
  rooflens hardware measure
  rooflens hardware measure --python .venv/bin/python --device cpu --seconds 5
  rooflens hardware measure --name my-gpu --force    measured again
  rooflens cost MODEL --hardware my-gpu --context 4k";

#[derive(clap::Args)]
struct MeasureArgs {
    /// Python interpreter with torch; that of the project's config by default
    #[arg(long, value_name = "PYTHON", help_heading = "Measuring")]
    python: Option<String>,
    /// Device, as PyTorch calls it: auto, cpu, cuda:0
    #[arg(long, default_value = "auto", help_heading = "Measuring")]
    device: String,
    /// Seconds to measure
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Measuring")]
    seconds: u64,
    /// Name of the device; the name the machine reports by default
    #[arg(long, help_heading = "Output")]
    name: Option<String>,
    /// File to write; hardware/NAME.toml of the surrounding project by default
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let What::Measure(args) = args.what;
    let is_named = args.output.is_some();
    let request = MeasureRequest {
        python: args.python,
        device: args.device,
        seconds: args.seconds,
        name: args.name,
        output: args.output,
        force: args.force,
    };
    let observer = progress::observer(console, progress::MEASURING);
    let Some(found) = hardware::measure(&request, &observer)? else { return Ok(Exit::Interrupted) };
    output::answer(args.format.is_json(), &found.document(), || text(&found, is_named))?;
    Ok(Exit::Fine)
}

fn text(found: &MeasuredDevice, is_named: bool) -> String {
    let MeasuredDevice { peaks, measured, path } = found;
    let mut rows = vec![[measured.name.clone(), peaks.device.arch.clone(), String::new()]];
    for row in &peaks.matmul {
        let how = format!("{} × {} matrices, best of {}", row.side, row.side, row.runs);
        rows.push([format!("  {}", row.dtype), amount(row.flops_per_s, "FLOP/s"), how]);
    }
    for row in &peaks.bandwidth {
        let how = format!("{}, best of {}", amount(row.bytes, "B"), row.runs);
        rows.push([format!("  {}", row.kind), amount(row.bytes_per_s, "B/s"), how]);
    }
    let skipped = peaks
        .skipped
        .iter()
        .map(|it| [format!("  {}", it.what), "not measured".to_owned(), it.reason.clone()]);
    rows.extend(skipped);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut text = aligned(&rows);
    text.push_str(&format!("\nwrote {}\n", path.display()));
    if !is_named {
        text.push_str(&format!(
            "rooflens run uses it automatically for a device named {:?}\n",
            peaks.device.name
        ));
        text.push_str(&format!("rooflens cost MODEL --hardware {} --context 4k\n", word(Path::new(&stem))));
    }
    text
}
