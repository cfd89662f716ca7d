//! Rules that compare the model with a smaller one: quantised weights or KV cache, fewer KV heads, another KV layout.
//!
//! The cost model computes the lower bounds of the smaller one ([`Case::alternative`]); this is the table of its words.

use crate::advice::{AdviceKind, AdviceRule, Case, Draft};
use crate::analyses::KernelStat;

/// A rule that compares the static model with a smaller one.
pub(super) struct SmallerModel {
    name: &'static str,
    about: &'static str,
    kind: AdviceKind,
    /// First word of the title; what is changed follows.
    verb: &'static str,
    risk: &'static str,
    /// Finds a kernel that shows that this was done already; what to say then.
    done: Option<(KernelFinder, &'static str)>,
    /// Whether to say nothing, instead of the reason, if the model cannot be changed this way.
    silent: bool,
}

type KernelFinder = for<'c> fn(&'c Case<'_>) -> Option<&'c KernelStat>;

pub(super) const WEIGHT_QUANTISATION: SmallerModel = SmallerModel {
    name: "weight_quantisation",
    about: "The static model with 8-bit weights, or 4-bit ones if the device does not multiply in 8 bits. Low: \
            the decrease of the lower bound; high: kernel time in proportion to it. If the host is the \
            bottleneck, little is gained.",
    kind: AdviceKind::Deployment,
    verb: "Store",
    risk: "Less precision: evaluate the model. The device needs kernels for the format.",
    done: Some((|case| case.quantised_kernel(), "weights are quantised already")),
    silent: false,
};

pub(super) const KV_QUANTISATION: SmallerModel = SmallerModel {
    name: "kv_quantisation",
    about: "The static model with an fp8 KV cache. Low: the decrease of the lower bound; high: kernel time in \
            proportion to it. If the host is the bottleneck, little is gained.",
    kind: AdviceKind::Deployment,
    verb: "Store",
    risk: "Less precision in long contexts: evaluate them. Not every attention kernel supports fp8.",
    done: Some((|case| case.narrow_cache_kernel(), "the KV cache is quantised already")),
    silent: false,
};

pub(super) const GQA: SmallerModel = SmallerModel {
    name: "gqa",
    about: "The static model with half of the KV heads. Low: the decrease of the lower bound; high: kernel time \
            in proportion to it. If the host is the bottleneck, little is gained.",
    kind: AdviceKind::Design,
    verb: "Use",
    risk: "A different model: it has to be trained, and may be less accurate.",
    done: None,
    silent: false,
};

pub(super) const KV_LAYOUT: SmallerModel = SmallerModel {
    name: "kv_layout",
    about: "The static model with multi-head latent attention (MLA) with the ranks of DeepSeek-V2, if the rest \
            of the model can stay the same; otherwise with one KV head (MQA), the limit of sharing heads. Low: \
            the decrease of the lower bound; high: kernel time in proportion to it.",
    kind: AdviceKind::Design,
    verb: "Use",
    risk: "A different model: it has to be trained or converted. One latent or one KV head cannot be sharded: each \
           device holds all of it.",
    done: None,
    silent: true,
};

impl AdviceRule for SmallerModel {
    fn name(&self) -> &'static str {
        self.name
    }
    fn about(&self) -> &'static str {
        self.about
    }
    fn kind(&self) -> AdviceKind {
        self.kind
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        if let Some((find, already)) = self.done
            && let Some(kernel) = find(case)
        {
            return Err(format!("{already}: `{}`", kernel.short_name));
        }
        if self.silent && case.alternatives(self.name)?.next().is_none() {
            return Ok(None);
        }
        let other = case.alternative(self.name)?;
        Ok(case.smaller(other, format!("{} {}", self.verb, other.what), self.risk))
    }
}
