//! Clocks: what a nanosecond is worth here.

use super::{Check, Machine};

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

pub fn checks(machine: &Machine) -> Vec<Check> {
    vec![source(machine), synced(machine)]
}

fn source(machine: &Machine) -> Check {
    const NAME: &str = "clock source";
    match machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource") {
        None => Check::ok(NAME, "not reported by this system"),
        Some(word) if QUICK.contains(&word.as_str()) => Check::ok(NAME, word),
        Some(word) => {
            let hint = "dmesg | grep -i tsc shows why the kernel does not trust it; a reading takes about a microsecond now";
            Check::warning(NAME, word, hint).needed("times below a microsecond")
        }
    }
}

fn synced(machine: &Machine) -> Check {
    const NAME: &str = "time of day";
    match SYNCED.iter().find(|(path, _)| machine.at_root(path).exists()) {
        Some((_, by)) => Check::ok(NAME, format!("kept by {by}")),
        // A container does not see who keeps it, and one machine's traces need nobody.
        None => Check::not_applicable(NAME, "no time-sync daemon found")
            .needed("traces of several machines in one report"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn slow_clocks_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        assert_eq!(checks(&machine)[1].status, Status::NotApplicable);
        for (word, status) in [("tsc", Status::Ok), ("hpet", Status::Warning)] {
            machine.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", word);
            assert_eq!(checks(&machine)[0].status, status);
        }
        machine.write("/run/chrony/chronyd.pid", "1");
        assert_eq!(checks(&machine)[1], Check::ok("time of day", "kept by chronyd"));
    }
}
