//! The file of a device whose figures were measured on the machine itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::device::DeviceKind;
use crate::precision::Dtype;

/// Achieved rates on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredHardware {
    /// Name for people and for `--hardware`.
    pub name: String,
    /// What runtimes report, and whatever else people may type.
    pub aliases: Vec<String>,
    /// Who makes it.
    pub vendor: String,
    /// What sort of device it is.
    pub kind: DeviceKind,
    /// Architecture.
    pub arch: String,
    /// How and when it was measured.
    pub source: String,
    /// The fastest matrix multiplication of each format.
    pub flops_per_s: BTreeMap<Dtype, f64>,
    /// The highest bandwidth of its memory.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// Cores, multiprocessors: what the runtime counts.
    pub compute_units: Option<u32>,
    /// What a user of the figures should know.
    pub notes: Vec<String>,
}

impl MeasuredHardware {
    /// The text of its file, which [`Catalog::with`](super::Catalog::with) reads.
    ///
    /// ```
    /// use rooflens_cost::hardware::{Catalog, DeviceKind, MeasuredHardware};
    /// use rooflens_cost::precision::Dtype;
    /// let measured = MeasuredHardware {
    ///     name: "my laptop".into(),
    ///     aliases: Vec::new(),
    ///     vendor: "Acme".into(),
    ///     kind: DeviceKind::Cpu,
    ///     arch: "x86_64".into(),
    ///     source: "measured".into(),
    ///     flops_per_s: [(Dtype::Bf16, 1.5e12)].into(),
    ///     bandwidth_bytes_per_s: Some(2e10),
    ///     memory_bytes: None,
    ///     compute_units: None,
    ///     notes: Vec::new(),
    /// };
    /// let catalog = Catalog::with([("mine.toml", measured.to_toml())])?;
    /// assert_eq!(catalog.find("my laptop")?.peak_flops(Dtype::Bf16), Some(1.5e12));
    /// # Ok::<(), rooflens_cost::hardware::HardwareError>(())
    /// ```
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let written = self.write(&mut text);
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let kind = match self.kind {
            DeviceKind::Gpu => "gpu",
            DeviceKind::Soc => "soc",
            DeviceKind::Asic => "asic",
            DeviceKind::Cpu => "cpu",
        };
        writeln!(out, "name = {}\nvendor = {}\nkind = \"{kind}\"", quoted(&self.name), quoted(&self.vendor))?;
        writeln!(out, "arch = {}\naliases = {}", quoted(&self.arch), list(&self.aliases))?;
        writeln!(out, "notes = {}\nsource = {}", list(&self.notes), quoted(&self.source))?;
        if !self.flops_per_s.is_empty() {
            writeln!(out, "\n[compute]\nconfidence = \"measured\"\n\n[compute.dense_tflops]")?;
            for (dtype, flops) in &self.flops_per_s {
                writeln!(out, "{} = {}", dtype.as_str(), figure(flops / 1e12))?;
            }
        }
        if self.bandwidth_bytes_per_s.is_some() || self.memory_bytes.is_some() {
            writeln!(out, "\n[memory]\nconfidence = \"measured\"")?;
        }
        if let Some(bytes) = self.memory_bytes {
            writeln!(out, "size_gb = {}", figure(bytes as f64 / 1e9))?;
        }
        if let Some(rate) = self.bandwidth_bytes_per_s {
            writeln!(out, "bandwidth_gb_per_s = {}", figure(rate / 1e9))?;
        }
        if let Some(units) = self.compute_units {
            writeln!(out, "\n[package]\nconfidence = \"measured\"\ncompute_units = {units}")?;
        }
        Ok(())
    }
}

/// Four digits: a second measurement does not agree in more.
fn figure(value: f64) -> String {
    let digits = 3 - value.abs().log10().floor().clamp(-12.0, 3.0) as i32;
    let rounded = format!("{value:.*}", usize::try_from(digits).unwrap_or(0));
    if rounded.contains('.') { rounded } else { format!("{rounded}.0") }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out + "\""
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{Catalog, Confidence};

    #[test]
    fn what_is_written_is_read() {
        let measured = MeasuredHardware {
            name: "Xeon \"two\" \\ cores".into(),
            aliases: vec!["this machine".into()],
            vendor: "Intel".into(),
            kind: DeviceKind::Cpu,
            arch: "x86_64".into(),
            source: "measured\non a Sunday".into(),
            flops_per_s: [(Dtype::Fp32, 6.8567e10), (Dtype::Bf16, 1.137_45e12)].into(),
            bandwidth_bytes_per_s: Some(9.954_33e9),
            memory_bytes: Some(25_274_793_984),
            compute_units: Some(2),
            notes: vec!["other work was done beside it".into()],
        };
        let catalog = Catalog::with([("mine.toml", measured.to_toml())]).unwrap();
        let device = catalog.find("this machine").unwrap();
        assert_eq!(device.name, measured.name);
        assert_eq!(device.peak_flops(Dtype::Fp32).map(f64::round), Some(6.857e10));
        assert_eq!(device.peak_flops(Dtype::Bf16), Some(1.137e12));
        assert_eq!(device.bandwidth_bytes_per_s, Some(9.954e9));
        assert_eq!(device.memory_bytes, Some(25_270_000_000));
        assert_eq!(device.compute_units, Some(2));
        assert_eq!(device.provenance.compute.as_ref().map(|it| it.confidence), Some(Confidence::Measured));
    }

    #[test]
    fn figures_have_four_digits() {
        for (value, text) in [
            (0.068_566_7, "0.06857"),
            (1.137_45, "1.137"),
            (989.4, "989.4"),
            (12_345.6, "12346.0"),
            (2.0, "2.000"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}
