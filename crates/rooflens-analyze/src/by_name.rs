//! Sums by name over ranks whose name ids differ.

use std::collections::HashMap;
use std::sync::Arc;

use rooflens_schema::{NameId, Names};

use crate::statistics::Durations;

pub(crate) type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A row for each name, over all ranks. Ids are dense within a rank and assigned in any order, so a
/// row is found by id within a rank and by text between ranks.
#[derive(Debug)]
pub(crate) struct ByName<T> {
    slots: FastMap<Arc<str>, u32>,
    rows: Vec<(Arc<str>, T)>,
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        ByName { slots: HashMap::default(), rows: Vec::new() }
    }
}

impl<T: Default> ByName<T> {
    pub(crate) fn rank<'a>(&'a mut self, names: &'a Names) -> RankRows<'a, T> {
        RankRows { slots: vec![u32::MAX; names.len()], names, all: self }
    }

    pub(crate) fn named(&mut self, name: &str) -> &mut T {
        let slot = self.slot(name);
        &mut self.rows[slot as usize].1
    }

    pub(crate) fn slot(&mut self, name: &str) -> u32 {
        if let Some(&slot) = self.slots.get(name) {
            return slot;
        }
        let slot = self.rows.len() as u32;
        let text: Arc<str> = Arc::from(name);
        self.slots.insert(Arc::clone(&text), slot);
        self.rows.push((text, T::default()));
        slot
    }

    pub(crate) fn rows_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().map(|row| &mut row.1)
    }

    /// Ends the sums. In order of first sight: sort what is shown.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = (String, T)> {
        self.rows.into_iter().map(|(name, row)| (name.as_ref().to_owned(), row))
    }
}

pub(crate) struct RankRows<'a, T> {
    slots: Vec<u32>,
    names: &'a Names,
    all: &'a mut ByName<T>,
}

impl<T: Default> RankRows<'_, T> {
    #[inline]
    pub(crate) fn at(&mut self, id: NameId) -> &mut T {
        let slot = self.slot(id);
        &mut self.all.rows[slot as usize].1
    }

    #[inline]
    pub(crate) fn row(&mut self, slot: u32) -> &mut T {
        &mut self.all.rows[slot as usize].1
    }

    #[inline]
    pub(crate) fn slot(&mut self, id: NameId) -> u32 {
        match self.slots.get(id.index()) {
            Some(&slot) if slot != u32::MAX => slot,
            _ => self.new_slot(id),
        }
    }

    #[cold]
    fn new_slot(&mut self, id: NameId) -> u32 {
        let slot = self.all.slot(self.names.get(id));
        if let Some(known) = self.slots.get_mut(id.index()) {
            *known = slot;
        }
        slot
    }
}

/// Waiting durations that make a set worth compacting: 16 MB.
const WAITING: usize = 4 << 20;

pub(crate) fn compact_if_many<'a>(durations: impl Iterator<Item = &'a mut Durations>) {
    let all: Vec<&mut Durations> = durations.collect();
    if all.iter().map(|durations| durations.waiting()).sum::<usize>() > WAITING {
        all.into_iter().for_each(Durations::compact);
    }
}
