//! Nsight Systems, around the process.

use crate::plan::{CommandWord, PlanRoot, ProcessCommand};
use crate::runtimes::RecordingGate;
use crate::settings::RunSettings;

/// The variable that distinguishes sessions: a session that a killed run left behind cannot be opened again.
/// Anyone who starts a step sets it.
pub(crate) const SESSION: &str = "ROOFLENS_SESSION";

pub(super) fn around(run: &RunSettings, command: &mut ProcessCommand) {
    let settings = &run.pipeline.nsys;
    let mut words = vec![
        "profile".to_owned(),
        format!("--session-new=rooflens-%q{{{SESSION}}}"),
        format!("--trace={}", settings.trace.join(",")),
        // Thread switches are sampled only with stacks: both need the same permission.
        format!("--sample={}", settings.sample),
        format!("--cpuctxsw={}", settings.sample),
        format!("--cuda-graph-trace={}", settings.cuda_graph_trace),
    ];
    if settings.gpu_metrics {
        words.push("--gpu-metrics-device=all".to_owned());
    }
    let range = settings.capture.as_deref().map(|phase| run.runtime.runtime.gate(Some(phase)));
    match range {
        None | Some(RecordingGate::Open) => {}
        Some(RecordingGate::Range(name)) => {
            // A range of any domain, unless the name includes one.
            let domain = if name.contains('@') { "" } else { "@*" };
            let capture = format!("--nvtx-capture={name}{domain}");
            words.extend(["--capture-range=nvtx".to_owned(), capture, "--capture-range-end=stop".to_owned()]);
        }
        Some(RecordingGate::CudaProfiler) => {
            words.extend(["--capture-range=cudaProfilerApi", "--capture-range-end=stop"].map(str::to_owned));
        }
    }
    words.extend(settings.args.iter().cloned());
    // The version of nsys that wrote the report also exports the tables.
    words.extend(["--export=sqlite", "--force-overwrite=true", "--output"].map(str::to_owned));
    let mut argv = vec![CommandWord::program(&settings.program)];
    argv.extend(words.into_iter().map(CommandWord::Plain));
    argv.push(CommandWord::In(PlanRoot::Run, "raw/nsys/report".to_owned()));
    command.argv.splice(..0, argv);
    command.expects.extend(["nsys-rep", "sqlite"].map(|kind| format!("raw/nsys/report.{kind}")));
    // Python's ranges are not registered strings: nsys would not look at them.
    command.env.insert("NSYS_NVTX_PROFILER_REGISTER_ONLY".to_owned(), CommandWord::plain("0"));
}
