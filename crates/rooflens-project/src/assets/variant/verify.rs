//! Whether variants are what their metadata say.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rooflens_compose::value::{Int, Node, Value};
use rooflens_compose::yaml;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::locate::{data_folder, variants_in};
use super::make::samples;
use super::{DATA, SOURCE};
use crate::assets::error::{AssetError, AssetFault};
use crate::assets::project::{Project, plain_path};
use crate::assets::subset::{FILE_LIST, Metadata, folders_in, sha256};
use crate::assets::verify::{FileProblem, Problem, VerificationResult, hash, hex};
use crate::assets::walk::Listing;
use crate::assets::watch::AssetObserver;

/// Whether a variant is what its metadata say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantVerification {
    /// The dataset.
    pub dataset: String,
    /// The variant.
    pub variant: String,
    /// The end of it.
    pub verdict: VerificationResult,
    /// How many files were looked into.
    pub files_checked: usize,
    /// What is wrong.
    pub findings: Vec<FileProblem>,
}

/// Looks into the variants of these datasets; of all where there are none. A variant without
/// `metadata.yaml` says nothing that could be compared, and is left out.
///
/// # Errors
/// When the watcher says stop.
pub fn verify_variants(
    project: &Project,
    datasets: &[String],
    watch: &mut dyn AssetObserver,
) -> Result<Vec<VariantVerification>, AssetError> {
    let folder = project.root().join("datasets");
    let mut found = Vec::new();
    for dataset in folders_in(&folder) {
        if !datasets.is_empty() && !datasets.contains(&dataset) {
            continue;
        }
        let place = folder.join(&dataset);
        for variant in variants_in(&place) {
            let mut check = Check { dataset: &place, findings: Vec::new(), files_checked: 0 };
            if !check.variant(&variant, watch)? {
                continue;
            }
            let Check { findings, files_checked, .. } = check;
            let verdict =
                if findings.is_empty() { VerificationResult::Sound } else { VerificationResult::Faulty };
            let dataset = dataset.clone();
            found.push(VariantVerification { dataset, variant, verdict, files_checked, findings });
        }
    }
    Ok(found)
}

struct Check<'a> {
    dataset: &'a Path,
    findings: Vec<FileProblem>,
    files_checked: usize,
}

impl Check<'_> {
    fn find(&mut self, file: &str, problem: Problem) {
        self.findings.push(FileProblem { file: file.to_owned(), problem });
    }

    /// False where there is nothing to compare with.
    fn variant(&mut self, name: &str, watch: &mut dyn AssetObserver) -> Result<bool, AssetError> {
        let place = self.dataset.join(name);
        let Ok(text) = fs::read_to_string(place.join(Metadata::FILE)) else { return Ok(false) };
        let metadata = match yaml::load(&text, Arc::from(Metadata::FILE)) {
            Ok(metadata) => metadata,
            Err(error) => {
                self.find(Metadata::FILE, Problem::NotYaml { message: error.problem.to_string() });
                return Ok(true);
            }
        };
        if let Some(parent) = word(&metadata, &["parent"])
            && !plain_path(parent).is_ok_and(|parent| self.dataset.join(parent).is_dir())
        {
            self.find(Metadata::FILE, Problem::ParentMissing { parent: parent.to_owned() });
        }
        if place.join(FILE_LIST).is_file() {
            self.list(&place, &metadata);
        } else {
            self.data(&place, &metadata, watch)?;
        }
        Ok(true)
    }

    /// A subset: its list, and the files that it names.
    fn list(&mut self, place: &Path, metadata: &Node) {
        let Ok(list) = fs::read_to_string(place.join(FILE_LIST)) else {
            return self.find(FILE_LIST, Problem::Unreadable);
        };
        self.files_checked += 1;
        self.checksum(FILE_LIST, metadata, sha256(&list));
        let root = word(metadata, &["root"]).or(word(metadata, &["parent"])).unwrap_or(SOURCE);
        let root = self.dataset.join(root);
        let mut names: Vec<&str> = list.lines().filter(|line| !line.trim().is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let mut bytes = 0;
        for name in &names {
            match plain_path(name).ok().and_then(|path| root.join(path).metadata().ok()) {
                Some(found) if found.is_file() => bytes += found.len(),
                _ => self.find(name, Problem::Unreadable),
            }
        }
        self.files_checked += names.len();
        self.size(FILE_LIST, metadata, names.len(), bytes);
    }

    /// Data of its own.
    fn data(
        &mut self,
        place: &Path,
        metadata: &Node,
        watch: &mut dyn AssetObserver,
    ) -> Result<(), AssetError> {
        let path = data_folder(place).unwrap_or(DATA);
        let listing = samples(&place.join(path), path);
        for file in &listing.unreadable {
            self.find(file, Problem::Unreadable);
        }
        let size = listing.size();
        self.files_checked += size.files;
        self.size(Metadata::FILE, metadata, size.files, size.bytes);
        // Without one to compare with, large files are not read.
        if word(metadata, &["files", "sha256"]).is_some() {
            self.checksum(Metadata::FILE, metadata, digest(&listing, watch)?);
        }
        Ok(())
    }

    fn checksum(&mut self, file: &str, metadata: &Node, found: String) {
        if let Some(expected) = word(metadata, &["files", "sha256"]).filter(|expected| **expected != found) {
            self.find(file, Problem::Checksum { expected: expected.to_owned(), found });
        }
    }

    fn size(&mut self, file: &str, metadata: &Node, files: usize, bytes: u64) {
        let files = u64::try_from(files).unwrap_or(u64::MAX);
        for (unit, found) in [("files", files), ("bytes", bytes)] {
            if let Some(expected) = whole(metadata, &["size", unit]).filter(|expected| *expected != found) {
                self.find(file, Problem::Amount { expected, found, unit: unit.into() });
            }
        }
    }
}

/// The SHA-256 of a list of files: lines as `sha256sum` writes them, sorted by path.
pub(super) fn digest(listing: &Listing, watch: &mut dyn AssetObserver) -> Result<String, AssetError> {
    let mut list = Sha256::new();
    for file in &listing.files {
        let path = listing.folder.join(&file.path);
        let Some(digest) = hash(&path, watch)? else {
            let entry = file.path.clone();
            return Err(AssetError::new(AssetFault::ListEntry { entry, problem: "cannot be read" }));
        };
        list.update(format!("{digest}  {}\n", file.path));
    }
    Ok(hex(&list.finalize()))
}

fn word<'a>(node: &'a Node, keys: &[&str]) -> Option<&'a str> {
    node.get(keys)?.as_str()
}

fn whole(node: &Node, keys: &[&str]) -> Option<u64> {
    match &node.get(keys)?.value {
        Value::Int(Int::Small(small)) => u64::try_from(*small).ok(),
        _ => None,
    }
}
