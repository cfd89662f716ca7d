//! Names stand once; columns hold ids.
//!
//! Kernel names average hundreds of characters and repeat thousands of times. In memory a name is a
//! dense [`NameId`] into the rank's [`Names`]; on disk it is [`stable_id`], a 64-bit hash that is the
//! same in every run, so that a fleet can be grouped without a join.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A dense id into one rank's [`Names`]. Meaningless without it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

impl NameId {
    /// The empty name, present in every pool.
    pub const EMPTY: NameId = NameId(0);
    /// The position in the pool.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The id a name has on disk: FNV-1a, 64 bits, of its UTF-8 bytes, as a signed integer.
///
/// FNV because any language can compute it in three lines; at a million names the chance of one
/// collision is about 3 in 10^8.
pub fn stable_id(name: &str) -> i64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash as i64
}

/// A pool of names that can be filled from several threads.
#[derive(Debug, Default)]
pub struct Interner(Mutex<Names>);

impl Interner {
    /// The id of `name`, new or known.
    pub fn intern(&self, name: &str) -> NameId {
        // A poisoned lock means another reader thread died; the pool itself is still whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(name)
    }

    /// Ends filling.
    pub fn freeze(self) -> Names {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One rank's names, by [`NameId`].
#[derive(Debug, Clone)]
pub struct Names {
    text: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, NameId, foldhash::fast::RandomState>,
    /// The id of each name on disk, once it was asked for: every column of names needs all of them.
    stable: OnceLock<Vec<i64>>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names { text: Vec::new(), ids: HashMap::default(), stable: OnceLock::new() };
        names.add("");
        names
    }
}

impl Names {
    /// The text of a name; empty for an id of another pool.
    pub fn get(&self, id: NameId) -> &str {
        self.text.get(id.index()).map_or("", |text| text)
    }

    /// The id of `name`, if the pool has it.
    pub fn find(&self, name: &str) -> Option<NameId> {
        self.ids.get(name).copied()
    }

    /// Adds a name that a pass derived (a module path, say).
    pub fn add(&mut self, name: &str) -> NameId {
        self.add_by(name, || Arc::from(name))
    }

    /// Adds a name that other pools hold as well, without a copy of its text.
    pub(crate) fn add_shared(&mut self, name: &Arc<str>) -> NameId {
        self.add_by(name, || Arc::clone(name))
    }

    fn add_by(&mut self, name: &str, text: impl FnOnce() -> Arc<str>) -> NameId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = NameId(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        let text = text();
        self.text.push(Arc::clone(&text));
        self.ids.insert(text, id);
        self.stable.take();
        id
    }

    /// The id that each name has on disk, in id order.
    pub(crate) fn stable_ids(&self) -> &[i64] {
        self.stable.get_or_init(|| self.text.iter().map(|text| stable_id(text)).collect())
    }

    pub(crate) fn texts(&self) -> &[Arc<str>] {
        &self.text
    }

    /// The names with other texts where `text` answers one, and for each name of this pool, by its
    /// index, the id it has there. `None` where all stay.
    pub(crate) fn reworded(&self, text: &dyn Fn(&str) -> Option<String>) -> Option<(Names, Vec<NameId>)> {
        let others: Vec<Option<String>> = self.text.iter().map(|name| text(name)).collect();
        others.iter().any(Option::is_some).then(|| {
            let mut names = Names::default();
            let id = |(name, other): (&Arc<str>, Option<String>)| names.add(other.as_deref().unwrap_or(name));
            let ids = self.text.iter().zip(others).map(id).collect();
            (names, ids)
        })
    }

    /// How many names there are.
    #[expect(clippy::len_without_is_empty, reason = "the empty name is always there")]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// All names in id order.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &str)> {
        self.text.iter().enumerate().map(|(i, text)| (NameId(i as u32), &**text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_id_is_fnv_1a() {
        // Reference vectors of the FNV authors.
        assert_eq!(stable_id(""), 0xcbf2_9ce4_8422_2325_u64 as i64);
        assert_eq!(stable_id("a"), 0xaf63_dc4c_8601_ec8c_u64 as i64);
        assert_eq!(stable_id("foobar"), 0x8594_4171_f739_67e8_u64 as i64);
    }

    #[test]
    fn a_name_stands_once() {
        let interner = Interner::default();
        let (a, b) = (interner.intern("gemm"), interner.intern("gemm"));
        assert_eq!(a, b);
        let names = interner.freeze();
        assert_eq!(names.get(a), "gemm");
        assert_eq!(names.get(NameId::EMPTY), "");
        assert_eq!(names.len(), 2);
    }
}
