//! The interpreter that runs would use, and what it has: by the packages' own records, so that nothing
//! that takes seconds is imported, unless that is asked for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rooflens_collect::ask_with;
use serde_json::Value as Json;

use super::check::DoctorCheck;
use super::machine::{Machine, Python};

const PATIENCE: Duration = Duration::from_secs(20);
/// Importing torch for the first time may take a minute.
const DEEP_PATIENCE: Duration = Duration::from_secs(180);

const VERSIONS: &str = "\
import json, platform, sys
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
names = ('torch', 'transformers', 'vllm')
told = {'python': platform.python_version(), 'executable': sys.executable}
print(json.dumps({**told, **{name: version(name) for name in names}}))";

/// The devices that torch itself finds: those of CUDA and ROCm, and whichever accelerator it was built for.
const DEVICES: &str = "\
import json, torch
def names(kind, module):
    if not (hasattr(module, 'is_available') and module.is_available()):
        return []
    name = getattr(module, 'get_device_name', lambda _index: kind)
    count = module.device_count() if hasattr(module, 'device_count') else 1
    return [f'{kind}:{index} {name(index)}' for index in range(count)]
kinds = ('cuda', 'xpu', 'mps', 'hpu', 'npu')
found = [told for kind in kinds for told in names(kind, getattr(torch, kind, None))]
print(json.dumps({'built': torch.version.cuda or torch.version.hip, 'devices': found}))";

const OLDEST: (u32, u32) = (3, 9);

const PACKAGES: &[(&str, &str)] =
    &[("torch", "runs with PyTorch"), ("transformers", "runs with PyTorch"), ("vllm", "runs with vLLM")];

pub(crate) fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    let given = &machine.python;
    if let Some((found, hint)) = &given.problem {
        return without(DoctorCheck::missing("python", found, hint));
    }
    let Some(path) = interpreter(machine) else {
        let program = given.argv.first().map_or("", String::as_str);
        let found = format!("{program:?} not found (set by {})", given.by);
        let hint = "install Python 3.9 or later, or name it: runtime.python=PATH; reading traces does not \
                    need it";
        return without(DoctorCheck::missing("python", found, hint));
    };
    match asked(given, &path, VERSIONS, PATIENCE) {
        Ok(told) => {
            let mut checks = vec![python(machine, &path, &told)];
            let install =
                given.install.clone().unwrap_or_else(|| format!("{} -m pip install", path.display()));
            checks.extend(PACKAGES.iter().map(|(name, needed)| package(&install, name, needed, &told)));
            if machine.deep && told["torch"].is_string() {
                checks.push(devices(given, &path, &install));
            }
            checks
        }
        Err(why) => {
            let hint = format!("{} --version", path.display());
            without(DoctorCheck::warning("python", format!("{} {why}", path.display()), hint))
        }
    }
}

fn without(python: DoctorCheck) -> Vec<DoctorCheck> {
    let packages = PACKAGES.iter().map(|(name, needed)| not_asked(name, needed));
    std::iter::once(python.needed("runs")).chain(packages).collect()
}

fn interpreter(machine: &Machine) -> Option<PathBuf> {
    let program = machine.python.argv.first()?;
    let given = Path::new(program);
    if given.components().count() > 1 {
        return Some(given.to_owned()).filter(|path| path.is_file());
    }
    machine.program(program, &[])
}

fn asked(given: &Python, path: &Path, script: &str, patience: Duration) -> Result<Json, String> {
    let before = given.argv.iter().skip(1).map(String::as_str);
    let args: Vec<&str> = before.chain(["-c", script]).collect();
    ask_with(path, &args, &given.env, patience).and_then(|answer| parsed(&answer))
}

fn parsed(answer: &str) -> Result<Json, String> {
    let line = answer.lines().rfind(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).map_err(|_| "does not answer as Python would".to_owned())
}

fn not_asked(name: &'static str, needed: &'static str) -> DoctorCheck {
    DoctorCheck::missing(
        name,
        "not checked: python is missing",
        "fix the problem above first, then run rooflens doctor again",
    )
    .needed(needed)
}

fn python(machine: &Machine, path: &Path, told: &Json) -> DoctorCheck {
    let version = told["python"].as_str().unwrap_or("version unknown");
    let path = told["executable"].as_str().map_or_else(|| path.display().to_string(), str::to_owned);
    let found = format!("{version}, {path}, set by {}", machine.python.by);
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let is_new = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST;
    let check = match is_new {
        true => DoctorCheck::ok("python", found),
        false => DoctorCheck::warning("python", found, "Python 3.9 or later: runtime.python=PATH"),
    };
    check.needed("runs")
}

fn package(install: &str, name: &'static str, needed: &'static str, told: &Json) -> DoctorCheck {
    let check = match told[name].as_str() {
        Some(version) => DoctorCheck::ok(name, version),
        None => {
            let hint = format!("{install} {name}; or another interpreter: runtime.python=PATH");
            DoctorCheck::missing(name, "not installed for this interpreter", hint)
        }
    };
    check.needed(needed)
}

fn devices(given: &Python, path: &Path, install: &str) -> DoctorCheck {
    let (name, needed) = ("torch devices", "runs on a device");
    let check = match asked(given, path, DEVICES, DEEP_PATIENCE) {
        Ok(told) => {
            let found: Vec<&str> =
                told["devices"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
            match (found.as_slice(), told["built"].as_str()) {
                ([], Some(built)) => DoctorCheck::missing(
                    name,
                    format!("no device is usable, though torch was built for {built}"),
                    "see the nvidia lines for what is missing; until then runs use the CPU",
                ),
                ([], None) => DoctorCheck::missing(
                    name,
                    "torch was built for CPUs only",
                    format!("{install} torch --index-url https://download.pytorch.org/whl/cu128"),
                ),
                (found, _) => DoctorCheck::ok(name, found.join(", ")),
            }
        }
        Err(why) => DoctorCheck::warning(
            name,
            format!("import torch {why}"),
            format!("{} -c 'import torch'", given.argv.join(" ")),
        ),
    };
    check.needed(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    use crate::doctor::CheckStatus;

    fn told(machine: &Machine) -> Vec<(Cow<'static, str>, CheckStatus, String)> {
        checks(machine).into_iter().map(|check| (check.name, check.status, check.found)).collect()
    }

    #[test]
    fn versions_by_one_question() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        let all = told(&machine);
        assert!(all.iter().all(|(_, status, _)| *status == CheckStatus::Missing), "{all:?}");
        machine.script(
            "/bin/python3",
            r#"echo noise; echo '{"python":"3.8.1","torch":"2.9.0+cpu","transformers":null,"vllm":null}'"#,
        );
        let all = told(&machine);
        assert_eq!(
            all.iter().map(|it| it.1).collect::<Vec<_>>(),
            [CheckStatus::Warning, CheckStatus::Ok, CheckStatus::Missing, CheckStatus::Missing]
        );
        assert!(all[0].2.starts_with("3.8.1, ") && all[0].2.ends_with("set by nobody"), "{}", all[0].2);
        machine.script("/bin/python3", "echo hello");
        assert_eq!(told(&machine)[0].1, CheckStatus::Warning);
    }

    #[test]
    fn torch_is_asked_only_where_that_is_wished() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"case "$2" in *torch.version*) echo '{"built":"13.0","devices":[]}';; *) echo '{"python":"3.11.7","torch":"2.9.0"}';; esac"#;
        let mut machine = Machine::at(folder.path());
        machine.script("/bin/python3", script);
        assert_eq!(told(&machine).len(), 4);
        machine.deep = true;
        let last = told(&machine).pop().unwrap();
        assert_eq!(
            last,
            (
                "torch devices".into(),
                CheckStatus::Missing,
                "no device is usable, though torch was built for 13.0".to_owned()
            )
        );
    }
}
