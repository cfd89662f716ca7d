//! Collectives that are too short to be hidden: latency is what they cost.

use super::overlap_communication::{against_link, moved_ns};
use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::advice::engine::Engine;
use crate::analyses::{Algorithm, CollectiveStat, Communication, Operators, ShapeStat};
use crate::ledger::LATENCY_BOUND_NS;
use crate::product::{element, tensors, times};
use crate::sentence::{count, time};

/// What one-shot kernels reach for messages of decode steps: about 8 µs where NCCL takes 23 to 33
/// (sgl-project/sglang#32461, FlashInfer), 10 to 17 µs together with the norm on two H100s
/// (vllm-project/vllm#22086).
const REACHED_NS: [f64; 2] = [8_000.0, 15_000.0];

/// The largest message that engines fuse with a norm on eight devices (vLLM: `fi_allreduce_fusion_max_size_mb`): in
/// larger ones the bytes cost more than the latency.
const LARGEST_FUSED: i64 = 1 << 20;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "small_collectives",
    about: "Exposed communication in collectives whose transfer takes less than 50 µs: they are latency-bound, \
         and splitting the batch would double the latency. Low: down to 15 µs each; high: down to 8 µs, \
         which one-shot kernels reach.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let small = case.phase.transfers.latency_bound;
    let exposed = small.ns as f64;
    let [best, usual] = REACHED_NS.map(|ns| (exposed - small.calls as f64 * ns).max(0.0));
    let main = main_small(case);
    if best <= 0.0 || main.is_some_and(is_fused) {
        return Ok(None);
    }
    // Kernels of symmetric memory and engines' own are what would be advised in place of NCCL's.
    let is_own = |algorithm| algorithm != Algorithm::Tree;
    let is_custom = main.and_then(|row| row.algorithm).is_some_and(is_own);
    // How far such a kernel is from its best depends on the message.
    let message = main.and_then(|row| row.bytes).or_else(|| message_bytes(case));
    if is_custom && message.is_some_and(|bytes| bytes > LARGEST_FUSED) {
        return Ok(None);
    }
    let is_unknown = is_custom && message.is_none();
    let mean = exposed / small.calls.max(1) as f64;
    let mut evidence = vec![
        case.row("collectives below 50 µs with nothing else running", exposed),
        format!("{} of them, {} exposed each (mean)", count(small.calls as i64), time(mean)),
    ];
    evidence.extend(against_link(case, is_small));
    let title = match (case.is_training(), is_custom) {
        (true, _) => "Coalesce small collectives",
        (false, true) => "Fuse small all-reduces with the norm that follows",
        (false, false) => "Use one-shot or fused kernels for small collectives",
    };
    Ok(Some(Draft {
        title: title.to_owned(),
        gain_ns: (!is_unknown).then(|| Range::new(usual, best)),
        acts_on_ns: exposed,
        comes_first: false,
        evidence,
        computed: match is_unknown {
            true => "the trace does not record the message sizes".to_owned(),
            false => format!(
                "their exposed time minus {} to {} per call",
                time(REACHED_NS[0]),
                time(REACHED_NS[1])
            ),
        },
        change: change(case, is_custom),
        risk:
            "One-shot kernels move more bytes: above about 512 kB two-shot kernels are faster. They need all \
               ranks on one node or one NVLink domain."
                .to_owned(),
    }))
}

fn change(case: &Case<'_>, is_custom: bool) -> String {
    if case.is_training() {
        return "One collective for many tensors: larger buckets (DistributedDataParallel: bucket_cap_mb), \
                torch.distributed's coalescing, metrics reduced once per step"
            .to_owned();
    }
    let mut options = Vec::new();
    if !is_custom {
        options.push(format!(
            "One-shot or symmetric-memory all-reduce in place of NCCL's ring ({})",
            case.for_engine(&[
                (Engine::Vllm, "leave out --disable-custom-all-reduce, VLLM_ALLREDUCE_USE_SYMM_MEM=1"),
                (Engine::Sglang, "leave out --disable-custom-all-reduce, --enable-symm-mem"),
                (Engine::Pytorch, "torch.ops.symm_mem.one_shot_all_reduce"),
            ])
        ));
    }
    let fused = case.for_engine(&[
        (Engine::Vllm, "--compilation-config '{\"pass_config\": {\"fuse_allreduce_rms\": true}}'"),
        (Engine::Sglang, "--enable-flashinfer-allreduce-fusion"),
    ]);
    if !fused.is_empty() {
        options.push(format!("All-reduce fused with the norm ({fused})"));
    }
    options.push("For expert parallelism the low-latency kernels of DeepEP".to_owned());
    format!("{}. Overlap does not help collectives this short", options.join(". "))
}

fn is_small(row: &CollectiveStat) -> bool {
    moved_ns(row) < LATENCY_BOUND_NS
}

fn main_small<'a>(case: &Case<'a>) -> Option<&'a CollectiveStat> {
    case.findings.get::<Communication>()?.collectives.iter().find(|row| is_small(row))
}

fn message_bytes(case: &Case<'_>) -> Option<i64> {
    let Operators(rows) = case.findings.get::<Operators>()?;
    let is_one = |name: &str| name.contains("all_reduce") || name.contains("allreduce");
    let shapes = rows.iter().filter(|row| is_one(&row.name)).flat_map(|row| &row.shapes);
    let bytes = |shape: &ShapeStat| {
        let first = tensors(&shape.shapes)?.into_iter().next().filter(|sizes| !sizes.is_empty())?;
        i64::try_from(times(first)?.checked_mul(element(&shape.dtypes, 0)?.bytes)?).ok()
    };
    shapes.filter_map(bytes).max()
}

fn is_fused(row: &CollectiveStat) -> bool {
    let name = row.name.to_ascii_lowercase();
    ["fusion", "fused", "norm"].iter().any(|part| name.contains(part))
}
