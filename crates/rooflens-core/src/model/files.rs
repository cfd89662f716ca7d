//! Files of a cost question: configs with what stands beside them, and the project's own devices.

use std::io::Read;
use std::path::{Path, PathBuf};

use rooflens_collect::project::hub::{CachedModel, HubName};
use rooflens_compose::Host;
use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::hardware::{Catalog, Device, Properties};

use crate::error::CostError;
use crate::input::files_near;

const LARGEST: u64 = 64 << 20;

pub(crate) const STDIN: &str = "-";

/// Reads a config: a file, or a folder with a `config.json`; with the `hf_quant_config.json` beside it.
pub fn blueprint(path: &Path) -> Result<Blueprint, CostError> {
    if path == Path::new(STDIN) {
        let config = read_stdin()?;
        return Blueprint::new(&config, None)
            .map_err(|source| CostError::Config { path: path.to_owned(), source });
    }
    let path = located(path)?;
    let file = if path.is_dir() { path.join("config.json") } else { path };
    let config = read(&file)?;
    let side = side_file(&file).map(|side| read(&side)).transpose()?;
    Blueprint::new(&config, side.as_deref()).map_err(|source| CostError::Config { path: file, source })
}

/// Where a model is: at its path, or where the Hugging Face cache has what is called so.
pub(crate) fn located(path: &Path) -> Result<PathBuf, CostError> {
    let is_in_folder = path.parent().is_some_and(|parent| !parent.as_os_str().is_empty() && parent.is_dir());
    let name = path.to_str().and_then(HubName::parse).filter(|_| !path.exists() && !is_in_folder);
    let Some(name) = name else { return Ok(path.to_owned()) };
    match name.find(&Host::system().environment, Path::new(".")) {
        CachedModel::Folder(folder) => Ok(folder),
        // A single word is rather a file that is not there.
        CachedModel::Absent { known, .. } if known.is_empty() && !name.repository.contains('/') => {
            Ok(path.to_owned())
        }
        CachedModel::Absent { caches, known } => Err(CostError::NotCached { name, caches, known }),
    }
}

/// The folder of a model that the Hugging Face cache has under this name.
pub fn named(name: &str) -> Option<PathBuf> {
    match HubName::parse(name)?.find(&Host::system().environment, Path::new(".")) {
        CachedModel::Folder(folder) => Some(folder),
        CachedModel::Absent { .. } => None,
    }
}

/// What a model is called in reports: its file without the ending, the folder of a `config.json`, or its name on the hub.
pub(crate) fn name_of(path: &Path) -> String {
    if path == Path::new(STDIN) {
        return "stdin".to_owned();
    }
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = if whole.ends_with("config.json") { whole.parent().unwrap_or(&whole) } else { &whole };
    // A snapshot is called by its commit; its repository has the name.
    let in_cache = folder.parent().filter(|parent| parent.ends_with("snapshots")).and_then(Path::parent);
    let repository = in_cache.and_then(name).filter(|name| name.starts_with("models--"));
    if let Some(model) = repository.as_ref().and_then(|name| name.rsplit("--").next()) {
        return model.to_owned();
    }
    let named = name(folder).unwrap_or_default();
    let is_file = path.is_file();
    let revision = named.split_once('@').filter(|_| !path.exists()).map(|(model, _)| model.to_owned());
    revision.unwrap_or_else(|| match is_file {
        true => named.trim_end_matches(".json").to_owned(),
        false => named,
    })
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

fn read(path: &Path) -> Result<Vec<u8>, CostError> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(CostError::NoConfig { path: path.to_owned(), near: files_near(path) });
        }
        Err(source) => return Err(CostError::UnreadableFile { path: path.to_owned(), source }),
    };
    if metadata.len() > LARGEST {
        return Err(CostError::TooLarge { path: path.to_owned(), bytes: metadata.len() });
    }
    // A pipe or a device has no length, and may have no end.
    let file = std::fs::File::open(path)
        .map_err(|source| CostError::UnreadableFile { path: path.to_owned(), source })?;
    read_bounded(file, path)
}

fn read_stdin() -> Result<Vec<u8>, CostError> {
    read_bounded(std::io::stdin().lock(), Path::new(STDIN))
}

fn read_bounded(from: impl Read, path: &Path) -> Result<Vec<u8>, CostError> {
    let mut config = Vec::new();
    match from.take(LARGEST + 1).read_to_end(&mut config) {
        Ok(bytes) if bytes as u64 > LARGEST => {
            Err(CostError::TooLarge { path: path.to_owned(), bytes: bytes as u64 })
        }
        Ok(_) => Ok(config),
        Err(source) => Err(CostError::UnreadableFile { path: path.to_owned(), source }),
    }
}

pub(crate) struct DeviceCatalog {
    catalog: Catalog,
    /// Names of files without their ending, and of the devices in them.
    own: Vec<(String, String)>,
}

impl DeviceCatalog {
    /// Those of Rooflens and of a folder of the project.
    pub fn read(folder: &Path) -> Result<Self, CostError> {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        Self::of_files(paths)
    }

    pub(crate) fn of_files(paths: Vec<PathBuf>) -> Result<Self, CostError> {
        let mut files = Vec::new();
        let mut own = Vec::new();
        for path in paths {
            let file = (path.display().to_string(), String::from_utf8_lossy(&read(&path)?).into_owned());
            let alone = Catalog::with([file.clone()]).map_err(CostError::Hardware)?;
            let is_new = |device: &&Device| !Catalog::embedded().devices().contains(device);
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            own.extend(alone.devices().iter().find(is_new).map(|device| (stem, device.name.clone())));
            files.push(file);
        }
        let catalog = Catalog::with(files).map_err(CostError::Hardware)?;
        Ok(Self { catalog, own })
    }

    pub(crate) fn embedded() -> Self {
        Self { catalog: Catalog::embedded().clone(), own: Vec::new() }
    }

    pub(crate) fn devices(&self) -> &[Device] {
        self.catalog.devices()
    }

    pub(crate) fn fitting(&self, told: &Properties) -> Vec<&Device> {
        self.catalog.fitting(told)
    }

    /// The device of this name, or of the project's file of this name.
    pub fn find(&self, name: &str) -> Result<&Device, CostError> {
        let in_file = self.own.iter().find(|(stem, _)| stem == name);
        self.catalog.find(in_file.map_or(name, |(_, device)| device)).map_err(CostError::Hardware)
    }
}
