//! Copy from pinned memory, overlapped with compute.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::ledger::Line;
use rooflens_schema::tables::ActivityKind;

/// Of the time of pageable copies, what pinned memory surely saves. NVIDIA's "How to Optimize Data Transfers in CUDA
/// C/C++" has 2.3 GB/s from pageable and 5.8 GB/s from pinned memory.
const SURE: f64 = 0.5;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "pinned_copies",
    about: "Time in which a device only copies to or from pageable host memory. Low: half of it (pinned memory \
         is about twice as fast, without staging); high: all of it, overlapped with compute. Does not apply \
         to pinned or device-to-device copies.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let copies = case.on(Line::Copies);
    if !case.is_device() || copies <= 0.0 {
        return Ok(None);
    }
    let moved: Vec<_> = case.kernels().iter().filter(|row| row.kind == ActivityKind::Memcpy).collect();
    let all: i64 = moved.iter().map(|row| row.total_ns).sum();
    let pageable: Vec<_> = moved.into_iter().filter(|row| row.name.contains("Pageable")).collect();
    let ns: i64 = pageable.iter().map(|row| row.total_ns).sum();
    if ns == 0 {
        return Ok(None);
    }
    let copies = copies * ns as f64 / all as f64;
    let mut evidence = vec![case.row("copies of pageable memory with nothing else running", copies)];
    evidence.extend(case.spent_in(pageable, ["copy", "copies"]));
    Ok(Some(Draft {
        title: "Copy from pinned memory, overlapped with compute".to_owned(),
        gain_ns: Some(Range::new(copies * SURE, copies)),
        acts_on_ns: copies,
        comes_first: false,
        evidence,
        computed: "half of the pageable copies, up to all of them".to_owned(),
        change: "tensor.pin_memory() on the host, .to(device, non_blocking=True) on a separate stream"
            .to_owned(),
        risk: "Pinned memory cannot be paged out: keep it small. Non-blocking copies need an event \
               before use."
            .to_owned(),
    }))
}
