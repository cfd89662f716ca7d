//! The kernels of a list under Nsight Compute: all of them in one process, then what they lose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rooflens_analyze::kernels::choose::{Chosen, choose};
use rooflens_collect::ask;
use rooflens_collect::execute::{Executor, Processes, StepEnd, StepObserver, find_program};
use rooflens_collect::plan::{
    CommandWord, PlanRoot, PlannedStep, ProcessCommand, RunFolders, RunStage, StepWork,
};
use rooflens_collect::profilers::ncu::{NcuRequest, argv, refusal};
use rooflens_collect::runtimes::RecordingGate;
use rooflens_report::format;
use rooflens_schema::RunDir;

use super::estimate::{ProfilingEstimate, estimate, set_in};
use super::list::{self, Listed};
use super::ncu_log::NcuLog;
use super::{ProfiledKernels, ProfiledRequest, analyze, save};
use crate::error::Error;
use crate::observer::{Event, SharedObserver};
use crate::shell;

/// The step's name, and that of the folder with its logs.
const STEP: &str = "ncu";
/// The report, from the output folder.
pub(crate) const REPORT: &str = "report.ncu-rep";
/// A program that tells its version takes a second at most.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is asked for.
#[derive(Debug, Clone)]
pub struct ProfileRequest {
    /// The list.
    pub from: Option<PathBuf>,
    /// Kernels by name: of the list, or of all.
    pub kernel: Vec<String>,
    /// The output folder.
    pub output: PathBuf,
    /// The set of sections.
    pub set: String,
    /// Typical launches of each kernel.
    pub launches: u64,
    /// `base` or `none`.
    pub clock_control: String,
    /// An NVTX range that must be open.
    pub range: Option<String>,
    /// The program.
    pub ncu: String,
    /// Where the real time of each kernel is.
    pub timeline: Option<PathBuf>,
    /// The workload.
    pub command: Vec<String>,
}

/// A planned profile: nothing is started before [`Profiling::run`].
pub struct Profiling<'a> {
    request: &'a ProfileRequest,
    places: RunFolders,
    step: PlannedStep,
    launches: u64,
    /// What will be done and what it costs, in lines.
    pub summary: String,
}

/// Plans which launches are profiled.
pub fn profile(request: &ProfileRequest) -> Result<Profiling<'_>, Error> {
    let kernels = wished(request)?;
    let candidates: Vec<_> = kernels.iter().map(Listed::candidate).collect();
    let chosen = choose(&candidates, request.launches);
    save::destination(&request.output)?;
    let places = places(request);
    let known = Version::ask(request, &places);
    let step = step(request, &kernels, &chosen, known.set.as_deref());
    let cost = estimate(&kernels, &chosen.numbers, known.metrics);
    let summary = told(request, &kernels, &chosen, cost, &known);
    Ok(Profiling { request, places, step, launches: chosen.launches, summary })
}

impl Profiling<'_> {
    /// The command, as a shell takes it.
    pub fn command(&self) -> String {
        let StepWork::Process(command) = &self.step.work else { return String::new() };
        let words = command.argv.iter().map(|word| shell::word(Path::new(&word.resolve(&self.places))));
        words.collect::<Vec<String>>().join(" ")
    }

    /// Profiles, then analyses. Nothing where the observer stopped it before there was a report.
    pub fn run(&self, observer: &SharedObserver) -> Result<Option<ProfiledKernels>, Error> {
        let StepWork::Process(command) = &self.step.work else { return Ok(None) };
        find_program(command, &self.places)?;
        let folder = RunDir::new(&self.places.run).raw(STEP);
        observer.event(&Event::StepBegan(&self.step));
        let watch = NcuLog::new(observer, self.launches, folder.join("stderr.log"));
        let outcome = Processes::default().run(&self.step, command, &self.places, &watch);
        watch.tick();
        let outcome = outcome.inspect_err(|_| observer.event(&Event::StepAbandoned(&self.step)))?;
        observer.event(&Event::StepEnded(&outcome));
        let report = self.places.run.join(REPORT);
        let printed = std::fs::read(folder.join("stderr.log")).unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed);
        if !report.is_file() {
            if outcome.end == StepEnd::Stopped {
                return Ok(None);
            }
            return Err(failure(&printed, &folder, &outcome.verdict()));
        }
        if !outcome.is_done() {
            let verdict = outcome.verdict();
            observer.warn(&format!("the workload {verdict}; what was profiled before is used"));
        }
        let clock = if self.request.clock_control == "base" { "locked to base" } else { "not held" };
        observer.info(&format!("report: {}; clocks were {clock}", report.display()));
        let request = ProfiledRequest {
            inputs: vec![report],
            timeline: self.request.timeline.clone(),
            output: Some(self.request.output.clone()),
            ..ProfiledRequest::default()
        };
        analyze(&request, observer).map(Some)
    }
}

/// The kernels of the list that are wanted; without a list, all that match.
fn wished(wish: &ProfileRequest) -> Result<Vec<Listed>, Error> {
    let regexes = super::regexes(&wish.kernel)?;
    match &wish.from {
        Some(from) => list::only(list::read(from)?, &regexes, from),
        None => Ok(regexes.into_iter().map(Listed::matching).collect()),
    }
}

/// By what it printed: exit codes tell nothing.
fn failure(printed: &str, folder: &Path, verdict: &str) -> Error {
    match refusal(printed) {
        Some(refusal) => Error::NotProfiled { refusal },
        None => Error::ProfilerFailed { verdict: verdict.to_owned(), logs: folder.to_owned() },
    }
}

fn places(wish: &ProfileRequest) -> RunFolders {
    let here = std::path::absolute(".").unwrap_or_default();
    let run = std::path::absolute(&wish.output).unwrap_or_else(|_| wish.output.clone());
    RunFolders { run, project: here.clone(), package: here }
}

/// What the program tells of itself.
#[derive(Default)]
struct Version {
    version: Option<String>,
    /// The name that it has for the set.
    set: Option<String>,
    metrics: Option<u64>,
}

impl Version {
    fn ask(wish: &ProfileRequest, places: &RunFolders) -> Self {
        let command = command(vec![program(wish)]);
        let Ok(path) = find_program(&command, places) else { return Self::default() };
        let told = ask(&path, &["--version"], PATIENCE).unwrap_or_default();
        let version = told.lines().find_map(|line| line.trim().strip_prefix("Version ")).map(str::to_owned);
        let found = ask(&path, &["--list-sets"], PATIENCE).ok().and_then(|told| set_in(&told, &wish.set));
        Self { version, set: found.as_ref().map(|set| set.0.clone()), metrics: found.map(|set| set.1) }
    }
}

fn program(wish: &ProfileRequest) -> CommandWord {
    if wish.ncu.contains('/') {
        CommandWord::path(PlanRoot::Project, &wish.ncu)
    } else {
        CommandWord::plain(&wish.ncu)
    }
}

fn command(argv: Vec<CommandWord>) -> ProcessCommand {
    ProcessCommand {
        argv,
        env: BTreeMap::new(),
        cwd: CommandWord::In(PlanRoot::Project, String::new()),
        writes: Vec::new(),
        expects: vec![REPORT.to_owned()],
        timeout_s: None,
        packages: Vec::new(),
        install: Vec::new(),
    }
}

fn step(wish: &ProfileRequest, kernels: &[Listed], chosen: &Chosen, set: Option<&str>) -> PlannedStep {
    let request = NcuRequest {
        program: program(wish),
        set: Some(set.unwrap_or(&wish.set).to_owned()),
        sections: waiting_sections(&wish.set),
        metrics: Vec::new(),
        clock_control: wish.clock_control.clone(),
        gate: wish.range.clone().map_or(RecordingGate::Open, RecordingGate::Range),
        chosen: Some(CommandWord::plain(list::filter(kernels, &chosen.numbers))),
        kernel: Vec::new(),
        most: None,
        args: Vec::new(),
        report: CommandWord::In(PlanRoot::Run, REPORT.trim_end_matches(".ncu-rep").to_owned()),
    };
    let mut words = argv(&request);
    words.extend(wish.command.iter().map(CommandWord::plain));
    PlannedStep {
        name: STEP.to_owned(),
        stage: RunStage::Ncu,
        purpose: "counters of chosen launches".to_owned(),
        work: StepWork::Process(Box::new(command(words))),
    }
}

/// What will be done, in lines.
fn told(
    wish: &ProfileRequest,
    kernels: &[Listed],
    chosen: &Chosen,
    cost: ProfilingEstimate,
    known: &Version,
) -> String {
    let numbers: Vec<String> = chosen.numbers.iter().map(|number| (number + 1).to_string()).collect();
    let counted = kernels.iter().all(|kernel| kernel.launches < u64::MAX);
    let regexes = kernels.iter().filter(|kernel| kernel.regex.is_some()).count();
    let counts = [(kernels.len() - regexes, "kernel"), (regexes, "regular expression")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let what: Vec<String> = counts.map(|(count, noun)| format::plural(*count as i64, noun)).collect();
    let mut lines = vec![format!(
        "{} in one process: launches number {}{}, {} of them typical",
        what.join(" and "),
        numbers.join(", "),
        if counted { format!(", {} in total", chosen.launches) } else { String::new() },
        chosen.typical,
    )];
    if chosen.without > 0 {
        lines.push(format!(
            "no typical launch of {} is known: the first launches are used",
            format::plural(chosen.without as i64, "kernel")
        ));
    }
    let version = known.version.as_deref().map_or("not found".to_owned(), |v| format!("version {v}"));
    lines.push(format!("ncu, {version}; clocks: {}", wish.clock_control));
    lines.push(match (cost.passes, cost.time_ns.filter(|_| counted)) {
        (Some(passes), Some(time)) => format!(
            "estimate: {passes} passes per launch (one per 15 metrics), {:.0} s plus loading the model (20 \
             ms per pass plus the kernel's time)",
            time / 1e9
        ),
        (Some(passes), None) => format!(
            "estimate: {passes} passes per launch (one per 15 metrics); the list \
                                         has no times"
        ),
        _ => "no estimate: ncu does not report the number of metrics in the set".to_owned(),
    });
    lines.join("\n")
}

/// Why warps wait, which Nsight Compute has in its full set only.
fn waiting_sections(set: &str) -> Vec<String> {
    let sections: &[&str] = if set == "detailed" { &["SchedulerStats", "WarpStateStats"] } else { &[] };
    sections.iter().map(|&section| section.to_owned()).collect()
}
