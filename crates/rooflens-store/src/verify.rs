//! Whether a store is as it was written: every file that counts against its checksum.

use crate::error::StoreError;
use crate::location::Store;
use crate::snapshot::{DamagedFile, StoreFile};

/// What checking a store found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifiedStore {
    /// Runs that count.
    pub runs: usize,
    /// Files that count.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Those that are damaged or missing.
    pub damaged: Vec<DamagedFile>,
}

impl Store {
    /// Reads every file that counts and holds it to its checksum. `goes_on` hears of bytes that were read. A damaged
    /// manifest does not keep the others from being checked.
    pub async fn verify(&self, mut goes_on: impl FnMut(u64) -> bool) -> Result<VerifiedStore, StoreError> {
        let snapshot = self.snapshot().await?;
        let mut found = VerifiedStore::default();
        for partition in snapshot.partitions() {
            let (files, damaged) = partition.readable().await?;
            found.damaged.extend(damaged);
            found.runs += files.runs.len();
            for file in &files.files {
                found.files += 1;
                found.bytes += file.bytes;
                if let Some(why) = self.damage(file, &mut goes_on).await? {
                    found.damaged.push(DamagedFile { path: file.relative.clone(), why });
                }
            }
        }
        Ok(found)
    }

    /// What is wrong with a file, where something is.
    async fn damage(
        &self,
        file: &StoreFile,
        mut goes_on: impl FnMut(u64) -> bool,
    ) -> Result<Option<String>, StoreError> {
        let mut read = 0;
        let digest = self.digest(file, |bytes| {
            read += bytes.len() as u64;
            if goes_on(bytes.len() as u64) { Ok(()) } else { Err(StoreError::Stopped) }
        });
        Ok(match digest.await {
            Ok(_) if read != file.bytes => {
                Some(format!("it has {read} bytes, and {} were written", file.bytes))
            }
            Ok(digest) if digest != file.sha256 => Some("its checksum does not match".to_owned()),
            Ok(_) => None,
            Err(StoreError::Stopped) => return Err(StoreError::Stopped),
            Err(StoreError::Access { why, .. }) => Some(why),
            Err(error) => Some(error.to_string()),
        })
    }
}
