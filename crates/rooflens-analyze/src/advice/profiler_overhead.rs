//! A profiler that slows the host down.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft};
use crate::analyses::Trace;
use crate::sentence::{count, percent, time};

/// What recording one Python function costs the host: PyTorch's tracer runs at its call and at its return, and writes
/// two events. 0.6 to 0.7 µs were measured on a slow host; on quick ones, calls follow each other within 0.3 to 0.5 µs.
const PYTHON_CALL_NS: [f64; 2] = [300.0, 700.0];
/// From this part of the time that devices wait for the host on, the cost is worth a word, and only where they do so for
/// this part of the time,
const WORTH_A_WORD: f64 = 0.1;
/// and from this part on it is what they wait for.
const DOMINATES: f64 = 0.5;
/// A profiled step must take more than this many times as long as one without the profiler.
const SLOWED_DOWN: f64 = 1.5;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "profiler_overhead",
    about: "Profiled steps that take more than 1.5 times as long as in the pass without a profiler; for a trace \
         alone, Python functions recorded on the launching thread while the device waited for it, at 0.3 to 0.7 us \
         each, if that may be a tenth of this time, and that is at least a tenth of the phase. The run itself gains nothing, but the next trace shows where its time really goes.",
    kind: AdviceKind::Recording,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    if let Some(slowdown) = case.slowdown() {
        let added = 1.0 - 1.0 / slowdown.ratio;
        return Ok((slowdown.ratio > SLOWED_DOWN).then(|| Draft {
            title: format!(
                "Record fewer details: the profiler made a {} take {:.1} times as long",
                case.step_word(),
                slowdown.ratio
            ),
            acts_on_ns: case.phase.wall_ns as f64 * added,
            evidence: vec![format!(
                "a {} takes {} with the profiler, {} without",
                case.step_word(),
                time(slowdown.profiled_step_ns),
                time(slowdown.unprofiled_step_ns)
            )],
            comes_first: added >= DOMINATES,
            ..draft(case)
        }));
    }
    let Some(late) = case.late_host().filter(|_| case.is_device()) else { return Ok(None) };
    let idle = (late.launch_bound_ns as f64) + (late.cpu_bound_ns as f64);
    let [least, cost] = PYTHON_CALL_NS.map(|each| (late.python_calls as f64 * each).min(idle));
    let matters = idle >= WORTH_A_WORD * case.phase.wall_ns as f64;
    if !matters || cost < WORTH_A_WORD * idle {
        return Ok(None);
    }
    Ok(Some(Draft {
        title: "Record without Python stacks: they slow the launching thread down".to_owned(),
        acts_on_ns: cost,
        evidence: vec![format!(
            "{} Python functions were recorded on the launching thread while the device waited for it, at 0.3 to \
                 0.7 µs each: {} to {} of these {} ({} to {})",
            count(late.python_calls as i64),
            time(least),
            time(cost),
            time(idle),
            percent(least / idle),
            percent(cost / idle)
        )],
        comes_first: least >= DOMINATES * idle,
        ..draft(case)
    }))
}

fn draft(case: &Case<'_>) -> Draft {
    let properties = case.findings.get::<Trace>().map(|trace| &trace.properties);
    let is_on =
        |key: &str| properties.and_then(|properties| properties.get(key)).is_some_and(|value| value != "0");
    let options = ["with_stack", "record_shapes", "profile_memory"];
    let on: Vec<String> =
        options.iter().filter(|option| is_on(option)).map(|option| format!("{option}=False")).collect();
    let off = match on.is_empty() {
        true => "with_stack=False, record_shapes=False, profile_memory=False".to_owned(),
        false => on.join(", "),
    };
    let project = case.in_project(&["pytorch", "vllm"], "pipeline/torch_profiler=light");
    Draft {
        title: String::new(),
        gain_ns: None,
        acts_on_ns: 0.0,
        evidence: Vec::new(),
        computed: "it changes the trace, not the run".to_owned(),
        change: format!("torch.profiler.profile({off}); then look at idle time again{project}"),
        risk:
            "Without stacks and shapes the trace no longer names Python functions and the sizes of operators."
                .to_owned(),
        comes_first: false,
    }
}
