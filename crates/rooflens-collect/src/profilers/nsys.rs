//! Nsight Systems, around the process.

use super::Profiler;
use crate::plan::{Launch, Pass, Root, Stage, Step, Word, Work};
use crate::runtimes::Gate;

/// The profiler.
pub struct Nsys;

/// The variable that tells sessions apart; whoever starts a step sets it. A session of the name that a
/// killed run left behind cannot be opened again.
pub const SESSION: &str = "ROOFLENS_SESSION";

impl Profiler for Nsys {
    fn stage(&self) -> Stage {
        Stage::Nsys
    }

    fn about(&self) -> &'static str {
        "the timeline of host and device, by Nsight Systems"
    }

    fn step(&self, launch: &Launch<'_>) -> Step {
        let mut step = launch.step(self.stage(), Pass::Nsys, self.about());
        let settings = &launch.settings().pipeline.nsys;
        let gate = launch.settings().runtime.runtime.gate(settings.capture.as_deref());
        let Work::Process(command) = &mut step.work else { return step };
        let program = &settings.program;
        let program =
            if program.contains('/') { Word::path(Root::Project, program) } else { Word::plain(program) };
        let mut argv = vec![program];
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| Word::plain(*word)));
        add(&["profile", &format!("--session-new=rooflens-%q{{{SESSION}}}")]);
        add(&[&format!("--trace={}", settings.trace.join(","))]);
        // Switching threads is sampled only where stacks are: it needs the same permission.
        add(&[&format!("--sample={}", settings.sample), &format!("--cpuctxsw={}", settings.sample)]);
        add(&[&format!("--cuda-graph-trace={}", settings.cuda_graph_trace)]);
        if settings.gpu_metrics {
            add(&["--gpu-metrics-device=all"]);
        }
        match (&settings.capture, gate) {
            (None, _) | (_, Gate::Open) => {}
            (Some(_), Gate::Range(name)) => {
                // A range of any domain, unless the name says which.
                let domain = if name.contains('@') { "" } else { "@*" };
                add(&[
                    "--capture-range=nvtx",
                    &format!("--nvtx-capture={name}{domain}"),
                    "--capture-range-end=stop",
                ]);
            }
            (Some(_), Gate::CudaProfiler) => {
                add(&["--capture-range=cudaProfilerApi", "--capture-range-end=stop"])
            }
        }
        add(&settings.args.iter().map(String::as_str).collect::<Vec<_>>());
        // The table that we read is made from the report at once, by the version that wrote it.
        add(&["--export=sqlite", "--force-overwrite=true", "--output"]);
        argv.push(Word::In(Root::Run, format!("raw/{}/report", self.name())));
        argv.append(&mut command.argv);
        command.argv = argv;
        command
            .expects
            .extend(["nsys-rep", "sqlite"].map(|kind| format!("raw/{}/report.{kind}", self.name())));
        // Python's ranges are not registered strings: nsys would not look at them.
        command.env.insert("NSYS_NVTX_PROFILER_REGISTER_ONLY".to_owned(), Word::plain("0"));
        step
    }
}
