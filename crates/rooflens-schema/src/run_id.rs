//! What a run is called: 128 bits that no two runs share, made without asking anybody.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use sha2::{Digest, Sha256};

use crate::cell::{ColumnType, NameLookup};
use crate::names::Names;

/// The id of a run, in the form of a UUID.
///
/// A run that measures something gets a version 7 id: its start in milliseconds, then randomness, so that ids sort by
/// time. Tables made from files get a version 8 id from their content ([`ContentHash`]), so that the same input gives
/// the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RunId(String);

impl RunId {
    /// A new id, from the time and from randomness of the operating system.
    pub fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // The standard library seeds each of these from the operating system.
        let random = |salt: u64| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u64(salt);
            hasher.write_u64(MADE.fetch_add(1, Ordering::Relaxed));
            hasher.write_u32(std::process::id());
            hasher.write_u128(now.as_nanos());
            hasher.finish()
        };
        let random = u128::from(random(1)) << 64 | u128::from(random(2));
        Self::from_time(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), random)
    }

    /// The id of a run that started at that time, with these random bits (the lower 74 of them).
    pub fn from_time(unix_ms: u64, random: u128) -> Self {
        Self::format(u128::from(unix_ms) << 80 | (random & ((1 << 80) - 1)), 7)
    }

    /// The id that a run's content gives it.
    pub fn from_content(hash: u128) -> Self {
        Self::format(hash, 8)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn format(bits: u128, version: u128) -> Self {
        let bits = bits & !(0xf << 76) | version << 76;
        // The variant of RFC 9562.
        let bits = bits & !(0b11 << 62) | 0b10 << 62;
        let hex = format!("{bits:032x}");
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        RunId(parts.join("-"))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl ColumnType for RunId {
    const NULLABLE: bool = false;
    fn data_type() -> DataType {
        DataType::Utf8
    }
    fn encode(column: &[Self], _: &Names) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(column.iter().map(RunId::as_str)))
    }
    fn decode(array: &dyn Array, _: &mut NameLookup) -> Option<Vec<Self>> {
        let array = array.as_any().downcast_ref::<StringArray>()?;
        Some(array.iter().map(|id| RunId(id.unwrap_or("").to_owned())).collect())
    }
}

/// A hash of what tables hold: the first 128 bits of a SHA-256, the same in every build and on every machine.
#[derive(Debug, Clone, Default)]
pub struct ContentHash(Sha256);

impl ContentHash {
    /// Takes in a number.
    pub fn number(&mut self, word: u64) {
        self.0.update(word.to_le_bytes());
    }

    /// Takes in bytes, and how many they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    pub(crate) fn array(&mut self, array: &dyn Array) {
        let data = array.to_data();
        self.number(data.len() as u64);
        if let Some(nulls) = data.nulls() {
            self.number(nulls.null_count() as u64);
            nulls.iter().enumerate().filter(|(_, valid)| !valid).for_each(|(row, _)| self.number(row as u64));
        }
        data.buffers().iter().for_each(|buffer| self.bytes(buffer.as_slice()));
        for child in data.child_data() {
            child.buffers().iter().for_each(|buffer| self.bytes(buffer.as_slice()));
        }
    }

    /// The hash of everything so far.
    pub fn finish(&self) -> u128 {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        digest.iter().take(16).fold(0, |hash, byte| hash << 8 | u128::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_have_the_form_of_rfc_9562() {
        // The example of the RFC, appendix A.6.
        let id = RunId::from_time(0x017f_22e2_79b0, 0xcc3_18c4_dc0c_0c07_398f);
        assert_eq!(id.as_str(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
        let id = RunId::from_content(0);
        assert_eq!(id.as_str(), "00000000-0000-8000-8000-000000000000");
    }

    #[test]
    fn new_ids_differ_and_begin_with_the_time() {
        let ids: BTreeSet<RunId> = (0..1_000).map(|_| RunId::new()).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.as_str().len() == 36 && &id.as_str()[14..15] == "7"));
    }

    #[test]
    fn content_that_differs_has_other_ids() {
        let hash = |parts: &[&[u8]]| {
            let mut hash = ContentHash::default();
            parts.iter().for_each(|part| hash.bytes(part));
            hash.finish()
        };
        let different = [
            hash(&[]),
            hash(&[b""]),
            hash(&[b"", b""]),
            hash(&[b"\0"]),
            hash(&[b"ab", b"c"]),
            hash(&[b"a", b"bc"]),
            hash(&[b"abcdefgh"]),
            hash(&[b"abcdefgi"]),
            hash(&[b"abcdefgh\0"]),
        ];
        assert_eq!(different.iter().collect::<BTreeSet<_>>().len(), different.len());
        assert_eq!(hash(&[b"ab", b"c"]), hash(&[b"ab", b"c"]));
        // Fixed, and computed with hashlib: an id may not change from build to build.
        assert_eq!(
            RunId::from_content(hash(&[b"rooflens"])).as_str(),
            "6b5ea45d-83a5-8f50-bd8d-2cae11042b9a"
        );
    }
}
