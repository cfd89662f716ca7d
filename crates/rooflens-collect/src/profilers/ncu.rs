//! Nsight Compute, around the process: counters of single launches, all chosen kernels in one process.
//!
//! Which launches: `--kernel-id context:stream:regex:NAMES:NUMBERS` can be given once, takes one expression
//! for names and one for the number of the launch, and splits at colons, so that neither may hold one
//! (`ncu` 2024.2 refuses it). Launches are therefore chosen as names × numbers: of every kernel that the
//! expression matches, the launches with these numbers, each kernel counted for itself. `--kernel-name` can
//! be given once, too, and does nothing beside `--kernel-id`.

use crate::kernel_regex::KernelRegex;
use crate::plan::{CommandWord, PlanRoot, ProcessCommand, RunStage};
use crate::runtimes::RecordingGate;
use crate::settings::RunSettings;

/// Where the stage finds which launches to profile, from the run's folder: the timeline tells them.
pub const CHOSEN: &str = "raw/ncu/kernels.txt";

/// What is asked of Nsight Compute, but for the workload.
pub struct NcuRequest {
    /// The program.
    pub program: CommandWord,
    /// A set of sections, by the name that this version has for it.
    pub set: Option<String>,
    /// Single sections.
    pub sections: Vec<String>,
    /// Single metrics.
    pub metrics: Vec<String>,
    /// `base` or `none`.
    pub clock_control: String,
    /// What must be open around a launch.
    pub gate: RecordingGate,
    /// The launches, as `--kernel-id` takes them.
    pub chosen: Option<CommandWord>,
    /// Where no launches are chosen: kernels by name; all where there is none.
    pub kernel: Vec<KernelRegex>,
    /// Launches at most.
    pub most: Option<u64>,
    /// Arguments of the user's own.
    pub args: Vec<String>,
    /// The report, without `.ncu-rep`.
    pub report: CommandWord,
}

/// The value of `--kernel-id` for kernels and launch numbers, from 1; every number where there is none. `names`
/// are expressions for whole names.
pub fn kernel_id(names: &[String], regexes: &[&KernelRegex], numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let names = (!names.is_empty()).then(|| format!("^({})$", names.join("|")));
    let kernels: Vec<String> = names.into_iter().chain(regexes.iter().map(|regex| regex.for_ncu())).collect();
    format!("::regex:{}:{}", kernels.join("|"), numbers.join("|"))
}

/// The words before those of the workload.
pub fn argv(request: &NcuRequest) -> Vec<CommandWord> {
    let mut argv = vec![request.program.clone()];
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| CommandWord::plain(*word)));
    // Its own words apart from those of the workload.
    add(&["--log-file", "stderr", "--config-file", "no", "--target-processes", "all"]);
    if let Some(set) = &request.set {
        add(&["--set", set]);
    }
    for section in &request.sections {
        add(&["--section", section]);
    }
    if !request.metrics.is_empty() {
        add(&["--metrics", &request.metrics.join(",")]);
    }
    add(&["--clock-control", &request.clock_control, "--print-units", "base", "--import-source", "no"]);
    match &request.gate {
        RecordingGate::Open => {}
        // A slash makes it a range that is pushed and popped.
        RecordingGate::Range(name) => add(&["--nvtx", "--nvtx-include", &format!("{name}/")]),
        RecordingGate::CudaProfiler => add(&["--profile-from-start", "no"]),
    }
    if let Some(most) = request.most {
        add(&["--launch-count", &most.to_string()]);
    }
    if let Some(chosen) = &request.chosen {
        add(&["--kernel-name-base", "demangled", "--kernel-id"]);
        argv.push(chosen.clone());
    } else if !request.kernel.is_empty() {
        let kernels: Vec<String> = request.kernel.iter().map(KernelRegex::for_ncu).collect();
        add(&["--kernel-name-base", "demangled", "--kernel-name", &format!("regex:{}", kernels.join("|"))]);
    }
    // Before ours: one that lacks its value takes a word of ours, not the program.
    argv.extend(request.args.iter().map(CommandWord::plain));
    argv.extend([
        CommandWord::plain("--force-overwrite"),
        CommandWord::plain("--export"),
        request.report.clone(),
    ]);
    argv
}

pub(super) fn around(run: &RunSettings, command: &mut ProcessCommand) {
    let settings = &run.pipeline.ncu;
    let has_timeline = run.pipeline.has(RunStage::Nsys);
    let request = NcuRequest {
        program: CommandWord::program(&settings.program),
        set: settings.set.clone(),
        sections: settings.sections.clone(),
        metrics: settings.metrics.clone(),
        clock_control: settings.clock_control.clone(),
        gate: run.runtime.runtime.gate(settings.phase.as_deref()),
        chosen: has_timeline.then(|| CommandWord::Text(PlanRoot::Run, CHOSEN.to_owned())),
        kernel: settings.kernel.clone(),
        args: settings.args.clone(),
        // Without a timeline, kernels cannot be ranked: take the first launches.
        most: (!has_timeline).then_some(settings.top_kernels * settings.launches_per_kernel),
        report: CommandWord::In(PlanRoot::Run, "raw/ncu/report".to_owned()),
    };
    command.argv.splice(..0, argv(&request));
    command.expects.push("raw/ncu/report.ncu-rep".to_owned());
}

/// Why Nsight Compute profiled nothing, by what it printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NcuRefusal {
    /// No driver, or none that answers.
    NoDriver,
    /// Counters are not open to this user.
    NoPermission,
    /// No launch was one of the chosen, or there was none at all.
    NoKernels,
}

/// What of this a text tells. Exit codes tell nothing: 0 and 1 both stand for each of them.
pub fn refusal(printed: &str) -> Option<NcuRefusal> {
    let said = |words: &str| printed.lines().any(|line| line.starts_with("==") && line.contains(words));
    if said("ERR_NVGPUCTRPERM") {
        Some(NcuRefusal::NoPermission)
    } else if said("Driver could not be loaded") || said("failed to connect to the CUDA driver") {
        Some(NcuRefusal::NoDriver)
    } else {
        said("No kernels were profiled").then_some(NcuRefusal::NoKernels)
    }
}

impl NcuRefusal {
    /// What helps.
    pub fn hint(self) -> &'static str {
        match self {
            NcuRefusal::NoDriver => "rooflens doctor checks for a GPU and its driver",
            NcuRefusal::NoPermission => {
                "permit counters: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, \
                 or run as root (a container needs --cap-add SYS_ADMIN); rooflens doctor shows the current \
                 state"
            }
            NcuRefusal::NoKernels => {
                "rooflens doctor checks for a GPU; if there is one, no launch had a selected name and \
                 number: take them from a new timeline with rooflens kernels top"
            }
        }
    }
}

/// What it tells of a launch: `==PROF== Profiling "name" - 3: 0%....50%....100% - 9 passes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profiled {
    /// The kernel, without its parameters.
    pub name: String,
    /// Its place among the profiled, from 0.
    pub at: u64,
    /// How often it was replayed; none while that goes on.
    pub passes: Option<u64>,
}

/// The launch that a line tells of.
pub fn profiled(line: &str) -> Option<Profiled> {
    let rest = line.trim_end().strip_prefix("==PROF== Profiling \"")?;
    // A name may hold quotes; what follows the last one is ours.
    let (name, rest) = rest.rsplit_once('"')?;
    let (at, rest) = rest.strip_prefix(" - ")?.split_once(':')?;
    let passes = rest.rsplit_once("- ").and_then(|(_, last)| last.split(' ').next()?.parse().ok());
    Some(Profiled { name: name.to_owned(), at: at.trim().parse().ok()?, passes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints() {
        let line = "==PROF== Profiling \"vectorAdd_B\" - 1: 0%....50%....100% - 46 passes";
        let told = profiled(line).unwrap();
        assert_eq!((told.name.as_str(), told.at, told.passes), ("vectorAdd_B", 1, Some(46)));
        assert_eq!(profiled("==PROF== Profiling \"a\" - 12: 0%..").unwrap().passes, None);
        assert_eq!(profiled("==PROF== Profiling \"a\"\" - 2: 0%..").unwrap().name, "a\"");
        for other in
            ["", "==PROF== Connected to process 1", "==PROF== Profiling \"a", "Profiling \"a\" - 1: "]
        {
            assert_eq!(profiled(other), None, "{other}");
        }
    }

    #[test]
    fn why_nothing_was_profiled() {
        let cases = [
            ("==WARNING== No kernels were profiled.\n", Some(NcuRefusal::NoKernels)),
            ("==ERROR== Driver could not be loaded.", Some(NcuRefusal::NoDriver)),
            (
                "x\n==ERROR== Nsight Compute failed to connect to the CUDA driver (stub?)",
                Some(NcuRefusal::NoDriver),
            ),
            (
                "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission",
                Some(NcuRefusal::NoPermission),
            ),
            // A workload may print anything.
            ("No kernels were profiled", None),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text), expected, "{text}");
        }
    }

    #[test]
    fn launches_are_names_and_numbers_without_a_colon() {
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(kernel_id(&names, &[], &[3, 17]), "::regex:^(a|b)$:3|17");
        assert_eq!(kernel_id(&names[..1], &[], &[]), "::regex:^(a)$:");
        let (one, other) = (KernelRegex::new("x|y::z").unwrap(), KernelRegex::new("^w").unwrap());
        assert_eq!(kernel_id(&names[..1], &[&one, &other], &[1]), r"::regex:^(a)$|(x|y\x3a\x3az)|(^w):1");
        assert_eq!(kernel_id(&[], &[&other], &[1]), "::regex:(^w):1");
    }
}
