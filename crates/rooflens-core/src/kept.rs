//! The tables of an input in memory, as Arrow, for whoever asks about single rows.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rooflens_schema::parquet_io::{MemoryTable, MemoryTables};
use rooflens_schema::{Note, RankTables, RunDir};

use crate::error::Error;
use crate::model::ModelRecord;
use crate::saved::TraceRow;

/// The tables of an input: what `tables/*.parquet` of a run directory holds. Rows become Arrow when a table is asked
/// for, not before, so that who reads only the findings does not wait.
pub struct KeptTables {
    state: Mutex<KeptState>,
}

enum KeptState {
    /// Ranks that were read from traces, what was noted on the way, and the model that they were compared with.
    Ranks(Vec<RankTables>, Vec<Note>, Option<Box<ModelRecord>>),
    Tables(MemoryTables),
    Run(RunDir, BTreeMap<String, MemoryTable>),
}

impl KeptTables {
    pub(crate) fn of_ranks(ranks: Vec<RankTables>, notes: Vec<Note>, model: Option<ModelRecord>) -> Self {
        KeptTables { state: Mutex::new(KeptState::Ranks(ranks, notes, model.map(Box::new))) }
    }

    /// Those of a run directory.
    pub fn of_run(run: RunDir) -> Self {
        KeptTables { state: Mutex::new(KeptState::Run(run, BTreeMap::new())) }
    }

    /// The names of all tables.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        self.with(|state| match state {
            KeptState::Tables(tables) => Ok(tables.0.keys().map(|name| (*name).to_owned()).collect()),
            KeptState::Run(run, _) => Ok(stored_names(run)),
            KeptState::Ranks(..) => Ok(Vec::new()),
        })
    }

    /// A table; `None` where there is none of this name.
    pub fn table(&self, name: &str) -> Result<Option<MemoryTable>, Error> {
        self.with(|state| match state {
            KeptState::Tables(tables) => Ok(tables.0.get(name).cloned()),
            KeptState::Run(run, read) => {
                if !read.contains_key(name) && stored_names(run).iter().any(|stored| stored == name) {
                    let table = MemoryTable::read(&run.table(name)).map_err(Error::unreadable_run)?;
                    read.insert(name.to_owned(), table);
                }
                Ok(read.get(name).cloned())
            }
            KeptState::Ranks(..) => Ok(None),
        })
    }

    fn with<R>(&self, look: impl FnOnce(&mut KeptState) -> Result<R, Error>) -> Result<R, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let KeptState::Ranks(ranks, notes, model) = &*state {
            let mut row = TraceRow::new();
            ranks.iter().for_each(|rank| row.rank(rank));
            let finish = |id| {
                let mut row = row.finish(id, notes);
                model.iter().for_each(|model| model.complete(&mut row));
                row
            };
            let tables = MemoryTables::of_ranks(ranks, finish, notes);
            *state = KeptState::Tables(tables.map_err(Error::unreadable_run)?);
        }
        look(&mut state)
    }
}

fn stored_names(run: &RunDir) -> Vec<String> {
    let folder = run.table("runs").parent().map(std::fs::read_dir);
    let paths = folder.into_iter().flatten().flatten().flatten().map(|entry| entry.path());
    let parquet = paths.filter(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    let names = parquet.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}
