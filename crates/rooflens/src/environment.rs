//! What this machine has and lacks. Files are looked at and the NVIDIA driver is asked for its devices; no
//! process is started and nothing is sent.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use rooflens_schema::SCHEMA_VERSION;
use serde::Serialize;

use crate::console::Console;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it is there.
    pub ok: bool,
    /// What was found.
    pub found: String,
    /// What is needed, where that is not plain.
    pub needed: Option<&'static str>,
    /// What helps where it is missing.
    pub hint: Option<&'static str>,
}

/// Memory below this is tight for a trace of a gigabyte, which was measured to take 0.2 GB.
const COMFORTABLE_BYTES: u64 = 500_000_000;

/// Every check, in order.
pub fn checks(console: &Console) -> Vec<Check> {
    let mut checks = vec![version(), cpus(), memory(), folder(), terminal(console), python(), torch()];
    checks.extend(nvidia());
    checks.push(library(
        "amd driver",
        &["libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7", "librocm_smi64.so"],
        "install ROCm to record on AMD devices; traces from elsewhere need none",
    ));
    checks
}

/// The NVML library that the user names instead of the driver's own.
pub fn nvml_library() -> Option<PathBuf> {
    std::env::var_os("ROOFLENS_NVML").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Library, driver and devices, from the states that `rooflens monitor` knows.
fn nvidia() -> impl Iterator<Item = Check> {
    rooflens_sample::nvml::parts(nvml_library().as_deref()).into_iter().map(|part| Check {
        name: part.name,
        ok: part.ok == Some(true),
        found: part.found,
        needed: Some(part.needed),
        hint: part.hint,
    })
}

fn found(name: &'static str, found: impl Into<String>) -> Check {
    Check { name, ok: true, found: found.into(), needed: None, hint: None }
}

fn missing(name: &'static str, found: impl Into<String>, hint: &'static str) -> Check {
    Check { name, ok: false, found: found.into(), needed: None, hint: Some(hint) }
}

fn version() -> Check {
    let (version, os, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    found("rooflens", format!("{version}, schema {SCHEMA_VERSION}, {os} {arch}"))
}

fn cpus() -> Check {
    match std::thread::available_parallelism() {
        Ok(count) => found("processors", count.to_string()),
        Err(error) => missing("processors", format!("unknown: {error}"), "traces are read on one core"),
    }
}

fn memory() -> Check {
    const NAME: &str = "free memory";
    match available_bytes() {
        Some(bytes) => {
            let text = format!("{:.1} GB", bytes as f64 / 1e9);
            let hint = "a trace of 1 GB takes about 0.2 GB; ranks of a job are read one by one and need no more than the largest";
            if bytes >= COMFORTABLE_BYTES { found(NAME, text) } else { missing(NAME, text, hint) }
        }
        None => found(NAME, "not told by this system"),
    }
}

/// As Linux tells it.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn folder() -> Check {
    const NAME: &str = "writable folder";
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let probe = folder.join(format!(".rooflens-doctor-{}", std::process::id()));
    match std::fs::File::create_new(&probe) {
        Ok(_) => {
            // Left behind only where files can be made but not removed.
            let _ = std::fs::remove_file(&probe);
            found(NAME, folder.display().to_string())
        }
        Err(error) => {
            missing(NAME, format!("{}: {error}", folder.display()), "give -o a folder you may write to")
        }
    }
}

fn terminal(console: &Console) -> Check {
    let screen = console.screen(0);
    let kind = if std::io::stdout().is_terminal() { "a terminal" } else { "a file or pipe" };
    let colors = if screen.color { "colours" } else { "no colours" };
    let characters = if screen.unicode { "Unicode" } else { "ASCII" };
    found("standard output", format!("{kind}, {} columns, {colors}, {characters}", screen.width))
}

fn python() -> Check {
    const HINT: &str = "install Python 3 to record traces with PyTorch; reading them needs none";
    match on_path("python3") {
        Some(path) => found("python3", path.display().to_string()),
        None => missing("python3", "not on PATH", HINT),
    }
}

fn torch() -> Check {
    const HINT: &str = "pip install torch, to record traces on this machine; reading them needs none";
    match on_path("python3").and_then(|python| torch_version(&python)) {
        Some(version) => found("torch", version),
        None => missing("torch", "not beside python3", HINT),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The version that torch's own file tells, in the packages of the interpreter.
fn torch_version(python: &Path) -> Option<String> {
    let prefix = python.parent()?.parent()?;
    for library in [prefix.join("lib"), prefix.join("lib64"), prefix.join("local/lib")] {
        for entry in std::fs::read_dir(library).into_iter().flatten().flatten() {
            if !entry.file_name().to_string_lossy().starts_with("python3") {
                continue;
            }
            for packages in ["site-packages", "dist-packages"] {
                let file = entry.path().join(packages).join("torch/version.py");
                let text = std::fs::read_to_string(file).unwrap_or_default();
                let line = text.lines().find_map(|line| line.strip_prefix("__version__ = "));
                if let Some(version) = line {
                    return Some(version.trim_matches(['\'', '"']).to_owned());
                }
            }
        }
    }
    None
}

fn library(name: &'static str, files: &[&str], hint: &'static str) -> Check {
    let told = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let usual = [
        "/usr/lib",
        "/usr/lib64",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib/wsl/lib",
        "/usr/local/cuda/lib64",
        "/opt/rocm/lib",
    ];
    let folders: Vec<PathBuf> = std::env::split_paths(&told).chain(usual.map(PathBuf::from)).collect();
    let all = folders.iter().flat_map(|folder| files.iter().map(move |file| folder.join(file)));
    match all.into_iter().find(|path| path.is_file()) {
        Some(path) => found(name, path.display().to_string()),
        None => missing(name, files.join(", ") + " not found", hint),
    }
}
