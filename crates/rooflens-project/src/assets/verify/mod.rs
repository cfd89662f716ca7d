//! Whether what is there is what it should be.

mod checksum;
mod json_files;
mod safetensors;

use std::borrow::Cow;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use checksum::{hash, hex};

use super::bootstrap::{Asset, AssetKind, Bootstrap};
use super::error::AssetError;
use super::files::{Disk, FileKind, FileSystem};
use super::project::Project;
use super::required;
use super::walk::{self, Listing, MAX_FILES};
use super::watch::AssetObserver;

/// Whether assets are what they should be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// The version of this document.
    pub schema_version: u32,
    /// One for each asset, in order.
    pub assets: Vec<AssetVerification>,
}

/// Whether an asset is what it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssetVerification {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: AssetKind,
    /// The end of it.
    pub verdict: VerificationResult,
    /// How many files were looked into.
    pub files_checked: usize,
    /// What is wrong.
    pub findings: Vec<FileProblem>,
}

/// The end of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationResult {
    /// All is well.
    Sound,
    /// Something is wrong with it.
    Faulty,
    /// It is not there.
    Absent,
}

/// Something that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileProblem {
    /// The file, from the asset's folder.
    pub file: String,
    /// What is wrong.
    #[serde(flatten)]
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "problem")]
#[rustfmt::skip] // One problem, two lines.
#[allow(missing_docs, reason = "the fields are what the messages say they are")]
pub enum Problem {
    /// No file matches a required glob.
    #[error("no file matches")]
    NothingMatches,
    /// A required file is empty.
    #[error("is empty")]
    Empty,
    /// It cannot be read, or is a broken link: an interrupted download.
    #[error("cannot be read")]
    Unreadable,
    /// It is a pointer to a large file that was not fetched.
    #[error("is a pointer of Git LFS, not the file itself")]
    LfsPointer,
    /// It is not JSON.
    #[error("is not JSON: {message}")]
    NotJson { message: String },
    /// It is JSON of another shape.
    #[error("is not {expected}")]
    Shape { expected: Cow<'static, str> },
    /// The header of a safetensors file is impossible.
    #[error("its header claims {claimed_bytes} bytes, but the file has {file_bytes}")]
    HeaderLength { claimed_bytes: u64, file_bytes: u64 },
    /// The header of a safetensors file is not what it should be.
    #[error("its header is not valid: {message}")]
    Header { message: String },
    /// A tensor's place does not fit its type and shape, or overlaps another.
    #[error("the tensor '{tensor}' {message}")]
    Tensor { tensor: String, message: Cow<'static, str> },
    /// The file is shorter or longer than its tensors.
    #[error("its tensors end at {tensors_end} bytes of data, but it has {data_bytes}")]
    DataLength { tensors_end: u64, data_bytes: u64 },
    /// An index names a shard that is not there.
    #[error("names the shard '{shard}', which is missing")]
    ShardMissing { shard: String },
    /// An index names a tensor that its shard does not have.
    #[error("says that '{tensor}' is in '{shard}', which does not have it")]
    TensorMissing { tensor: String, shard: String },
    /// It is not YAML.
    #[error("is not YAML: {message}")]
    NotYaml { message: String },
    /// The metadata of a variant name a parent that is not there.
    #[error("names the parent '{parent}', which is missing")]
    ParentMissing { parent: String },
    /// A variant is not as large as its metadata say.
    #[error("has {found} {unit}, but should have {expected}")]
    Amount { expected: u64, found: u64, unit: Cow<'static, str> },
    /// A file of the list of checksums is not there.
    #[error("has a checksum, but is missing")]
    ChecksumFileMissing,
    /// A file is not the one that was meant.
    #[error("has the SHA-256 {found}, but should have {expected}")]
    Checksum { expected: String, found: String },
}

impl Verification {
    /// Whether all is well.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.assets.iter().all(|asset| asset.verdict == VerificationResult::Sound)
    }
}

/// Looks into the files of each asset, where the project has them.
///
/// # Errors
/// When the watcher says stop.
pub fn verify(
    project: &Project,
    bootstrap: &Bootstrap,
    watch: &mut dyn AssetObserver,
) -> Result<Verification, AssetError> {
    let mut assets = Vec::new();
    for asset in &bootstrap.assets {
        assets.push(verify_asset(&project.root().join(&asset.target), asset, watch)?);
    }
    Ok(Verification { schema_version: super::SCHEMA_VERSION, assets })
}

fn verify_asset(
    place: &Path,
    asset: &Asset,
    watch: &mut dyn AssetObserver,
) -> Result<AssetVerification, AssetError> {
    let mut report = Report::default();
    let is_there = matches!(Disk.kind_behind(place), Ok(FileKind::Folder | FileKind::File { .. }));
    if is_there {
        let listing = walk::list(place, MAX_FILES);
        check_required(asset, &listing, &mut report);
        json_files::check(&listing, &mut report);
        safetensors::check(&listing, &mut report);
        checksum::check(&asset.sha256, &listing, &mut report, watch)?;
    }
    let verdict = match (is_there, report.findings.is_empty()) {
        (false, _) => VerificationResult::Absent,
        (true, true) => VerificationResult::Sound,
        (true, false) => VerificationResult::Faulty,
    };
    let Report { files_checked, findings } = report;
    Ok(AssetVerification { name: asset.name.clone(), kind: asset.kind, verdict, files_checked, findings })
}

/// What is found along the way.
#[derive(Default)]
struct Report {
    files_checked: usize,
    findings: Vec<FileProblem>,
}

impl Report {
    fn find(&mut self, file: impl Into<String>, problem: Problem) {
        self.findings.push(FileProblem { file: file.into(), problem });
    }
}

fn check_required(asset: &Asset, listing: &Listing, report: &mut Report) {
    for required in required::check(&asset.required, listing) {
        if required.matches == 0 {
            report.find(required.pattern, Problem::NothingMatches);
        }
        report.files_checked += required.matches;
        for file in required.empty {
            report.find(file, Problem::Empty);
        }
    }
    for file in &listing.unreadable {
        report.find(file, Problem::Unreadable);
    }
}
