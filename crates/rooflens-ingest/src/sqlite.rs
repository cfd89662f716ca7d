//! A SQLite file that anybody may have made: opened so that it can do nothing, read table by table.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB, OpenFlags, Row, Statement};

use crate::artefact::{Artefact, ReadProgress, Whole};
use crate::reading::Reading;

pub(crate) const MAGIC: &[u8] = b"SQLite format 3\0";

/// No name of a kernel or range is longer; a longer one is refused, not taken into memory.
const LONGEST_VALUE: i32 = 16 << 20;

pub(crate) struct Database<'n> {
    connection: Connection,
    tables: HashSet<String>,
    pub(crate) reading: &'n Reading<'n>,
    stored_bytes: u64,
    room: u64,
    progress: ReadProgress,
}

/// No record takes less: two bytes that point to it, its size, its number and what it is made of.
const LEAST_RECORD_BYTES: u64 = 5;

impl<'n> Database<'n> {
    /// Opens an input for reading alone: nothing is written beside it, no function or view of its own is
    /// run. A stream that breaks off is a note.
    pub(crate) fn of(from: Artefact, reading: &'n Reading<'n>) -> rusqlite::Result<Self> {
        let (stored_bytes, progress) = (from.stored_bytes.unwrap_or(0), from.progress());
        let (whole, cut) = from.into_whole();
        if let Some(error) = cut {
            reading.broke_off(&error);
        }
        let (connection, bytes) = match whole {
            Whole::File(path) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX
                    | OpenFlags::SQLITE_OPEN_URI;
                let bytes = std::fs::metadata(&path).map_or(u64::MAX, |file| file.len());
                (Connection::open_with_flags(address(&path), flags)?, bytes)
            }
            Whole::Bytes(bytes) => {
                let mut connection = Connection::open_in_memory()?;
                connection.deserialize_read_exact(MAIN_DB, bytes.as_slice(), bytes.len(), true)?;
                (connection, bytes.len() as u64)
            }
        };
        Self::guarded(connection, bytes, (stored_bytes, progress), reading)
    }

    /// A database that was filled from the files beside an input.
    pub(crate) fn loaded(
        connection: Connection,
        from: &Artefact,
        reading: &'n Reading<'n>,
    ) -> rusqlite::Result<Self> {
        let watched = (from.stored_bytes.unwrap_or(0), from.progress());
        // Nobody but ourselves made it.
        Self::guarded(connection, u64::MAX, watched, reading)
    }

    fn guarded(
        connection: Connection,
        bytes: u64,
        (stored_bytes, progress): (u64, ReadProgress),
        reading: &'n Reading<'n>,
    ) -> rusqlite::Result<Self> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
        let mut tables = HashSet::new();
        {
            let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
            let mut rows = names.query([])?;
            while let Some(row) = rows.next()? {
                tables.extend(text(row, 0).map(str::to_owned));
            }
        }
        let room = bytes / LEAST_RECORD_BYTES;
        Ok(Database { connection, tables, reading, stored_bytes, room, progress })
    }

    /// Tells whoever watches that all is read: pages do not go through our hands one by one.
    pub(crate) fn all_is_read(&self) {
        (self.progress)(self.stored_bytes);
    }

    /// Gives every row of a table, with `columns` in this order; null for those it has not. A table that
    /// is not there has no rows. Damage ends the table with a note: what was read counts.
    pub(crate) fn each(&self, table: &str, columns: &[&str], mut take: impl FnMut(&Row<'_>)) {
        if !self.tables.contains(table) {
            return;
        }
        let mut count = 0_u64;
        let read = self.rows(table, columns, &mut |row| {
            count += 1;
            take(row);
            count <= self.room
        });
        let damage = match read {
            Err(error) => Some(error.to_string()),
            // Pages that lead to each other give the same records again and again, for years.
            Ok(()) if count > self.room => Some("the file has no room for more".to_owned()),
            Ok(()) => None,
        };
        if let Some(damage) = damage {
            let message =
                format!("{table} is damaged after {count} records: {damage}; the others are missing");
            self.reading.lost("damaged_table", 1, message);
        }
    }

    fn rows(
        &self,
        table: &str,
        columns: &[&str],
        take: &mut dyn FnMut(&Row<'_>) -> bool,
    ) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare(&self.select(table, columns)?)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if !take(row) {
                break;
            }
        }
        Ok(())
    }

    /// The statement for these columns of a table, with null for those it has not. Names of tables and
    /// columns must stand in our code, or be of letters, digits and `_` alone: they become part of it.
    /// `a|b` is the first of these columns that is not null.
    /// (The columns of a statement cannot be asked for: rusqlite panics where a name is not UTF-8.)
    fn select(&self, table: &str, columns: &[&str]) -> rusqlite::Result<String> {
        let mut known = HashSet::new();
        let mut names = self.connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let mut rows = names.query([table])?;
        while let Some(row) = rows.next()? {
            known.extend(text(row, 0).map(str::to_owned));
        }
        let column = |names: &&str| {
            let there = names.split('|').filter(|name| known.contains(*name));
            let there: Vec<String> = there.map(|name| format!("\"{name}\"")).collect();
            match there.as_slice() {
                [] => "NULL".to_owned(),
                [one] => one.clone(),
                several => format!("COALESCE({})", several.join(", ")),
            }
        };
        let asked: Vec<String> = columns.iter().map(column).collect();
        Ok(format!("SELECT {} FROM \"{table}\"", asked.join(", ")))
    }

    /// A statement that gives one row of a table by its number; `None` where the table has none.
    pub(crate) fn by_number(&self, table: &str, columns: &[&str]) -> Option<Statement<'_>> {
        if !self.tables.contains(table) {
            return None;
        }
        // By `rowid`, which is the id of every table with whole numbers as its key, and always indexed:
        // a hostile file cannot make each question a walk through the table.
        let ask = self.select(table, columns).ok()? + " WHERE rowid = ?1";
        self.connection.prepare(&ask).ok()
    }

    /// What stands behind `prefix` in the names of tables, in order: letters, digits and `_` alone.
    pub(crate) fn suffixes(&self, prefix: &str) -> Vec<String> {
        let plain = |suffix: &&str| suffix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let behind = self.tables.iter().filter_map(|table| table.strip_prefix(prefix));
        let mut suffixes: Vec<String> = behind.filter(plain).map(str::to_owned).collect();
        suffixes.sort_unstable();
        suffixes
    }

    /// How many records a table has; 0 where there is none.
    pub fn count(&self, table: &str) -> i64 {
        if !self.tables.contains(table) {
            return 0;
        }
        let room = i64::try_from(self.room).unwrap_or(i64::MAX);
        let ask = format!("SELECT COUNT(*) FROM (SELECT 1 FROM \"{table}\" LIMIT {room})");
        self.connection.query_row(&ask, [], |row| row.get(0)).unwrap_or(0)
    }

    /// How many records a table has at most, as far as can be told at once.
    pub(crate) fn most(&self, table: &str) -> usize {
        if !self.tables.contains(table) {
            return 0;
        }
        let ask = format!("SELECT MAX(rowid) FROM \"{table}\"");
        let last: Option<i64> = self.connection.query_row(&ask, [], |row| row.get(0)).ok().flatten();
        // A hostile file may give a record any number; each takes some bytes.
        let room = usize::try_from(self.stored_bytes / 16).unwrap_or(usize::MAX);
        last.and_then(|last| usize::try_from(last).ok()).unwrap_or(0).min(room)
    }
}

/// A path as SQLite wants it. "Immutable" keeps it from looking for, or making, files beside it.
fn address(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                address.push(*byte as char)
            }
            other => address.push_str(&format!("%{other:02x}")),
        }
    }
    address + "?immutable=1"
}

pub(crate) fn number(row: &Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column) {
        Ok(ValueRef::Integer(value)) => Some(value),
        _ => None,
    }
}

pub(crate) fn text<'r>(row: &'r Row<'_>, column: usize) -> Option<&'r str> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes)) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "for tests")]
pub(crate) fn made(sql: &str) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    connection.serialize(MAIN_DB).unwrap().to_vec()
}

#[cfg(test)]
mod tests {
    use rooflens_schema::Notes;

    use super::*;

    /// Page numbers, from 1, of the pages that lead to others.
    fn inner_pages(bytes: &[u8], size: usize) -> Vec<usize> {
        (2..=bytes.len() / size).filter(|page| bytes[(page - 1) * size] == 5).collect()
    }

    #[test]
    fn pages_that_lead_to_each_other_end() {
        const SIZE: usize = 512;
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)";
        let mut bytes = made(&format!(
            "PRAGMA page_size = {SIZE}; CREATE TABLE t(a); INSERT INTO t {rows} SELECT i FROM n;"
        ));
        let inner = inner_pages(&bytes, SIZE);
        assert!(inner.len() > 3, "{inner:?}");
        // Every page that leads to leaves leads to one of its kind instead, and that one to leaves.
        let last = *inner.last().unwrap();
        for page in inner.iter().filter(|page| **page != last && **page != inner[0]) {
            let start = (page - 1) * SIZE;
            let cells = usize::from(u16::from_be_bytes([bytes[start + 3], bytes[start + 4]]));
            for cell in 0..cells {
                let at = start + 12 + 2 * cell;
                let cell = start + usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
                bytes[cell..cell + 4].copy_from_slice(&(last as u32).to_be_bytes());
            }
        }
        let notes = Notes::default();
        let reading = Reading { source: "made".to_owned(), format: "nsys", notes: &notes };
        let database = Database::of(Artefact::from_bytes("made", &bytes).unwrap(), &reading).unwrap();
        let mut count = 0_u64;
        database.each("t", &["a"], |_| count += 1);
        assert_eq!(count, bytes.len() as u64 / LEAST_RECORD_BYTES + 1);
        assert!(database.count("t") <= bytes.len() as i64 / 5);
        let [note] = notes.rows().try_into().unwrap();
        assert!(note.message.contains("no room for more"), "{}", note.message);
    }
}
