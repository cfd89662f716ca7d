//! GEMMs that tensor cores do not do.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft, Range};
use crate::advice::engine::Device;
use crate::analyses::{KernelStat, Kernels};
use crate::kernel_catalog::KernelClass;
use crate::sentence::{percent, time};

/// Signs of GEMMs on the CUDA cores, in the names that cuBLAS, CUTLASS and MAGMA give.
const SIMT: &[&str] = &["simt", "sgemm", "dgemm", "_ffma_", "gemm_fp32"];
/// Signs of the matrix units.
const MATRIX_UNITS: &[&str] =
    &["tensorop", "xmma", "hmma", "gmma", "wmma", "s16816", "s1688", "tf32", "bf16", "h1688"];
/// Of the time of such products, up to the ratio of rates where the catalog does not have the device's (NVIDIA A100
/// datasheet: 19.5 against 156 TFLOP/s, 87.5 %).
const MOST: f64 = 0.87;
/// At least so much, where TF32 at half efficiency saves that.
const LEAST: f64 = 0.4;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "tensor_cores",
    about: "GEMMs that run on CUDA cores, by their kernel names (simt, sgemm). High: 1 - fp32 peak / TF32 peak of \
         the device by the hardware catalog (A100: 87 % of their time), 87 % if it is not known; low: 40 %, or \
         less if TF32 at half of its peak saves less. Does not apply to devices before Ampere, which have no \
         TF32.",
    kind: AdviceKind::Kernel,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let Some(Kernels(rows)) = case.findings.get::<Kernels>().filter(|_| case.is_device()) else {
        return Ok(None);
    };
    let all: i64 = rows.iter().filter(|row| is_product(row)).map(|row| row.total_ns).sum();
    let slow: Vec<&KernelStat> = rows.iter().filter(|row| is_product(row) && is_simt(&row.name)).collect();
    let ns: i64 = slow.iter().map(|row| row.total_ns).sum();
    // Tensor cores before Ampere take no fp32: there `dtype` speaks.
    if ns == 0 || all == 0 || case.device() == Some(Device::Volta) {
        return Ok(None);
    }
    let most = case.most_saved("fp32", "tf32").unwrap_or(MOST);
    if most <= 0.0 {
        return Ok(None);
    }
    // At half of the rate, twice the time is left.
    let least = (1.0 - 2.0 * (1.0 - most)).clamp(0.0, LEAST);
    // The findings are of the whole job: the phase has its part of each kernel.
    let here = case.classes_ns(&[KernelClass::Gemm]) * (ns as f64 / all as f64);
    let mut evidence = vec![case.row("GEMMs on the CUDA cores", here)];
    evidence.extend(case.spent_in(slow, ["launch", "launches"]));
    Ok(Some(Draft {
        title: "Run GEMMs on tensor cores".to_owned(),
        gain_ns: Some(Range::new(least * here, most * here)),
        acts_on_ns: here,
        comes_first: false,
        evidence,
        computed: format!(
            "{} to {} of {}: no more than the ratio of peaks allows",
            percent(least),
            percent(most),
            time(here)
        ),
        change:
            "torch.set_float32_matmul_precision(\"high\"), or 16-bit weights; dimensions in multiples of 8"
                .to_owned(),
        risk: "TF32 keeps 10 bits of the mantissa: compare outputs.".to_owned(),
    }))
}

fn is_product(row: &KernelStat) -> bool {
    row.class == KernelClass::Gemm.as_str()
}

fn is_simt(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SIMT.iter().any(|word| name.contains(word)) && !MATRIX_UNITS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{Advice, RunContext, advise};
    use crate::analyses::DevicePeaks;
    use crate::sample::{Sample, findings};

    /// 100 µs of an fp32 GEMM on a device with these peaks of fp32, TF32 and 16 bits, TFLOP/s.
    fn on([fp32, tf32, bf16]: [f64; 3], rule: &str) -> Option<Advice> {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 100_000, "ampere_sgemm_128x128_tn", "gemm");
        let row = sample.tables.kernel_dim.name.iter().position(|name| name.contains("sgemm"));
        sample.tables.kernel_dim.dtype[row.expect("the kernel")] = Some("fp32".to_owned());
        let flops_per_s = [("fp32", fp32), ("tf32", tf32), ("bf16", bf16), ("fp16", bf16)].into();
        let peaks = DevicePeaks { flops_per_s, ..DevicePeaks::default() };
        let around = RunContext { peaks: Some(peaks), ..RunContext::default() };
        let list = advise(&findings(&[sample.tables]), &around);
        list.items.into_iter().find(|advice| advice.rule == rule)
    }

    #[test]
    fn gains_stay_below_the_ratio_of_peaks() {
        let gain = |peaks: [f64; 3], rule: &str| {
            let gain = on(peaks, rule).and_then(|advice| advice.gain_ns);
            gain.map(|gain| (gain.low.round(), gain.high.round()))
        };
        let (a100, h100) = ([19.5, 156.0, 312.0], [66.9, 494.7, 989.4]);
        // 87.5 and 93.75 %; 86.48 and 93.24 %.
        assert_eq!(gain(a100, "tensor_cores"), Some((40_000.0, 87_000.0)));
        assert_eq!(gain(a100, "dtype"), Some((30_000.0, 93_000.0)));
        assert_eq!(gain(h100, "tensor_cores"), Some((40_000.0, 86_000.0)));
        // Twice the rate, and nothing at half of it: not a number. As fast in fp32: no advice.
        let (a10, rtx_4090) = ([31.2, 62.5, 125.0], [82.6, 82.6, 165.2]);
        assert_eq!(on(a10, "tensor_cores").map(|advice| advice.gain_ns), Some(None));
        assert!(on(rtx_4090, "tensor_cores").is_none());
        assert_eq!(gain(rtx_4090, "dtype"), Some((30_000.0, 50_000.0)));
    }

    #[test]
    fn names_of_products() {
        assert!(is_simt("volta_sgemm_128x64_tn"));
        assert!(is_simt("cutlass_80_simt_sgemm_64x64_8x5_nt_align1"));
        assert!(!is_simt("cutlass_80_tensorop_s1688gemm_128x64_16x6_nt_align4"));
        assert!(!is_simt("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64"));
    }
}
