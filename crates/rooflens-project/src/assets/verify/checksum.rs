//! SHA-256 of files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{Problem, Report};
use crate::assets::bootstrap::Checksum;
use crate::assets::error::{AssetError, AssetFault};
use crate::assets::walk::Listing;
use crate::assets::watch::{AssetObserver, StepProgress};

pub(super) fn check(
    checksums: &[Checksum],
    listing: &Listing,
    report: &mut Report,
    watch: &mut dyn AssetObserver,
) -> Result<(), AssetError> {
    for Checksum { file, sha256 } in checksums {
        let shown = file.display().to_string();
        let path = listing.folder.join(file);
        if !path.is_file() {
            report.find(shown, Problem::ChecksumFileMissing);
            continue;
        }
        report.files_checked += 1;
        match hash(&path, watch)? {
            Some(found) if &found == sha256 => {}
            Some(found) => report.find(shown, Problem::Checksum { expected: sha256.clone(), found }),
            None => report.find(shown, Problem::Unreadable),
        }
    }
    Ok(())
}

/// The hash of a file; none where it cannot be read to its end.
pub(in crate::assets) fn hash(
    path: &Path,
    watch: &mut dyn AssetObserver,
) -> Result<Option<String>, AssetError> {
    let Ok(mut file) = File::open(path) else { return Ok(None) };
    let total_bytes = file.metadata().ok().map(|metadata| metadata.len());
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(_) => return Ok(None),
        };
        hasher.update(&buffer[..count]);
        bytes += u64::try_from(count).unwrap_or(u64::MAX);
        watch.goes_on(StepProgress { bytes, total_bytes });
        if watch.should_stop() {
            return Err(AssetError::new(AssetFault::Stopped));
        }
    }
    Ok(Some(hex(&hasher.finalize())))
}

/// Lower-case hexadecimal digits.
pub(in crate::assets) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
