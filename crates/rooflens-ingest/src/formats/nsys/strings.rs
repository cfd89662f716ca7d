//! The strings of a file by their number: only those that are asked for.

use std::collections::HashMap;
use std::rc::Rc;

use rooflens_schema::{Interner, NameId};
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};

use crate::sqlite::{Database, text};

/// Names by their number in `StringIds`.
pub(crate) struct Strings<'a> {
    lookup: Option<Statement<'a>>,
    interner: &'a Interner,
    known: HashMap<i64, NameId, foldhash::fast::RandomState>,
    /// Texts that were asked for as such: a range's name may stand at a million ranges.
    texts: HashMap<i64, Option<Rc<str>>, foldhash::fast::RandomState>,
}

impl<'a> Strings<'a> {
    pub(crate) fn new(database: &'a Database<'_>, interner: &'a Interner) -> Self {
        // `id` is the key of whole numbers that `rowid` stands for.
        let lookup = database.by_number("StringIds", &["value"]);
        Strings { lookup, interner, known: HashMap::default(), texts: HashMap::default() }
    }

    /// The id of a text of our own.
    pub(crate) fn intern(&self, text: &str) -> NameId {
        self.interner.intern(text)
    }

    /// The text of a number, through `shape`, which makes a name of it.
    pub(crate) fn get(&mut self, id: i64, shape: fn(&str) -> &str) -> NameId {
        if let Some(name) = self.known.get(&id) {
            return *name;
        }
        let name = self.look_up(id).map_or_else(
            || self.interner.intern(&format!("(string {id} is missing)")),
            |text| self.interner.intern(shape(&text)),
        );
        self.known.insert(id, name);
        name
    }

    /// The text of a number.
    pub(crate) fn text(&mut self, id: i64) -> Option<Rc<str>> {
        if let Some(text) = self.texts.get(&id) {
            return text.clone();
        }
        let found = self.look_up(id);
        self.texts.insert(id, found.clone());
        found
    }

    fn look_up(&mut self, id: i64) -> Option<Rc<str>> {
        let mut rows = self.lookup.as_mut()?.query([id]).ok()?;
        rows.next().ok().flatten().and_then(|row| text(row, 0).map(Rc::from))
    }

    /// The first name of a row: each column is a text itself, or the number of one.
    pub(crate) fn of_row(
        &mut self,
        row: &Row<'_>,
        columns: &[usize],
        shape: fn(&str) -> &str,
    ) -> Option<NameId> {
        columns.iter().find_map(|column| match row.get_ref(*column) {
            Ok(ValueRef::Integer(id)) => Some(self.get(id, shape)),
            Ok(ValueRef::Text(bytes)) => {
                std::str::from_utf8(bytes).ok().map(|text| self.interner.intern(shape(text)))
            }
            _ => None,
        })
    }
}
