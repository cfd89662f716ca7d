//! A device's file: its keys, and their way into base units.

use super::device::{Confidence, Device, DeviceKind, Provenance, Provenances};
use super::error::HardwareError;
use super::peaks::{Peaks, Rate};
use crate::precision::Dtype;
use serde::Deserialize;
use std::collections::BTreeMap;

const TERA: f64 = 1e12;
/// Memory and links are sold by powers of ten, caches by powers of two.
const GB: f64 = 1e9;
const MIB: f64 = 1_048_576.0;

/// Reads a device from the text of a file; `file` is its name, for errors.
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
        let provenance = |confidence, own: Option<&String>| {
            Some(Provenance { source: own.unwrap_or(&self.source).clone(), confidence })
        };
        let mut device = Device {
            name: self.name,
            vendor: self.vendor,
            kind: self.kind,
            arch: self.arch,
            aliases: self.aliases,
            pci_ids: self.pci_ids,
            peaks: Peaks::default(),
            measured_bf16_matmul_flops_per_s: None,
            memory_bytes: None,
            memory_reported_by: None,
            bandwidth_bytes_per_s: None,
            l2_bytes: None,
            llc_bytes: None,
            compute_units: None,
            tdp_watts: None,
            link_bytes_per_s: None,
            devices_per_node: None,
            direct_links: None,
            link_multicast: false,
            host_link_bytes_per_s: None,
            provenance: Provenances::default(),
            notes: self.notes,
            conflicts: self.conflicts,
        };
        if let Some(compute) = &self.compute {
            device.provenance.compute = provenance(compute.confidence, compute.source.as_ref());
            device.peaks = figures.peaks(compute)?;
            let measured = compute.measured_bf16_matmul_tflops;
            device.measured_bf16_matmul_flops_per_s =
                figures.scaled("compute.measured_bf16_matmul_tflops", measured, TERA)?;
        }
        if let Some(memory) = &self.memory {
            device.provenance.memory = provenance(memory.confidence, memory.source.as_ref());
            let reported = memory.reported_bytes.map(|bytes| bytes as f64);
            figures.scaled("memory.reported_bytes", reported, 1.0)?;
            device.memory_bytes =
                memory.reported_bytes.or(figures.bytes("memory.size_gb", memory.size_gb, GB)?);
            device.memory_reported_by = memory.reported_by.clone().filter(|_| reported.is_some());
            let bandwidth = memory.bandwidth_gb_per_s;
            device.bandwidth_bytes_per_s = figures.scaled("memory.bandwidth_gb_per_s", bandwidth, GB)?;
        }
        if let Some(package) = &self.package {
            device.provenance.package = provenance(package.confidence, package.source.as_ref());
            device.l2_bytes = figures.bytes("package.l2_mib", package.l2_mib, MIB)?;
            device.llc_bytes = figures.bytes("package.llc_mib", package.llc_mib, MIB)?;
            figures.scaled("package.compute_units", package.compute_units.map(f64::from), 1.0)?;
            device.compute_units = package.compute_units;
            device.tdp_watts = figures.scaled("package.tdp_watts", package.tdp_watts, 1.0)?;
            device.link_bytes_per_s = figures.scaled("package.link_gb_per_s", package.link_gb_per_s, GB)?;
            let per_node = package.devices_per_node.map(|devices| devices as f64);
            figures.scaled("package.devices_per_node", per_node, 1.0)?;
            device.devices_per_node = package.devices_per_node;
            figures.scaled("package.direct_links", package.direct_links.map(f64::from), 1.0)?;
            device.direct_links = package.direct_links;
            device.link_multicast = package.link_multicast;
            let host_link = package.host_link_gb_per_s;
            device.host_link_bytes_per_s = figures.scaled("package.host_link_gb_per_s", host_link, GB)?;
        }
        Ok(device)
    }
}

/// Checks figures and brings them to base units.
struct Figures<'a> {
    file: &'a str,
}

impl Figures<'_> {
    fn peaks(&self, compute: &Compute) -> Result<Peaks, HardwareError> {
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
        Ok(Peaks::new(rates))
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
        Err(HardwareError::Figure { file: self.file.to_owned(), key: key(), value })
    }
}
