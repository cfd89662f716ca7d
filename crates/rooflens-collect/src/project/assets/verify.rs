//! Whether the files of an asset are what they should be.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::AssetObserver;
use super::bootstrap::{Asset, AssetKind, Bootstrap, matches};
use super::disk::{Kind, ListedFile, Listing, Project, kind_behind, list, plain_path};
use crate::execute::digest_while;
use crate::project::error::{ProjectError, Result};

const JSON_FILES: &[&str] =
    &["config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"];
/// Tokenizers reach tens of megabytes.
const MAX_JSON_BYTES: u64 = 256 << 20;
/// The limit of the reference implementation of safetensors.
const MAX_HEADER_BYTES: u64 = 100_000_000;
const INDEX: &str = ".safetensors.index.json";

/// Whether the files of a glob are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Required {
    /// The glob.
    pub pattern: String,
    /// How many files match.
    pub matches: usize,
    /// The matching files that are empty.
    pub empty: Vec<String>,
}

impl Required {
    /// Whether a file matches and no matching file is empty.
    pub fn is_met(&self) -> bool {
        self.matches > 0 && self.empty.is_empty()
    }
}

pub(super) fn check_required(globs: &[String], listing: &Listing) -> Vec<Required> {
    let check = |glob: &String| {
        let found: Vec<&ListedFile> = listing.files.iter().filter(|file| matches(glob, &file.path)).collect();
        let empty = found.iter().filter(|file| file.bytes == 0).map(|file| file.path.clone());
        Required { pattern: glob.clone(), matches: found.len(), empty: empty.collect() }
    };
    globs.iter().map(check).collect()
}

/// Whether an asset is what it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssetVerification {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: AssetKind,
    /// The result.
    pub verdict: Verdict,
    /// How many files were checked.
    pub files_checked: usize,
    /// What is wrong.
    pub findings: Vec<FileProblem>,
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is wrong.
    Sound,
    /// Something is wrong.
    Faulty,
    /// It does not exist.
    Absent,
}

/// Something that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileProblem {
    /// The file, from the asset's folder.
    pub file: String,
    /// What kind of problem it is.
    pub(crate) problem: Problem,
    /// The problem in words, after the file's name.
    pub message: String,
}

/// A kind of problem with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// It does not exist: a required file, a shard, a parent, or a file with a checksum.
    Missing,
    /// A required file is empty.
    Empty,
    /// It cannot be read, or is a broken link: an interrupted download.
    Unreadable,
    /// It is a pointer of Git LFS to a file that was not fetched.
    LfsPointer,
    /// Its content is not valid: JSON, YAML, or the header of a safetensors file.
    Malformed,
    /// The number of files or bytes differs from the metadata.
    Amount,
    /// Its SHA-256 differs.
    Checksum,
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) files_checked: usize,
    pub(super) findings: Vec<FileProblem>,
}

impl Report {
    pub(super) fn find(&mut self, file: &str, problem: Problem, message: impl Into<String>) {
        self.findings.push(FileProblem { file: file.to_owned(), problem, message: message.into() });
    }

    pub(super) fn unreadable(&mut self, file: &str) {
        self.find(file, Problem::Unreadable, "cannot be read");
    }

    pub(super) fn checksum(&mut self, file: &str, expected: &str, found: &str) {
        if expected != found {
            let message = format!("has the SHA-256 {found}, but should have {expected}");
            self.find(file, Problem::Checksum, message);
        }
    }
}

/// Checks the files of each asset that the project has.
pub fn verify(
    project: &Project,
    bootstrap: &Bootstrap,
    watch: &mut dyn AssetObserver,
) -> Result<Vec<AssetVerification>> {
    let mut verified = Vec::new();
    for asset in &bootstrap.assets {
        let place = project.root().join(&asset.target);
        let mut report = Report::default();
        let is_there = matches!(kind_behind(&place), Ok(Kind::Folder | Kind::File(_)));
        if is_there {
            check_asset(asset, &list(&place), &mut report, watch)?;
        }
        let verdict = match (is_there, report.findings.is_empty()) {
            (false, _) => Verdict::Absent,
            (true, true) => Verdict::Sound,
            (true, false) => Verdict::Faulty,
        };
        let (Report { files_checked, findings }, name) = (report, asset.name.clone());
        verified.push(AssetVerification { name, kind: asset.kind, verdict, files_checked, findings });
    }
    Ok(verified)
}

fn check_asset(
    asset: &Asset,
    listing: &Listing,
    report: &mut Report,
    watch: &mut dyn AssetObserver,
) -> Result<()> {
    for required in check_required(&asset.required, listing) {
        if required.matches == 0 {
            report.find(&required.pattern, Problem::Missing, "no file matches");
        }
        report.files_checked += required.matches;
        required.empty.iter().for_each(|file| report.find(file, Problem::Empty, "is empty"));
    }
    listing.unreadable.iter().for_each(|file| report.unreadable(file));
    check_json(listing, report);
    check_safetensors(listing, report);
    for (file, sha256) in &asset.sha256 {
        let (path, shown) = (listing.folder.join(file), file.display().to_string());
        if !path.is_file() {
            report.find(&shown, Problem::Missing, "has a checksum, but is missing");
            continue;
        }
        report.files_checked += 1;
        match hash(&path, watch)? {
            Some(found) => report.checksum(&shown, sha256, &found),
            None => report.unreadable(&shown),
        }
    }
    Ok(())
}

fn check_json(listing: &Listing, report: &mut Report) {
    for file in listing.files.iter().filter(|file| JSON_FILES.contains(&file.path.as_str())) {
        report.files_checked += 1;
        let Ok(bytes) = read_start(&listing.folder.join(&file.path), MAX_JSON_BYTES) else {
            report.unreadable(&file.path);
            continue;
        };
        if is_lfs_pointer(&bytes) {
            report.find(&file.path, Problem::LfsPointer, LFS_POINTER);
            continue;
        }
        match serde_json::from_slice(&bytes) {
            Ok(serde_json::Value::Object(_)) => {}
            Ok(_) => report.find(&file.path, Problem::Malformed, "is not an object"),
            Err(error) => report.find(&file.path, Problem::Malformed, format!("is not JSON: {error}")),
        }
    }
}

const LFS_POINTER: &str = "is a pointer of Git LFS, not the file itself";

fn is_lfs_pointer(head: &[u8]) -> bool {
    head.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// Safetensors files and the indexes over them. A file is 8 bytes with the length of a header, the header as JSON, and
/// data that the header's tensors cover without gaps: the header alone shows that a file was cut off.
fn check_safetensors(listing: &Listing, report: &mut Report) {
    let mut tensors: HashMap<&str, HashSet<String>> = HashMap::new();
    for file in listing.files.iter().filter(|file| file.path.ends_with(".safetensors")) {
        report.files_checked += 1;
        match header(&listing.folder, file) {
            Ok(names) => drop(tensors.insert(&file.path, names)),
            Err((problem, message)) => report.find(&file.path, problem, message),
        }
    }
    for index in listing.files.iter().filter(|file| file.path.ends_with(INDEX)) {
        report.files_checked += 1;
        check_index(listing, index, &tensors, report);
    }
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

fn check_index(
    listing: &Listing,
    index: &ListedFile,
    tensors: &HashMap<&str, HashSet<String>>,
    report: &mut Report,
) {
    let Ok(bytes) = read_start(&listing.folder.join(&index.path), MAX_HEADER_BYTES) else {
        return report.unreadable(&index.path);
    };
    if is_lfs_pointer(&bytes) {
        return report.find(&index.path, Problem::LfsPointer, LFS_POINTER);
    }
    let weight_map = match serde_json::from_slice::<Index>(&bytes) {
        Ok(Index { weight_map }) if !weight_map.is_empty() => weight_map,
        Ok(_) => return report.find(&index.path, Problem::Malformed, "is not an index with tensors"),
        Err(error) => return report.find(&index.path, Problem::Malformed, format!("is not JSON: {error}")),
    };
    let folder = index.path.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
    let mut missing = HashSet::new();
    for (tensor, shard) in &weight_map {
        let path = format!("{folder}{shard}");
        let is_there = plain_path(shard).is_ok()
            && listing.files.binary_search_by(|file| file.path.as_str().cmp(&path)).is_ok();
        if !is_there {
            // Once per shard, not once per tensor.
            if missing.insert(shard) {
                report.find(
                    &index.path,
                    Problem::Missing,
                    format!("names the shard '{shard}', which is missing"),
                );
            }
        // A shard with a faulty header has its own finding.
        } else if tensors.get(path.as_str()).is_some_and(|names| !names.contains(tensor)) {
            let message = format!("says that '{tensor}' is in '{shard}', which does not have it");
            report.find(&index.path, Problem::Missing, message);
        }
    }
}

type Fault = (Problem, String);

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "__metadata__")]
    _metadata: Option<IgnoredAny>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Tensor>,
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

fn header(folder: &Path, file: &ListedFile) -> std::result::Result<HashSet<String>, Fault> {
    let path = folder.join(&file.path);
    let unreadable = |_| (Problem::Unreadable, "cannot be read".to_owned());
    let malformed = |message: String| (Problem::Malformed, message);
    let start = read_start(&path, 64).map_err(unreadable)?;
    if is_lfs_pointer(&start) {
        return Err((Problem::LfsPointer, LFS_POINTER.to_owned()));
    }
    let claimed = start.first_chunk::<8>().map_or(8, |length| u64::from_le_bytes(*length));
    let data_bytes = file.bytes.checked_sub(8).and_then(|rest| rest.checked_sub(claimed));
    let Some(data_bytes) = data_bytes.filter(|_| claimed <= MAX_HEADER_BYTES) else {
        let found = file.bytes;
        return Err(malformed(format!("its header claims {claimed} bytes, but the file has {found}")));
    };
    let bytes = read_start(&path, 8 + claimed).map_err(unreadable)?;
    let header: Header = serde_json::from_slice(bytes.get(8..).unwrap_or_default())
        .map_err(|error| malformed(format!("its header is not valid: {error}")))?;
    check_tensors(&header.tensors, data_bytes).map_err(malformed)?;
    Ok(header.tensors.into_keys().collect())
}

fn check_tensors(tensors: &BTreeMap<String, Tensor>, data_bytes: u64) -> std::result::Result<(), String> {
    let mut places: Vec<(u64, u64, &str)> = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let [start, end] = tensor.data_offsets;
        let length =
            end.checked_sub(start).ok_or_else(|| format!("the tensor '{name}' ends before it begins"))?;
        if let Some(bits) = bits_of(&tensor.dtype) {
            let bits = tensor.shape.iter().try_fold(bits, |all, side| all.checked_mul(*side));
            if bits.map(|bits| bits.div_ceil(8)) != Some(length) {
                return Err(format!("the tensor '{name}' has a length that does not fit its type and shape"));
            }
        }
        places.push((start, end, name));
    }
    places.sort_unstable();
    let mut before = 0;
    for (start, end, name) in places {
        if start != before {
            return Err(format!("the tensor '{name}' overlaps another or leaves a gap before it"));
        }
        before = end;
    }
    match before == data_bytes {
        true => Ok(()),
        false => Err(format!("its tensors end at {before} bytes of data, but it has {data_bytes}")),
    }
}

/// Bits of an element; `None` for types that are newer than this list.
fn bits_of(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "BOOL" | "U8" | "I8" | "F8_E4M3" | "F8_E5M2" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => 8,
        "I16" | "U16" | "F16" | "BF16" => 16,
        "I32" | "U32" | "F32" => 32,
        "I64" | "U64" | "F64" | "C64" => 64,
        _ => return None,
    })
}

fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The SHA-256 of a file; `None` if it cannot be read to its end.
pub(super) fn hash(path: &Path, watch: &mut dyn AssetObserver) -> Result<Option<String>> {
    let total = path.metadata().ok().map(|metadata| metadata.len());
    let digest = digest_while(path, |bytes| {
        watch.goes_on(bytes, total);
        !watch.should_stop()
    });
    match digest {
        Ok(Some((_, sha256))) => Ok(Some(sha256)),
        Ok(None) => Err(ProjectError::stopped()),
        Err(_) => Ok(None),
    }
}
