//! The strings of a file by their number: only those that are asked for.

use std::collections::HashMap;

use rooflens_schema::{Interner, NameId};
use rusqlite::{Row, Statement};

use crate::sqlite::{Database, number, text};

/// Names by their number in `StringIds`.
pub struct Strings<'a> {
    lookup: Option<Statement<'a>>,
    interner: &'a Interner,
    known: HashMap<i64, NameId, foldhash::fast::RandomState>,
}

impl<'a> Strings<'a> {
    pub fn new(database: &'a Database<'_>, interner: &'a Interner) -> Self {
        let ask = "SELECT value FROM StringIds WHERE id = ?1";
        let lookup = database.has("StringIds").then(|| database.connection().prepare(ask).ok()).flatten();
        Strings { lookup, interner, known: HashMap::default() }
    }

    /// The id of a text of our own.
    pub fn intern(&self, text: &str) -> NameId {
        self.interner.intern(text)
    }

    /// The text of a number, through `shape`, which makes a name of it.
    pub fn get(&mut self, id: i64, shape: fn(&str) -> &str) -> NameId {
        if let Some(name) = self.known.get(&id) {
            return *name;
        }
        let name = self.text(id).map_or_else(
            || self.interner.intern(&format!("(string {id} is missing)")),
            |text| self.interner.intern(shape(&text)),
        );
        self.known.insert(id, name);
        name
    }

    /// The text of a number.
    pub fn text(&mut self, id: i64) -> Option<String> {
        let lookup = self.lookup.as_mut()?;
        let mut rows = lookup.query([id]).ok()?;
        rows.next().ok().flatten().and_then(|row| text(row, 0).map(str::to_owned))
    }

    /// The first name of a row: each column is a text itself, or the number of one.
    pub fn of_row(&mut self, row: &Row<'_>, columns: &[usize], shape: fn(&str) -> &str) -> Option<NameId> {
        columns.iter().find_map(|column| {
            if let Some(text) = text(row, *column) {
                return Some(self.interner.intern(shape(text)));
            }
            number(row, *column).map(|id| self.get(id, shape))
        })
    }
}
