//! Number formats: what multiplies, and what is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number format that a device multiplies or a tensor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE single precision.
    Fp32,
    /// Single precision cut to 10 bits of mantissa in the multiplier.
    Tf32,
    /// bfloat16.
    Bf16,
    /// IEEE half precision.
    Fp16,
    /// 8-bit floating point, E4M3 or E5M2.
    Fp8,
    /// 6-bit floating point.
    Fp6,
    /// 4-bit floating point, E2M1.
    Fp4,
    /// 8-bit integer.
    Int8,
    /// 4-bit integer.
    Int4,
}

impl Dtype {
    /// All of them, the widest first.
    pub const ALL: &[Dtype] = &[
        Dtype::Fp32,
        Dtype::Tf32,
        Dtype::Bf16,
        Dtype::Fp16,
        Dtype::Fp8,
        Dtype::Int8,
        Dtype::Fp6,
        Dtype::Fp4,
        Dtype::Int4,
    ];

    /// Name, as in `bf16`.
    pub fn as_str(self) -> &'static str {
        match self {
            Dtype::Fp32 => "fp32",
            Dtype::Tf32 => "tf32",
            Dtype::Bf16 => "bf16",
            Dtype::Fp16 => "fp16",
            Dtype::Fp8 => "fp8",
            Dtype::Fp6 => "fp6",
            Dtype::Fp4 => "fp4",
            Dtype::Int8 => "int8",
            Dtype::Int4 => "int4",
        }
    }

    pub(crate) fn bits(self) -> u64 {
        match self {
            Dtype::Fp32 | Dtype::Tf32 => 32,
            Dtype::Bf16 | Dtype::Fp16 => 16,
            Dtype::Fp8 | Dtype::Int8 => 8,
            Dtype::Fp6 => 6,
            Dtype::Fp4 | Dtype::Int4 => 4,
        }
    }
}

/// How the elements of a tensor lie in memory, and the format in which they are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Storage {
    /// What one element is.
    pub element: Dtype,
    pub(crate) group: Option<Group>,
    /// What the matrix units multiply: weight-only formats are widened first.
    pub compute: Dtype,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    pub(crate) elements: u64,
    pub(crate) bits: u64,
}

impl Storage {
    /// Elements without scales, multiplied as they are.
    pub const fn plain(element: Dtype) -> Self {
        Self { element, group: None, compute: element }
    }

    /// Elements with `bits` shared by each `elements` of them.
    pub(crate) const fn grouped(element: Dtype, elements: u64, bits: u64, compute: Dtype) -> Self {
        Self { element, group: Some(Group { elements, bits }), compute }
    }

    /// Bytes of `elements` elements with what their groups share, rounded up.
    pub fn bytes(&self, elements: u128) -> u128 {
        let shared = self
            .group
            .map_or(0, |group| elements.div_ceil(u128::from(group.elements.max(1))) * u128::from(group.bits));
        (elements * u128::from(self.element.bits()) + shared).div_ceil(8)
    }

    /// Whether only the weights are narrow, 4 bits, and activations are multiplied in 16 bits: a format that
    /// kernels may also multiply with 8-bit activations.
    pub(crate) fn is_weight_only_4_bit(&self) -> bool {
        self.element.bits() == 4 && self.compute.bits() == 16
    }

    /// Bits an element takes, its part of the scales included.
    pub fn bits_per_element(&self) -> f64 {
        let shared = self.group.map_or(0.0, |group| group.bits as f64 / group.elements.max(1) as f64);
        self.element.bits() as f64 + shared
    }
}

impl std::fmt::Display for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group {
            None => f.write_str(self.element.as_str()),
            Some(group) => write!(f, "{}/{}", self.element.as_str(), group.elements),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_bits_that_count() {
        // NVFP4: 4 bits per element, and an 8-bit scale for every 16.
        let nvfp4 = Storage::grouped(Dtype::Fp4, 16, 8, Dtype::Fp4);
        assert_eq!(nvfp4.bytes(32), 18);
    }
}
