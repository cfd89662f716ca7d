//! `rooflens monitor`: what devices and the machine do, as it happens.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use rooflens_collect::sample::csv::Columns;
use rooflens_core::cost::amount::seconds;
use rooflens_core::exit::Exit;

use crate::args::format::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::monitor::{self, MonitorRequest, SampleTarget};

const EXAMPLES: &str = "\
Examples:
  rooflens monitor                                   devices and the machine, live
  rooflens monitor --once --format json              one sample, with what is missing and why
  rooflens monitor --interval 10ms --duration 60s -o counters.parquet
  rooflens monitor -o nvml.csv --columns nvml        a CSV of devices for other tools
  rooflens monitor --serve                           for Prometheus, at http://127.0.0.1:9402/metrics

Ctrl-C stops it and completes the file. Set ROOFLENS_NVML to use another NVML library than the driver's.
Columns: rooflens explain counters";

/// Show, record or serve utilisation, clocks, power, memory and temperature of devices and host
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Sampling interval
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "100ms", help_heading = "Sampling")]
    interval: Duration,
    /// Stop after this long; by default, at Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Sampling")]
    duration: Option<Duration>,
    /// Take one sample and exit
    #[arg(long, conflicts_with_all = ["duration", "output", "serve"], help_heading = "Sampling")]
    once: bool,
    /// Also sample a process and its children
    #[arg(long, value_name = "PID", help_heading = "Sampling")]
    pid: Option<u32>,

    /// Output format; JSON is one document per line
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Write every sample to this file: .csv or .parquet
    #[arg(short, long, value_name = "FILE", value_parser = target, help_heading = "Output")]
    output: Option<SampleTarget>,
    /// Columns of a CSV file: all, or those of nvml.csv with devices only
    #[arg(long, value_enum, value_name = "WHICH", default_value = "all", help_heading = "Output")]
    columns: ColumnsArg,
    /// Serve Prometheus metrics at this address or port
    #[arg(long, value_name = "ADDRESS", value_parser = address, num_args = 0..=1, default_missing_value = "9402", help_heading = "Output")]
    serve: Option<SocketAddr>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ColumnsArg {
    All,
    Nvml,
}

/// Runs the command.
pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let wish = MonitorRequest {
        interval: args.interval,
        duration: args.duration,
        pid: args.pid,
        json: args.format == OutputFormat::Json,
        output: args.output,
        columns: match args.columns {
            ColumnsArg::All => Columns::All,
            ColumnsArg::Nvml => Columns::Nvml,
        },
        serve: args.serve,
    };
    if args.once { monitor::once(&wish, console) } else { monitor::watch(&wish, console) }
}

fn duration(text: &str) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds(text)?).map_err(|error| error.to_string())
}

/// Shorter, and sampling would take more of the machine than what it looks at.
const SHORTEST: Duration = Duration::from_millis(1);

fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval >= SHORTEST { Ok(interval) } else { Err(format!("{text:?} is shorter than 1ms")) }
}

fn target(text: &str) -> Result<SampleTarget, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|kind| kind.to_str()) {
        Some("csv") => Ok(SampleTarget::Csv(path)),
        Some("parquet") => Ok(SampleTarget::Parquet(path)),
        _ => Err("the name must end with .csv or .parquet".to_owned()),
    }
}

/// A port alone is one of this machine, for itself alone.
fn address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from(([127, 0, 0, 1], port))),
        Err(_) => text.parse().map_err(|_| {
            format!(
                "{text:?} is not an address, such as 9402 or \
                                                    0.0.0.0:9402"
            )
        }),
    }
}
