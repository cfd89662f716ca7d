//! `env.json`: what a run ran on. Nothing in it names a person, a machine or an address.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rooflens_collect::project::revision::revision;
use rooflens_collect::sample::nvml::{NvmlSource, PowerLimit};
use rooflens_collect::sample::{Source, Watched};
use rooflens_collect::{RunSettings, RunStage};
use rooflens_schema::RunDir;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::super::workload;
use super::python::{PythonEnvironment, python_environment, shown};
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

/// What this machine is, and what the workload told of itself.
pub(crate) fn environment(run: &RunDir, settings: &RunSettings, project: &Path) -> RunEnvironment {
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
    if memory.is_none() {
        known("memory_bytes", "not reported by this system");
    }
    let limit = text("/sys/fs/cgroup/memory.max").and_then(|limit| limit.trim().parse().ok());
    if limit.is_none() {
        known("memory_limit_bytes", "no limit is set, or this system does not report it");
    }
    let container = container();
    if container.is_none() {
        known("container", "none detected");
    }
    let ran = [RunStage::Measure, RunStage::DirectInference].map(|stage| workload::of_stage(run, stage));
    let told = |field: &str| ran.iter().find_map(|workload| workload.fact("hello", field)).cloned();
    let (runtime, python, versions) = (told("runtime"), told("python"), told("versions"));
    for (name, value) in [("runtime", &runtime), ("python", &python), ("versions", &versions)] {
        if value.is_none() {
            known(name, "no workload reported it");
        }
    }
    let interpreter = told("executable").and_then(|path| path.as_str().map(PathBuf::from));
    let python_environment = python_environment(settings, interpreter.as_deref(), project);
    match &python_environment {
        None => {
            known("environment", "no runtime.environment is set, and the interpreter is not the project's")
        }
        Some(found) if found.lock.is_none() => known("environment.lock", "the project has no lock file"),
        Some(_) => {}
    }
    if interpreter.is_none() {
        known("interpreter", "no workload reported it");
    }
    let interpreter = interpreter.map(|path| shown(&path, project));
    let project = revision(project).map_err(|why| known("project", why)).ok();
    let cpu = processor();
    for (name, is_known) in [
        ("cpu.model", cpu.model.is_some()),
        ("cpu.cores", cpu.cores.is_some()),
        ("cpu.quota", cpu.quota.is_some()),
        ("cpu.governor", cpu.governor.is_some()),
        ("cpu.min_clock_hz", cpu.min_clock_hz.is_some()),
        ("cpu.max_clock_hz", cpu.max_clock_hz.is_some()),
    ] {
        if !is_known {
            let none = name == "cpu.quota";
            known(
                name,
                if none {
                    "no limit is set, or this system does not report it"
                } else {
                    "not reported by this system"
                },
            );
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
        interpreter,
        environment: python_environment,
        versions,
        project: project.map(|at| ProjectCommit { commit: at.commit, is_dirty: at.is_dirty }),
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

/// Model, cores and threads, as Linux lists them.
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
}
