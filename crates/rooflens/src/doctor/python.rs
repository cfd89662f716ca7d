//! The interpreter that runs would use, and what it has: by the packages' own records, so that nothing
//! that takes seconds is imported, unless that is asked for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rooflens_collect::ask;
use serde_json::Value as Json;

use super::{Check, Machine};

/// An interpreter starts within this on a slow disk.
const PATIENCE: Duration = Duration::from_secs(20);
/// Importing torch for the first time may take a minute.
const DEEP_PATIENCE: Duration = Duration::from_secs(180);

/// One line of JSON: versions by the records of packages.
const VERSIONS: &str = "\
import json, platform
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
names = ('torch', 'transformers', 'vllm')
print(json.dumps({'python': platform.python_version(), **{name: version(name) for name in names}}))";

/// What torch itself finds.
const CUDA: &str = "\
import json, torch
there = torch.cuda.is_available()
print(json.dumps({'built': torch.version.cuda or torch.version.hip, 'there': there,
 'name': torch.cuda.get_device_name() if there else None}))";

/// Oldest version that the package of Rooflens runs with.
const OLDEST: (u32, u32) = (3, 9);

const PACKAGES: &[(&str, &str)] =
    &[("torch", "runs with PyTorch"), ("transformers", "runs with PyTorch"), ("vllm", "runs with vLLM")];

pub fn checks(machine: &Machine) -> Vec<Check> {
    let Some(path) = interpreter(machine) else {
        let found = format!("there is no program {:?}, which {} names", machine.python, machine.python_by);
        let hint = "install Python 3.9 or later, or name it: runtime.python=PATH; reading traces needs none";
        return std::iter::once(Check::missing("python", found, hint).needed("runs"))
            .chain(PACKAGES.iter().map(|(name, needed)| not_asked(name, needed)))
            .collect();
    };
    match ask(&path, &["-c", VERSIONS], PATIENCE).and_then(|answer| parsed(&answer)) {
        Ok(told) => {
            let mut checks = vec![python(machine, &path, &told)];
            checks.extend(PACKAGES.iter().map(|(name, needed)| package(&path, name, needed, &told)));
            if machine.deep && told["torch"].is_string() {
                checks.push(cuda(&path));
            }
            checks
        }
        Err(why) => {
            let broken = Check::warning(
                "python",
                format!("{} {why}", path.display()),
                format!("{} --version", path.display()),
            );
            std::iter::once(broken.needed("runs"))
                .chain(PACKAGES.iter().map(|(name, needed)| not_asked(name, needed)))
                .collect()
        }
    }
}

fn interpreter(machine: &Machine) -> Option<PathBuf> {
    let given = Path::new(&machine.python);
    if given.components().count() > 1 {
        return Some(given.to_owned()).filter(|path| path.is_file());
    }
    machine.program(&machine.python, &[])
}

fn parsed(answer: &str) -> Result<Json, String> {
    let line = answer.lines().rfind(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).map_err(|_| "answers something else than Python would".to_owned())
}

fn not_asked(name: &'static str, needed: &'static str) -> Check {
    Check::missing(
        name,
        "not asked: python is missing",
        "fix the problem above first, then run rooflens doctor again",
    )
    .needed(needed)
}

fn python(machine: &Machine, path: &Path, told: &Json) -> Check {
    let version = told["python"].as_str().unwrap_or("of unknown version");
    let found = format!("{version}, {}, named by {}", path.display(), machine.python_by);
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let is_new = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST;
    let check = match is_new {
        true => Check::ok("python", found),
        false => Check::warning("python", found, "Python 3.9 or later: runtime.python=PATH"),
    };
    check.needed("runs")
}

fn package(path: &Path, name: &'static str, needed: &'static str, told: &Json) -> Check {
    let check = match told[name].as_str() {
        Some(version) => Check::ok(name, version),
        None => {
            let hint = format!(
                "{} -m pip install {name}; or another interpreter: runtime.python=PATH",
                path.display()
            );
            Check::missing(name, "not installed beside it", hint)
        }
    };
    check.needed(needed)
}

fn cuda(path: &Path) -> Check {
    let (name, needed) = ("torch devices", "runs on a device");
    let check = match ask(path, &["-c", CUDA], DEEP_PATIENCE).and_then(|answer| parsed(&answer)) {
        Ok(told) => match (told["there"].as_bool(), told["name"].as_str(), told["built"].as_str()) {
            (Some(true), device, _) => Check::ok(name, device.unwrap_or("usable")),
            (_, _, Some(built)) => Check::missing(
                name,
                format!("none can be used, though torch was built for {built}"),
                "the lines about nvidia tell what lacks; until then runs go to the CPU",
            ),
            _ => Check::missing(
                name,
                "torch was built for CPUs alone",
                format!(
                    "{} -m pip install torch --index-url https://download.pytorch.org/whl/cu128",
                    path.display()
                ),
            ),
        },
        Err(why) => Check::warning(
            name,
            format!("import torch {why}"),
            format!("{} -c 'import torch'", path.display()),
        ),
    };
    check.needed(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    fn told(machine: &Machine) -> Vec<(&'static str, Status, String)> {
        checks(machine).into_iter().map(|check| (check.name, check.status, check.found)).collect()
    }

    #[test]
    fn versions_by_one_question() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::at(folder.path());
        let all = told(&machine);
        assert!(all.iter().all(|(_, status, _)| *status == Status::Missing), "{all:?}");
        machine.script(
            "/bin/python3",
            r#"echo noise; echo '{"python":"3.8.1","torch":"2.9.0+cpu","transformers":null,"vllm":null}'"#,
        );
        let all = told(&machine);
        assert_eq!(
            all.iter().map(|it| it.1).collect::<Vec<_>>(),
            [Status::Warning, Status::Ok, Status::Missing, Status::Missing]
        );
        assert!(all[0].2.starts_with("3.8.1, ") && all[0].2.ends_with("named by nobody"), "{}", all[0].2);
        machine.script("/bin/python3", "echo hello");
        assert_eq!(told(&machine)[0].1, Status::Warning);
    }

    #[test]
    fn torch_is_asked_only_where_that_is_wished() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"case "$2" in *torch.cuda*) echo '{"built":"13.0","there":false,"name":null}';; *) echo '{"python":"3.11.7","torch":"2.9.0"}';; esac"#;
        let mut machine = Machine::at(folder.path());
        machine.script("/bin/python3", script);
        assert_eq!(told(&machine).len(), 4);
        machine.deep = true;
        let last = told(&machine).pop().unwrap();
        assert_eq!(
            last,
            (
                "torch devices",
                Status::Missing,
                "none can be used, though torch was built for 13.0".to_owned()
            )
        );
    }
}
