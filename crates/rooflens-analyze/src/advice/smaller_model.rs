//! Rules that compare the model with a smaller one: quantised weights or KV cache, fewer KV heads, another KV layout.
//!
//! The cost model computes the lower bounds of the smaller one ([`Case::alternative`]); this is the table of its words.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft};
use crate::analyses::KernelStat;

pub(super) const WEIGHT_QUANTISATION: AdviceRule = AdviceRule {
    name: "weight_quantisation",
    about: "The static model with 8-bit weights, or 4-bit ones if the device does not multiply in 8 bits. Low: \
            the decrease of the lower bound; high: kernel time in proportion to it. If the host is the \
            bottleneck, little is gained.",
    same_work: false,
    judge: |case| {
        unless_done(case.quantised_kernel(), "weights are quantised already")?;
        let risk = "Less precision: evaluate the model. The device needs kernels for the format.";
        smaller(case, WEIGHT_QUANTISATION.name, "Store", risk)
    },
    ..AdviceRule::DEPLOYMENT
};

pub(super) const KV_QUANTISATION: AdviceRule = AdviceRule {
    name: "kv_quantisation",
    about: "The static model with an fp8 KV cache. Low: the decrease of the lower bound; high: kernel time in \
            proportion to it. If the host is the bottleneck, little is gained.",
    same_work: false,
    judge: |case| {
        unless_done(case.narrow_cache_kernel(), "the KV cache is quantised already")?;
        let risk = "Less precision in long contexts: evaluate them. Not every attention kernel supports fp8.";
        smaller(case, KV_QUANTISATION.name, "Store", risk)
    },
    ..AdviceRule::DEPLOYMENT
};

pub(super) const GQA: AdviceRule = AdviceRule {
    name: "gqa",
    about: "The static model with half of the KV heads. Low: the decrease of the lower bound; high: kernel time \
            in proportion to it. If the host is the bottleneck, little is gained.",
    kind: AdviceKind::Design,
    same_work: false,
    judge: |case| {
        let risk = "A different model: it has to be trained, and may be less accurate.";
        smaller(case, GQA.name, "Use", risk)
    },
    ..AdviceRule::DEPLOYMENT
};

pub(super) const KV_LAYOUT: AdviceRule = AdviceRule {
    name: "kv_layout",
    about: "The static model with multi-head latent attention (MLA) with the ranks of DeepSeek-V2, if the rest \
            of the model can stay the same; otherwise with one KV head (MQA), the limit of sharing heads. Low: \
            the decrease of the lower bound; high: kernel time in proportion to it.",
    kind: AdviceKind::Design,
    same_work: false,
    judge: |case| {
        if case.alternatives(KV_LAYOUT.name)?.next().is_none() {
            return Ok(None);
        }
        let risk = "A different model: it has to be trained or converted. One latent or one KV head cannot be sharded: \
                    each device holds all of it.";
        smaller(case, KV_LAYOUT.name, "Use", risk)
    },
    ..AdviceRule::DEPLOYMENT
};

fn unless_done(kernel: Option<&KernelStat>, already: &str) -> Result<(), String> {
    kernel.map_or(Ok(()), |kernel| Err(format!("{already}: `{}`", kernel.short_name)))
}

fn smaller(case: &Case<'_>, rule: &'static str, verb: &str, risk: &str) -> Result<Option<Draft>, String> {
    let other = case.alternative(rule)?;
    Ok(case.smaller(other, format!("{verb} {}", other.what), risk))
}
