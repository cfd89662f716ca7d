//! How much faster a device multiplies in another format, by its dense peaks in the hardware catalog.

use toml::Table;

use crate::advice::Case;
use crate::analyses::Trace;

macro_rules! part {
    ($file:literal) => {
        include_str!(concat!("../../../../catalog/hardware/", $file, ".toml"))
    };
}

/// Words that names of a device have, and its file in the catalog; the special before the general.
const PARTS: &[(&[&str], &str)] = &[
    (&["A100"], part!("nvidia-a100-sxm-80gb")),
    (&["A30"], part!("nvidia-a30")),
    (&["A10"], part!("nvidia-a10")),
    (&["H100", "NVL"], part!("nvidia-h100-nvl")),
    (&["H100"], part!("nvidia-h100-sxm")),
    (&["H800"], part!("nvidia-h800-sxm")),
    (&["H200", "NVL"], part!("nvidia-h200-nvl")),
    (&["H200"], part!("nvidia-h200-sxm")),
    (&["GH200"], part!("nvidia-gh200")),
    (&["H20"], part!("nvidia-h20")),
    (&["B200"], part!("nvidia-b200")),
    (&["B300"], part!("nvidia-b300")),
    (&["GB200"], part!("nvidia-gb200")),
    (&["GB300"], part!("nvidia-gb300")),
    (&["L4"], part!("nvidia-l4")),
    (&["L40"], part!("nvidia-l40")),
    (&["L40S"], part!("nvidia-l40s")),
    (&["3090"], part!("nvidia-rtx-3090")),
    (&["4090"], part!("nvidia-rtx-4090")),
    (&["5090"], part!("nvidia-rtx-5090")),
    (&["A6000"], part!("nvidia-rtx-a6000")),
    (&["T4"], part!("nvidia-t4")),
    (&["V100"], part!("nvidia-v100-sxm2-32gb")),
    (&["MI250X"], part!("amd-mi250x-gcd")),
    (&["MI300X"], part!("amd-mi300x")),
    (&["MI325X"], part!("amd-mi325x")),
    (&["MI350X"], part!("amd-mi350x")),
    (&["MI355X"], part!("amd-mi355x")),
];

impl Case<'_> {
    /// The largest part of a GEMM's time that another format can save on this device: 1 - old peak / new peak, rounded
    /// down to a hundredth. None where the catalog does not have both peaks.
    pub(super) fn most_saved(&self, old: &str, new: &str) -> Option<f64> {
        let named = self.ledger.floor_of.iter().map(|floor| &floor.device);
        let trace = self.findings.get::<Trace>();
        let mut names = named.chain(trace.iter().flat_map(|trace| &trace.hardware));
        names.find_map(|name| most_saved_on(name, old, new))
    }
}

fn most_saved_on(device: &str, old: &str, new: &str) -> Option<f64> {
    let words: Vec<&str> = device.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    let is_of = |part: &&(&[&str], &str)| part.0.iter().all(|word| words.contains(word));
    let (_, text) = PARTS.iter().find(is_of)?;
    let part: Table = text.parse().ok()?;
    let peak = |format: &str| {
        let value = part.get("compute")?.get("dense_tflops")?.get(format)?;
        value.as_float().or_else(|| value.as_integer().map(|value| value as f64))
    };
    let saved = 1.0 - peak(old)? / peak(new)?;
    (saved.is_finite()).then(|| (saved.max(0.0) * 100.0).floor() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_than_the_ratio_of_peaks() {
        // 19.5, 156 and 312 TFLOP/s: 87.5 % and 93.75 %.
        let a100 = |new| most_saved_on("NVIDIA A100-SXM4-80GB", "fp32", new);
        assert_eq!((a100("tf32"), a100("bf16")), (Some(0.87), Some(0.93)));
        // 66.9, 494.7 and 989.4: 86.48 % and 93.24 %.
        let h100 = |new| most_saved_on("NVIDIA H100 80GB HBM3", "fp32", new);
        assert_eq!((h100("tf32"), h100("bf16")), (Some(0.86), Some(0.93)));
        // 163.4 and 653.7: 75.0 %, and a little more.
        assert_eq!(most_saved_on("AMD Instinct MI300X", "fp32", "tf32"), Some(0.75));
        // 82.6 in both.
        assert_eq!(most_saved_on("NVIDIA GeForce RTX 4090", "fp32", "tf32"), Some(0.0));
        // No TF32 there, and a part that the catalog lacks.
        assert_eq!(most_saved_on("Tesla V100-SXM2-16GB", "fp32", "tf32"), None);
        assert_eq!(most_saved_on("NVIDIA RTX A3000", "fp32", "tf32"), None);
        for (words, text) in PARTS {
            assert!(text.parse::<Table>().is_ok_and(|part| part.contains_key("compute")), "{words:?}");
            assert!(most_saved_on(&words.join(" "), "fp32", "fp16").is_some(), "{words:?}");
        }
    }
}
