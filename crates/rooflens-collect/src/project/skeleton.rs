//! The files of a new project.
//!
//! They stand as real files in this crate's folder `skeleton/`, so that they can be read, run and
//! composed where they are. [`files()`] says which a project gets, [`write()`] puts them there.
//!
//! ```
//! use rooflens_collect::project::skeleton::{self, PackageManager, SkeletonOptions};
//!
//! let options = SkeletonOptions { environment: Some(PackageManager::Pixi), ..SkeletonOptions::default() };
//! let place = tempfile::tempdir()?;
//! let written = skeleton::write(&place.path().join("project"), &options)?;
//! assert!(written.made.contains(&"conf/config.yaml"));
//! assert!(written.made.contains(&"pixi.toml"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::{self, FileType, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::error::{ProjectError, Result};

/// What keeps a project's Python packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageManager {
    /// `pixi.toml`, with tasks.
    Pixi,
    /// `pyproject.toml`, for uv and pip, with the same tasks for pixi.
    Pyproject,
}

/// What to do with a folder that has something in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Leave it alone.
    #[default]
    Refuse,
    /// Keep every file as it is and add those that are missing.
    Complete,
}

/// How a new project shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SkeletonOptions {
    /// What keeps its Python packages; none leaves that to the user.
    pub environment: Option<PackageManager>,
    /// What to do with a folder that has something in it. Nothing is ever overwritten.
    pub existing: Existing,
}

/// A file of a new project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkeletonFile {
    /// From the project's folder, with `/` between names.
    pub path: &'static str,
    /// The whole text.
    pub contents: &'static str,
}

/// The files of a new project, sorted by path.
pub fn files(options: &SkeletonOptions) -> Vec<SkeletonFile> {
    let environment = match options.environment {
        None => None,
        Some(PackageManager::Pixi) => Some(PIXI),
        Some(PackageManager::Pyproject) => Some(PYPROJECT),
    };
    let mut files: Vec<SkeletonFile> = FILES.iter().copied().chain(environment).collect();
    files.sort_unstable_by_key(|file| file.path);
    files
}

macro_rules! file {
    ($path:literal) => {
        SkeletonFile { path: $path, contents: include_str!(concat!("../../skeleton/", $path)) }
    };
}

const PIXI: SkeletonFile = file!("pixi.toml");
const PYPROJECT: SkeletonFile = file!("pyproject.toml");

const FILES: &[SkeletonFile] = &[
    file!(".gitignore"),
    file!("README.md"),
    file!("bootstrap.yaml"),
    file!("conf/README.md"),
    file!("conf/config.yaml"),
    file!("conf/dataset/omnidocbench.yaml"),
    file!("conf/dataset/sampling/all.yaml"),
    file!("conf/dataset/sampling/few.yaml"),
    file!("conf/dataset/sampling/shuffled.yaml"),
    file!("conf/dataset/starter.yaml"),
    file!("conf/experiment/batch-sweep.yaml"),
    file!("conf/experiment/h100-serving.yaml"),
    file!("conf/experiment/long-decode.yaml"),
    file!("conf/hardware/auto.yaml"),
    file!("conf/hardware/cpu.yaml"),
    file!("conf/hardware/h100.yaml"),
    file!("conf/hardware/mi300x.yaml"),
    file!("conf/hardware/multi_gpu.yaml"),
    file!("conf/hardware/single_gpu.yaml"),
    file!("conf/model/llama3_70b.yaml"),
    file!("conf/model/llama3_70b/arch/default.yaml"),
    file!("conf/model/llama3_70b/infer/greedy.yaml"),
    file!("conf/model/qwen2_5_7b.yaml"),
    file!("conf/model/qwen2_5_7b/arch/default.yaml"),
    file!("conf/model/qwen2_5_7b/infer/greedy.yaml"),
    file!("conf/pipeline/cublas_log/default.yaml"),
    file!("conf/model/deepseek_ocr.yaml"),
    file!("conf/model/deepseek_ocr/arch/default.yaml"),
    file!("conf/model/deepseek_ocr/infer/greedy.yaml"),
    file!("conf/model/tiny-random.yaml"),
    file!("conf/model/tiny-random/arch/default.yaml"),
    file!("conf/model/tiny-random/infer/greedy.yaml"),
    file!("conf/model/tiny-random/infer/sampled.yaml"),
    file!("conf/output/numbers.yaml"),
    file!("conf/output/report.yaml"),
    file!("conf/output/samples/none.yaml"),
    file!("conf/output/samples/predictions.yaml"),
    file!("conf/pipeline/direct_inference/default.yaml"),
    file!("conf/pipeline/ncu/detailed.yaml"),
    file!("conf/pipeline/ncu/roofline.yaml"),
    file!("conf/pipeline/nsys/decode.yaml"),
    file!("conf/pipeline/nsys/prefill.yaml"),
    file!("conf/pipeline/nsys/whole.yaml"),
    file!("conf/pipeline/static_analysis/point.yaml"),
    file!("conf/pipeline/static_analysis/sweep.yaml"),
    file!("conf/pipeline/torch_profiler/detailed.yaml"),
    file!("conf/pipeline/torch_profiler/light.yaml"),
    file!("conf/profiling/full.yaml"),
    file!("conf/profiling/minimal.yaml"),
    file!("conf/profiling/ncu.yaml"),
    file!("conf/profiling/none.yaml"),
    file!("conf/profiling/nsys.yaml"),
    file!("conf/profiling/roofline-only.yaml"),
    file!("conf/profiling/torch.yaml"),
    file!("conf/runtime/command.yaml"),
    file!("conf/runtime/pytorch.yaml"),
    file!("conf/runtime/tensorrtllm.yaml"),
    file!("conf/runtime/vllm.yaml"),
    file!("datasets/.gitignore"),
    file!("datasets/README.md"),
    file!("datasets/starter/README.md"),
    file!("datasets/starter/metadata.yaml"),
    file!("datasets/starter/source-data/1-question.txt"),
    file!("datasets/starter/source-data/2-instruction.txt"),
    file!("datasets/starter/source-data/3-code.txt"),
    file!("datasets/starter/source-data/4-list.txt"),
    file!("datasets/starter/source-data/5-conversation.txt"),
    file!("datasets/starter/source-data/6-report.txt"),
    file!("hardware/README.md"),
    file!("models/.gitignore"),
    file!("models/README.md"),
    file!("models/tiny-random/README.md"),
    file!("models/tiny-random/config.json"),
    file!("models/tiny-random/tokenizer.json"),
    file!("models/tiny-random/tokenizer_config.json"),
    file!("models/tiny-random/weights.random"),
    file!("third_party/README.md"),
    file!("third_party/externals.lock"),
];

const NAMES_SHOWN: usize = 3;

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The project's folder.
    pub folder: PathBuf,
    /// Files that were made, sorted.
    pub made: Vec<&'static str>,
    /// Files that were there before and are as they were, sorted.
    pub kept: Vec<&'static str>,
}

/// Makes a project in a folder that is new or empty; with [`Existing::Complete`], in any.
///
/// No file is overwritten and no link followed out of the folder.
pub fn write(folder: &Path, options: &SkeletonOptions) -> Result<Written> {
    if options.existing == Existing::Refuse {
        check_empty(folder)?;
    }
    let mut written = Written { folder: folder.to_owned(), made: Vec::new(), kept: Vec::new() };
    let mut missing = Vec::new();
    for file in files(options) {
        if is_there(folder, file.path)? {
            written.kept.push(file.path);
        } else {
            missing.push(file);
        }
    }
    for file in &missing {
        make(folder, file)?;
    }
    written.made.extend(missing.iter().map(|file| file.path));
    Ok(written)
}

fn make(folder: &Path, file: &SkeletonFile) -> Result<()> {
    let place = folder.join(file.path);
    let refused = |error| refused(&place, "written", &error);
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent).map_err(refused)?;
    }
    // A file that came up since the check is not overwritten either, nor is a link followed.
    let mut open = OpenOptions::new().write(true).create_new(true).open(&place).map_err(refused)?;
    open.write_all(file.contents.as_bytes()).map_err(refused)
}

fn check_empty(folder: &Path) -> Result<()> {
    let refused = |error| refused(folder, "read", &error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        // That it is no folder is found out, and told better, when it is used.
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(()),
        Err(error) => return Err(refused(error)),
    };
    let names: io::Result<Vec<String>> =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect();
    let mut found = names.map_err(refused)?;
    if found.is_empty() {
        return Ok(());
    }
    found.sort();
    let more = match found.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    found.truncate(NAMES_SHOWN);
    let (folder, found) = (folder.display(), found.join(", "));
    Err(ProjectError::usage(format!("'{folder}' is not empty: it has {found}{more}"))
        .hint("name a new folder, or add --force to keep every file there and add those that are missing"))
}

fn refused(path: &Path, action: &str, error: &io::Error) -> ProjectError {
    ProjectError::usage(format!("'{}' cannot be {action}: {error}", path.display()))
}

/// Whether a file of the project is there already. All that must be folders on the way to it are
/// checked, so that nothing is written through a link to somewhere else.
fn is_there(folder: &Path, path: &str) -> Result<bool> {
    let mut place = folder.to_owned();
    // The project's own folder may be a link: it is what the user named.
    if !exists(&place, |place| fs::metadata(place).map(|it| it.file_type()), "a folder", FileType::is_dir)? {
        return Ok(false);
    }
    let plain = |place: &Path| fs::symlink_metadata(place).map(|it| it.file_type());
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    for name in folders.split('/').filter(|name| !name.is_empty()) {
        place.push(name);
        if !exists(&place, plain, "a folder", FileType::is_dir)? {
            return Ok(false);
        }
    }
    place.push(name);
    exists(&place, plain, "a file", |kind| !kind.is_dir())
}

/// Whether something stands at a place; an error where it is of the wrong kind.
fn exists(
    place: &Path,
    kind_of: impl Fn(&Path) -> io::Result<FileType>,
    expected: &'static str,
    fits: impl Fn(&FileType) -> bool,
) -> Result<bool> {
    let kind = match kind_of(place) {
        Ok(kind) => kind,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(refused(place, "read", &error)),
    };
    if fits(&kind) {
        return Ok(true);
    }
    let actual = match () {
        () if kind.is_symlink() => "a link",
        () if kind.is_dir() => "a folder",
        () => "a file",
    };
    let place = place.display();
    Err(ProjectError::usage(format!("'{place}' is in the way: expected {expected}, found {actual}"))
        .hint(format!("move '{place}' away")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_came_up_meanwhile_is_not_overwritten() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("mine"), "mine").unwrap();
        assert!(make(place.path(), &SkeletonFile { path: "mine", contents: "text" }).is_err());
        assert_eq!(fs::read_to_string(place.path().join("mine")).unwrap(), "mine");
    }
}
