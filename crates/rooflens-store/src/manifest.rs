//! What the log of a store says.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use crate::layout::hex;

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    pub(crate) table: String,
    /// Where, relative to the store.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub(crate) sha256: String,
}

/// What is known of a run without opening its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Its id.
    pub run_id: String,
    /// SHA-256 over its rows: the same run has the same, whoever adds it.
    pub(crate) content: String,
    /// When it was added, since 1970.
    pub added_unix_ns: i64,
    /// Its row of the table `runs`, and its metrics under `metrics`.
    pub row: Map<String, Json>,
}

/// A run, as it was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    pub(crate) rooflens_store: u32,
    pub(crate) rooflens_version: String,
    pub(crate) run: RunEntry,
    pub(crate) files: Vec<FileEntry>,
}

/// A later state of a day of a tenant: it stands for every run that it covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateManifest {
    pub(crate) rooflens_store: u32,
    pub(crate) rooflens_version: String,
    pub(crate) reason: String,
    /// When it was made, since 1970.
    pub(crate) made_unix_ns: i64,
    pub(crate) runs: Vec<RunEntry>,
    /// Runs that its files held once and no longer do.
    pub(crate) removed: Vec<String>,
    pub(crate) files: Vec<FileEntry>,
    /// Whether its files are few and sorted, rather than those of each run.
    #[serde(default)]
    pub(crate) is_compacted: bool,
    #[serde(default)]
    pub(crate) events_dropped: bool,
}

impl StateManifest {
    /// Whether it stands for a run: then the run's own manifest no longer counts.
    #[must_use]
    pub(crate) fn covers(&self, run: &str) -> bool {
        self.holds(run) || self.removed.iter().any(|id| id == run)
    }

    #[must_use]
    pub(crate) fn holds(&self, run: &str) -> bool {
        self.runs.iter().any(|entry| entry.run_id == run)
    }
}

/// How a document of the log begins: the SHA-256 of all bytes that follow the comma after it comes first.
const SEAL: (&[u8], &[u8]) = (br#"{"sha256":""#, br#"","#);

/// A document of the log as it is written: one JSON object on a line, with a checksum over itself. Whoever makes a
/// store without [`crate::Store::add`] needs it.
#[must_use]
pub fn sealed(document: &impl Serialize) -> Bytes {
    let mut text = serde_json::to_vec(document).unwrap_or_default();
    text.push(b'\n');
    let body = text.get(1..).unwrap_or_default();
    let digest = hex(&Sha256::digest(body));
    Bytes::from([SEAL.0, digest.as_bytes(), SEAL.1, body].concat())
}

/// What a document of the log says, where its bytes are those that were written.
pub(crate) fn opened<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let sealed = bytes.strip_prefix(SEAL.0).and_then(|rest| rest.split_at_checked(64));
    let Some((digest, body)) = sealed.and_then(|(digest, rest)| Some((digest, rest.strip_prefix(SEAL.1)?)))
    else {
        return Err("it does not begin with its checksum".to_owned());
    };
    if hex(&Sha256::digest(body)).as_bytes() != digest {
        return Err("its bytes are not those that were written".to_owned());
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_other_bit_is_noticed() {
        let document = serde_json::json!({"rooflens_store": 1, "reason": "compact"});
        let bytes = sealed(&document);
        let read: Map<String, Json> = opened(&bytes).unwrap();
        assert_eq!(read["reason"], "compact");
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.to_vec();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(opened::<Json>(&other).is_err(), "bit {bit}");
        }
        for end in 0..bytes.len() {
            assert!(opened::<Json>(&bytes[..end]).is_err(), "cut at {end}");
        }
    }
}
