//! The devices that the cost model knows, from the catalog.

use std::fmt::Write as _;

use anyhow::Result;
use rooflens_cost::hardware::{Catalog, Confidence, Device, Provenance};
use rooflens_cost::precision::Dtype;

use super::markdown::{MAIN, cell};

/// What the figures are from.
const CONFIDENCE: &[(Confidence, &str)] = &[
    (Confidence::Vendor, "the vendor's own text"),
    (Confidence::Secondary, "somebody who cites the vendor's text"),
    (Confidence::ThirdParty, "somebody who cites nothing"),
    (Confidence::Unconfirmed, "memory, arithmetic or common knowledge: no document was found"),
    (Confidence::Conflicting, "documents that disagree: see below"),
    (Confidence::Measured, "the machine itself"),
];

pub(crate) fn page() -> Result<String> {
    let devices = Catalog::embedded().devices();
    let mut page = format!(
        "# Hardware\n\nThe {} devices of `catalog/hardware/`, where every figure has its source. Peaks are \
         dense: none counts zeros that sparsity skips. A GB is 10⁹ bytes, a TFLOP 10¹² operations, a multiplication \
         and an addition counted as two. A dash is a figure that is not known; it is never taken for 0. `rooflens \
         list hardware` prints a line for each, `rooflens explain h100` all of one. To add one: \
         [CONTRIBUTING]({MAIN}/CONTRIBUTING.md#adding-a-device).\n",
        devices.len()
    );
    memory(&mut page, devices)?;
    peaks(&mut page, devices)?;
    list(&mut page, "Where documents disagree", devices, |device| device.conflicts.clone())?;
    list(&mut page, "What to know", devices, |device| device.notes.clone())?;
    names(&mut page, devices)?;
    Ok(page)
}

/// Memory, power and how far to trust the figures; a table for each vendor.
fn memory(page: &mut String, devices: &[Device]) -> Result<()> {
    page.push_str(
        "\n## Memory, power, confidence\n\nMemory is what the driver reports, in 10^9 bytes; with a star it is the \
         marketed size, which is a few percent lower. The ridge point is the arithmetic intensity from which \
         a bf16 GEMM is compute-bound: peak over bandwidth; where the device has no bf16 rate, that of the \
         next wider format. The last two \
         columns say where the figures of compute and of memory come from:\n\n",
    );
    for (confidence, meaning) in CONFIDENCE {
        writeln!(page, "- `{}`: {meaning}", word(*confidence))?;
    }
    for (vendor, devices) in by_vendor(devices) {
        writeln!(
            page,
            "\n### {vendor}\n\n| device | memory GB | bandwidth GB/s | ridge bf16 FLOP/B | TDP W | compute | memory |\n\
             | --- | ---: | ---: | ---: | ---: | --- | --- |"
        )?;
        for device in devices {
            writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} |",
                cell(&device.name),
                memory_size(device),
                number(device.bandwidth_bytes_per_s.map(|rate| rate / 1e9)),
                number(device.ridge_flops_per_byte(Dtype::Bf16).map(f64::round)),
                number(device.tdp_watts),
                trust(device.provenance.compute.as_ref()),
                trust(device.provenance.memory.as_ref()),
            )?;
        }
    }
    Ok(())
}

/// Memory in 10^9 bytes, with a star where it is only the marketed size.
fn memory_size(device: &Device) -> String {
    let size = number(device.memory_bytes.map(|bytes| (bytes as f64 / 1e7).round() / 100.0));
    if device.memory_bytes.is_some() && device.memory_reported_by.is_none() { size + "*" } else { size }
}

/// Dense peaks for each format, sums in FP32 (INT32 for integers).
fn peaks(page: &mut String, devices: &[Device]) -> Result<()> {
    let formats: Vec<&str> = Dtype::ALL.iter().map(|dtype| dtype.as_str()).collect();
    writeln!(
        page,
        "\n## Dense peaks\n\nTFLOP/s (integers: TOP/s) with sums in fp32 (int32), as inference does them. A format \
         without a rate is multiplied in the next wider one, and the estimate says so.\n\n| device | {} |\n| --- |{}",
        formats.join(" | "),
        " ---: |".repeat(formats.len())
    )?;
    for device in devices {
        let rates = Dtype::ALL.iter().map(|dtype| number(device.peak_flops(*dtype).map(|rate| rate / 1e12)));
        writeln!(page, "| {} | {} |", cell(&device.name), rates.collect::<Vec<_>>().join(" | "))?;
    }
    page.push_str("\nWith sums in a narrower format, which the cost model does not use:\n\n");
    for device in devices {
        for rate in &device.peaks {
            if let Some(sum) = rate.accumulate {
                let (factors, tera) = (rate.dtype.as_str(), number(Some(rate.flops_per_s / 1e12)));
                writeln!(page, "- {}: {factors} with sums in {}: {tera}", device.name, sum.as_str())?;
            }
        }
    }
    Ok(())
}

fn list(page: &mut String, title: &str, devices: &[Device], lines: fn(&Device) -> Vec<String>) -> Result<()> {
    writeln!(page, "\n## {title}\n")?;
    for device in devices {
        let lines = lines(device);
        if !lines.is_empty() {
            writeln!(page, "- **{}**: {}", device.name, lines.join("; "))?;
        }
    }
    Ok(())
}

fn names(page: &mut String, devices: &[Device]) -> Result<()> {
    page.push_str(
        "\n## Names\n\nA device is found by its name, by these, or by its PCI id. Case, blanks, dashes, underscores \
         and the vendor's name in front do not count; everything else does.\n\n| device | also called | PCI id |\n| \
         --- | --- | --- |\n",
    );
    for device in devices {
        let codes = |names: &[String]| {
            names.iter().map(|name| format!("`{}`", cell(name))).collect::<Vec<_>>().join(", ")
        };
        writeln!(
            page,
            "| {} | {} | {} |",
            cell(&device.name),
            codes(&device.aliases),
            codes(&device.pci_ids)
        )?;
    }
    Ok(())
}

/// The devices of each vendor, both in the order of the catalog.
fn by_vendor(devices: &[Device]) -> Vec<(&str, Vec<&Device>)> {
    let mut vendors: Vec<(&str, Vec<&Device>)> = Vec::new();
    for device in devices {
        match vendors.iter_mut().find(|(vendor, _)| *vendor == device.vendor) {
            Some((_, list)) => list.push(device),
            None => vendors.push((&device.vendor, vec![device])),
        }
    }
    vendors
}

fn trust(provenance: Option<&Provenance>) -> String {
    provenance.map_or_else(|| "–".to_owned(), |provenance| word(provenance.confidence))
}

fn word(confidence: Confidence) -> String {
    let value = serde_json::to_value(confidence).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Without the noise of binary fractions; a dash for what is not known.
fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| ((value * 1000.0).round() / 1000.0).to_string())
}
