//! What `python -m rooflens.peaks` answers, and the figures that are made of it.

use std::collections::BTreeMap;

use rooflens_cost::hardware::{DeviceKind, MeasuredHardware};
use rooflens_cost::precision::Dtype;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The whole answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredPeaks {
    /// The device.
    pub device: BenchmarkedDevice,
    /// Matrix multiplications, by dtype.
    pub matmul: Vec<Matmul>,
    /// Memory and copies.
    pub bandwidth: Vec<Bandwidth>,
    /// What was not measured, and why.
    pub skipped: Vec<Skipped>,
    /// Versions of what measured.
    pub(crate) versions: BTreeMap<String, Option<String>>,
}

/// What was measured.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkedDevice {
    /// `cpu` or `gpu`.
    pub(crate) kind: String,
    /// Its name, as the driver or the system has it.
    pub name: String,
    /// Its architecture, as `sm_90` or `x86_64`.
    pub arch: String,
    /// Streaming multiprocessors, compute units or cores.
    pub(crate) compute_units: Option<u32>,
    /// Its memory.
    pub(crate) memory_bytes: Option<u64>,
    /// Threads that were used, of a processor.
    pub(crate) threads: Option<u32>,
}

/// The fastest multiplication of a format.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Matmul {
    /// The format that was multiplied.
    pub dtype: String,
    /// Rows and columns of both matrices.
    pub side: u64,
    /// How often it was multiplied.
    pub runs: u64,
    /// The shortest time.
    pub(crate) best_ns: u64,
    /// The median time.
    pub(crate) median_ns: u64,
    /// FLOP/s of the shortest.
    pub flops_per_s: f64,
}

/// Bandwidth by one kind of work.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Bandwidth {
    /// The kind of work, as `copy`.
    pub kind: String,
    /// Bytes that it moves.
    pub bytes: f64,
    /// How often they were moved.
    pub runs: u64,
    /// The shortest time.
    pub(crate) best_ns: u64,
    /// The median time.
    pub(crate) median_ns: u64,
    /// Bytes per second of the shortest.
    pub bytes_per_s: f64,
}

/// What could not be measured.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// What.
    pub what: String,
    /// Why not.
    pub reason: String,
}

impl MeasuredPeaks {
    /// The last line that is an answer: libraries print what they like before it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut why = "it printed no answer".to_owned();
        for line in text.lines().rev().filter(|line| line.starts_with('{')) {
            match serde_json::from_str(line) {
                Ok(peaks) => return Ok(peaks),
                Err(error) => why = format!("its answer cannot be read: {error}"),
            }
        }
        Err(why)
    }

    pub(crate) fn measured(&self, name: Option<&str>, seconds: u64) -> MeasuredHardware {
        let device = &self.device;
        let dtype = |name: &str| Dtype::ALL.iter().copied().find(|dtype| dtype.as_str() == name);
        let rates = self.matmul.iter().filter(|row| is_rate(row.flops_per_s));
        let best = self.bandwidth.iter().map(|row| row.bytes_per_s).filter(|rate| is_rate(*rate));
        let torch = self.versions.get("torch").cloned().flatten().unwrap_or_else(|| "unknown".to_owned());
        let threads = device.threads.map(|threads| format!("measured with {threads} threads"));
        let name = name.unwrap_or(&device.name).to_owned();
        let aliases = if name == device.name { Vec::new() } else { vec![device.name.clone()] };
        MeasuredHardware {
            vendor: vendor(&device.name, &device.arch).to_owned(),
            kind: if device.kind == "gpu" { DeviceKind::Gpu } else { DeviceKind::Cpu },
            arch: device.arch.clone(),
            source: format!("rooflens hardware measure --seconds {seconds}, torch {torch}"),
            flops_per_s: rates.filter_map(|row| Some((dtype(&row.dtype)?, row.flops_per_s))).collect(),
            bandwidth_bytes_per_s: best.reduce(f64::max),
            memory_bytes: device.memory_bytes.filter(|bytes| *bytes > 0),
            compute_units: device.compute_units.filter(|units| *units > 0),
            notes: threads.into_iter().collect(),
            name,
            aliases,
        }
    }
}

fn is_rate(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn vendor(name: &str, arch: &str) -> &'static str {
    const KNOWN: &[(&str, &str)] =
        &[("intel", "Intel"), ("amd", "AMD"), ("nvidia", "NVIDIA"), ("apple", "Apple"), ("neoverse", "Arm")];
    let name = name.to_lowercase();
    let found = KNOWN.iter().find(|(word, _)| name.contains(word)).map(|(_, vendor)| *vendor);
    found.unwrap_or(match arch {
        arch if arch.starts_with("sm_") => "NVIDIA",
        arch if arch.starts_with("gfx") => "AMD",
        _ => "unknown",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rooflens_cost::hardware::Catalog;

    const ANSWER: &str = r#"{"schema":1,"device":{"kind":"cpu","name":"Acme Turbo","arch":"x86_64","compute_units":2,"memory_bytes":8000000000,"threads":2},
"matmul":[{"dtype":"fp32","side":512,"runs":9,"best_ns":1000000,"median_ns":1100000,"flops_per_s":268435456000.0},{"dtype":"odd","side":1,"runs":3,"best_ns":1,"median_ns":1,"flops_per_s":2.0}],
"bandwidth":[{"kind":"copy","bytes":2147483648,"runs":3,"best_ns":100000000,"median_ns":1,"bytes_per_s":21474836480.0},{"kind":"read","bytes":1073741824,"runs":3,"best_ns":100000000,"median_ns":1,"bytes_per_s":10737418240.0}],
"skipped":[],"versions":{"torch":"2.0","python":"3.11"}}"#;

    #[test]
    fn the_answer_becomes_a_device() {
        let peaks =
            MeasuredPeaks::read(&format!("warning: {{\n{{broken\n{}\n", ANSWER.replace('\n', ""))).unwrap();
        let measured = peaks.measured(Some("mine"), 10);
        let catalog = Catalog::with([("mine.toml", measured.to_toml())]).unwrap();
        // 2 · 512³ operations in a millisecond; the best of both bandwidths.
        assert_eq!(measured.flops_per_s[&Dtype::Fp32], 2.0 * 512_f64.powi(3) / 1e-3);
        assert_eq!(measured.flops_per_s.len(), 1, "a format that nobody knows is left out");
        let device = catalog.find("acme turbo").unwrap();
        assert_eq!(device, catalog.find("mine").unwrap());
        assert_eq!(device.bandwidth_bytes_per_s, Some(2.147e10));
        assert_eq!(device.notes, ["measured with 2 threads"]);
    }

    #[test]
    fn what_is_no_answer_is_told() {
        assert_eq!(MeasuredPeaks::read("hello").unwrap_err(), "it printed no answer");
        assert!(
            MeasuredPeaks::read("{\"device\":1}").unwrap_err().starts_with("its answer cannot be read: ")
        );
    }
}
