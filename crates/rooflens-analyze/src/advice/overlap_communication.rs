//! Hide large collectives behind compute, or make them smaller.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::advice::engine::{Device, Engine};
use crate::analyses::{CollectiveStat, Communication};
use crate::ledger::{LATENCY_BOUND_NS, Line};
use crate::sentence::{amount, percent, time};

/// Transfers of large messages reach more of the links' bandwidth than this, even over PCIe within a node.
const NO_TRANSFER: f64 = 0.05;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "overlap_communication",
    about: "Exposed communication in collectives whose transfer takes at least 50 µs; waiting for other ranks \
         does not count. Low: nothing, if every step waits for the result; high: all of it, but no more than \
         the time in which kernels run, avoidable ones included, and no collective does. For shorter ones see small_collectives.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let large = case.phase.transfers.bandwidth_bound;
    let exposed = large.ns as f64;
    if exposed <= 0.0 {
        return Ok(None);
    }
    let cover = cover_ns(case);
    let mut evidence = vec![
        case.row("collectives of 50 µs and more with nothing else running", exposed),
        case.row("kernels to hide them behind, with no collective running yet", cover),
    ];
    evidence.extend(against_link(case, |row| moved_ns(row) >= LATENCY_BOUND_NS));
    if is_likely_waiting(case) {
        evidence.push(
            "so far below the link bandwidth, most of it is likely waiting for another rank: record all \
             ranks to be sure"
                .to_owned(),
        );
    }
    Ok(Some(Draft {
        title: "Hide large collectives behind compute".to_owned(),
        gain_ns: Some(Range::new(0.0, exposed.min(cover))),
        acts_on_ns: exposed,
        comes_first: false,
        evidence,
        computed: "up to all exposed transfer of these collectives, at most the time in which kernels run \
                   and no collective does"
            .to_owned(),
        change: change(case),
        risk: "Kernels that share the device with communication run slower; two micro-batches are each \
               less efficient; quantised collectives change results."
            .to_owned(),
    }))
}

fn cover_ns(case: &Case<'_>) -> f64 {
    let compute = case.kernels_ns() + case.on(Line::Unneeded);
    (compute - case.phase.beside_collectives_ns as f64).max(0.0)
}

fn change(case: &Case<'_>) -> String {
    if is_all_to_all(case) {
        return all_to_all(case);
    }
    if case.is_training() {
        return "Overlap gradients with the backward pass: DistributedDataParallel's buckets (bucket_cap_mb, \
                gradient_as_bucket_view=True, static_graph=True), FSDP's prefetching (backward_prefetch, \
                forward_prefetch); compress gradients (a DDP communication hook such as bf16_compress_hook)"
            .to_owned();
    }
    let mut options = vec![case.for_engine(&[
        (
            Engine::Vllm,
            "sequence parallelism with collectives inside GEMMs (--compilation-config '{\"pass_config\": \
             {\"enable_sp\": true, \"fuse_gemm_comms\": true}}'), or two micro-batches that alternate (--enable-dbo)",
        ),
        (Engine::Sglang, "two micro-batches that alternate (--enable-two-batch-overlap)"),
        (
            Engine::Pytorch,
            "collectives inside compiled GEMMs (torch._inductor.config._micro_pipeline_tp = True, with symmetric memory)",
        ),
    ])];
    if case.device().is_none_or(Device::is_amd) {
        let quantised = case.for_engine(&[(
            Engine::Vllm,
            "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION=INT8 on ROCm quantises collectives",
        )]);
        options.extend(Some(quantised).filter(|words| !words.is_empty()));
    }
    options.push("A smaller tensor-parallel degree where the model fits".to_owned());
    options.join(". ")
}

fn is_all_to_all(case: &Case<'_>) -> bool {
    let found = case.findings.get::<Communication>();
    let rows =
        found.iter().flat_map(|found| &found.collectives).filter(|row| moved_ns(row) >= LATENCY_BOUND_NS);
    let is_one = |row: &CollectiveStat| {
        let name = row.name.to_ascii_lowercase().replace('_', "");
        ["alltoall", "sendrecv", "send", "recv"].iter().any(|word| name.contains(word))
    };
    let (all, these) = rows.fold((0.0, 0.0), |(all, these), row| {
        let ns = row.total_ns as f64;
        (all + ns, these + if is_one(row) { ns } else { 0.0 })
    });
    these > all / 2.0
}

fn all_to_all(case: &Case<'_>) -> String {
    let apart = "start the collective as soon as its input is ready (async_op=True) and wait right before \
                 the first use, or split it so that compute on the first part overlaps the rest";
    match case.is_training() {
        true => format!(
            "All-to-all: {apart}; embeddings of the next batch behind this one (TorchRec: TrainPipelineSparseDist)"
        ),
        false => case.for_engine(&[
            (
                Engine::Vllm,
                "two micro-batches that alternate (--enable-dbo), so that one computes while the \
                            other communicates",
            ),
            (Engine::Sglang, "two micro-batches that alternate (--enable-two-batch-overlap)"),
            (Engine::Pytorch, apart),
        ]),
    }
}

fn is_likely_waiting(case: &Case<'_>) -> bool {
    case.findings.get::<Communication>().is_some_and(|found| {
        let large = found.collectives.iter().find(|row| moved_ns(row) >= LATENCY_BOUND_NS);
        let share = large.and_then(|row| row.link_share);
        found.not_computed.contains_key("waits") && share.is_some_and(|share| share < NO_TRANSFER)
    })
}

pub(super) fn moved_ns(row: &CollectiveStat) -> i64 {
    row.transfer_p50_ns.unwrap_or(row.p50_ns)
}

/// The largest collective of some kind against the device's links: `allreduce of 13.4 MB: 58.1 µs, 404 GB/s of bus
/// bandwidth, 89.7% of what the links of H100 carry`.
pub(super) fn against_link(case: &Case<'_>, is: impl Fn(&CollectiveStat) -> bool) -> Option<String> {
    let found = case.findings.get::<Communication>()?;
    let row =
        found.collectives.iter().find(|row| is(row) && row.bytes.is_some() && row.bus_gb_per_s.is_some())?;
    let link = row.link_share.zip(found.link.as_ref());
    let link = link.map_or_else(String::new, |(share, link)| {
        format!(", {} of the link bandwidth of {}", percent(share), link.device)
    });
    Some(format!(
        "{} of {}: {}, {:.0} GB/s of bus bandwidth{link}",
        row.name,
        amount(row.bytes? as f64, "B"),
        time(moved_ns(row) as f64),
        row.bus_gb_per_s?
    ))
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::{PhaseKind, PhaseSource};

    use crate::advice::{RunContext, advise};
    use crate::sample::{Sample, findings};

    /// A collective [0, 400) µs. Kernels [0, 100) and [350, 500), an elementwise one [500, 530): 280 µs, of which 150
    /// are beside the collective already. Exposed are [100, 350).
    #[test]
    fn kernels_that_run_beside_a_collective_hide_no_other() {
        let mut sample = Sample::new(0);
        sample.phase(0, 530_000, "execute_context_0", PhaseKind::Decode, PhaseSource::Engine);
        for (ts, dur, class) in [(0, 100, "gemm"), (350, 150, "gemm"), (500, 30, "elementwise")] {
            sample.kernel(0, 7, ts * 1000, dur * 1000, class, class).in_phase(0);
        }
        sample.kernel(0, 8, 0, 400_000, "ncclDevKernel_AllReduce", "communication").in_phase(0);
        let list = advise(&findings(&[sample.tables]), &RunContext::default());
        let advice =
            list.items.iter().find(|advice| advice.rule == "overlap_communication").expect("exposed");
        assert_eq!((advice.acts_on_ns, advice.expected_ns), (250_000.0, 130_000.0 / 2.0));
        assert_eq!(
            advice.evidence[1],
            "kernels to hide them behind, with no collective running yet: 130 µs of 530 µs (24.5%)"
        );
    }
}
