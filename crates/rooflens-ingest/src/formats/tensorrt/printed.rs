//! The table that `trtexec --dumpProfile` prints, in a log with anything around it.
//!
//! What is printed is in `Profiler::print` of TensorRT's `samples/common/sampleReporting.cpp`: name first and
//! three numbers up to 8.0, a median besides from 8.4 on, the name last from 8.6.1 on. Totals have two digits
//! after the point, averages and medians four (two in 7.0 and 7.1). A layer that did not run is not printed.

use super::Timed;

#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(crate) runs: Option<i64>,
    pub(crate) layers: Vec<Timed>,
    pub(crate) lost: i64,
    /// The line `Total`; none where the log ends before it.
    pub(crate) total_ns: Option<i64>,
    pub(crate) has_median: bool,
}

impl Profile {
    /// Whether the layers add up to the line `Total`, but for what rounding takes. Nothing where it has none.
    pub(crate) fn adds_up(&self) -> Option<bool> {
        let total = self.total_ns?;
        let sum = self.layers.iter().fold(0_i64, |sum, layer| sum.saturating_add(layer.total_ns));
        let rounding = HALF_TOTAL_NS.saturating_mul(self.layers.len() as i64 + 1);
        // trtexec adds up in 32-bit floats.
        Some(sum.abs_diff(total) <= rounding.unsigned_abs().saturating_add(total.unsigned_abs() / 1_000))
    }

    pub(crate) fn is_like(&self, other: &Profile) -> bool {
        self.layers.iter().map(|layer| &layer.name).eq(other.layers.iter().map(|layer| &layer.name))
    }

    /// Adds a profile of the same engine. A median of both together is not known.
    pub fn add(&mut self, other: &Profile) {
        self.runs = self.runs.zip(other.runs).map(|(a, b)| a.saturating_add(b));
        for (layer, more) in self.layers.iter_mut().zip(&other.layers) {
            layer.total_ns = layer.total_ns.saturating_add(more.total_ns);
            (layer.median_ns, layer.runs) = (None, self.runs);
        }
    }
}

/// A total is printed to 0.01 ms.
const HALF_TOTAL_NS: i64 = 5_000;

pub(super) const TITLE: &str = "=== Profile (";
/// What the log of every trtexec holds in its beginning.
pub(super) const COMMAND: &str = "&&&& RUNNING TensorRT.trtexec";

/// Every table of a log.
pub(super) fn profiles(log: &str) -> Vec<Profile> {
    let mut found = Vec::new();
    let mut lines = log.split_inclusive('\n').filter_map(|line| {
        let whole = line.ends_with('\n');
        Some((body(line.trim_end_matches(['\n', '\r']))?, whole))
    });
    let mut next = lines.next();
    while let Some((line, _)) = next {
        let Some(runs) = runs(line) else {
            next = lines.next();
            continue;
        };
        let mut profile = Profile { runs: runs.parse().ok().filter(|runs| *runs > 0), ..Profile::default() };
        next = lines.next();
        if let Some(columns) = next.and_then(|(line, _)| Columns::of(line)) {
            profile.has_median = columns.median;
            next = rows(&mut profile, columns, &mut lines);
        }
        found.push(profile);
    }
    found
}

fn rows<'a>(
    profile: &mut Profile,
    columns: Columns,
    lines: &mut impl Iterator<Item = (&'a str, bool)>,
) -> Option<(&'a str, bool)> {
    loop {
        let (line, is_whole) = lines.next()?;
        // A table that was cut may be followed by another log.
        if line.trim().is_empty() || runs(line).is_some() || line.contains(COMMAND) {
            return Some((line, is_whole));
        }
        // The last line of a log that was cut may hold half a number, or half a name.
        let row = columns.row(line, profile.runs).filter(|_| is_whole);
        match row {
            Some(row) if row.is_total => {
                profile.total_ns = Some(row.timed.total_ns);
                return lines.next();
            }
            Some(row) => profile.layers.push(row.timed),
            None => profile.lost += 1,
        }
    }
}

/// The number of a line such as `=== Profile (1000 iterations ) ===`.
fn runs(line: &str) -> Option<&str> {
    Some(line.trim().strip_prefix(TITLE)?.split_whitespace().next().unwrap_or_default())
}

/// What trtexec logged, without the time and the severity; none for what is no part of a table: a warning, or
/// a word of the library.
fn body(line: &str) -> Option<&str> {
    for tag in ["[I]", "[W]", "[E]", "[V]", "[F]"] {
        let is_tag = |at: &usize| *at == 0 || line[..*at].ends_with("] ");
        if let Some(at) = line.find(tag).filter(is_tag) {
            let body = &line[at + tag.len()..];
            return (tag == "[I]" && !body.starts_with(" [TRT]")).then_some(body);
        }
    }
    Some(line)
}

#[derive(Clone, Copy)]
struct Columns {
    name_first: bool,
    median: bool,
}

struct Row {
    timed: Timed,
    is_total: bool,
}

impl Columns {
    fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let name_first = line.starts_with("Layer");
        let is_header =
            (name_first || line.ends_with("Layer")) && line.contains("Time") && line.contains("Avg.");
        is_header.then(|| Columns { name_first, median: line.contains("Median") })
    }

    fn row(self, line: &str, runs: Option<i64>) -> Option<Row> {
        let count = if self.median { 4 } else { 3 };
        let mut cells = [""; 4];
        let mut rest = line.trim();
        // Names hold blanks: numbers are taken from their end of the line.
        for at in 0..count {
            let cell = if self.name_first {
                rest.rsplit(char::is_whitespace).next()
            } else {
                rest.split_whitespace().next()
            };
            let cell = cell.filter(|cell| !cell.is_empty() && cell.len() < rest.len())?;
            rest = match self.name_first {
                true => rest[..rest.len() - cell.len()].trim_end(),
                false => rest[cell.len()..].trim_start(),
            };
            cells[if self.name_first { count - 1 - at } else { at }] = cell;
        }
        let (total, average) = (Printed::of(cells[0])?, Printed::of(cells[1])?);
        let median_ns = if self.median { Some(Printed::of(cells[2])?.ns) } else { None };
        // Not a number where all layers together took no time.
        let percent: f64 = cells[count - 1].parse().ok()?;
        let total_ns = total.refined(average, runs);
        let is_total = rest == "Total" && percent == 100.0;
        Some(Row { timed: Timed { name: rest.to_owned(), total_ns, median_ns, runs }, is_total })
    }
}

#[derive(Clone, Copy)]
struct Printed {
    ns: i64,
    /// Half of its last digit.
    half_ns: i64,
}

impl Printed {
    fn of(cell: &str) -> Option<Self> {
        let digits = cell.split_once('.').map_or(0, |(_, digits)| digits.len());
        let ms: f64 = cell.parse().ok()?;
        let half = 0.5e6 / 10_f64.powi(i32::try_from(digits).ok()?);
        // A year is more than any engine runs.
        (0.0..=3.2e10)
            .contains(&ms)
            .then(|| Printed { ns: (ms * 1e6).round() as i64, half_ns: half.ceil() as i64 })
    }

    /// The total by the average, where that has more digits that count and the two agree: a layer of a loop
    /// runs more often than the engine.
    fn refined(self, average: Printed, runs: Option<i64>) -> i64 {
        let Some(runs) = runs else { return self.ns };
        let by_average = average.ns.saturating_mul(runs);
        let error = average.half_ns.saturating_mul(runs);
        let agree = by_average.abs_diff(self.ns) <= self.half_ns.saturating_add(error).unsigned_abs();
        if agree && error < self.half_ns { by_average } else { self.ns }
    }
}
