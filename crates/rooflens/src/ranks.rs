//! Ranks of one job: each has a number of its own, and all share one clock.

use std::collections::BTreeSet;

use rooflens_schema::{Notes, RankTables, Severity, Stage};

use crate::inputs::TraceFile;

/// Gives out rank numbers.
#[derive(Debug, Default)]
pub struct Numbering {
    taken: BTreeSet<i32>,
    /// Numbers that the names of files promise: nobody else gets them without asking.
    promised: BTreeSet<i32>,
}

impl Numbering {
    /// For the files of a job.
    pub fn new(files: &[TraceFile]) -> Self {
        let promised = files.iter().filter_map(|file| file.rank_by_name).collect();
        Numbering { taken: BTreeSet::new(), promised }
    }

    /// Numbers a rank: as its trace says, else as its name says, else the next free number.
    pub fn number(&mut self, tables: &mut RankTables, by_name: Option<i32>, notes: &Notes) {
        let wanted = tables.meta.rank.filter(|rank| *rank >= 0).or(by_name);
        tables.rank = match wanted {
            Some(rank) if !self.taken.contains(&rank) => rank,
            _ => self.next_free(),
        };
        self.taken.insert(tables.rank);
        if let Some(rank) = wanted.filter(|rank| *rank != tables.rank) {
            let message =
                format!("it says it is rank {rank}, as another file does; here it is rank {}", tables.rank);
            notes.add(Stage::Ingest, Severity::Warning, "duplicate_rank", &tables.meta.source, message);
        }
    }

    fn next_free(&self) -> i32 {
        let free = |rank: &i32| !self.taken.contains(rank) && !self.promised.contains(rank);
        (0..).find(free).unwrap_or(i32::MAX)
    }
}

/// The clock of a job: that of the first rank which tells the time of day.
#[derive(Debug, Default)]
pub struct Clock {
    base_unix_ns: Option<i64>,
    /// From the first to the last record of the ranks so far, on this clock.
    extent: Option<(i64, i64)>,
}

impl Clock {
    /// Moves a rank of a job of several onto the common clock.
    pub fn align(&mut self, tables: &mut RankTables, notes: &Notes) {
        let source = tables.meta.source.clone();
        let warn = |code: &str, message: &str| {
            notes.add(Stage::Ingest, Severity::Warning, code, &source, message.to_owned());
        };
        let Some(own) = tables.meta.base_unix_ns else {
            warn(
                "unaligned_clock",
                "it does not tell the time of day: its times count from its own first record",
            );
            return;
        };
        let common = *self.base_unix_ns.get_or_insert(own);
        tables.shift(own.saturating_sub(common));
        let (first, last) = (tables.meta.first_ns, tables.meta.last_ns);
        if self.extent.is_some_and(|(begin, end)| first > end || last < begin) {
            warn(
                "no_common_time",
                "it was recorded at another time than the ranks before it: is it the same job?",
            );
        }
        let (begin, end) = self.extent.unwrap_or((first, last));
        self.extent = Some((begin.min(first), end.max(last)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rooflens_schema::TraceMeta;

    fn rank(claimed: Option<i32>, base_unix_ns: Option<i64>) -> RankTables {
        let meta = TraceMeta { rank: claimed, base_unix_ns, last_ns: 100, ..TraceMeta::default() };
        RankTables { meta, ..RankTables::default() }
    }

    fn codes(notes: &Notes) -> Vec<String> {
        notes.rows().into_iter().map(|note| note.code).collect()
    }

    #[test]
    fn a_number_is_given_once() {
        let notes = Notes::default();
        let mut numbering = Numbering { promised: BTreeSet::from([1]), ..Numbering::default() };
        let mut number = |claimed, by_name| {
            let mut tables = rank(claimed, None);
            numbering.number(&mut tables, by_name, &notes);
            tables.rank
        };
        assert_eq!(number(None, None), 0);
        assert_eq!(number(Some(-1), None), 2, "1 is promised to a file");
        assert_eq!(number(Some(5), Some(3)), 5, "the trace knows better than its name");
        assert_eq!(number(None, Some(1)), 1);
        assert!(codes(&notes).is_empty());
        assert_eq!(number(Some(5), None), 3);
        assert_eq!(codes(&notes), ["duplicate_rank"]);
    }

    #[test]
    fn later_ranks_move_onto_the_first_clock() {
        let notes = Notes::default();
        let mut clock = Clock::default();
        let mut align = |base| {
            let mut tables = rank(None, base);
            clock.align(&mut tables, &notes);
            (tables.meta.base_unix_ns, tables.meta.first_ns, tables.meta.last_ns)
        };
        assert_eq!(align(Some(1_000)), (Some(1_000), 0, 100));
        assert_eq!(align(Some(1_040)), (Some(1_000), 40, 140));
        assert_eq!(align(Some(990)), (Some(1_000), -10, 90));
        assert!(codes(&notes).is_empty());
        assert_eq!(align(None), (None, 0, 100));
        assert_eq!(align(Some(1_141)), (Some(1_000), 141, 241));
        assert_eq!(codes(&notes), ["no_common_time", "unaligned_clock"]);
    }
}
