//! The kernels of a list under Nsight Compute: all of them in one process, then what they lose.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rooflens_analyze::kernels::choose::{Chosen, choose};
use rooflens_collect::ask;
use rooflens_collect::execute::{
    Executor, Processes, StepEnd, StepObserver, StopRequest, WorkloadEvent, find_program,
};
use rooflens_collect::plan::{
    CommandWord, PlanRoot, PlannedStep, ProcessCommand, RunFolders, RunStage, StepWork,
};
use rooflens_collect::profilers::ncu::{NcuRefusal, NcuRequest, argv, profiled, refusal};
use rooflens_collect::runtimes::RecordingGate;
use rooflens_report::format;
use rooflens_schema::RunDir;

use super::list::{self, Listed};
use super::save::REPORT;
use super::{ProfiledKernels, ProfiledRequest, analyze, save};
use crate::error::Error;
use crate::observer::{Event, SharedObserver, StepWatch};
use crate::shell;

/// The step's name, and that of the folder with its logs.
const STEP: &str = "ncu";
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

const NOTHING_PROFILED: &str = "Nsight Compute profiled no kernel";

/// By what it printed: exit codes tell nothing.
fn failure(printed: &str, folder: &Path, verdict: &str) -> Error {
    match refusal(printed) {
        Some(refusal) => {
            // Without a driver there is nothing to profile; with one, the workload had no such launch.
            let has_driver = Path::new("/proc/driver/nvidia").exists();
            let error = match refusal {
                NcuRefusal::NoDriver => Error::environment("Nsight Compute found no CUDA driver"),
                NcuRefusal::NoPermission => {
                    Error::environment("the driver does not let this user read counters (ERR_NVGPUCTRPERM)")
                }
                NcuRefusal::NoKernels if has_driver => Error::workload(NOTHING_PROFILED),
                NcuRefusal::NoKernels => Error::environment(NOTHING_PROFILED),
            };
            error.words(refusal.hint())
        }
        None => Error::workload(format!("the profiled program {verdict}; there is no report"))
            .words(format!("full output: {}", shell::word(folder))),
    }
}

fn places(wish: &ProfileRequest) -> RunFolders {
    let here = std::path::absolute(".").unwrap_or_default();
    let run = std::path::absolute(&wish.output).unwrap_or_else(|_| wish.output.clone());
    RunFolders { run, project: here.clone(), package: here }
}

#[derive(Default)]
struct Version {
    version: Option<String>,
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

/// Metrics that one pass collects. Real reports: 9 passes of the set basic (144 metrics by
/// `ncu --list-sets`), 42 to 49 of the set full (613).
const METRICS_A_PASS: f64 = 15.0;
/// What a pass costs beside the kernel: memory is saved and written back, caches are flushed. Assumed.
const PASS_OVERHEAD_NS: f64 = 20e6;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProfilingEstimate {
    /// Replays of each launch; nothing where it is not known what is collected.
    pub(crate) passes: Option<u64>,
    /// The time of all, without loading the model.
    pub(crate) time_ns: Option<f64>,
}

pub(crate) fn estimate(kernels: &[Listed], numbers: &[u64], metrics: Option<u64>) -> ProfilingEstimate {
    let passes = metrics.map(|metrics| (metrics as f64 / METRICS_A_PASS).ceil().max(1.0));
    let of = |kernel: &Listed| {
        let launches = numbers.iter().filter(|number| **number < kernel.launches).count() as f64;
        Some(launches * passes? * (kernel.median_ns? + PASS_OVERHEAD_NS))
    };
    ProfilingEstimate { passes: passes.map(|passes| passes as u64), time_ns: kernels.iter().map(of).sum() }
}

/// How many metrics a set has, by what `ncu --list-sets` printed; and the name that this version has for it.
pub(crate) fn set_in(listing: &str, wished: &str) -> Option<(String, u64)> {
    let row = |name: &str| {
        let line = listing.lines().find(|line| line.split_whitespace().next() == Some(name))?;
        Some((name.to_owned(), line.split_whitespace().last()?.parse().ok()?))
    };
    // Older versions call the smallest one `default`.
    row(wished).or_else(|| row("default").filter(|_| wished == "basic"))
}

pub(crate) struct NcuLog<'a> {
    observer: &'a SharedObserver,
    launches: u64,
    log: PathBuf,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    file: Option<File>,
    /// What is not a whole line yet.
    rest: Vec<u8>,
}

impl<'a> NcuLog<'a> {
    pub(crate) fn new(observer: &'a SharedObserver, launches: u64, log: PathBuf) -> Self {
        observer.event(&Event::Profiled { done: 0, of: launches, kernel: "", passes: None });
        Self { observer, launches, log, state: RefCell::default() }
    }

    fn line(&self, line: &str) {
        let Some(launch) = profiled(line) else { return };
        let (done, of) = (launch.at + 1, self.launches);
        self.observer.event(&Event::Profiled { done, of, kernel: &launch.name, passes: launch.passes });
    }
}

impl StepObserver for NcuLog<'_> {
    fn event(&self, _: &PlannedStep, _: &WorkloadEvent) {}

    fn stop_request(&self) -> StopRequest {
        StepWatch(self.observer).stop_request()
    }

    fn tick(&self) {
        let mut state = self.state.borrow_mut();
        if state.file.is_none() {
            state.file = File::open(&self.log).ok();
        }
        let mut new = Vec::new();
        // What cannot be read now is read at the next tick.
        let Some(Ok(_)) = state.file.as_mut().map(|file| file.read_to_end(&mut new)) else { return };
        state.rest.append(&mut new);
        while let Some(end) = state.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = state.rest.drain(..=end).collect();
            self.line(&String::from_utf8_lossy(&line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
Identifier Sections                              Enabled Estimated Metrics
---------- ------------------------------------- ------- -----------------
basic      LaunchStats, Occupancy, SpeedOfLight  yes     144
detailed   ComputeWorkloadAnalysis, LaunchStats, no      459
           Occupancy
";

    #[test]
    fn passes_and_time_by_hand() {
        let kernel = |launches, median| Listed {
            name: "k".into(),
            regex: None,
            launches,
            median_ns: median,
            typical: vec![],
        };
        // 144 / 15 = 9.6: 10 passes. Two launches of 1 ms, one of 3 ms: 10 × (2 × 21 + 23) ms.
        let kernels = [kernel(9, Some(1e6)), kernel(1, Some(3e6))];
        let found = estimate(&kernels, &[0, 4], Some(144));
        assert_eq!(found, ProfilingEstimate { passes: Some(10), time_ns: Some(650e6) });
        assert_eq!(estimate(&kernels, &[0], None), ProfilingEstimate { passes: None, time_ns: None });
        assert_eq!(estimate(&[kernel(1, None)], &[0], Some(15)).time_ns, None);
    }

    #[test]
    fn a_set_by_the_name_of_the_version() {
        assert_eq!(set_in(LISTING, "basic"), Some(("basic".to_owned(), 144)));
        assert_eq!(set_in(LISTING, "detailed"), Some(("detailed".to_owned(), 459)));
        assert_eq!(
            set_in(&LISTING.replace("basic ", "default "), "basic"),
            Some(("default".to_owned(), 144))
        );
        assert_eq!(set_in(LISTING, "full"), None);
        assert_eq!(set_in("", "basic"), None);
    }
}
