//! Sample tokens on the device.

use rooflens_schema::tables::GapCause;

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::analyses::Gaps;
use crate::sentence::time;

/// Words in what the host runs that tell that it chooses tokens.
const WORDS: &[&str] = &["sampl", "argmax", "multinomial", "topk", "logits_process"];

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "sampler_on_device",
    about: "The longest gaps of each cause in which the host is in the sampler. Low: these gaps only; high: one \
         such gap per step.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let Some(Gaps(gaps)) = case.findings.get::<Gaps>().filter(|_| case.phase.phase == "decode") else {
        return Ok(None);
    };
    let waits = gaps.iter().filter(|gap| matches!(gap.cause, GapCause::CpuBound | GapCause::Sync));
    let mut evidence = Vec::new();
    let (mut low, mut high) = (0.0, 0.0);
    for gap in waits {
        let samples = |host: &String| WORDS.iter().any(|word| host.to_lowercase().contains(word));
        let found: Vec<_> =
            gap.examples.iter().filter(|one| one.host.as_ref().is_some_and(samples)).collect();
        let seen: i64 = found.iter().map(|one| one.dur_ns).sum();
        let Some(first) = found.first() else { continue };
        low += seen as f64;
        let shortest = found.iter().map(|one| one.dur_ns).min().unwrap_or(0) as f64;
        high += (shortest * case.phase.steps as f64).clamp(seen as f64, gap.total_ns as f64);
        let host = first.host.as_deref().unwrap_or_default();
        evidence.push(format!("idle for {} with the host in `{host}`", time(first.dur_ns as f64)));
    }
    if evidence.is_empty() {
        return Ok(None);
    }
    Ok(Some(Draft {
        title: "Sample tokens on the device".to_owned(),
        gain_ns: Some(Range::new(low, high)),
        acts_on_ns: high,
        comes_first: false,
        evidence,
        computed: "the gaps seen with the host in the sampler, up to one such gap per step".to_owned(),
        change: "Keep logits on the device and sample there; read the sampled tokens back one step later"
            .to_owned(),
        risk: "Random numbers come in a different order: the same seed gives different \
               tokens."
            .to_owned(),
    }))
}
