//! A trace for the Perfetto UI: what ran, with what the analysis knows of it.
//!
//! Events of the Trace Event Format, written one after the other: nothing is held but the rank at hand.
//! Slices of a track nest or follow each other, since the format knows no others.
//!
//! What was recorded has Kineto's categories, arguments and keys, so that an export of one rank is analysed as the
//! trace it was made from. What the analysis adds has a category of its own, which the reader leaves out.

mod file;
mod head;
mod ranges;
mod rank;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{self, Write};

use rooflens_analyze::analyses::Ledger;
use rooflens_schema::{Note, RankTables};

pub use file::{check_destination, export};
use head::Head;

#[derive(Clone, Copy)]
enum Arg<'a> {
    Text(&'a str),
    Whole(i64),
    Share(f64),
    Triple([i32; 3]),
    /// Text that is JSON already.
    Json(&'a str),
}

/// Arguments of an event: those that are not known are left out.
type Args<'a> = [(&'static str, Option<Arg<'a>>)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Track {
    pid: u64,
    /// Of a host thread its own number, which is negative in some traces.
    tid: i64,
}

struct Slice<'a> {
    track: Track,
    category: &'static str,
    name: &'a str,
    span: (i64, i64),
    color: Option<&'static str>,
}

/// Where the first activity of each launch is, by correlation id: its track and start.
type FirstActivities = HashMap<i64, (Track, i64)>;

/// Least times: by phase and class, the share of the class' time.
pub(crate) type FloorShares = HashMap<(String, String), f64>;

/// What of each class' time was its least, where the ledger has a floor.
pub(crate) fn floor_shares(ledger: &Ledger) -> FloorShares {
    let mut shares = FloorShares::new();
    for phase in &ledger.phases {
        for class in phase.classes.iter().filter(|class| class.ns > 0) {
            if let Some(floor) = class.floor_ns {
                let key = (phase.phase.to_string(), class.class.as_str().to_owned());
                shares.insert(key, floor as f64 / class.ns as f64);
            }
        }
    }
    shares
}

pub(crate) struct Writer<W: Write> {
    out: W,
    is_first: bool,
    processes: u64,
    arrows: u64,
    head: Head,
    /// Whether the rank at hand was recorded in whole microseconds: a reader tells that by times without a fraction.
    microseconds: bool,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Writer {
            out,
            is_first: true,
            processes: 0,
            arrows: 0,
            head: Head::default(),
            microseconds: false,
        })
    }

    /// Adds a rank.
    pub fn rank(&mut self, tables: &RankTables, floors: &FloorShares) -> io::Result<()> {
        self.microseconds = tables.meta.microsecond_clock;
        self.head.rank(tables);
        rank::write(self, tables, floors)
    }

    /// Ends the trace with what it says about itself and `notes`, those of reading; gives back what it was
    /// written to.
    pub fn finish(mut self, notes: &[Note]) -> io::Result<W> {
        self.out.write_all(b"\n]")?;
        self.head.write(&mut self.out, notes)?;
        self.out.write_all(b"}\n")?;
        Ok(self.out)
    }

    /// A new process; those that are made first stand first.
    fn process(&mut self, name: &str) -> io::Result<u64> {
        self.processes += 1;
        let pid = self.processes;
        self.metadata("process_name", Track { pid, tid: 0 }, ("name", Arg::Text(name)))?;
        self.metadata("process_sort_index", Track { pid, tid: 0 }, ("sort_index", Arg::Whole(pid as i64)))?;
        Ok(pid)
    }

    /// Names a track; they stand in the order of their numbers.
    fn name(&mut self, track: Track, name: &str) -> io::Result<()> {
        self.name_at(track, name, track.tid)
    }

    /// Names a track that stands at another place than its number says.
    fn name_at(&mut self, track: Track, name: &str, place: i64) -> io::Result<()> {
        self.metadata("thread_name", track, ("name", Arg::Text(name)))?;
        self.metadata("thread_sort_index", track, ("sort_index", Arg::Whole(place)))
    }

    fn metadata(&mut self, what: &str, track: Track, arg: (&'static str, Arg)) -> io::Result<()> {
        self.begin("M", None, what, track)?;
        self.args(&[(arg.0, Some(arg.1))])
    }

    fn slice(&mut self, slice: &Slice, args: &Args) -> io::Result<()> {
        let (start, end) = slice.span;
        self.begin("X", Some(slice.category), slice.name, slice.track)?;
        self.time("ts", start)?;
        self.time("dur", end.saturating_sub(start).max(0))?;
        if let Some(color) = slice.color {
            write!(self.out, ",\"cname\":\"{color}\"")?;
        }
        self.args(args)
    }

    fn instant(
        &mut self,
        track: Track,
        category: &'static str,
        name: &str,
        at: i64,
        args: &Args,
    ) -> io::Result<()> {
        self.begin("i", Some(category), name, track)?;
        self.time("ts", at)?;
        self.out.write_all(b",\"s\":\"t\"")?;
        self.args(args)
    }

    /// An arrow from a launching call to what it launched; each starts within a slice of its track.
    fn arrow(&mut self, from: (Track, i64), to: (Track, i64)) -> io::Result<()> {
        self.arrows += 1;
        for (kind, (track, at)) in [("s", from), ("f", to)] {
            self.begin(kind, Some("ac2g"), "ac2g", track)?;
            self.time("ts", at)?;
            let end = if kind == "f" { ",\"bp\":\"e\"" } else { "" };
            write!(self.out, ",\"id\":{}{end}}}", self.arrows)?;
        }
        Ok(())
    }

    fn counter(&mut self, pid: u64, name: &str, at: i64, value: i64) -> io::Result<()> {
        self.begin("C", Some(rank::CATEGORY), name, Track { pid, tid: 0 })?;
        self.time("ts", at)?;
        self.args(&[("value", Some(Arg::Whole(value)))])
    }

    fn begin(&mut self, kind: &str, category: Option<&str>, name: &str, track: Track) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        write!(self.out, "{{\"ph\":\"{kind}\"")?;
        if let Some(category) = category {
            write!(self.out, ",\"cat\":\"{category}\"")?;
        }
        write!(self.out, ",\"pid\":{},\"tid\":{},\"name\":", track.pid, track.tid)?;
        serde_json::to_writer(&mut self.out, name)?;
        Ok(())
    }

    /// Microseconds, with all digits of the nanoseconds.
    fn time(&mut self, key: &str, ns: i64) -> io::Result<()> {
        let sign = if ns < 0 { "-" } else { "" };
        let (whole, rest) = (ns.unsigned_abs() / 1000, ns.unsigned_abs() % 1000);
        write!(self.out, ",\"{key}\":{sign}{whole}")?;
        if self.microseconds && rest == 0 { Ok(()) } else { write!(self.out, ".{rest:03}") }
    }

    fn args(&mut self, args: &Args) -> io::Result<()> {
        self.out.write_all(b",\"args\":{")?;
        let mut is_first = true;
        for (key, value) in args.iter().filter_map(|(key, value)| Some((key, (*value)?))) {
            write!(self.out, "{}\"{key}\":", if is_first { "" } else { "," })?;
            is_first = false;
            match value {
                Arg::Text(text) => serde_json::to_writer(&mut self.out, text)?,
                Arg::Whole(number) => write!(self.out, "{number}")?,
                Arg::Share(share) => serde_json::to_writer(&mut self.out, &share)?,
                Arg::Triple([x, y, z]) => write!(self.out, "[{x},{y},{z}]")?,
                Arg::Json(text) => self.out.write_all(text.as_bytes())?,
            }
        }
        self.out.write_all(b"}}")
    }
}
