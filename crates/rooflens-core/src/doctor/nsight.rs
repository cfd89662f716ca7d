//! NVIDIA's profilers, and whether they may look.

use std::path::Path;
use std::time::Duration;

use rooflens_collect::ask;

use super::check::DoctorCheck;
use super::machine::Machine;

/// A program that tells its version takes a second at most.
const PATIENCE: Duration = Duration::from_secs(10);
const CAP_SYS_ADMIN: u64 = 1 << 21;

const SYSTEMS: &[&str] =
    &["/opt/nvidia/nsight-systems/*/bin", "/opt/nvidia/nsight-systems-cli/*/bin", "/usr/local/cuda/bin"];
const COMPUTE: &[&str] = &["/opt/nvidia/nsight-compute/*", "/usr/local/cuda/bin"];

pub(crate) fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    let has_driver = machine.at_root("/proc/driver/nvidia").exists();
    let tool = |name, usual, hint: &str, needed| {
        match machine.program(name, usual) {
            Some(path) => found(name, &path),
            None if has_driver => DoctorCheck::missing(name, "neither on PATH nor in /opt/nvidia", hint),
            None => DoctorCheck::not_applicable(name, "not found, and no NVIDIA driver is loaded here"),
        }
        .needed(needed)
    };
    vec![
        tool(
            "nsys",
            SYSTEMS,
            "sudo apt install nsight-systems-cli, or https://developer.nvidia.com/nsight-systems",
            "timelines by Nsight Systems",
        ),
        tool(
            "ncu",
            COMPUTE,
            "sudo apt install nsight-compute, or https://developer.nvidia.com/nsight-compute",
            "counters of kernels by Nsight Compute",
        ),
        counters(machine),
        cpu_samples(machine, has_driver),
    ]
}

fn found(name: &'static str, path: &Path) -> DoctorCheck {
    match ask(path, &["--version"], PATIENCE) {
        Ok(answer) => match version(&answer) {
            Some(version) => DoctorCheck::ok(name, format!("{version}, {}", path.display())),
            None => DoctorCheck::ok(name, format!("version unknown, {}", path.display())),
        },
        Err(why) => {
            let hint = format!("{} --version", path.display());
            DoctorCheck::warning(name, format!("{} {why}", path.display()), hint)
        }
    }
}

fn version(answer: &str) -> Option<&str> {
    let is_version = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.') && word.split('.').count() >= 3
    };
    answer.split_whitespace().map(|word| word.trim_matches([',', ';', '(', ')'])).find(is_version)
}

/// Whether `ncu` may read counters: everybody may, or we have the capability.
fn counters(machine: &Machine) -> DoctorCheck {
    let (name, needed) = ("gpu counters", "counters of kernels by Nsight Compute");
    let Some(parameters) = machine.text("/proc/driver/nvidia/params") else {
        return DoctorCheck::not_applicable(name, "no NVIDIA driver is loaded here").needed(needed);
    };
    let word = parameters.lines().find_map(|line| line.strip_prefix("RmProfilingAdminOnly:")).map(str::trim);
    match word {
        Some("0") => DoctorCheck::ok(name, "available to all users"),
        _ if is_admin(machine) => DoctorCheck::ok(name, "available, since this user is an administrator"),
        Some(_) => DoctorCheck::missing(
            name,
            "administrators only (RmProfilingAdminOnly)",
            "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/nvidia-profiling.conf, then reboot; in a container: docker run --cap-add SYS_ADMIN …",
        ),
        None => DoctorCheck::ok(name, "not reported by this driver"),
    }
    .needed(needed)
}

fn is_admin(machine: &Machine) -> bool {
    let status = machine.text("/proc/self/status").unwrap_or_default();
    let word = status.lines().find_map(|line| line.strip_prefix("CapEff:")).map(str::trim);
    word.and_then(|word| u64::from_str_radix(word, 16).ok()).is_some_and(|bits| bits & CAP_SYS_ADMIN != 0)
}

/// `perf_event_paranoid` above 2 closes the kernel's counters to whoever is no administrator.
fn cpu_samples(machine: &Machine, has_driver: bool) -> DoctorCheck {
    let (name, needed) = ("cpu samples", "CPU samples of Nsight Systems");
    let level =
        machine.text("/proc/sys/kernel/perf_event_paranoid").and_then(|word| word.parse::<i32>().ok());
    match level {
        None => DoctorCheck::not_applicable(name, "not reported by this system"),
        Some(level) if level <= 2 => DoctorCheck::ok(name, format!("allowed (perf_event_paranoid {level})")),
        Some(level) if is_admin(machine) => DoctorCheck::ok(
            name,
            format!(
                "allowed, since this user is an administrator (perf_event_paranoid \
                                     {level})"
            ),
        ),
        Some(level) if !has_driver => DoctorCheck::not_applicable(
            name,
            format!("perf_event_paranoid {level}; no NVIDIA driver is loaded here"),
        ),
        Some(level) => DoctorCheck::warning(
            name,
            format!("not allowed (perf_event_paranoid {level})"),
            "sudo sysctl kernel.perf_event_paranoid=2",
        ),
    }
    .needed(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;

    fn statuses(machine: &Machine) -> Vec<CheckStatus> {
        checks(machine).iter().map(|check| check.status).collect()
    }

    #[test]
    fn without_a_driver_nothing_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        machine.write("/proc/sys/kernel/perf_event_paranoid", "4\n");
        assert_eq!(statuses(&machine), [CheckStatus::NotApplicable; 4]);
    }

    #[test]
    fn with_a_driver_what_lacks_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        machine.write("/proc/driver/nvidia/params", "RmMsg: 0\nRmProfilingAdminOnly: 1\n");
        machine.write("/proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n");
        machine.write("/proc/sys/kernel/perf_event_paranoid", "4\n");
        assert_eq!(
            statuses(&machine),
            [CheckStatus::Missing, CheckStatus::Missing, CheckStatus::Missing, CheckStatus::Warning]
        );
        machine.write("/proc/self/status", "CapEff:\t000001ffffffffff\n");
        assert_eq!(statuses(&machine)[2..], [CheckStatus::Ok, CheckStatus::Ok]);
        machine.write("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
        assert_eq!(counters(&machine).found, "available to all users");
    }

    #[test]
    fn tools_tell_their_version_from_path_or_the_usual_folder() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        machine.script("/opt/nvidia/nsight-systems/2023.1.1/bin/nsys", "echo old");
        machine.script(
            "/opt/nvidia/nsight-systems/2024.5.1/bin/nsys",
            "echo NVIDIA Nsight Systems version 2024.5.1.113-245134619542v0",
        );
        machine.script("/bin/ncu", "echo 'NVIDIA (R) Nsight Compute Command Line Profiler'; echo 'Version 2024.3.2.0 (build 34861637) (public-release)'");
        let found: Vec<String> = checks(&machine).into_iter().map(|check| check.found).collect();
        assert!(found[0].starts_with("2024.5.1.113-245134619542v0, "), "{}", found[0]);
        assert!(found[1].starts_with("2024.3.2.0, "), "{}", found[1]);
        machine.script("/bin/ncu", "echo broken >&2; exit 1");
        let broken = &checks(&machine)[1];
        assert_eq!(broken.status, CheckStatus::Warning);
        assert!(broken.found.ends_with("ended with exit code 1: broken"), "{}", broken.found);
    }
}
