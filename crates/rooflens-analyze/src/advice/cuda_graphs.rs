//! Replay a step as a graph, or compile it.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::advice::engine::Engine;
use crate::analyses::{Modules, StepShape};
use crate::ledger::Line;
use crate::sentence::{count, percent, things, time};

/// What a device needs between two kernels of a graph, ns. NVIDIA's "Getting Started with CUDA Graphs"
/// (developer.nvidia.com/blog/cuda-graphs) has 0.5 µs a kernel on a V100; 2 µs leaves room for kernels with
/// many arguments and for older devices.
const REPLAY_NS: (f64, f64) = (500.0, 2_000.0);
/// The largest batch, in tokens, that vLLM captures by default: min(2 * max_num_seqs, 512) in
/// `VllmConfig._set_cudagraph_sizes`.
const VLLM_LARGEST: i64 = 512;
/// The same for gpt-oss: `GptOssForCausalLMConfig` in vllm/model_executor/models/config.py.
const VLLM_LARGEST_GPT_OSS: i64 = 1024;
/// Activities outside of steps that are likely to be steps that nobody named.
const MANY: usize = 100;
/// Where so much of the CPU-bound idle time is spent inside operators, the rest is Python between them: a replay does
/// without it as well.
const EAGER: f64 = 0.5;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "cuda_graphs",
    about: "Idle time in which the host was launching or inside framework operators, minus 0.5 to 2 us per \
         activity, which a device needs between two kernels of a graph. If most CPU-bound idle time is \
         inside operators, the Python between them counts at the high end too. Outside of steps, gaps of more \
         than 1 ms do not count. Where an engine captures \
         piecewise, as steps with prompts, idle time inside attention operators does not count. Does not apply \
         if half of the activities come from graphs.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let (launching, busy_elsewhere) = (case.on(Line::LaunchBound), case.on(Line::CpuBound));
    // What is not repeated cannot be replayed.
    let is_repeated = case.phase.steps > 0 || case.phase.activities >= MANY;
    if !case.is_device() || case.is_captured() || !is_repeated {
        return Ok(None);
    }
    let late = case.late_host();
    // Kernels are compiled, loaded by their first launch, and captured once: no replay and no later step pays for it.
    let loading = late.map_or(0.0, |late| late.cpu_bound_in_slow_launches_ns as f64);
    // Without steps, long gaps are first calls and set-up: nobody knows that they are repeated.
    let long = late.filter(|_| case.phase.steps == 0).map_or((0.0, 0.0), |late| {
        (late.cpu_bound_in_long_gaps_ns as f64, late.long_gaps_in_operators_ns as f64)
    });
    let once = loading.max(case.compiling_ns());
    let inside = (late.map_or(0.0, |late| late.cpu_bound_in_operators_ns as f64) - once.max(long.1)).max(0.0);
    let busy_elsewhere = (busy_elsewhere - once.max(long.0)).max(0.0);
    let is_eager = inside > 0.0 && inside >= EAGER * busy_elsewhere;
    let sizes = Sizes::of(case);
    let attention = late.filter(|_| sizes.is_piecewise(case)).map_or(0.0, |late| late.in_attention_ns as f64);
    let sure = launching + inside - attention;
    let most = if is_eager { launching + busy_elsewhere - attention } else { sure };
    if most <= 0.0 {
        return Ok(None);
    }
    let phase = case.phase;
    let activities = phase.activities as f64;
    let gain = Range::new(sure - activities * REPLAY_NS.1, most - activities * REPLAY_NS.0);
    // Idle time that a replay would need as well is not for graphs.
    if gain.low <= 0.0 {
        return Ok(None);
    }
    let (wall, steps) = (phase.wall_ns as f64, phase.steps.max(1) as f64);
    let busy: f64 = phase.lines.iter().filter(|line| !line.line.is_idle()).map(|line| line.ns as f64).sum();
    let mut evidence = vec![case.row("idle, launch bound", launching)];
    if inside > 0.0 {
        evidence.push(case.row("idle, CPU-bound with the host inside eager operators", inside));
    }
    evidence.push(format!(
        "{} activities{} for {} of device work, one every {}; busy {} of the time",
        count((activities / steps).round() as i64),
        case.per_step_word(),
        time(busy / steps),
        time(wall / activities.max(1.0)),
        percent(busy / wall)
    ));
    if attention > 0.0 {
        evidence.push(case.row("idle inside attention operators, which stay outside the graphs", attention));
    }
    let graph = case.graph_word();
    let what = match phase.steps {
        0 => "the repeated code".to_owned(),
        _ => format!("each {}", case.step_word()),
    };
    let title = match case.is_compiled() {
        true => format!("Replay {what} as a {graph}"),
        false => format!("Capture {what} as a {graph}, or compile it"),
    };
    Ok(Some(Draft {
        title,
        gain_ns: Some(gain),
        acts_on_ns: most,
        evidence,
        computed: format!(
            "idle time in launches and operators{}{} minus {} to {} for each of {} activities of a replay{}",
            if attention > 0.0 { " other than attention" } else { "" },
            if is_eager { ", up to that plus Python between them," } else { "" },
            time(REPLAY_NS.0),
            time(REPLAY_NS.1),
            count(phase.activities as i64),
            match sizes.is_piecewise(case) && attention <= 0.0 {
                true => "; attention stays outside the graphs, so the high end is not reached",
                false => "",
            }
        ),
        change: capture(case, sizes),
        risk: format!(
            "{}Shapes and addresses must not change between replays: batches are padded to captured sizes, and each \
             size costs memory and start-up time.",
            synchronisations(case).unwrap_or_default()
        ),
        comes_first: false,
    }))
}

/// What must be removed before a step can be captured: a capture fails where the host waits for the device. Engines keep
/// such calls outside of what they capture.
fn synchronisations(case: &Case<'_>) -> Option<String> {
    if matches!(case.engine(), Some(Engine::Vllm | Engine::Sglang)) {
        return None;
    }
    let each = case.per_step(case.late_host()?.sync_calls as f64).round() as i64;
    let calls = things(each, "synchronisation", "synchronisations");
    (each > 0).then(|| {
        format!(
            "Needs the {calls}{} (.item(), .cpu(), torch.cuda.synchronize()) removed or moved out of the captured code \
             first: no graph holds one. ",
            case.per_step_word()
        )
    })
}

/// Tokens of steps, against the batches that engines capture.
#[derive(Clone, Copy)]
struct Sizes {
    largest: i64,
    captured: i64,
    has_prompts: bool,
}

impl Sizes {
    fn of(case: &Case<'_>) -> Self {
        let tokens = |shape: &StepShape| {
            shape.prefill_tokens.unwrap_or(0).saturating_add(shape.decode_tokens.unwrap_or(0))
        };
        let largest = case.phase.shapes.iter().map(tokens).max().unwrap_or(0);
        let captured = if is_gpt_oss(case) { VLLM_LARGEST_GPT_OSS } else { VLLM_LARGEST };
        let has_prompts = matches!(&*case.phase.phase, "prefill" | "mixed") || largest > captured;
        Sizes { largest, captured, has_prompts }
    }

    fn is_piecewise(self, case: &Case<'_>) -> bool {
        self.has_prompts && matches!(case.engine(), Some(Engine::Vllm | Engine::Sglang))
    }
}

fn is_gpt_oss(case: &Case<'_>) -> bool {
    let modules = case.findings.get::<Modules>().map_or(&[][..], |found| &found.modules);
    case.ledger.floor_of.as_ref().is_some_and(|floor| floor.family == "gpt_oss")
        || case.frames().iter().any(|frame| frame.name.contains("models/gpt_oss"))
        || modules.iter().any(|row| row.module.starts_with("GptOss"))
}

/// How engines capture: decode steps whole, steps with prompts in pieces and only up to a largest size.
fn capture(case: &Case<'_>, Sizes { largest, captured, has_prompts }: Sizes) -> String {
    let vllm = match (has_prompts, largest > captured) {
        (_, true) => format!(
            "drop --enforce-eager; steps with prompts are captured piecewise, and only up to {} tokens by default, while \
             this one has {}: raise --max-cudagraph-capture-size (or list cudagraph_capture_sizes in --compilation-config), \
             or let larger steps run compiled without graphs, which avoids most of the operators' own time",
            count(captured),
            count(largest)
        ),
        (true, false) => "drop --enforce-eager; steps with prompts are captured piecewise \
                          (--compilation-config '{\"cudagraph_mode\": \"FULL_AND_PIECEWISE\"}'), up to \
                          --max-cudagraph-capture-size tokens"
            .to_owned(),
        (false, false) => {
            "drop --enforce-eager; --max-cudagraph-capture-size must be at least the batch".to_owned()
        }
    };
    let sglang = match has_prompts {
        true => {
            "drop --disable-cuda-graph and --disable-piecewise-cuda-graph; prompts are captured piecewise, up to \
                 --piecewise-cuda-graph-max-tokens"
        }
        false => "drop --disable-cuda-graph; --cuda-graph-max-bs must be at least the batch",
    };
    let pytorch = match &*case.phase.phase {
        "prefill" | "decode" | "mixed" => {
            "torch.compile(model, mode=\"reduce-overhead\") with a static cache"
        }
        _ => "torch.compile(model, mode=\"reduce-overhead\")",
    };
    let project = case.in_project(&["vllm"], "runtime.enforce_eager=false")
        + &case.in_project(&["pytorch"], "runtime.compile=true");
    case.for_engine(&[(Engine::Vllm, &vllm), (Engine::Sglang, sglang), (Engine::Pytorch, pytorch)]) + &project
}
