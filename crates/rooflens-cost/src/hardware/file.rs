//! A device's file: its keys, and their way into base units.

use super::HardwareError;
use super::device::{Confidence, Device, DeviceKind, Provenance, Provenances, Rate};
use crate::precision::Dtype;
use serde::Deserialize;
use std::collections::BTreeMap;

const TERA: f64 = 1e12;
/// Memory and links are sold by powers of ten, caches by powers of two.
const GB: f64 = 1e9;
const MIB: f64 = 1_048_576.0;

pub(super) fn read(file: &str, text: &str) -> Result<Device, HardwareError> {
    let parsed: DeviceFile = toml::from_str(text)
        .map_err(|source| HardwareError::Toml { file: file.to_owned(), source: Box::new(source) })?;
    parsed.device(file)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceFile {
    name: String,
    vendor: String,
    kind: DeviceKind,
    arch: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    pci_ids: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    conflicts: Vec<String>,
    /// Of every group that names none of its own.
    source: String,
    compute: Option<Compute>,
    memory: Option<Memory>,
    package: Option<Package>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compute {
    confidence: Confidence,
    source: Option<String>,
    measured_bf16_matmul_tflops: Option<f64>,
    dense_tflops: BTreeMap<Dtype, f64>,
    /// By the format of the sum, then by that of the factors.
    #[serde(default)]
    dense_tflops_accumulating: BTreeMap<Dtype, BTreeMap<Dtype, f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    confidence: Confidence,
    source: Option<String>,
    size_gb: Option<f64>,
    /// What the driver reports, in bytes.
    reported_bytes: Option<u64>,
    reported_by: Option<String>,
    bandwidth_gb_per_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    confidence: Confidence,
    source: Option<String>,
    l2_mib: Option<f64>,
    llc_mib: Option<f64>,
    compute_units: Option<u32>,
    tdp_watts: Option<f64>,
    link_gb_per_s: Option<f64>,
    devices_per_node: Option<u64>,
    direct_links: Option<u32>,
    #[serde(default)]
    link_multicast: bool,
    host_link_gb_per_s: Option<f64>,
}

impl DeviceFile {
    fn device(self, file: &str) -> Result<Device, HardwareError> {
        let figures = Figures { file };
        let provenance = |confidence, own: &Option<String>| {
            Some(Provenance { source: own.as_ref().unwrap_or(&self.source).clone(), confidence })
        };
        let (compute, memory, package) = (self.compute.as_ref(), self.memory.as_ref(), self.package.as_ref());
        let tflops = compute.and_then(|compute| compute.measured_bf16_matmul_tflops);
        let reported = memory.and_then(|memory| memory.reported_bytes);
        let size = memory.and_then(|memory| memory.size_gb);
        let bandwidth = memory.and_then(|memory| memory.bandwidth_gb_per_s);
        let (l2, llc) =
            (package.and_then(|package| package.l2_mib), package.and_then(|package| package.llc_mib));
        let units = package.and_then(|package| package.compute_units);
        let watts = package.and_then(|package| package.tdp_watts);
        let link = package.and_then(|package| package.link_gb_per_s);
        let per_node = package.and_then(|package| package.devices_per_node);
        let direct_links = package.and_then(|package| package.direct_links);
        let host_link = package.and_then(|package| package.host_link_gb_per_s);
        figures.scaled("memory.reported_bytes", reported.map(|bytes| bytes as f64), 1.0)?;
        figures.scaled("package.compute_units", units.map(f64::from), 1.0)?;
        figures.scaled("package.devices_per_node", per_node.map(|devices| devices as f64), 1.0)?;
        figures.scaled("package.direct_links", direct_links.map(f64::from), 1.0)?;
        Ok(Device {
            peaks: compute.map(|compute| figures.peaks(compute)).transpose()?.unwrap_or_default(),
            measured_bf16_matmul_flops_per_s: figures.scaled(
                "compute.measured_bf16_matmul_tflops",
                tflops,
                TERA,
            )?,
            memory_bytes: reported.or(figures.bytes("memory.size_gb", size, GB)?),
            memory_reported_by: reported.and(memory.and_then(|memory| memory.reported_by.clone())),
            bandwidth_bytes_per_s: figures.scaled("memory.bandwidth_gb_per_s", bandwidth, GB)?,
            l2_bytes: figures.bytes("package.l2_mib", l2, MIB)?,
            llc_bytes: figures.bytes("package.llc_mib", llc, MIB)?,
            compute_units: units,
            tdp_watts: figures.scaled("package.tdp_watts", watts, 1.0)?,
            link_bytes_per_s: figures.scaled("package.link_gb_per_s", link, GB)?,
            devices_per_node: per_node,
            direct_links,
            link_multicast: package.is_some_and(|package| package.link_multicast),
            host_link_bytes_per_s: figures.scaled("package.host_link_gb_per_s", host_link, GB)?,
            provenance: Provenances {
                compute: compute.and_then(|group| provenance(group.confidence, &group.source)),
                memory: memory.and_then(|group| provenance(group.confidence, &group.source)),
                package: package.and_then(|group| provenance(group.confidence, &group.source)),
            },
            name: self.name,
            vendor: self.vendor,
            kind: self.kind,
            arch: self.arch,
            aliases: self.aliases,
            pci_ids: self.pci_ids,
            notes: self.notes,
            conflicts: self.conflicts,
        })
    }
}

struct Figures<'a> {
    file: &'a str,
}

impl Figures<'_> {
    fn peaks(&self, compute: &Compute) -> Result<Vec<Rate>, HardwareError> {
        let mut rates = Vec::with_capacity(compute.dense_tflops.len());
        for (&dtype, &tflops) in &compute.dense_tflops {
            let key = || format!("compute.dense_tflops.{}", dtype.as_str());
            rates.push(Rate { dtype, accumulate: None, flops_per_s: self.checked(key, tflops)? * TERA });
        }
        for (&sum, by_dtype) in &compute.dense_tflops_accumulating {
            for (&dtype, &tflops) in by_dtype {
                let key = || format!("compute.dense_tflops_accumulating.{}.{}", sum.as_str(), dtype.as_str());
                let flops_per_s = self.checked(key, tflops)? * TERA;
                rates.push(Rate { dtype, accumulate: Some(sum), flops_per_s });
            }
        }
        Ok(rates)
    }

    fn scaled(&self, key: &str, value: Option<f64>, unit: f64) -> Result<Option<f64>, HardwareError> {
        value.map(|value| Ok(self.checked(|| key.to_owned(), value)? * unit)).transpose()
    }

    fn bytes(&self, key: &str, value: Option<f64>, unit: f64) -> Result<Option<u64>, HardwareError> {
        Ok(self.scaled(key, value, unit)?.map(|bytes| bytes.round() as u64))
    }

    fn checked(&self, key: impl Fn() -> String, value: f64) -> Result<f64, HardwareError> {
        if value.is_finite() && value > 0.0 {
            return Ok(value);
        }
        let key = key();
        let problem =
            format!("{key} is {value}, but must be positive and finite; omit it if it is not known");
        Err(HardwareError::Unusable { file: self.file.to_owned(), problem })
    }
}
