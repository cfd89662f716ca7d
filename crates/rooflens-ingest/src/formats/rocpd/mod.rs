//! rocpd: the SQLite file that rocprofv3 writes since ROCm 7, of schema version 3.
//!
//! The tables of a process have its id behind their names. They are read themselves: the views that the
//! file brings along are statements of whoever made it. What a file knows of users and machines, such as
//! the command and the environment of a process, is not read.
//!
//! * `process`: the tables of one process to rows.

mod process;
#[cfg(test)]
mod tests;

use rooflens_schema::{Interner, Notes, RankTables};

use super::finish;
use super::rocm::RocmRows;
use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::formats::Format;
use crate::sqlite::{self, Database};

/// The format.
pub(crate) struct Rocpd;

impl Format for Rocpd {
    fn name(&self) -> &'static str {
        "rocpd"
    }

    fn about(&self) -> &'static str {
        "rocprofv3 database (rocpd): _results.db, the default since ROCm 7"
    }

    fn sniff(&self, probe: &Probe) -> bool {
        // The text of the schema stands on the first pages. An older tool also has tables `rocpd_…`, but
        // not these.
        let has = |word: &str| memchr::memmem::find(&probe.head, word.as_bytes()).is_some();
        probe.head.starts_with(sqlite::MAGIC)
            && ["rocpd_info_", "rocpd_kernel_dispatch", "rocpd_metadata"].into_iter().any(has)
    }

    fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
        let source = from.name().to_owned();
        let fail = |why: String| IngestError::NoRecords { source_name: source.clone(), format: "rocpd", why };
        let database = Database::of(from, notes).map_err(|error| fail(error.to_string()))?;
        let interner = Interner::default();
        let mut rows = RocmRows::new(&interner, notes, &source);
        for (index, suffix) in database.suffixes("rocpd_string").iter().enumerate() {
            process::read(&database, suffix, index, &mut rows);
        }
        rows.tell();
        database.all_is_read();
        let RocmRows { tables, extent, records, .. } = rows;
        let Some(extent) = extent else {
            let elsewhere = !database.suffixes("rocpd_timestamp").is_empty();
            return Err(fail(
                if elsewhere {
                    "its times are in rocpd_timestamp, a layout that is not supported yet"
                } else {
                    "nothing was recorded in it"
                }
                .to_owned(),
            ));
        };
        Ok(finish(tables, interner, (self.name(), source), records, extent))
    }
}
