//! From reports of Nsight Compute or rocprof-compute to what each launch loses.

use std::path::{Path, PathBuf};

use rooflens_analyze::profiled::{self, Advice, Launch, MOST_ASKED, Profile, Profiler, Timeline, expanded};
use rooflens_compose::nearest;
use rooflens_ingest::ncu::{self, Grade};
use rooflens_ingest::rocprof_compute;
use rooflens_report::cost::{csv, markdown, terminal};
use rooflens_report::profiled::parts;
use rooflens_schema::{Note, Notes};
use serde::Serialize;

use super::{Format, device, save, timeline};
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::inputs::files_near;
use crate::output;

/// What is asked.
pub struct Question {
    /// Reports, printed pages, folders of them.
    pub inputs: Vec<PathBuf>,
    /// Where the real time of each kernel is.
    pub timeline: Option<PathBuf>,
    /// Name of the device in the catalog.
    pub hardware: Option<String>,
    /// Folder for files.
    pub output: Option<PathBuf>,
    /// What is printed.
    pub format: Format,
    /// Rows on the screen.
    pub limit: usize,
    /// Metrics to add as columns.
    pub columns: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: SchemaTag,
    #[serde(flatten)]
    profile: &'a Profile,
    notes: Vec<Note>,
}

/// Answers the question. Whether it was ended early.
pub fn analyze(question: &Question, console: &Console) -> Result<bool, CliError> {
    if let Some(folder) = &question.output {
        save::destination(folder)?;
    }
    if let Some(path) = question.inputs.iter().find(|path| !path.exists()) {
        return Err(CliError::Missing { path: path.clone(), near: files_near(path) });
    }
    let notes = Notes::default();
    let Profiled { profile, launches, stopped } = profile_of(question, &notes, console)?;
    let document = Document { schema: schema("kernel_profile"), profile: &profile, notes: notes.rows() };
    if let Some(folder) = &question.output {
        save::write(folder, &profile, &launches, &document, console)?;
    }
    console.warn_of_loss(&notes.rows());
    let page = parts(&profile, usize::MAX);
    match question.format {
        Format::Text => {
            output::text(&terminal(&parts(&profile, question.limit), &console.screen(question.limit)))?
        }
        Format::Md => output::text(&markdown(&save::title(&profile), &page))?,
        Format::Csv => output::text(&csv(&page))?,
        Format::Json => output::json(&document, console.is_read_by_people())?,
    }
    if let Some(folder) = &question.output {
        console.say(&format!("files: {}", folder.display()));
    }
    Ok(stopped)
}

/// Writes the files of a report that a run left, and prints nothing.
pub fn save_profile(
    report: PathBuf,
    timeline: Option<PathBuf>,
    columns: &[String],
    folder: &Path,
    console: &Console,
) -> Result<(), CliError> {
    let question = Question {
        inputs: vec![report],
        timeline,
        hardware: None,
        output: None,
        format: Format::Json,
        limit: usize::MAX,
        columns: columns.to_vec(),
    };
    let notes = Notes::default();
    let Profiled { profile, launches, .. } = profile_of(&question, &notes, console)?;
    let document = Document { schema: schema("kernel_profile"), profile: &profile, notes: notes.rows() };
    save::destination(folder)?;
    save::write(folder, &profile, &launches, &document, console)
}

/// What the launches tell.
struct Profiled {
    profile: Profile,
    /// What it was made of.
    launches: Vec<Launch>,
    /// Whether reading the timeline was ended early.
    stopped: bool,
}

fn profile_of(question: &Question, notes: &Notes, console: &Console) -> Result<Profiled, CliError> {
    let launches = read(&question.inputs, notes)?;
    let mut stopped = false;
    let mut times = None;
    if let Some(path) = &question.timeline {
        let read = timeline::read(std::slice::from_ref(path), None, console)?;
        stopped = read.stopped;
        let mut sums = Timeline::default();
        for kernel in &read.kernels {
            sums.add(&kernel.name, kernel.total_ns);
        }
        times = Some(sums);
    }
    let known = device::known(question.hardware.as_deref(), &profiled::hint(&launches))?;
    let mut profile = profiled::profile(&launches, known.as_ref(), times.as_ref());
    profile.ask(&launches, columns(&question.columns, &launches, console));
    Ok(Profiled { profile, launches, stopped })
}

/// The metrics that are asked for, by their full names.
fn columns(wished: &[String], launches: &[Launch], console: &Console) -> Vec<&'static str> {
    let mut names: Vec<String> = Vec::new();
    for wish in wished.iter().map(|wish| wish.trim()).filter(|wish| !wish.is_empty()) {
        let found = expanded(wish, launches);
        let has = |launch: &Launch, name: &String| {
            launch.numbers.contains_key(name) || launch.texts.contains_key(name)
        };
        if !found.iter().any(|name| launches.iter().any(|launch| has(launch, name))) {
            let known = launches.iter().flat_map(|launch| launch.numbers.keys()).map(String::as_str);
            let near = nearest(wish, known).map_or(String::new(), |near| format!("; the nearest is {near}"));
            console.warn(&format!("no launch has the metric {wish}{near}"));
        }
        names.extend(found);
    }
    names.dedup();
    if names.len() > MOST_ASKED {
        console.warn(&format!("{} metrics are asked for: the first {MOST_ASKED} are columns", names.len()));
        names.truncate(MOST_ASKED);
    }
    // Names of columns live as long as the program; these are few, and made once.
    names.into_iter().map(|name| &*Box::leak(name.into_boxed_str())).collect()
}

/// The launches of all inputs, of one profiler: peaks of two devices are no roof.
fn read(inputs: &[PathBuf], notes: &Notes) -> Result<Vec<Launch>, CliError> {
    let folders: Vec<Vec<PathBuf>> = inputs.iter().map(|path| rocprof_compute::folders(path)).collect();
    if let Some(at) = folders.iter().position(|found| !found.is_empty()) {
        if let Some(other) = folders.iter().position(Vec::is_empty) {
            let path = |at: usize| inputs.get(at).cloned().unwrap_or_default();
            return Err(CliError::TwoProfilers { amd: path(at), other: path(other) });
        }
        let mut launches = Vec::new();
        for folder in folders.iter().flatten() {
            let read = rocprof_compute::read(folder as &Path, notes).map_err(CliError::UnreadableReport)?;
            launches.extend(read.into_iter().map(amd_launch));
        }
        return Ok(launches);
    }
    let launches = ncu::read_all(inputs, notes).map_err(CliError::UnreadableReport)?;
    Ok(launches.into_iter().map(launch).collect())
}

/// rocprof-compute tells sizes as products only.
fn amd_launch(from: rocprof_compute::Launch) -> Launch {
    Launch {
        profiler: Profiler::RocprofCompute,
        name: from.name,
        grid: from.groups.map(|groups| [groups, 1, 1]),
        block: from.items.map(|items| [items, 1, 1]),
        numbers: from.numbers,
        device: from.device,
        ..Launch::default()
    }
}

/// A launch as the analysis takes it: names of people and machines are not in it.
fn launch(from: ncu::Launch) -> Launch {
    let device =
        from.text("device__attribute_display_name").filter(|name| !name.is_empty()).map(str::to_owned);
    let numbers = from.metrics.keys().filter_map(|name| Some((name.clone(), from.number(name)?))).collect();
    let texts = from.metrics.keys().filter_map(|name| Some((name.clone(), from.text(name)?.to_owned())));
    let texts = texts.collect();
    let units = from.metrics.iter().filter_map(|(name, metric)| Some((name.clone(), metric.unit.clone()?)));
    let units = units.collect();
    let advice = from.rules.iter().filter_map(|rule| {
        let speedup = rule.speedup?;
        // Messages of a rule that failed name files of the machine.
        let said = rule.messages.iter().find(|(grade, _)| *grade == Grade::Optimization);
        Some(Advice {
            rule: rule.id.clone(),
            speedup_pct: speedup.percent,
            global: speedup.is_global,
            message: said.map_or(String::new(), |(_, text)| plain(text)),
        })
    });
    let advice = advice.collect();
    let profiler = Profiler::NsightCompute;
    let (grid, block, name) = (from.grid, from.block, from.name);
    Launch { profiler, grid, block, numbers, texts, units, device, advice, name }
}

/// A message without its markup: `@section:Occupancy:Occupancy@` and `@url:words:address@` are their words.
fn plain(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for (at, part) in message.split('@').enumerate() {
        let words = match part.split_once(':') {
            Some(("url", rest)) => rest.split(":http").next(),
            Some((_, rest)) => rest.rsplit(':').next(),
            None => None,
        };
        out.push_str(words.filter(|_| at % 2 == 1).unwrap_or(part));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_words() {
        let text = "See @section:WarpState:Warp State@ and the @url:guide:https://x.y/z@. A @ b.";
        assert_eq!(plain(text), "See Warp State and the guide. A  b.");
    }
}
