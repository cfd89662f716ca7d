//! Large traces, made once from a real one and kept.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Arguments;
use crate::workspace;

/// A vLLM prefill step of gpt-oss-120b on eight B200, with Python stacks.
const REAL: &str = "kineto/tracelens/b200/eager_trace.json.gz";

/// The trace of that size, made if it does not exist.
pub(crate) fn make(arguments: &Arguments, megabytes: u64) -> Result<PathBuf> {
    let folder = cache()?.join("bench");
    let file = folder.join(format!("b200_{megabytes}.json"));
    if file.is_file() {
        return Ok(file);
    }
    let beside = workspace::root().join("../shared");
    let corpus = arguments.traces.clone().or_else(|| std::env::var_os("ROOFLENS_CORPUS").map(PathBuf::from));
    let real = corpus.unwrap_or_else(|| beside.join("data")).join(REAL);
    ensure!(real.is_file(), "{} is missing\nhint: name the corpus with --traces DIR", real.display());
    let maker = arguments.maker.clone().unwrap_or_else(|| beside.join("tools/make-big-trace"));
    ensure!(maker.is_file(), "{} is missing\nhint: name the program with --maker PATH", maker.display());
    std::fs::create_dir_all(&folder)?;
    // Under another name until it is whole.
    let unfinished = folder.join(format!("b200_{megabytes}.json.part"));
    println!("making {}", file.display());
    let mut python = Command::new("python3");
    workspace::run(python.arg(&maker).arg(&real).arg(&unfinished).arg(megabytes.to_string()))?;
    std::fs::rename(&unfinished, &file)?;
    Ok(file)
}

/// Where things that are costly to make are kept.
fn cache() -> Result<PathBuf> {
    if let Some(cache) = std::env::var_os("ROOFLENS_CACHE") {
        return Ok(cache.into());
    }
    let home = std::env::var_os("HOME").context("neither ROOFLENS_CACHE nor HOME is set")?;
    Ok(PathBuf::from(home).join(".cache/rooflens"))
}
