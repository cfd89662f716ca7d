//! Devices and their drivers.

use std::path::PathBuf;

use super::check::{CheckStatus, DoctorCheck};
use super::machine::Machine;

pub(crate) fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    let mut checks = nvidia(machine);
    checks.push(amd(machine));
    checks
}

fn nvidia(machine: &Machine) -> Vec<DoctorCheck> {
    let parts = rooflens_collect::sample::nvml::parts(machine.nvml.as_deref()).into_iter();
    parts
        .map(|part| DoctorCheck {
            name: part.name.into(),
            status: if part.ok == Some(true) { CheckStatus::Ok } else { CheckStatus::Missing },
            found: part.found,
            needed: Some(part.needed.into()),
            hint: part.hint.map(std::borrow::Cow::into_owned),
        })
        .collect()
}

fn amd(machine: &Machine) -> DoctorCheck {
    const FILES: &[&str] = &["libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7", "librocm_smi64.so"];
    const FOLDERS: &[&str] = &[
        "/usr/lib",
        "/usr/lib64",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/opt/rocm/lib",
    ];
    let told = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = FOLDERS.iter().map(|folder| machine.at_root(folder));
    let folders: Vec<PathBuf> = std::env::split_paths(&told).chain(usual).collect();
    let mut all = folders.iter().flat_map(|folder| FILES.iter().map(move |file| folder.join(file)));
    let (name, needed) = ("amd driver", "runs on AMD devices");
    match all.find(|path| path.is_file()) {
        Some(path) => DoctorCheck::ok(name, path.display().to_string()),
        None if !machine.at_root("/sys/module/amdgpu").exists() => {
            DoctorCheck::not_applicable(name, "no AMD driver is loaded here")
        }
        None => {
            let hint = "install ROCm: https://rocm.docs.amd.com; reading traces does not need it";
            DoctorCheck::missing(name, FILES.join(", ") + " not found", hint)
        }
    }
    .needed(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_without_its_library() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        assert_eq!(amd(&machine).status, CheckStatus::NotApplicable);
        machine.write("/sys/module/amdgpu/version", "6");
        assert_eq!(amd(&machine).status, CheckStatus::Missing);
        machine.write("/opt/rocm/lib/libamdhip64.so.7", "");
        assert_eq!(amd(&machine).status, CheckStatus::Ok);
        let nvidia = nvidia(&machine);
        assert_eq!((&*nvidia[0].name, nvidia[0].status), ("nvml library", CheckStatus::Missing));
    }
}
