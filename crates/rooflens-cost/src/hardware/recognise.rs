//! Devices by what a driver says of them where it gives no name.

use super::catalog::Catalog;
use super::device::Device;

/// What a driver says of a device besides its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// Compute capability or compiler's target, as `9.4` or `gfx942`.
    pub architecture: String,
    /// Streaming multiprocessors or compute units.
    pub compute_units: u32,
    /// Size of its memory.
    pub memory_bytes: u64,
}

/// Drivers of one device differ by this much in the memory that they report: an MI300X by 0.3 %, an H100 by 0.1 %.
const REPORTED: std::ops::RangeInclusive<f64> = 0.99..=1.01;

/// What drivers report by the marketed size with 10^9 bytes per GB: from 0.99 (L40S, whose ECC takes a part) to 1.074
/// (MI300X, whose 192 GB are GiB).
const MARKETED: std::ops::RangeInclusive<f64> = 0.98..=1.08;

impl Catalog {
    /// The devices that have these properties. A device whose units or memory are not known is not among them.
    ///
    /// ```
    /// use rooflens_cost::hardware::{Catalog, Properties};
    /// let memory_bytes = 206_141_652_992;
    /// let told = Properties { architecture: "9.4".to_owned(), compute_units: 304, memory_bytes };
    /// let found = Catalog::embedded().fitting(&told);
    /// assert_eq!(found.len(), 1);
    /// assert_eq!(found[0].name, "MI300X 192GB");
    /// ```
    pub fn fitting(&self, told: &Properties) -> Vec<&Device> {
        let fits = |device: &&Device| {
            device.compute_units == Some(told.compute_units)
                && has_memory(device, told.memory_bytes)
                && has_architecture(device, &told.architecture)
        };
        self.devices().iter().filter(fits).collect()
    }
}

fn has_memory(device: &Device, bytes: u64) -> bool {
    let range = if device.memory_reported_by.is_some() { REPORTED } else { MARKETED };
    device.memory_bytes.is_some_and(|known| range.contains(&(bytes as f64 / known as f64)))
}

fn has_architecture(device: &Device, told: &str) -> bool {
    device.arch.split_whitespace().any(|word| word == told || capability(word).as_deref() == Some(told))
}

/// The version that runtimes report for a compiler's target: 9.4 for gfx942, 9.0 for sm_90.
fn capability(target: &str) -> Option<String> {
    let (version, behind) = match (target.strip_prefix("gfx"), target.strip_prefix("sm_")) {
        // The last letter is the stepping, which runtimes leave out.
        (Some(version), _) => (version, 1),
        (_, Some(version)) => (version, 0),
        _ => return None,
    };
    let end = version.len().checked_sub(behind)?;
    let (major, minor) = version.get(..end)?.split_at_checked(end.checked_sub(1)?)?;
    (!major.is_empty()).then(|| format!("{major}.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting(architecture: &str, compute_units: u32, memory_bytes: u64) -> Vec<&'static str> {
        let told = Properties { architecture: architecture.to_owned(), compute_units, memory_bytes };
        Catalog::embedded().fitting(&told).into_iter().map(|device| device.name.as_str()).collect()
    }

    #[test]
    fn memory_tells_devices_of_one_architecture_apart() {
        assert_eq!(fitting("9.4", 304, 206_141_652_992), ["MI300X 192GB"]);
        // As a virtual machine sees it.
        assert_eq!(fitting("9.4", 304, 205_571_227_648), ["MI300X 192GB"]);
        assert_eq!(fitting("gfx942", 304, 206_141_652_992), ["MI300X 192GB"]);
        // 256 GiB.
        assert_eq!(fitting("9.4", 304, 274_877_906_944), ["MI325X 256GB"]);
        assert_eq!(fitting("9.0", 110, 68_702_699_520), ["MI250X GCD 64GB"]);
    }

    #[test]
    fn all_that_fit_are_named_and_nothing_is_rounded_to_a_neighbour() {
        // 288 GiB.
        assert_eq!(fitting("9.5", 256, 309_237_645_312), ["MI350X 288GB", "MI355X 288GB"]);
        // What a B200 reports is no further from the 186 GB of a GB200 than such figures may be.
        assert_eq!(fitting("10.0", 148, 191_503_138_816), ["B200 SXM 180GB", "GB200 186GB"]);
        // An MI210 or half of an MI250: neither is in the catalog.
        assert!(fitting("9.0", 104, 68_702_699_520).is_empty());
        // Of an MI300A, and of a part of an MI300X.
        assert!(fitting("9.4", 228, 137_438_953_472).is_empty());
        assert!(fitting("9.4", 38, 25_767_706_624).is_empty());
        assert!(fitting("", 304, 206_141_652_992).is_empty());
        assert!(fitting("9.4", 304, 0).is_empty());
    }

    #[test]
    fn versions_of_targets() {
        let expected = [("gfx90a", "9.0"), ("gfx1151", "11.5"), ("sm_90", "9.0"), ("sm_121", "12.1")];
        for (target, version) in expected {
            assert_eq!(capability(target).as_deref(), Some(version), "{target}");
        }
        for target in ["gfx", "gfx9", "sm_", "sm_9", "CDNA3", "gfxé9"] {
            assert_eq!(capability(target), None, "{target}");
        }
    }
}
