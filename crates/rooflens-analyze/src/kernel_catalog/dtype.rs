//! The data types that kernel names tell.

use super::class::vocabulary;
use serde::{Deserialize, Serialize};

vocabulary! {
    /// The type a kernel computes on, as far as its name tells. Index types (int32, int64) are not data
    /// types here.
    Dtype {
        /// 64-bit IEEE floating point.
        Fp64 = "fp64",
        /// 32-bit IEEE floating point, not on tensor cores.
        Fp32 = "fp32",
        /// 32-bit floating point multiplied on tensor cores with a 10-bit mantissa.
        Tf32 = "tf32",
        /// 16-bit IEEE floating point.
        Fp16 = "fp16",
        /// 16-bit floating point with the exponent of fp32.
        Bf16 = "bf16",
        /// 8-bit floating point, 4 exponent and 3 mantissa bits; also what a name calls only fp8.
        Fp8E4m3 = "fp8_e4m3",
        /// 8-bit floating point, 5 exponent and 2 mantissa bits.
        Fp8E5m2 = "fp8_e5m2",
        /// 4-bit floating point (E2M1) with block scales: MXFP4 and NVFP4.
        Fp4 = "fp4",
        /// 8-bit integers.
        Int8 = "int8",
        /// 4-bit integers.
        Int4 = "int4",
    }
}
