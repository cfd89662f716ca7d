//! Clocks: what a nanosecond is worth here.

use super::{DoctorCheck, Machine};

/// Sources that are read without asking the kernel, and go on evenly.
const QUICK: &[&str] = &["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"];

/// What programs that set the clock leave.
const SYNCED: &[(&str, &str)] = &[
    ("/run/systemd/timesync/synchronized", "systemd-timesyncd"),
    ("/run/chrony/chronyd.pid", "chronyd"),
    ("/run/chronyd.pid", "chronyd"),
    ("/run/ntpd.pid", "ntpd"),
    ("/run/ptp4l", "ptp4l"),
];

pub(crate) fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    vec![source(machine), synced(machine)]
}

fn source(machine: &Machine) -> DoctorCheck {
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

fn synced(machine: &Machine) -> DoctorCheck {
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
    fn slow_clocks_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        assert_eq!(checks(&machine)[1].status, CheckStatus::NotApplicable);
        for (word, status) in [("tsc", CheckStatus::Ok), ("hpet", CheckStatus::Warning)] {
            machine.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", word);
            assert_eq!(checks(&machine)[0].status, status);
        }
        machine.write("/run/chrony/chronyd.pid", "1");
        assert_eq!(checks(&machine)[1], DoctorCheck::ok("time of day", "kept by chronyd"));
    }
}
