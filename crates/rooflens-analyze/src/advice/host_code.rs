//! Shorten what the host does between launches or operators.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::advice::engine::Engine;
use crate::analyses::{Frames, GapHost, Gaps};
use crate::host_kind::HostKind;
use crate::ledger::Line;
use crate::sentence::{things, time};
use rooflens_schema::tables::GapCause;

/// What is the host's own code, which can be moved or shortened.
const OWN: &[HostKind] = &[
    HostKind::Python,
    HostKind::Annotation,
    HostKind::SystemCall,
    HostKind::GarbageCollection,
    HostKind::PageFault,
];
/// Rows of evidence of each kind.
const ROWS: usize = 3;
/// The part of long gaps that can surely be spared: work of the host can at least be done while the device,
/// or another thread, works.
const SURE: f64 = 0.5;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "host_code",
    about: "Idle time in which the host was neither launching nor inside a framework operator; on a CPU, time \
         between operators. Low: half of the gaps of at least 100 us. High: all of it.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    // Time inside operators is what eager execution costs: `cuda_graphs` speaks of it.
    let inside = case.late_host().map_or(0.0, |late| late.cpu_bound_in_operators_ns as f64);
    // And compilation happens once: that is for `warmup_step`.
    let idle = case.on(Line::CpuBound) - inside - case.compiling_ns();
    if idle <= 0.0 {
        return Ok(None);
    }
    // On a device every such gap is a long one: the host was not launching at its pace.
    let waits = case.phase.waits.as_ref();
    let long = waits.map_or(idle, |waits| waits.long_ns as f64);
    let what = match case.is_device() {
        true => "idle, the host in its own code between operators",
        false => "between operators",
    };
    let mut evidence = vec![case.row(what, idle)];
    let waits = waits.map_or(&[][..], |waits| &waits.rows);
    evidence.extend(waits.iter().take(ROWS).map(|wait| {
        let gaps = things(wait.count as i64, "gap", "gaps");
        let (all, longest) = (time(wait.ns as f64), time(wait.max_ns as f64));
        format!("before `{}`: {all} in {gaps}, the longest {longest}", wait.before)
    }));
    if let Some(Gaps(gaps)) = case.findings.get::<Gaps>().filter(|_| case.is_device()) {
        let late = gaps.iter().filter(|gap| gap.cause == GapCause::CpuBound);
        let own = |host: &&GapHost| host.kind.is_some_and(|kind| OWN.contains(&kind));
        let hosts = late.flat_map(|gap| &gap.hosts).filter(own).filter_map(|host| {
            let name = host.name.as_ref().filter(|name| is_own_code(name))?;
            let gaps = things(host.count as i64, "gap", "gaps");
            Some(format!(
                "{gaps} of {} in total, operators inside included: the host was in `{name}` for most of each",
                time(host.idle_ns as f64)
            ))
        });
        evidence.extend(hosts.take(ROWS));
    }
    // Functions called by operators take their time inside these.
    let is_eager = inside > idle;
    if let Some(Frames(frames)) = case.findings.get::<Frames>().filter(|_| !is_eager) {
        let own = frames.iter().filter(|frame| frame.working_self_ns > 0 && is_own_code(&frame.name));
        let own = own.take(ROWS);
        evidence.extend(own.map(|frame| {
            format!("`{}`: {} self time{}", frame.name, time(frame.working_self_ns as f64), case.of_trace())
        }));
    }
    let first = waits.first().filter(|wait| wait.ns as f64 >= SURE * idle);
    let place = first.map_or(String::new(), |wait| format!(" before `{}`", wait.before));
    Ok(Some(Draft {
        title: format!("Shorten the host's own code{place}"),
        gain_ns: Some(Range::new(SURE * long, idle)),
        acts_on_ns: idle,
        comes_first: false,
        evidence,
        computed: format!(
            "half of the {} in gaps of at least 100 µs, up to all {} between operators or launches",
            time(long),
            time(idle)
        ),
        change: change(case),
        risk: "Part of the time is the interpreter and the profiler itself: a trace without stacks has less."
            .to_owned(),
    }))
}

/// Whether a name is code that can be moved: not an operator, by itself or as Python calls it, a runtime call, or a
/// wait for the device.
fn is_own_code(name: &str) -> bool {
    let parts = ["::", "synchronize", " of type object at "];
    let is_call = ["hip", "cuda", "cu"].iter().any(|call| name.starts_with(call));
    !is_call && !parts.iter().any(|part| name.contains(part))
}

fn change(case: &Case<'_>) -> String {
    let named = match case.findings.get::<Frames>() {
        Some(_) => "",
        None => "; with_stack=True of the profiler names the functions",
    };
    let project = match case.findings.get::<Frames>() {
        Some(_) => String::new(),
        None => case.in_project(&["pytorch", "vllm"], "pipeline.torch_profiler.with_stack=true"),
    };
    let generic = "move that code (sleeps, logging, detokenisation) out of the step loop or into another \
                   thread; torch.compile removes what is part of the model's forward pass";
    if case.engine().is_none() {
        return format!("{generic}{named}");
    }
    case.for_engine(&[
        (
            Engine::Vllm,
            "prepare the next step while this one runs (--async-scheduling), keep detokenisation and HTTP in their own \
             processes, and move that code off the launching thread",
        ),
        (
            Engine::Sglang,
            "keep the overlap scheduler on (drop --disable-overlap-schedule), and move that code off the launching thread",
        ),
        (Engine::Pytorch, generic),
    ]) + named
        + &project
}
