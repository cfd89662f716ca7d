//! Why a device's clocks are below their highest: the bits of NVML's clock event reasons, by name.

/// A reason: its bit, its word, its meaning.
pub struct Throttle {
    /// The bit in `throttle_reasons`.
    pub bit: i64,
    pub(crate) name: &'static str,
    /// Whether it costs speed that the device would have under load.
    pub slows: bool,
}

const fn throttle(bit: i64, name: &'static str, slows: bool) -> Throttle {
    Throttle { bit, name, slows }
}

/// Every reason that nvml.h names (`nvmlClocksEventReason*`), by bit.
pub const ALL: &[Throttle] = &[
    throttle(0x1, "gpu_idle", false),
    throttle(0x2, "applications_clocks_setting", true),
    throttle(0x4, "sw_power_cap", true),
    throttle(0x8, "hw_slowdown", true),
    throttle(0x10, "sync_boost", true),
    throttle(0x20, "sw_thermal_slowdown", true),
    throttle(0x40, "hw_thermal_slowdown", true),
    throttle(0x80, "hw_power_brake_slowdown", true),
    throttle(0x100, "display_clock_setting", true),
];

/// The words of the bits that are set. A bit without a name is told by its number.
pub fn names(bits: i64) -> Vec<String> {
    let known = ALL.iter().filter(|reason| bits & reason.bit != 0).map(|reason| reason.name.to_owned());
    let unknown = bits & !ALL.iter().fold(0, |all, reason| all | reason.bit);
    let unknown = (0..i64::BITS).map(|at| 1_i64 << at).filter(|bit| unknown & bit != 0);
    known.chain(unknown.map(|bit| format!("{bit:#x}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_names() {
        assert_eq!(names(0), [""; 0]);
        assert_eq!(names(0x44), ["sw_power_cap", "hw_thermal_slowdown"]);
        assert_eq!(names(0x401), ["gpu_idle", "0x400"]);
        assert!(ALL.iter().all(|reason| reason.bit.count_ones() == 1));
    }
}
