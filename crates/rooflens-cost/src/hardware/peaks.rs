//! How fast a device multiplies matrices, by number format.

use crate::precision::Dtype;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A dense matrix rate of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Format of the factors.
    pub dtype: Dtype,
    /// Format of the sum; absent for the usual one, which is FP32 (INT32 for integers).
    pub accumulate: Option<Dtype>,
    /// Operations per second, a multiply and an add counted as two.
    pub flops_per_s: f64,
}

/// The dense matrix rates of a device. Never with sparsity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Peaks {
    rates: Vec<Rate>,
}

/// The rate that bounds a multiplication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// Operations per second, a multiply and an add counted as two.
    pub(crate) flops_per_s: f64,
    /// The format whose rate this is.
    pub(crate) dtype: Dtype,
    /// Says so where this is not the format that was asked for.
    pub(crate) note: Option<String>,
}

impl Peaks {
    pub(super) fn new(rates: Vec<Rate>) -> Self {
        Self { rates }
    }

    /// All the rates that are known.
    #[must_use]
    pub fn rates(&self) -> &[Rate] {
        &self.rates
    }

    /// Dense peak in FLOP/s with the usual accumulation: FP32, as inference frameworks do (INT32 for
    /// integers).
    #[must_use]
    pub(crate) fn peak_flops(&self, dtype: Dtype) -> Option<f64> {
        self.rate(dtype, None)
    }

    /// Dense peak in FLOP/s with the sum held in `accumulate`.
    ///
    /// The catalog names an accumulator only where it changes the rate (consumer NVIDIA devices run
    /// FP16 accumulation at twice the rate of FP32); elsewhere this is [`Peaks::peak_flops`].
    #[must_use]
    #[cfg(test)]
    pub(crate) fn peak_flops_accumulating(&self, dtype: Dtype, accumulate: Dtype) -> Option<f64> {
        self.rate(dtype, Some(accumulate)).or_else(|| self.peak_flops(dtype))
    }

    /// The rate at which `dtype` multiplies: its own, or that of the next wider format the device has,
    /// which a note then tells. Absent where the device has neither.
    #[must_use]
    pub(crate) fn matmul_peak(&self, dtype: Dtype) -> Option<Peak> {
        if let Some(flops_per_s) = self.peak_flops(dtype) {
            return Some(Peak { flops_per_s, dtype, note: None });
        }
        stand_ins(dtype).iter().find_map(|&wider| {
            let flops_per_s = self.peak_flops(wider)?;
            let note = format!("no {} peak: {} used", dtype.as_str(), wider.as_str());
            Some(Peak { flops_per_s, dtype: wider, note: Some(note) })
        })
    }

    fn rate(&self, dtype: Dtype, accumulate: Option<Dtype>) -> Option<f64> {
        let found = self.rates.iter().find(|rate| rate.dtype == dtype && rate.accumulate == accumulate);
        found.map(|rate| rate.flops_per_s)
    }
}

/// What a kernel widens its factors to where the device cannot multiply them as they are. Never a
/// narrower format: that would promise a rate at which the values do not fit.
fn stand_ins(dtype: Dtype) -> &'static [Dtype] {
    match dtype {
        Dtype::Fp4 | Dtype::Fp6 => &[Dtype::Fp8, Dtype::Bf16, Dtype::Fp16, Dtype::Fp32],
        Dtype::Int4 => &[Dtype::Int8, Dtype::Bf16, Dtype::Fp16, Dtype::Fp32],
        Dtype::Fp8 | Dtype::Int8 => &[Dtype::Bf16, Dtype::Fp16, Dtype::Fp32],
        Dtype::Bf16 => &[Dtype::Fp16, Dtype::Fp32],
        Dtype::Fp16 => &[Dtype::Bf16, Dtype::Fp32],
        Dtype::Tf32 => &[Dtype::Fp32],
        Dtype::Fp32 => &[],
    }
}
