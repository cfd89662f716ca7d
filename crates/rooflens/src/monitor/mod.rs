//! From a wish to samples on a screen, in a file, or at an address.

mod file;
mod lines;
mod screen;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use file::SampleFile;
use lines::LineOutput;
use rooflens_collect::sample::csv::Columns;
use rooflens_collect::sample::latest::Latest;
use rooflens_collect::sample::prometheus;
use rooflens_collect::sample::source::{Moment, SampleClock};
use rooflens_collect::sample::{Opened, Sampler, SamplingOutcome, SamplingSettings, Source, Watched, open};
use rooflens_core::document::samples::{SampleDocument, SourceState};
use rooflens_core::environment;
use rooflens_core::exit::Exit;
use rooflens_schema::Notes;
use rooflens_schema::tables::Counters;
use screen::Screen;

use crate::commands::exit_of;
use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::Presses;
use crate::output;
use crate::servers::pages;

/// What the user wants.
pub(crate) struct MonitorRequest {
    pub(crate) interval: Duration,
    pub(crate) duration: Option<Duration>,
    pub(crate) pid: Option<u32>,
    pub(crate) json: bool,
    pub(crate) output: Option<SampleTarget>,
    pub(crate) columns: Columns,
    pub(crate) serve: Option<SocketAddr>,
}

/// A file of samples.
#[derive(Debug, Clone)]
pub(crate) enum SampleTarget {
    Csv(PathBuf),
    Parquet(PathBuf),
}

/// A screen is drawn this often at most.
const DRAWN_EVERY: Duration = Duration::from_millis(250);
/// Rows of a long interval are not held back.
const HELD_BACK: Duration = Duration::from_millis(100);

type Sources = Vec<Box<dyn Source>>;

/// Everything that can be sampled, and how each source stands.
fn sources(wish: &MonitorRequest) -> Result<(Sources, Vec<SourceState>), CliError> {
    let watched = Watched::default();
    if let Some(pid) = wish.pid {
        watched.watch(pid);
    }
    let opened = open(environment::nvml_library().as_deref(), &watched);
    let states = opened.iter().map(SourceState::of).collect();
    let (mut sources, mut missing) = (Vec::new(), Vec::new());
    for Opened { source, .. } in opened {
        match source {
            Ok(source) => sources.push(source),
            Err(lack) => missing.push(lack),
        }
    }
    if sources.is_empty() { Err(CliError::NothingToSample { missing }) } else { Ok((sources, states)) }
}

fn latest_of(sources: &[Box<dyn Source>]) -> Latest {
    Latest::new(sources.iter().flat_map(|source| source.subjects()).collect())
}

/// One sample. What tells of the time between two samples needs a first one, which is not shown.
pub(crate) fn once(wish: &MonitorRequest, console: &Console) -> Result<Exit, CliError> {
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
    if wish.json {
        let document = SampleDocument::new(timeline, states, &latest, &mut sources, notes.rows());
        output::json(&document, console.is_read_by_people())?;
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

/// Who looks on.
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

/// Samples until it is enough.
pub(crate) fn watch(wish: &MonitorRequest, console: &Console) -> Result<Exit, CliError> {
    let (sources, states) = sources(wish)?;
    let latest = Arc::new(Mutex::new(latest_of(&sources)));
    let base_unix_ns = 0;
    let server = wish.serve.map(|address| {
        let latest = Arc::clone(&latest);
        let text = move || prometheus::text(&latest.lock().unwrap_or_else(PoisonError::into_inner).clone());
        pages::serve_metrics(address, text)
    });
    let server = server.transpose()?;
    let file = wish.output.as_ref();
    let file = file.map(|target| SampleFile::create(target, wish.columns, base_unix_ns)).transpose()?;
    if let Some(server) = &server {
        console.say(&format!("serving http://{}/metrics", server.address()));
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
    let sampler = Sampler::start(settings, sources).map_err(|source| CliError::Sampler { source })?;
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

fn view(wish: &MonitorRequest, console: &Console, states: Vec<SourceState>) -> Result<View, CliError> {
    let elsewhere = wish.output.is_some() || wish.serve.is_some();
    if !wish.json && !console.is_read_by_people() {
        for missing in states.iter().filter_map(|state| state.missing.as_ref()) {
            console.warn(&format!("{}; hint: {}", missing.fact, missing.hint));
        }
    }
    Ok(if wish.json {
        View::Lines(LineOutput::json(&states)?)
    } else if console.is_read_by_people() {
        View::Screen(Screen::new(states, wish.interval, console.screen(0)))
    } else if elsewhere {
        View::Nobody
    } else {
        View::Lines(LineOutput::text())
    })
}

/// Beats within a duration, the first at its beginning.
fn beats(duration: Duration, interval: Duration) -> i64 {
    let beats = duration.as_nanos().div_ceil(interval.as_nanos().max(1));
    i64::try_from(beats).unwrap_or(i64::MAX).max(1)
}

/// Completes the file and says how it went.
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
