//! Ranks of one job: each has a number of its own, and all share one clock.

use std::collections::BTreeSet;
use std::path::Path;

use rooflens_schema::{Notes, RankTables, Severity, Stage};

use crate::error::{Error, Hint};
use crate::input::TraceFile;
use crate::shell::word;

#[derive(Debug, Default)]
pub(crate) struct Numbering {
    taken: BTreeSet<i32>,
    /// Numbers that the names of files promise: nobody else gets them without asking.
    promised: BTreeSet<i32>,
    is_of_several: bool,
}

impl Numbering {
    pub(crate) fn new(files: &[TraceFile]) -> Self {
        let promised = files.iter().filter_map(|file| file.rank_by_name).collect();
        Numbering { taken: BTreeSet::new(), promised, is_of_several: files.len() > 1 }
    }

    /// Numbers a rank: as its trace says, else as its name says, else the next free number.
    pub(crate) fn number(&mut self, tables: &mut RankTables, by_name: Option<i32>, notes: &Notes) {
        let wanted = tables.meta.rank.filter(|rank| *rank >= 0).or(by_name);
        tables.rank = match wanted {
            Some(rank) if !self.taken.contains(&rank) => rank,
            _ => self.next_free(),
        };
        self.taken.insert(tables.rank);
        if let Some(rank) = wanted.filter(|rank| *rank != tables.rank) {
            let message =
                format!("it claims rank {rank}, as another file does; here it is rank {}", tables.rank);
            notes.add(Stage::Ingest, Severity::Warning, "duplicate_rank", &tables.meta.source, message);
        }
        if wanted.is_none() && self.is_of_several {
            let message = format!(
                "neither the trace nor its name has a rank: it is taken as rank {} of one job with the other files. If \
                 they are of different jobs, name one file",
                tables.rank
            );
            notes.add(Stage::Ingest, Severity::Warning, "rank_by_order", &tables.meta.source, message);
        }
    }

    fn next_free(&self) -> i32 {
        let free = |rank: &i32| !self.taken.contains(rank) && !self.promised.contains(rank);
        (0..).find(free).unwrap_or(i32::MAX)
    }
}

/// Traces further apart than this are not of one job: clocks of machines differ by less.
const APART_NS: i64 = 60_000_000_000;

/// Whether traces belong to one job. Ranks of a job run on the same kind of device, at the same time, in a
/// world of one size.
#[derive(Debug, Default)]
pub(crate) struct SameJob {
    first: Option<Recorded>,
}

#[derive(Debug, Clone)]
struct Recorded {
    path: String,
    world_size: Option<i32>,
    rank: Option<i32>,
    device: Option<String>,
    extent: Option<(i64, i64)>,
}

impl SameJob {
    /// Takes the next trace, on its own clock. An error where it cannot be of the same job as the first.
    pub(crate) fn check(&mut self, tables: &RankTables, path: String) -> Result<(), Error> {
        let recorded = Recorded::of(tables, path);
        let Some(first) = &self.first else {
            self.first = Some(recorded);
            return Ok(());
        };
        match first.differs(&recorded) {
            Some(why) => {
                let (one, other) = (&first.path, &recorded.path);
                Err(Error::usage(format!("{one} and {other} are not ranks of the same job: {why}")).hinted(
                    Hint::leading(
                        "several traces are read as the ranks of one job; analyze each alone:",
                        format!("rooflens analyze {}", word(Path::new(one))),
                    ),
                ))
            }
            None => Ok(()),
        }
    }
}

impl Recorded {
    fn of(tables: &RankTables, path: String) -> Self {
        let meta = &tables.meta;
        let device = tables.devices.name.iter().find(|name| !name.is_empty());
        let day = |base: i64| (base.saturating_add(meta.first_ns), base.saturating_add(meta.last_ns));
        Recorded {
            path,
            world_size: meta.world_size,
            rank: meta.rank,
            device: device.cloned(),
            extent: meta.base_unix_ns.map(day),
        }
    }

    fn differs(&self, other: &Self) -> Option<String> {
        if let (Some(one), Some(two)) = (self.world_size, other.world_size)
            && one != two
        {
            return Some(format!("one belongs to a job of {one} ranks, the other to one of {two}"));
        }
        if let (Some(one), Some(two)) = (&self.device, &other.device)
            && one != two
        {
            return Some(format!("one ran on {one}, the other on {two}"));
        }
        // Different ranks of one world may have clocks that are set wrongly; anything else may not.
        let are_ranks = self.world_size.is_some_and(|size| size > 1) && self.rank != other.rank;
        let ((first, last), (begin, end)) = (self.extent?, other.extent?);
        let apart = begin.saturating_sub(last).max(first.saturating_sub(end));
        (!are_ranks && apart > APART_NS)
            .then(|| format!("they were recorded {} apart", rooflens_report::format::time(apart as f64)))
    }
}

/// The clock of a job: that of the first rank which tells the time of day.
#[derive(Debug, Default)]
pub(crate) struct JobClock {
    base_unix_ns: Option<i64>,
    /// From the first to the last record of the ranks so far, on this clock.
    extent: Option<(i64, i64)>,
}

impl JobClock {
    /// Moves a rank of a job of several onto the common clock.
    pub(crate) fn align(&mut self, tables: &mut RankTables, notes: &Notes) {
        let source = tables.meta.source.clone();
        let warn = |code: &str, message: &str| {
            notes.add(Stage::Ingest, Severity::Warning, code, &source, message.to_owned());
        };
        let Some(own) = tables.meta.base_unix_ns else {
            warn(
                "unaligned_clock",
                "it has no wall-clock time: its times are relative to its own first record",
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
        let mut numbering = Numbering { is_of_several: true, ..Numbering::default() };
        let notes = Notes::default();
        numbering.number(&mut rank(None, None), Some(1), &notes);
        assert!(codes(&notes).is_empty());
        numbering.number(&mut rank(None, None), None, &notes);
        assert_eq!(codes(&notes), ["rank_by_order"]);
    }

    #[test]
    fn newcomer_19_traces_of_several_jobs_are_told_apart() {
        const DAY_NS: i64 = 86_400_000_000_000;
        let of = |world, claimed, base| {
            let mut tables = rank(claimed, base);
            tables.meta.world_size = world;
            tables
        };
        let apart = |one: &RankTables, other: &RankTables| {
            let mut same = SameJob::default();
            same.check(one, "a.json".to_owned()).expect("the first");
            same.check(other, "b.json".to_owned()).err().map(|error| error.to_string())
        };
        let first = of(None, None, Some(0));
        assert_eq!(apart(&first, &of(None, None, Some(1_000))), None);
        assert_eq!(apart(&first, &of(None, None, None)), None, "a clock that is not known proves nothing");
        let why = apart(&first, &of(None, None, Some(DAY_NS))).expect("another day");
        assert!(why.contains("apart"), "{why}");
        let eight = |rank, base| of(Some(8), Some(rank), Some(base));
        assert_eq!(apart(&eight(0, 0), &eight(1, DAY_NS)), None, "clocks may be set wrongly");
        assert!(apart(&eight(0, 0), &eight(0, DAY_NS)).is_some());
        assert!(
            apart(&eight(0, 0), &of(Some(4), Some(1), Some(0))).is_some_and(|why| why.contains("8 ranks"))
        );
    }

    #[test]
    fn later_ranks_move_onto_the_first_clock() {
        let notes = Notes::default();
        let mut clock = JobClock::default();
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
