//! `rooflens monitor`: what devices and the machine do, on a screen, in a file, or at an address.

mod file;
mod lines;
mod screen;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use file::{SampleFile, SampleTarget};
use lines::LineOutput;
use rooflens_collect::sample::csv::Columns;
use rooflens_collect::sample::latest::Latest;
use rooflens_collect::sample::prometheus;
use rooflens_collect::sample::source::{Moment, SampleClock};
use rooflens_collect::sample::{
    Missing, Opened, Sampler, SamplingOutcome, SamplingSettings, Source, Watched, open,
};
use rooflens_core::cost::amount::seconds;
use rooflens_core::document::samples::{SampleDocument, SourceState};
use rooflens_core::environment;
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_schema::Notes;
use rooflens_schema::tables::Counters;
use screen::Screen;

use crate::args::{OutputFormat, one_of};
use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::{Presses, exit_of};
use crate::output;

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
    #[arg(long, value_parser = one_of([("all", Columns::All), ("nvml", Columns::Nvml)]), value_name = "WHICH", default_value = "all", help_heading = "Output")]
    columns: Columns,
    /// Serve Prometheus metrics at this address or port
    #[arg(long, value_name = "ADDRESS", value_parser = address, num_args = 0..=1, default_missing_value = "9402", help_heading = "Output")]
    serve: Option<SocketAddr>,
}

impl Args {
    fn is_json(&self) -> bool {
        self.format == OutputFormat::Json
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    if args.once { once(args, console) } else { watch(args, console) }
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

/// A screen is drawn this often at most.
const DRAWN_EVERY: Duration = Duration::from_millis(250);
/// Rows of a long interval are not held back.
const HELD_BACK: Duration = Duration::from_millis(100);

type Sources = Vec<Box<dyn Source>>;

fn sources(wish: &Args) -> Result<(Sources, Vec<SourceState>), CliError> {
    let watched = Watched::default();
    if let Some(pid) = wish.pid {
        watched.watch(pid);
    }
    let opened = open(environment::nvml_library().as_deref(), &watched);
    let states = opened.iter().map(SourceState::of).collect();
    let (mut sources, mut missing): (Sources, Vec<Missing>) = (Vec::new(), Vec::new());
    for Opened { source, .. } in opened {
        match source {
            Ok(source) => sources.push(source),
            Err(lack) => missing.push(lack),
        }
    }
    if !sources.is_empty() {
        return Ok((sources, states));
    }
    let facts: Vec<&str> = missing.iter().map(|missing| missing.fact.as_str()).collect();
    Err(CliError::Own {
        fact: format!("nothing can be sampled on this machine: {}", facts.join("; ")),
        hint: missing.first().map(|missing| Hint::words(missing.hint.as_ref())),
        exit: Exit::Environment,
    })
}

fn latest_of(sources: &[Box<dyn Source>]) -> Latest {
    Latest::new(sources.iter().flat_map(|source| source.subjects()).collect())
}

/// One sample. What tells of the time between two samples needs a first one, which is not shown.
fn once(wish: &Args, console: &Console) -> Result<Exit, CliError> {
    let (mut sources, states) = sources(wish)?;
    let (notes, timeline) = (Notes::default(), SampleClock::from(0));
    let mut latest = latest_of(&sources);
    let mut rows = Counters::default();
    for time in 0..2 {
        if time > 0 {
            std::thread::sleep(wish.interval.max(HELD_BACK));
        }
        rows.clear();
        for source in &mut sources {
            source.sample(&Moment::now(timeline), &mut rows, &notes);
        }
        latest.update(&rows);
    }
    if wish.is_json() {
        let document = SampleDocument::new(timeline, states, &latest, &mut sources, notes.rows());
        output::json(&document)?;
    } else {
        let processes: Vec<_> = sources.iter_mut().flat_map(|source| source.processes()).collect();
        output::text(&screen::text(&latest, &states, &processes, &console.screen(0)))?;
        console.warn_of_loss(&notes.rows());
    }
    Ok(Exit::Fine)
}

/// Where rows go.
struct Sinks {
    latest: Arc<Mutex<Latest>>,
    file: Option<SampleFile>,
    view: View,
}

enum View {
    Screen(Screen),
    Lines(LineOutput),
    Nobody,
}

impl Sinks {
    /// False where nobody reads standard output any more.
    fn take(&mut self, rows: &Counters) -> Result<bool, CliError> {
        self.latest().update(rows);
        if let Some(file) = &mut self.file {
            file.write(rows)?;
        }
        match &mut self.view {
            View::Screen(screen) => {
                let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
                screen.draw(&latest)
            }
            View::Lines(lines) => lines.write(rows),
            View::Nobody => Ok(true),
        }
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers Prometheus until what it returns is dropped; with the address.
#[cfg(feature = "serve")]
fn serve_metrics(
    address: SocketAddr,
    text: impl Fn() -> String + Send + Sync + 'static,
) -> Result<(rooflens_serve::MetricsServer, SocketAddr), CliError> {
    let server = rooflens_serve::MetricsServer::start(address, text).map_err(|source| {
        let hint = Hint::words("rooflens monitor --serve 0 picks a free port");
        CliError::environment(format!("cannot listen at {address}: {source}"), hint)
    })?;
    let address = server.address();
    Ok((server, address))
}

#[cfg(not(feature = "serve"))]
fn serve_metrics(_: SocketAddr, _: impl Fn() -> String) -> Result<((), SocketAddr), CliError> {
    Err(CliError::left_out("web server", "serve"))
}

/// Samples until it is enough.
fn watch(wish: &Args, console: &Console) -> Result<Exit, CliError> {
    let (sources, states) = sources(wish)?;
    let latest = Arc::new(Mutex::new(latest_of(&sources)));
    let base_unix_ns = 0;
    let server = wish.serve.map(|address| {
        let latest = Arc::clone(&latest);
        let text = move || prometheus::text(&latest.lock().unwrap_or_else(PoisonError::into_inner).clone());
        serve_metrics(address, text)
    });
    let server = server.transpose()?;
    let file = wish.output.as_ref();
    let file = file.map(|target| SampleFile::create(target, wish.columns, base_unix_ns)).transpose()?;
    if let Some((_, address)) = &server {
        console.say(&format!("serving http://{address}/metrics"));
    }
    let view = view(wish, console, states)?;
    let settings = SamplingSettings {
        interval: wish.interval,
        hand_over: if matches!(view, View::Screen(_)) { DRAWN_EVERY } else { HELD_BACK },
        base_unix_ns,
        beats: wish.duration.map(|duration| beats(duration, wish.interval)),
    };
    let mut sinks = Sinks { latest, file, view };
    let presses = Presses::watch(console, "writing the last samples");
    let sampler = Sampler::start(settings, sources).map_err(|source| {
        let hint = Hint::words("ulimit -u shows how many threads you may have");
        CliError::environment(format!("sampling cannot begin: {source}"), hint)
    })?;
    let mut is_read = true;
    while is_read && presses.count() == 0 && !sampler.is_done() {
        if let Some(rows) = sampler.next(HELD_BACK) {
            is_read = sinks.take(&rows)?;
            sampler.give_back(rows);
        }
    }
    let outcome = sampler.stop();
    sinks.take(&outcome.rows)?;
    finish(sinks, &outcome, console)?;
    // Without a duration, Ctrl-C is how it ends.
    Ok(exit_of(wish.duration.is_some() && presses.count() > 0))
}

fn view(wish: &Args, console: &Console, states: Vec<SourceState>) -> Result<View, CliError> {
    let elsewhere = wish.output.is_some() || wish.serve.is_some();
    if !wish.is_json() && !console.is_read_by_people() {
        for missing in states.iter().filter_map(|state| state.missing.as_ref()) {
            console.warn(&format!("{}; hint: {}", missing.fact, missing.hint));
        }
    }
    Ok(if wish.is_json() {
        View::Lines(LineOutput::json(&states)?)
    } else if console.is_read_by_people() {
        View::Screen(Screen::new(states, wish.interval, console.screen(0)))
    } else if elsewhere {
        View::Nobody
    } else {
        View::Lines(LineOutput::text())
    })
}

fn beats(duration: Duration, interval: Duration) -> i64 {
    let beats = duration.as_nanos().div_ceil(interval.as_nanos().max(1));
    i64::try_from(beats).unwrap_or(i64::MAX).max(1)
}

fn finish(sinks: Sinks, outcome: &SamplingOutcome, console: &Console) -> Result<(), CliError> {
    drop(sinks.view);
    let written = sinks.file.map(SampleFile::close).transpose()?;
    let tally = &outcome.tally;
    let cost =
        tally.core_share().map_or(String::new(), |share| format!(", {:.1} % of one core", 100.0 * share));
    let line = format!("{} samples, {} missed{cost}", tally.taken, tally.missed);
    match written {
        Some((path, rows)) => console.say(&format!("wrote {}: {rows} rows of {line}", path.display())),
        None => console.detail(&line),
    }
    console.warn_of_loss(&outcome.notes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_of_a_duration() {
        let beats =
            |duration, interval| beats(Duration::from_millis(duration), Duration::from_millis(interval));
        assert_eq!(beats(1000, 100), 10);
        assert_eq!(beats(1001, 100), 11);
        assert_eq!(beats(10, 100), 1);
    }
}
