//! `rooflens analyze` against a bare JSON pass and against HTA: one run, interleaved, best of several.
//!
//! Timing on a shared machine is noisy, so only ratios of times taken in the same run are judged.

pub(crate) mod bare;
mod child;
mod gates;
mod inputs;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;
use child::Taken;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Traces to measure; without any, one of each --size is made from a real trace.
    files: Vec<PathBuf>,
    /// Size of a trace to make, in MB (10^6 bytes); may be given more than once [default: 100 1000].
    #[arg(long, value_name = "MB", conflicts_with = "files")]
    size: Vec<u64>,
    /// Fail unless every ratio holds.
    #[arg(long)]
    gate: bool,
    /// How often each program is run; the best counts [default: 5].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// A Python environment with oracles/requirements-hta.txt: measures HTA, once.
    #[arg(long, value_name = "VENV")]
    hta: Option<PathBuf>,
    /// The corpus with the real trace [default: ROOFLENS_CORPUS or ../shared/data].
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// The program that makes large traces [default: ../shared/tools/make-big-trace].
    #[arg(long, value_name = "PATH")]
    maker: Option<PathBuf>,
    /// The binary to measure [default: the release build].
    #[arg(long, value_name = "BIN")]
    rooflens: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct Measured {
    name: String,
    bytes: u64,
    rooflens: Taken,
    /// The bare pass as a whole program, which reads the file first.
    bare: Taken,
    pass: bare::Pass,
    hta: Option<Taken>,
    /// Bytes of the Parquet tables, without and with Python frames.
    tables: (u64, u64),
}

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    if cfg!(debug_assertions) {
        // A bar that was not optimised would flatter: the same again, built as it is shipped.
        let mut release = workspace::cargo(&["run", "--quiet", "--release", "--package", "xtask"]);
        release.args(["--no-default-features", "--"]);
        return workspace::run(release.args(std::env::args_os().skip(1)));
    }
    let binary = match &arguments.rooflens {
        Some(binary) => binary.clone(),
        None => workspace::program("release")?,
    };
    let files = match (arguments.files.as_slice(), arguments.size.as_slice()) {
        ([], []) => vec![inputs::make(&arguments, 100)?, inputs::make(&arguments, 1000)?],
        ([], sizes) => sizes.iter().map(|size| inputs::make(&arguments, *size)).collect::<Result<_>>()?,
        (files, _) => files.to_vec(),
    };
    let measured = measure(&arguments, &binary, &files)?;
    println!("{}", table::markdown(&measured));
    let broken = gates::broken(&measured);
    broken.iter().for_each(|gate| println!("not held: {gate}"));
    if !broken.is_empty() && arguments.gate {
        bail!("{} not held", broken.len());
    }
    Ok(())
}

fn measure(arguments: &Arguments, binary: &Path, files: &[PathBuf]) -> Result<Vec<Measured>> {
    let this = std::env::current_exe()?;
    let rounds = arguments.rounds.unwrap_or(5).max(1);
    let mut all: Vec<Measured> = Vec::new();
    for file in files {
        let bytes = std::fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?.len();
        // Once before the clock counts: the file comes into the page cache, the tables are weighed.
        let tables = weigh_tables(binary, file)?;
        all.push(Measured {
            name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            bytes,
            rooflens: Taken { wall_s: f64::INFINITY, ..Taken::default() },
            bare: Taken { wall_s: f64::INFINITY, ..Taken::default() },
            pass: bare::Pass { parse_s: f64::INFINITY, ..bare::Pass::default() },
            hta: None,
            tables,
        });
    }
    for _ in 0..rounds {
        for (file, measured) in files.iter().zip(&mut all) {
            let mut analyze = Command::new(binary);
            let taken = child::run(analyze.arg("analyze").arg(file).args(["--format", "json"]), false)?;
            // The most memory of any round, with the time of the best.
            let private_bytes = measured.rooflens.private_bytes.max(taken.private_bytes);
            if taken.wall_s < measured.rooflens.wall_s {
                measured.rooflens = taken;
            }
            measured.rooflens.private_bytes = private_bytes;
            let taken = child::run(Command::new(&this).arg("bare").arg(file), true)?;
            let pass: bare::Pass = serde_json::from_str(&taken.stdout)?;
            if pass.parse_s < measured.pass.parse_s {
                measured.pass = pass;
            }
            if taken.wall_s < measured.bare.wall_s {
                measured.bare = taken;
            }
        }
    }
    if let Some(venv) = &arguments.hta {
        for (file, measured) in files.iter().zip(&mut all) {
            let mut python = Command::new(venv.join("bin/python"));
            let taken = child::run(python.args(["-c", include_str!("hta.py")]).arg(file), false)?;
            measured.hta = Some(taken);
        }
    }
    Ok(all)
}

/// Bytes of the tables that `-o` writes: without and with Python frames.
fn weigh_tables(binary: &Path, file: &Path) -> Result<(u64, u64)> {
    let folder = workspace::target_dir()?.join("bench-run");
    let mut analyze = Command::new(binary);
    child::run(analyze.arg("analyze").arg(file).args(["--format", "json", "-o"]).arg(&folder), false)?;
    let (mut without, mut with) = (0, 0);
    for entry in std::fs::read_dir(folder.join("tables"))? {
        let entry = entry?;
        let bytes = entry.metadata()?.len();
        with += bytes;
        without += if entry.file_name() == "frames.parquet" { 0 } else { bytes };
    }
    std::fs::remove_dir_all(&folder)?;
    Ok((without, with))
}
