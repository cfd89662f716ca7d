//! The JSON files that every model has.

use std::fs;

use serde_json::Value;

use super::{Problem, Report};
use crate::assets::walk::Listing;

/// What is looked into, at the top of an asset.
const FILES: &[&str] = &["config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"];
/// Tokenizers reach tens of megabytes.
const MAX_BYTES: u64 = 256 << 20;

pub(super) fn check(listing: &Listing, report: &mut Report) {
    for file in listing.files.iter().filter(|file| FILES.contains(&file.path.as_str())) {
        report.files_checked += 1;
        if file.bytes > MAX_BYTES {
            report.find(&file.path, Problem::Shape { expected: "of a size that is read".into() });
            continue;
        }
        let Ok(bytes) = fs::read(listing.folder.join(&file.path)) else {
            report.find(&file.path, Problem::Unreadable);
            continue;
        };
        if is_lfs_pointer(&bytes) {
            report.find(&file.path, Problem::LfsPointer);
            continue;
        }
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(_)) => {}
            Ok(_) => report.find(&file.path, Problem::Shape { expected: "an object".into() }),
            Err(error) => report.find(&file.path, Problem::NotJson { message: error.to_string() }),
        }
    }
}

/// A clone without Git LFS has a few lines of text in place of each large file.
pub(super) fn is_lfs_pointer(head: &[u8]) -> bool {
    head.starts_with(b"version https://git-lfs.github.com/spec/")
}
