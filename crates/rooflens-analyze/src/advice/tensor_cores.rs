//! GEMMs that tensor cores do not do.

use crate::advice::engine::Device;
use crate::advice::{AdviceKind, AdviceRule, Case, Draft, Range};
use crate::analyses::{KernelStat, Kernels};
use crate::kernel_catalog::KernelClass;
use crate::sentence::{percent, time};

/// The rule.
pub(super) struct TensorCores;

/// Signs of GEMMs on the CUDA cores, in the names that cuBLAS, CUTLASS and MAGMA give.
const SIMT: &[&str] = &["simt", "sgemm", "dgemm", "_ffma_", "gemm_fp32"];
/// Signs of the matrix units.
const MATRIX_UNITS: &[&str] =
    &["tensorop", "xmma", "hmma", "gmma", "wmma", "s16816", "s1688", "tf32", "bf16", "h1688"];
/// Of the time of such products: at least the step from vector units to TF32 at half efficiency, up to the
/// ratio of rates (NVIDIA A100 datasheet: 19.5 against 156 TFLOP/s).
const GAIN: (f64, f64) = (0.4, 0.88);

impl AdviceRule for TensorCores {
    fn name(&self) -> &'static str {
        "tensor_cores"
    }
    fn about(&self) -> &'static str {
        "GEMMs that run on CUDA cores, by their kernel names (simt, sgemm). 40 to 88 % of their time: tensor \
         cores have about eight times the rate in TF32. Does not apply to devices before Ampere, which have \
         no TF32."
    }
    fn kind(&self) -> AdviceKind {
        AdviceKind::Kernel
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let Some(Kernels(rows)) = case.findings.get::<Kernels>().filter(|_| case.is_device()) else {
            return Ok(None);
        };
        let all: i64 = rows.iter().filter(|row| is_product(row)).map(|row| row.total_ns).sum();
        let slow: Vec<&KernelStat> =
            rows.iter().filter(|row| is_product(row) && is_simt(&row.name)).collect();
        let ns: i64 = slow.iter().map(|row| row.total_ns).sum();
        // Tensor cores before Ampere take no fp32: there `dtype` speaks.
        if ns == 0 || all == 0 || case.device() == Some(Device::Volta) {
            return Ok(None);
        }
        // The findings are of the whole job: the phase has its part of each kernel.
        let here = case.classes_ns(&[KernelClass::Gemm]) * (ns as f64 / all as f64);
        let mut evidence = vec![case.row("GEMMs on the CUDA cores", here)];
        evidence.extend(
            slow.iter()
                .take(3)
                .map(|row| case.spent(&row.short_name, row.total_ns, row.count, ["launch", "launches"])),
        );
        Ok(Some(Draft {
            title: "Run GEMMs on tensor cores".to_owned(),
            gain_ns: Some(Range::new(GAIN.0 * here, GAIN.1 * here)),
            acts_on_ns: here,
            comes_first: false,
            evidence,
            computed: format!("{} to {} of {}", percent(GAIN.0), percent(GAIN.1), time(here)),
            change: "torch.set_float32_matmul_precision(\"high\"), or 16-bit weights; dimensions in multiples of 8"
                .to_owned(),
            risk: "TF32 keeps 10 bits of the mantissa: compare outputs.".to_owned(),
        }))
    }
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

    #[test]
    fn names_of_products() {
        assert!(is_simt("volta_sgemm_128x64_tn"));
        assert!(is_simt("cutlass_80_simt_sgemm_64x64_8x5_nt_align1"));
        assert!(!is_simt("cutlass_80_tensorop_s1688gemm_128x64_16x6_nt_align4"));
        assert!(!is_simt("sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64"));
    }
}
