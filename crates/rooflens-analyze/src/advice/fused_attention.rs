//! Attention whose scores are written to memory: a softmax between two batched products.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft, Range};
use crate::advice::engine::Engine;
use crate::analyses::{OperatorStat, Operators};
use crate::kernel_catalog::KernelClass;
use crate::statistics::share;

const SOFTMAX: &[&str] = &["aten::_softmax", "aten::_safe_softmax"];
/// Scores and values are batched products, one by head.
const BATCHED: &[&str] = &["aten::bmm", "aten::baddbmm"];
/// Of the softmax: a fused kernel still computes it, but neither reads nor writes the scores.
const SURE: f64 = 0.5;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "fused_attention",
    about: "Unfused attention: aten::_softmax with at least two batched matmuls (aten::bmm, aten::baddbmm) \
         each. Fused kernels keep the scores on chip. Low: half of the softmax kernels' time; high: all of \
         it. Faster matmuls are not counted.",
    kind: AdviceKind::Kernel,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let Some(Operators(rows)) = case.findings.get::<Operators>().filter(|_| case.is_device()) else {
        return Ok(None);
    };
    let named = |names: &[&str]| -> Vec<&OperatorStat> {
        rows.iter().filter(|row| names.contains(&row.name.as_str()) && row.self_device_ns > 0).collect()
    };
    let (softmax, products) = (named(SOFTMAX), named(BATCHED));
    let calls = |rows: &[&OperatorStat]| rows.iter().map(|row| row.count).sum::<usize>();
    let softmax_ns = case.classes_ns(&[KernelClass::Softmax]) * of_class(case, &softmax);
    if softmax_ns <= 0.0 || softmax.is_empty() || calls(&products) < 2 * calls(&softmax) {
        return Ok(None);
    }
    let mut evidence = vec![case.row("softmax kernels", softmax_ns)];
    evidence.extend(
        softmax
            .iter()
            .chain(&products)
            .map(|row| case.spent(&row.name, row.self_device_ns, row.count, ["call", "calls"])),
    );
    Ok(Some(Draft {
        title: "Use a fused attention kernel: scores go through memory between GEMM, softmax and GEMM".to_owned(),
        gain_ns: Some(Range::new(SURE * softmax_ns, softmax_ns)),
        acts_on_ns: softmax_ns,
        comes_first: false,
        evidence,
        computed: "half of the softmax kernels' time to all of it; the GEMMs around it also become faster".to_owned(),
        change: case.for_engine(&[
            (
                Engine::Pytorch,
                "torch.nn.functional.scaled_dot_product_attention; with Transformers attn_implementation=\"sdpa\" \
                 or \"flash_attention_2\", where the model supports it",
            ),
            (Engine::Vllm, "--attention-backend with a fused kernel that takes this head size and mask"),
            (Engine::Sglang, "--attention-backend with a fused kernel that takes this head size and mask"),
        ]),
        risk: "Attention weights can no longer be returned (output_attentions=True); results differ in \
               the last bits."
            .to_owned(),
    }))
}

/// The part of the softmax kernels' time that these operators launched: losses have a softmax of their own.
fn of_class(case: &Case<'_>, operators: &[&OperatorStat]) -> f64 {
    let own = case.kernels().iter().filter(|row| row.class == KernelClass::Softmax.as_str());
    let all: i64 = own.map(|row| row.total_ns).sum();
    share(operators.iter().map(|row| row.self_device_ns).sum(), all).min(1.0)
}
