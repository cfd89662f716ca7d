//! `env.json`: what a run ran on. Nothing in it names a person, a machine or an address.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rooflens_collect::environment::{EnvironmentKind, WorkloadEnvironment};
use rooflens_collect::execute::digest;
use rooflens_collect::project::revision::revision;
use rooflens_collect::sample::nvml::{NvmlSource, PowerLimit};
use rooflens_collect::sample::{Source, Watched};
use rooflens_collect::{RunSettings, RunStage};
use rooflens_schema::RunDir;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::super::workload;
use crate::document::SchemaTag;
use crate::environment::nvml_library;

/// What a run ran on. Null is "not known", and `not_computed` says why.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunEnvironment {
    /// `rooflens.env`.
    pub(crate) schema: SchemaTag,
    /// Version of Rooflens.
    pub(crate) rooflens: Cow<'static, str>,
    /// The operating system.
    pub(crate) os: System,
    /// The processor.
    pub(crate) cpu: Processor,
    /// Memory of the machine.
    pub(crate) memory_bytes: Option<u64>,
    /// Memory that this group of processes may have.
    pub(crate) memory_limit_bytes: Option<u64>,
    /// NVIDIA devices.
    pub(crate) gpus: Option<Vec<Gpu>>,
    /// Version of NVIDIA's driver.
    pub(crate) nvidia_driver: Option<String>,
    /// The container that the run was made in.
    pub(crate) container: Option<Container>,
    /// The runtime of the workload, as `pytorch`.
    pub(crate) runtime: Option<Json>,
    /// Version of Python.
    pub(crate) python: Option<Json>,
    /// The interpreter that ran the workload.
    pub(crate) interpreter: Option<String>,
    /// The Python environment that it belongs to, and what pins that.
    pub(crate) environment: Option<PythonEnvironment>,
    /// Versions of the packages that the workload uses.
    pub(crate) versions: Option<Json>,
    /// The project's own revision.
    pub(crate) project: Option<ProjectCommit>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, String>,
}

/// The operating system.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct System {
    /// As Rust calls it: `linux`, `macos`.
    pub(crate) kind: Cow<'static, str>,
    /// As Rust calls it: `x86_64`, `aarch64`.
    pub(crate) arch: Cow<'static, str>,
    /// Its own name and version.
    pub(crate) name: Option<String>,
    /// Version of the kernel.
    pub(crate) kernel: Option<String>,
}

/// The processor of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Processor {
    /// Its model.
    pub(crate) model: Option<String>,
    /// Cores that share no pipelines.
    pub(crate) cores: Option<usize>,
    /// Threads that the system sees.
    pub(crate) threads: Option<usize>,
    /// Threads that this process may use.
    pub(crate) usable_threads: Option<usize>,
    /// Processors' worth of time that this group of processes may have.
    pub(crate) quota: Option<f64>,
    /// What sets its clock, as `performance`.
    pub(crate) governor: Option<String>,
    /// Least clock rate that the governor may set.
    pub(crate) min_clock_hz: Option<u64>,
    /// Highest clock rate that the governor may set.
    pub(crate) max_clock_hz: Option<u64>,
}

/// An NVIDIA device.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Gpu {
    /// Its index, as NVML counts.
    pub(crate) index: i32,
    /// Its name.
    pub(crate) name: String,
    /// The limit that the device enforces.
    pub(crate) power_limit_w: Option<f64>,
}

/// A container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Container {
    /// What made it, as `docker`.
    pub(crate) kind: Cow<'static, str>,
    /// What it was detected by.
    pub(crate) sign: Cow<'static, str>,
}

/// The revision of a project.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProjectCommit {
    /// The commit that is checked out.
    pub(crate) commit: String,
    /// Whether tracked files differ from it.
    pub(crate) is_dirty: bool,
}

pub(crate) fn environment(run: &RunDir, settings: &RunSettings, project: &Path) -> RunEnvironment {
    const SYSTEM: &str = "not reported by this system";
    const LIMIT: &str = "no limit is set, or this system does not report it";
    const WORKLOAD: &str = "no workload reported it";
    let mut not_computed = BTreeMap::new();
    let mut known = |name: &'static str, why: &str| drop(not_computed.insert(name.into(), why.to_owned()));
    let (gpus, nvidia_driver) = match NvmlSource::open(nvml_library().as_deref(), &Watched::default()) {
        Ok(source) => {
            let driver = source.about().rsplit(' ').next().map(str::to_owned);
            let limits = source.power_limits();
            if let Some(why) = limits.iter().find_map(|(.., limit)| limit.as_ref().err()) {
                known("gpus.power_limit_w", why);
            }
            let gpu = |(index, name, limit): PowerLimit| Gpu { index, name, power_limit_w: limit.ok() };
            (Some(limits.into_iter().map(gpu).collect()), driver)
        }
        Err(missing) => {
            known("gpus", &missing.fact);
            known("nvidia_driver", &missing.fact);
            (None, None)
        }
    };
    let memory = text("/proc/meminfo").as_deref().and_then(memory_bytes);
    let limit = text("/sys/fs/cgroup/memory.max").and_then(|limit| limit.trim().parse().ok());
    let container = container();
    let ran = [RunStage::Measure, RunStage::DirectInference].map(|stage| workload::of_stage(run, stage));
    let told = |field: &str| ran.iter().find_map(|workload| workload.fact("hello", field)).cloned();
    let (runtime, python, versions) = (told("runtime"), told("python"), told("versions"));
    let interpreter = told("executable").and_then(|path| path.as_str().map(PathBuf::from));
    let python_environment = python_environment(settings, interpreter.as_deref(), project);
    let has_lock = python_environment.as_ref().is_none_or(|found| found.lock.is_some());
    let commit = revision(project).map_err(|why| known("project", why)).ok();
    let cpu = processor();
    for (name, is_known, why) in [
        ("memory_bytes", memory.is_some(), SYSTEM),
        ("memory_limit_bytes", limit.is_some(), LIMIT),
        ("container", container.is_some(), "none detected"),
        ("runtime", runtime.is_some(), WORKLOAD),
        ("python", python.is_some(), WORKLOAD),
        ("versions", versions.is_some(), WORKLOAD),
        (
            "environment",
            python_environment.is_some(),
            "no runtime.environment is set, and the interpreter is not the project's",
        ),
        ("environment.lock", has_lock, "the project has no lock file"),
        ("interpreter", interpreter.is_some(), WORKLOAD),
        ("cpu.model", cpu.model.is_some(), SYSTEM),
        ("cpu.cores", cpu.cores.is_some(), SYSTEM),
        ("cpu.quota", cpu.quota.is_some(), LIMIT),
        ("cpu.governor", cpu.governor.is_some(), SYSTEM),
        ("cpu.min_clock_hz", cpu.min_clock_hz.is_some(), SYSTEM),
        ("cpu.max_clock_hz", cpu.max_clock_hz.is_some(), SYSTEM),
    ] {
        if !is_known {
            known(name, why);
        }
    }
    RunEnvironment {
        schema: SchemaTag::new("env"),
        rooflens: env!("CARGO_PKG_VERSION").into(),
        os: System {
            kind: std::env::consts::OS.into(),
            arch: std::env::consts::ARCH.into(),
            name: text("/etc/os-release").as_deref().and_then(os_name),
            kernel: text("/proc/sys/kernel/osrelease").map(|kernel| kernel.trim().to_owned()),
        },
        cpu,
        memory_bytes: memory,
        memory_limit_bytes: limit,
        gpus,
        nvidia_driver,
        container,
        runtime,
        python,
        interpreter: interpreter.map(|path| shown(&path, project)),
        environment: python_environment,
        versions,
        project: commit.map(|at| ProjectCommit { commit: at.commit, is_dirty: at.is_dirty }),
        not_computed,
    }
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn processor() -> Processor {
    let clock = |name: &str| {
        let khz: u64 = text(&format!("/sys/devices/system/cpu/cpu0/cpufreq/{name}"))?.trim().parse().ok()?;
        Some(khz * 1000)
    };
    let governor = text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    Processor {
        usable_threads: std::thread::available_parallelism().ok().map(usize::from),
        quota: text("/sys/fs/cgroup/cpu.max").as_deref().and_then(quota),
        governor: governor.map(|governor| governor.trim().to_owned()),
        min_clock_hz: clock("scaling_min_freq"),
        max_clock_hz: clock("scaling_max_freq"),
        ..text("/proc/cpuinfo").as_deref().map(processor_of).unwrap_or_default()
    }
}

fn processor_of(cpuinfo: &str) -> Processor {
    let value = |line: &str, key: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    };
    let all = |key: &str| cpuinfo.lines().filter_map(|line| value(line, key)).collect::<Vec<String>>();
    let (packages, cores) = (all("physical id"), all("core id"));
    let pairs: BTreeSet<(&String, &String)> = packages.iter().zip(&cores).collect();
    let threads = all("processor").len();
    Processor {
        model: all("model name").into_iter().next(),
        cores: Some(pairs.len()).filter(|count| *count > 0 && packages.len() == cores.len()),
        threads: Some(threads).filter(|count| *count > 0),
        ..Processor::default()
    }
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

fn os_name(release: &str) -> Option<String> {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// `200000 100000` is two processors' worth; `max` is no limit.
fn quota(max: &str) -> Option<f64> {
    let mut words = max.split_whitespace().map(str::parse::<f64>);
    let (share, period) = (words.next()?.ok()?, words.next()?.ok()?);
    (period > 0.0).then(|| share / period)
}

fn container() -> Option<Container> {
    let groups = text("/proc/1/cgroup").unwrap_or_default();
    let signs = [
        (Path::new("/.dockerenv").exists(), "docker", "/.dockerenv"),
        (Path::new("/run/.containerenv").exists(), "podman", "/run/.containerenv"),
        (std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(), "kubernetes", "KUBERNETES_SERVICE_HOST"),
    ];
    let sign = signs.into_iter().find(|(is, ..)| *is);
    let sign = sign.map(|(_, kind, sign)| Container { kind: kind.into(), sign: sign.into() });
    sign.or_else(|| container_of(&groups))
}

fn container_of(groups: &str) -> Option<Container> {
    const WORDS: &[(&str, &str)] = &[
        ("kubepods", "kubernetes"),
        ("docker", "docker"),
        ("libpod", "podman"),
        ("containerd", "containerd"),
        ("lxc", "lxc"),
    ];
    let (_, kind) = *WORDS.iter().find(|(word, _)| groups.contains(word))?;
    Some(Container { kind: kind.into(), sign: "/proc/1/cgroup".into() })
}

/// The Python environment of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PythonEnvironment {
    /// `pixi`, `uv`, `conda` or `venv`.
    pub(crate) kind: Cow<'static, str>,
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    /// What pins its packages, where the project has such a file.
    pub(crate) lock: Option<LockFile>,
}

/// A lock file of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LockFile {
    /// The file, from the project's folder.
    pub(crate) path: Cow<'static, str>,
    /// Its SHA-256.
    pub(crate) sha256: String,
}

/// The environment of the settings; or the one of the project that the interpreter belongs to, as where
/// `pixi run` started Rooflens itself.
fn python_environment(
    settings: &RunSettings,
    interpreter: Option<&Path>,
    project: &Path,
) -> Option<PythonEnvironment> {
    let found = settings.runtime.environment.clone().or_else(|| around(interpreter?, project))?;
    let lock = found.lock_file().and_then(|path| {
        let (_, sha256) = digest(&project.join(path)).ok()?;
        Some(LockFile { path: path.into(), sha256 })
    });
    Some(PythonEnvironment { kind: found.kind_name().into(), name: found.name, lock })
}

fn around(interpreter: &Path, project: &Path) -> Option<WorkloadEnvironment> {
    let inside = interpreter.strip_prefix(project).ok()?.to_str()?;
    let name = |rest: &str| rest.split('/').next().map(str::to_owned);
    if let Some(rest) = inside.strip_prefix(".pixi/envs/") {
        return Some(WorkloadEnvironment { kind: EnvironmentKind::Pixi, name: name(rest) });
    }
    let kind = if project.join("uv.lock").is_file() { EnvironmentKind::Uv } else { EnvironmentKind::Venv };
    match (inside.strip_prefix(".venvs/"), inside.strip_prefix(".venv/")) {
        (Some(rest), _) => Some(WorkloadEnvironment { kind, name: name(rest) }),
        (None, Some(_)) => Some(WorkloadEnvironment { kind, name: None }),
        (None, None) => None,
    }
}

/// A path that names no person: from the project's folder, or from the user's own.
fn shown(path: &Path, project: &Path) -> String {
    if let Ok(inside) = path.strip_prefix(project) {
        return format!("$PROJECT/{}", inside.display());
    }
    let home = std::env::var_os("HOME").filter(|home| home.len() > 1);
    match home.and_then(|home| path.strip_prefix(home).ok().map(|inside| inside.display().to_string())) {
        Some(inside) => format!("~/{inside}"),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_of_a_core_are_one_core() {
        let thread = |number: usize, core: usize| {
            format!(
                "processor\t: {number}\nmodel name\t: Some CPU @ 2.00GHz\nphysical id\t: 0\ncore id\t\t: {core}\n\n"
            )
        };
        let cpuinfo: String =
            [(0, 0), (1, 0), (2, 1), (3, 1)].map(|(number, core)| thread(number, core)).concat();
        let found = processor_of(&cpuinfo);
        assert_eq!(found.model.as_deref(), Some("Some CPU @ 2.00GHz"));
        assert_eq!((found.cores, found.threads), (Some(2), Some(4)));
        // ARM tells neither model nor cores: these are not guessed.
        let found = processor_of("processor\t: 0\nBogoMIPS\t: 50.00\n");
        assert_eq!((found.model, found.cores, found.threads), (None, None, Some(1)));
    }

    #[test]
    fn limits_are_numbers_or_unknown() {
        assert_eq!(quota("250000 100000\n"), Some(2.5));
        assert_eq!((quota("max 100000\n"), quota(""), quota("1 0")), (None, None, None));
        assert_eq!(memory_bytes("MemTotal:       16 kB\nMemFree: 1 kB\n"), Some(16_384));
        assert_eq!(os_name("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n").as_deref(), Some("Some Linux 12"));
    }

    #[test]
    fn a_container_is_known_by_its_groups() {
        assert_eq!(
            container_of("0::/kubepods/burstable/pod1").map(|found| found.kind),
            Some("kubernetes".into())
        );
        assert_eq!(container_of("0::/init.scope"), None);
    }

    #[test]
    fn nothing_names_the_machine_or_its_user() {
        let folder = tempfile::tempdir().unwrap();
        let settings = super::super::tests::settings();
        let found = environment(&RunDir::new(folder.path()), &settings, folder.path());
        let json = serde_json::to_string(&found).unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let names = [host.trim().to_owned(), std::env::var("USER").unwrap_or_default()];
        // A name of two letters is in every text.
        for name in names.iter().filter(|name| name.len() > 4) {
            assert!(!json.contains(name.as_str()), "{json}");
        }
        for (key, null) in [("versions", found.versions.is_none()), ("project", found.project.is_none())] {
            assert!(null && found.not_computed.contains_key(key), "{key}");
        }
    }

    #[test]
    fn an_interpreter_of_the_project_tells_its_environment() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path();
        let of = |path: &str| around(&project.join(path), project).map(|it| (it.kind_name(), it.name));
        assert_eq!(of(".pixi/envs/cu128/bin/python"), Some(("pixi", Some("cu128".to_owned()))));
        assert_eq!(of(".venv/bin/python"), Some(("venv", None)));
        fs::write(project.join("uv.lock"), "").unwrap();
        assert_eq!(of(".venvs/cpu/bin/python"), Some(("uv", Some("cpu".to_owned()))));
        assert_eq!(of("tools/python"), None);
        assert_eq!(around(Path::new("/usr/bin/python3"), project), None);
        assert_eq!(shown(&project.join(".venv/bin/python"), project), "$PROJECT/.venv/bin/python");
        assert_eq!(shown(Path::new("/usr/bin/python3"), project), "/usr/bin/python3");
    }
}
