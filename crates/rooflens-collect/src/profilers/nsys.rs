//! Nsight Systems, around the process.

use super::Profiler;
use crate::plan::{CommandWord, PlanRoot, PlannedStep, RunStage, StepWork, WorkloadLaunch, WorkloadPass};
use crate::runtimes::RecordingGate;

/// The profiler.
pub(crate) struct NsysProfiler;

/// The variable that tells sessions apart; whoever starts a step sets it. A session of the name that a
/// killed run left behind cannot be opened again.
pub(crate) const SESSION: &str = "ROOFLENS_SESSION";

impl Profiler for NsysProfiler {
    fn stage(&self) -> RunStage {
        RunStage::Nsys
    }

    fn about(&self) -> &'static str {
        "the timeline of host and device, by Nsight Systems"
    }

    fn step(&self, launch: &WorkloadLaunch<'_>) -> PlannedStep {
        let mut step = launch.step(self.stage(), WorkloadPass::Nsys, self.about());
        let settings = &launch.settings().pipeline.nsys;
        let gate = launch.settings().runtime.runtime.gate(settings.capture.as_deref());
        let StepWork::Process(command) = &mut step.work else { return step };
        let program = &settings.program;
        let program = if program.contains('/') {
            CommandWord::path(PlanRoot::Project, program)
        } else {
            CommandWord::plain(program)
        };
        let mut argv = vec![program];
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| CommandWord::plain(*word)));
        add(&["profile", &format!("--session-new=rooflens-%q{{{SESSION}}}")]);
        add(&[&format!("--trace={}", settings.trace.join(","))]);
        // Switching threads is sampled only where stacks are: it needs the same permission.
        add(&[&format!("--sample={}", settings.sample), &format!("--cpuctxsw={}", settings.sample)]);
        add(&[&format!("--cuda-graph-trace={}", settings.cuda_graph_trace)]);
        if settings.gpu_metrics {
            add(&["--gpu-metrics-device=all"]);
        }
        match (&settings.capture, gate) {
            (None, _) | (_, RecordingGate::Open) => {}
            (Some(_), RecordingGate::Range(name)) => {
                // A range of any domain, unless the name says which.
                let domain = if name.contains('@') { "" } else { "@*" };
                add(&[
                    "--capture-range=nvtx",
                    &format!("--nvtx-capture={name}{domain}"),
                    "--capture-range-end=stop",
                ]);
            }
            (Some(_), RecordingGate::CudaProfiler) => {
                add(&["--capture-range=cudaProfilerApi", "--capture-range-end=stop"])
            }
        }
        add(&settings.args.iter().map(String::as_str).collect::<Vec<_>>());
        // The table that we read is made from the report at once, by the version that wrote it.
        add(&["--export=sqlite", "--force-overwrite=true", "--output"]);
        argv.push(CommandWord::In(PlanRoot::Run, format!("raw/{}/report", self.name())));
        argv.append(&mut command.argv);
        command.argv = argv;
        command
            .expects
            .extend(["nsys-rep", "sqlite"].map(|kind| format!("raw/{}/report.{kind}", self.name())));
        // Python's ranges are not registered strings: nsys would not look at them.
        command.env.insert("NSYS_NVTX_PROFILER_REGISTER_ONLY".to_owned(), CommandWord::plain("0"));
        step
    }
}
