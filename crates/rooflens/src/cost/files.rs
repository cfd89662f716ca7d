//! Files of a cost question: configs with what stands beside them, and the project's own devices.

use std::path::{Path, PathBuf};

use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::hardware::Catalog;

use crate::error::CliError;

/// No config is larger.
const LARGEST: u64 = 64 << 20;

/// Reads a config: a file, or a folder with a `config.json`; with the `hf_quant_config.json` beside it.
pub fn blueprint(path: &Path) -> Result<Blueprint, CliError> {
    let file = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
    let config = read(&file)?;
    let side = side_file(&file).map(|side| read(&side)).transpose()?;
    Blueprint::new(&config, side.as_deref()).map_err(|source| CliError::Config { path: file, source })
}

/// ModelOpt's file beside a config: `hf_quant_config.json`, or `NAME.hf_quant_config.json` beside
/// `NAME.json`.
fn side_file(config: &Path) -> Option<PathBuf> {
    let stem = config.file_stem()?.to_string_lossy().into_owned();
    let named = config.with_file_name(format!("{stem}.hf_quant_config.json"));
    let plain = config.with_file_name("hf_quant_config.json");
    let beside = if stem == "config" { vec![plain, named] } else { vec![named] };
    beside.into_iter().find(|file| file.is_file())
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(CliError::NoConfig { path: path.to_owned() });
        }
        Err(source) => return Err(CliError::UnreadableFile { path: path.to_owned(), source }),
    };
    if metadata.len() > LARGEST {
        return Err(CliError::TooLarge { path: path.to_owned(), bytes: metadata.len() });
    }
    std::fs::read(path).map_err(|source| CliError::UnreadableFile { path: path.to_owned(), source })
}

/// The devices: those that come with Rooflens, and those of the project's `hardware/` folder.
pub fn catalog(folder: &Path) -> Result<Catalog, CliError> {
    let mut files = Vec::new();
    if let Ok(entries) = std::fs::read_dir(folder) {
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        for path in paths {
            let text = read(&path)?;
            files.push((path.display().to_string(), String::from_utf8_lossy(&text).into_owned()));
        }
    }
    if files.is_empty() {
        return Ok(Catalog::embedded().clone());
    }
    Catalog::with(files).map_err(CliError::Hardware)
}
