//! The program itself, processors, memory, disk and clocks: how many, how fast, how steady.

use std::path::Path;

use rooflens_collect::sample::host::free_bytes;
use rooflens_schema::SCHEMA_VERSION;

use super::check::DoctorCheck;
use super::machine::Machine;

/// Memory below this is tight for a trace of a gigabyte, which was measured to take 0.2 GB.
const COMFORTABLE_BYTES: u64 = 500_000_000;

const STEADY: &str = "repeatable times";

pub(crate) fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    let disk = [writable(&machine.folder), room(&machine.folder, free_bytes(&machine.folder))];
    let clocks = [clock_source(machine), time_of_day(machine)];
    own(machine).into_iter().chain(processors_and_memory(machine)).chain(disk).chain(clocks).collect()
}

fn processors_and_memory(machine: &Machine) -> [DoctorCheck; 5] {
    [processors(machine), memory(machine), swap(machine), governor(machine), turbo(machine)]
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

fn own(machine: &Machine) -> Vec<DoctorCheck> {
    let (version, os, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let screen = &machine.screen;
    let kind = if machine.is_terminal { "a terminal" } else { "a file or pipe" };
    let colors = if screen.color { "colours" } else { "no colours" };
    let characters = if screen.unicode { "Unicode" } else { "ASCII" };
    vec![
        DoctorCheck::ok("rooflens", format!("{version}, schema {SCHEMA_VERSION}, {os} {arch}")),
        DoctorCheck::ok(
            "standard output",
            format!("{kind}, {} columns, {colors}, {characters}", screen.width),
        ),
    ]
}

/// A trace with stacks and shapes takes about a gigabyte a minute.
const COMFORTABLE_ROOM_BYTES: u64 = 5_000_000_000;

fn writable(folder: &Path) -> DoctorCheck {
    const NAME: &str = "writable folder";
    let probe = folder.join(format!(".rooflens-doctor-{}", std::process::id()));
    match std::fs::File::create_new(&probe) {
        Ok(_) => {
            // Left behind only where files can be made but not removed.
            let _ = std::fs::remove_file(&probe);
            DoctorCheck::ok(NAME, folder.display().to_string())
        }
        Err(error) => {
            let found = format!("{}: {error}", folder.display());
            DoctorCheck::missing(NAME, found, "give -o a writable folder; for a run: hydra.run.dir=FOLDER")
        }
    }
}

fn room(folder: &Path, free: Option<u64>) -> DoctorCheck {
    const NAME: &str = "free room";
    let Some(free) = free else { return DoctorCheck::ok(NAME, "not reported by this system") };
    let found = format!("{:.1} GB where {} is", free as f64 / 1e9, folder.display());
    if free >= COMFORTABLE_ROOM_BYTES {
        return DoctorCheck::ok(NAME, found);
    }
    let hint =
        "output.keep_raw=false removes traces once they are read; hydra.run.dir=FOLDER writes elsewhere";
    DoctorCheck::warning(NAME, found, hint).needed("traces of a run")
}

/// Sources that are read without asking the kernel, and go on evenly.
const QUICK: &[&str] = &["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"];

const SYNCED: &[(&str, &str)] = &[
    ("/run/systemd/timesync/synchronized", "systemd-timesyncd"),
    ("/run/chrony/chronyd.pid", "chronyd"),
    ("/run/chronyd.pid", "chronyd"),
    ("/run/ntpd.pid", "ntpd"),
    ("/run/ptp4l", "ptp4l"),
];

fn clock_source(machine: &Machine) -> DoctorCheck {
    const NAME: &str = "clock source";
    match machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource") {
        None => DoctorCheck::ok(NAME, "not reported by this system"),
        Some(word) if QUICK.contains(&word.as_str()) => DoctorCheck::ok(NAME, word),
        Some(word) => {
            let hint = "dmesg | grep -i tsc shows why the kernel does not trust it; a reading takes about a microsecond now";
            DoctorCheck::warning(NAME, word, hint).needed("times below a microsecond")
        }
    }
}

fn time_of_day(machine: &Machine) -> DoctorCheck {
    const NAME: &str = "time of day";
    match SYNCED.iter().find(|(path, _)| machine.at_root(path).exists()) {
        Some((_, by)) => DoctorCheck::ok(NAME, format!("kept by {by}")),
        // A container does not see who keeps it, and one machine's traces need nobody.
        None => DoctorCheck::not_applicable(NAME, "no time-sync daemon found")
            .needed("traces of several machines in one report"),
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
        let found = processors_and_memory(&machine);
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
        assert!(processors_and_memory(&machine).iter().all(|check| check.status == CheckStatus::Ok));
    }

    #[test]
    fn little_room_is_told_before_it_is_none() {
        let here = Path::new("/runs");
        assert_eq!(room(here, Some(80_000_000_000)).found, "80.0 GB where /runs is");
        assert_eq!(room(here, Some(1_000_000_000)).status, CheckStatus::Warning);
        assert_eq!(room(here, None).status, CheckStatus::Ok);
        assert_eq!(writable(Path::new("/proc/nowhere")).status, CheckStatus::Missing);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(writable(folder.path()).status, CheckStatus::Ok);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(free_bytes(folder.path()).is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn slow_clocks_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        assert_eq!(time_of_day(&machine).status, CheckStatus::NotApplicable);
        for (word, status) in [("tsc", CheckStatus::Ok), ("hpet", CheckStatus::Warning)] {
            machine.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", word);
            assert_eq!(clock_source(&machine).status, status);
        }
        machine.write("/run/chrony/chronyd.pid", "1");
        assert_eq!(time_of_day(&machine), DoctorCheck::ok("time of day", "kept by chronyd"));
    }
}
