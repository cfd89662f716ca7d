//! More devices to a layer.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::sentence::{count, time};

/// What an all-reduce of a few hundred kilobytes takes whatever its size, ns: one-shot kernels over NVLink or xGMI, and
/// NCCL or RCCL with its ring. To be added to what its bytes take.
const LATENCY_NS: (f64, f64) = (5_000.0, 20_000.0);

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "tensor_parallel",
    about: "The static model with twice the tensor-parallel size. Low: the decrease of the lower bound, minus \
         the added collectives at 20 us each and their bytes; high: kernel time in proportion, minus the \
         same at 5 us each. If the host is the bottleneck, little is gained.",
    same_work: false,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let other = case.alternative(RULE.name)?;
    let communication = |floors: &[crate::ledger::Floor]| -> f64 {
        floors.iter().filter(|floor| floor.class.starts_with("comm.")).map(|floor| floor.ns).sum()
    };
    // Every device takes part in them.
    let repeats = case.repeats(other);
    let bytes = (communication(&other.floors) - communication(&other.unchanged)).max(0.0) * repeats;
    let title = format!("Run on {}", other.what);
    let risk = "Twice the devices for less than twice the throughput; links slower than NVLink or xGMI \
                take all of the gain.";
    let Some(draft) = case.smaller(other, title, risk) else { return Ok(None) };
    let Some(gain) = draft.gain_ns else { return Ok(None) };
    let collectives = other.collectives * repeats;
    let (few, many) = (collectives * LATENCY_NS.0, collectives * LATENCY_NS.1);
    let gain = Range::new(gain.low - bytes - many, gain.high - bytes - few);
    if gain.high <= 0.0 {
        return Ok(None);
    }
    let mut evidence = draft.evidence;
    evidence.push(format!(
        "it adds {} collectives per step: {} to {} and {} for their bytes",
        count(case.per_step(other.collectives).round() as i64),
        time(case.per_step(few)),
        time(case.per_step(many)),
        time(case.per_step(bytes))
    ));
    Ok(Some(Draft {
        gain_ns: Some(gain),
        evidence,
        computed: "the difference of the lower bounds, up to kernel time in proportion, less the collectives"
            .to_owned(),
        ..draft
    }))
}
