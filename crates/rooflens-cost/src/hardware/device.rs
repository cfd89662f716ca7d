//! A device and what is known of it.

use crate::precision::Dtype;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A device, in base units. What is not known is absent, never zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Name for people, as in `H100 SXM5 80GB`.
    pub name: String,
    /// Who makes it, as in `NVIDIA`.
    pub vendor: String,
    /// What sort of device it is.
    pub kind: DeviceKind,
    /// Architecture, with the compiler's target where there is one, as in `Hopper sm_90`.
    pub arch: String,
    /// Other names: those that runtimes report and those that people type, without the vendor's.
    pub aliases: Vec<String>,
    /// PCI vendor and device ids, as in `10de:2330`.
    pub pci_ids: Vec<String>,
    /// Dense matrix rates.
    pub peaks: Vec<Rate>,
    /// Best BF16 matrix multiplication that was measured, in FLOP/s.
    pub measured_bf16_matmul_flops_per_s: Option<f64>,
    /// Device memory: what the driver reports where that is known, else the marketed size with 10^9 bytes
    /// per GB.
    pub memory_bytes: Option<u64>,
    /// Where the reported size was read; absent where `memory_bytes` is the marketed size.
    pub memory_reported_by: Option<String>,
    /// Peak bandwidth of the device memory.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Level-2 cache, or the on-chip memory that takes its place.
    pub l2_bytes: Option<u64>,
    /// Last-level cache behind the level-2 cache.
    pub(crate) llc_bytes: Option<u64>,
    /// Streaming multiprocessors, compute units, cores: what the vendor counts.
    pub compute_units: Option<u32>,
    /// Design power.
    pub tdp_watts: Option<f64>,
    /// Scale-up link (NVLink, Infinity Fabric, ICI) of one device, all links together, one direction.
    pub link_bytes_per_s: Option<f64>,
    /// Devices that the scale-up link connects: those of an HGX or OAM board, of an NVL72 rack.
    pub devices_per_node: Option<u64>,
    /// Links that each lead to one other device of the node, where no switch connects them (Infinity Fabric of the MI300).
    pub direct_links: Option<u32>,
    /// Whether the switch of the scale-up link reduces and multicasts (NVLink SHARP), so that an all-reduce
    /// sends each byte once.
    #[serde(default)]
    pub(crate) link_multicast: bool,
    /// Link to the host, one direction.
    pub host_link_bytes_per_s: Option<f64>,
    /// Where the figures come from.
    pub provenance: Provenances,
    /// What a user of the figures should know.
    pub notes: Vec<String>,
    /// Where documents disagree, and which figure was taken.
    pub conflicts: Vec<String>,
}

impl Device {
    /// Dense peak in FLOP/s with the usual accumulation: FP32, as inference frameworks do (INT32 for integers).
    pub fn peak_flops(&self, dtype: Dtype) -> Option<f64> {
        let found = self.peaks.iter().find(|rate| rate.dtype == dtype && rate.accumulate.is_none());
        found.map(|rate| rate.flops_per_s)
    }

    /// The rate at which `dtype` multiplies: its own, or that of the next wider format the device has,
    /// which a note then tells. Absent where the device has neither.
    pub fn matmul_peak(&self, dtype: Dtype) -> Option<Peak> {
        if let Some(flops_per_s) = self.peak_flops(dtype) {
            return Some(Peak { flops_per_s, dtype, note: None });
        }
        stand_ins(dtype).iter().find_map(|&wider| {
            let flops_per_s = self.peak_flops(wider)?;
            let note = format!("no {} peak: {} used", dtype.as_str(), wider.as_str());
            Some(Peak { flops_per_s, dtype: wider, note: Some(note) })
        })
    }

    /// The scale-up links that `devices` of a node have among themselves, of each, one direction: without a switch,
    /// those to devices outside of the group are of no use to it.
    pub fn link_among(&self, devices: u64) -> Option<f64> {
        let all = self.link_bytes_per_s?;
        match self.direct_links {
            Some(links) if (2..=u64::from(links)).contains(&devices) => {
                Some(all * (devices - 1) as f64 / f64::from(links))
            }
            _ => Some(all),
        }
    }

    /// The arithmetic intensity in FLOP per byte above which a multiplication in `dtype` is bound by
    /// compute and below which by memory: [`Device::matmul_peak`] over the bandwidth.
    pub fn ridge_flops_per_byte(&self, dtype: Dtype) -> Option<f64> {
        Some(self.matmul_peak(dtype)?.flops_per_s / self.bandwidth_bytes_per_s?)
    }
}

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

/// What sort of device it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A graphics processor with memory of its own.
    Gpu,
    /// A chip whose processor and graphics share the memory.
    Soc,
    /// A chip made for neural networks.
    Asic,
    /// A general-purpose processor.
    Cpu,
}

/// Where each group of a device's figures comes from; absent for a group without figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenances {
    /// Of the peaks and the measured rate.
    pub compute: Option<Provenance>,
    /// Of the memory's size and bandwidth.
    pub memory: Option<Provenance>,
    /// Of caches, unit count, power and links.
    pub package: Option<Provenance>,
}

/// Where figures come from and how far to trust them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The documents.
    pub source: String,
    /// How far to trust them.
    pub confidence: Confidence,
}

/// How far a source can be trusted, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The vendor's own text.
    Vendor,
    /// Somebody who cites the vendor's text.
    Secondary,
    /// Somebody who cites nothing.
    ThirdParty,
    /// No document was found.
    Unconfirmed,
    /// Documents disagree: see [`Device::conflicts`].
    Conflicting,
    /// Reached on the machine itself, which may be able to do more.
    Measured,
}

impl Confidence {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Vendor => "the vendor's own",
            Confidence::Secondary => "from a source that cites the vendor",
            Confidence::ThirdParty => "from a third party",
            Confidence::Unconfirmed => "unconfirmed",
            Confidence::Conflicting => "sources disagree",
            Confidence::Measured => "measured on the machine itself",
        }
    }
}
