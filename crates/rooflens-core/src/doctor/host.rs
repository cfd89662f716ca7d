//! Processors and memory: how many, how fast, how steady.

use super::{DoctorCheck, Machine};

/// Memory below this is tight for a trace of a gigabyte, which was measured to take 0.2 GB.
const COMFORTABLE_BYTES: u64 = 500_000_000;

const STEADY: &str = "repeatable times";

pub(crate) fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    vec![processors(machine), memory(machine), swap(machine), governor(machine), turbo(machine)]
}

fn processors(machine: &Machine) -> DoctorCheck {
    let info = machine.text("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or(String::new(), |(_, name)| format!(" × {}", name.trim()));
    match std::thread::available_parallelism() {
        Ok(count) => DoctorCheck::ok("processors", format!("{count}{model}")),
        Err(error) => {
            DoctorCheck::warning("processors", format!("unknown: {error}"), "traces are read on one core")
        }
    }
}

/// A line of `/proc/meminfo`, in bytes.
fn meminfo(machine: &Machine, key: &str) -> Option<u64> {
    let text = machine.text("/proc/meminfo")?;
    let line = text.lines().find(|line| line.split(':').next() == Some(key))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

fn memory(machine: &Machine) -> DoctorCheck {
    const NAME: &str = "free memory";
    let Some(free) = meminfo(machine, "MemAvailable") else {
        return DoctorCheck::ok(NAME, "not reported by this system");
    };
    let of = meminfo(machine, "MemTotal").map_or(String::new(), |all| format!(" of {}", gigabytes(all)));
    let found = gigabytes(free) + &of;
    let hint = "a trace of 1 GB takes about 0.2 GB; ranks of a job are read one after another, so memory is \
                bounded by the largest";
    if free >= COMFORTABLE_BYTES {
        DoctorCheck::ok(NAME, found)
    } else {
        DoctorCheck::warning(NAME, found, hint)
    }
}

fn swap(machine: &Machine) -> DoctorCheck {
    const NAME: &str = "swap";
    let (Some(all), Some(free)) = (meminfo(machine, "SwapTotal"), meminfo(machine, "SwapFree")) else {
        return DoctorCheck::ok(NAME, "not reported by this system");
    };
    match (all, all.saturating_sub(free)) {
        (0, _) => DoctorCheck::ok(NAME, "none"),
        (all, 0) => DoctorCheck::ok(NAME, format!("{}, unused", gigabytes(all))),
        (all, used) => DoctorCheck::warning(
            NAME,
            format!("{} of {} in use", gigabytes(used), gigabytes(all)),
            "free memory before measuring: swapping makes times vary; vmstat 1 shows whether any move",
        )
        .needed(STEADY),
    }
}

fn governor(machine: &Machine) -> DoctorCheck {
    const NAME: &str = "cpu governor";
    match machine.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        None => DoctorCheck::not_applicable(NAME, "not reported by this system, as in most virtual machines"),
        Some(word) if word == "performance" => DoctorCheck::ok(NAME, word),
        Some(word) => {
            let hint = "sudo cpupower frequency-set -g performance";
            DoctorCheck::warning(NAME, word, hint).needed(STEADY)
        }
    }
}

/// `no_turbo` of Intel's driver, `boost` of the others'.
fn turbo(machine: &Machine) -> DoctorCheck {
    const NAME: &str = "cpu turbo";
    let intel = machine.text("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|word| word == "0");
    let other = || machine.text("/sys/devices/system/cpu/cpufreq/boost").map(|word| word == "1");
    match intel.or_else(other) {
        None => DoctorCheck::not_applicable(NAME, "not reported by this system, as in most virtual machines"),
        Some(false) => DoctorCheck::ok(NAME, "off: clocks are steady"),
        Some(true) => DoctorCheck::ok(NAME, "on: clocks vary with heat and load").needed(STEADY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;

    #[test]
    fn a_busy_laptop() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        machine.write(
            "/proc/meminfo",
            "MemTotal:       16000000 kB\nMemAvailable:     100000 kB\nSwapTotal:       2000000 kB\nSwapFree:        1000000 kB\n",
        );
        machine.write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Acme Turbo\n");
        machine.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
        machine.write("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
        let found = checks(&machine);
        let told: Vec<(CheckStatus, &str)> =
            found.iter().map(|check| (check.status, check.found.as_str())).collect();
        assert!(told[0].1.ends_with(" × Acme Turbo"), "{told:?}");
        assert_eq!(
            told[1..],
            [
                (CheckStatus::Warning, "0.1 GB of 16.4 GB"),
                (CheckStatus::Warning, "1.0 GB of 2.0 GB in use"),
                (CheckStatus::Warning, "powersave"),
                (CheckStatus::Ok, "on: clocks vary with heat and load"),
            ]
        );
    }

    #[test]
    fn a_server_that_is_ready() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        machine.write(
            "/proc/meminfo",
            "MemTotal: 900000000 kB\nMemAvailable: 800000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        );
        machine.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
        machine.write("/sys/devices/system/cpu/cpufreq/boost", "0\n");
        assert!(checks(&machine).iter().all(|check| check.status == CheckStatus::Ok));
    }
}
