//! The tables of a comparison.

use rooflens_analyze::compare::headline;
use rooflens_analyze::compare::{
    AccountRow, Check, ComparedLine, ConfigDifference, Entry, Headline, How, PhaseChange, PlaceChange, Ratio,
};

use crate::block::{Cell, ChartUnit, Column, Field, Level};
use crate::format;

pub(super) const LINES: &[Field<ComparedLine>] = &[
    (Column::text("label", "Kernel"), |line| Cell::code(named(line))),
    (Column::text("class", "Class").at(Level::Page), |line| Cell::word(&*line.class)),
    (Column::text("how", "How"), |line| Cell::word(how(line))),
    (Column::number("a_count", "Calls A").at(Level::Screen), |line| Cell::Mean(line.a_count)),
    (Column::number("b_count", "Calls B").at(Level::Screen), |line| Cell::Mean(line.b_count)),
    (Column::number("a_ns", "A"), |line| Cell::MeanTime(line.a_ns)),
    (Column::number("b_ns", "B"), |line| Cell::MeanTime(line.b_ns)),
    (Column::number("delta_ns", "Change"), |line| Cell::TimeChange(line.delta_ns)),
    (Column::text("phase", "Phase").at(Level::Screen), |line| Cell::word(&*line.phase)),
    (
        Column::text("inside", "Within")
            .at(Level::Page)
            .help("the operator, module or layer that holds both sides"),
        |line| Cell::or(line.inside.clone(), Cell::code, "matched by name"),
    ),
    (Column::number("p_adjusted", "p").at(Level::Page), |line| p(line.p_adjusted)),
];

pub(super) const ACCOUNT: &[Field<AccountRow>] = &[
    (Column::text("name", "Time"), |row| Cell::name(&entry(row), &row.name)),
    (Column::number("a_ns", "A"), |row| Cell::MeanTime(row.a_ns)),
    (Column::number("b_ns", "B"), |row| Cell::MeanTime(row.b_ns)),
    (Column::number("delta_ns", "Change"), |row| Cell::TimeChange(row.delta_ns)),
    (Column::number("change", "Change %"), |row| {
        Cell::or((row.a_ns > 0.0).then(|| row.delta_ns / row.a_ns), Cell::Change, "A has none of it")
    }),
    (Column::number("a_share", "Share A").at(Level::Screen).help("of wall time"), |row| {
        Cell::Share(row.a_share)
    }),
    (Column::number("b_share", "Share B").at(Level::Screen).help("of wall time"), |row| {
        Cell::Share(row.b_share)
    }),
    (Column::text("is_change", "Verdict").at(Level::Screen), |row| Cell::text(row_verdict(row))),
];

pub(super) const OPERATORS: &[Field<AccountRow>] = &[
    (Column::text("operator", "Operator"), |row| Cell::code(row.name.clone())),
    (
        Column::number("a_count", "Kernels A")
            .at(Level::Screen)
            .help("Kernels launched, without memory copies and fills."),
        |row| Cell::Mean(row.a_count),
    ),
    (Column::number("b_count", "Kernels B").at(Level::Screen), |row| Cell::Mean(row.b_count)),
    (Column::number("a_ns", "A"), |row| Cell::MeanTime(row.a_ns)),
    (Column::number("b_ns", "B"), |row| Cell::MeanTime(row.b_ns)),
    (Column::number("delta_ns", "Change"), |row| Cell::TimeChange(row.delta_ns)),
    (Column::number("change", "Change %"), |row| {
        Cell::or((row.a_ns > 0.0).then(|| row.delta_ns / row.a_ns), Cell::Change, "A has none of it")
    }),
];

/// A number, and whether the comparison holds.
pub(super) type Row = (Headline, bool);

pub(super) const HEADLINE: &[Field<Row>] = &[
    (Column::text("metric", "Metric"), |(row, _)| Cell::code(&*row.metric)),
    (Column::number("a", "A"), |(row, _)| value(&row.metric, row.a)),
    (Column::number("b", "B"), |(row, _)| value(&row.metric, row.b)),
    (Column::number("change", "Change"), |(row, _)| {
        Cell::or(changed(row), Cell::Change, "not measured on both sides")
    }),
    (Column::number("interval", "95 % interval"), |(row, _)| {
        Cell::or(row.ratio.as_ref().map(interval), Cell::text, "too few rounds")
    }),
    (Column::number("p", "p").at(Level::Screen), |(row, _)| p(row.p_adjusted)),
    (
        Column::number("least_change", "Detectable")
            .at(Level::Screen)
            .help("smaller changes are within the noise of the rounds"),
        |(row, _)| Cell::or(row.ratio.as_ref().and_then(least), Cell::Share, "too few rounds"),
    ),
    (Column::text("is_change", "Verdict"), |(row, is_valid)| Cell::text(verdict(row, *is_valid))),
];

pub(super) const PHASES: &[Field<PhaseChange>] = &[
    (Column::text("phase", "Phase"), |row| Cell::word(&*row.phase)),
    (Column::number("a_steps", "Steps A"), |row| Cell::count(row.a_steps)),
    (Column::number("b_steps", "Steps B"), |row| Cell::count(row.b_steps)),
    (
        Column::number("a_ns", "A per step").help("wall time of a typical step: mean of the middle half"),
        |row| Cell::MeanTime(row.a_ns),
    ),
    (Column::number("b_ns", "B per step"), |row| Cell::MeanTime(row.b_ns)),
    (Column::number("change", "Change"), |row| Cell::or(row.change(), Cell::Change, "A has none of it")),
    (Column::number("interval", "95 % interval").at(Level::Screen).help("of the ratio of medians"), |row| {
        Cell::or(row.ratio.as_ref().map(interval), Cell::text, "too few steps")
    }),
];

pub(super) const CHECKS: &[Field<Check>] = &[
    (Column::text("what", "Check"), |row| Cell::word(row.what.clone())),
    (Column::text("a", "A"), |row| Cell::or(row.a.clone(), Cell::text, "not known")),
    (Column::text("b", "B"), |row| Cell::or(row.b.clone(), Cell::text, "not known")),
    (Column::text("verdict", "Verdict"), |row| Cell::word(row.verdict.as_str())),
];

pub(super) const DIFFERENCES: &[Field<ConfigDifference>] = &[
    (Column::text("key", "Key"), |row| Cell::code(row.key.clone())),
    (Column::text("a", "A"), |row| Cell::or(row.a.clone(), Cell::text, "not there")),
    (Column::text("b", "B"), |row| Cell::or(row.b.clone(), Cell::text, "not there")),
];

pub(super) const PLACES: &[Field<PlaceChange>] = &[
    (Column::text("place", "Place"), |row| Cell::text(place(row))),
    (Column::text("scope", "Scope"), |row| {
        Cell::or(row.change.accounts.first(), |account| Cell::word(&*account.scope), NO_PHASE)
    }),
    (Column::number("a_ns", "Wall A"), |row| of_entry(row, Entry::Wall, |row| Cell::MeanTime(row.a_ns))),
    (Column::number("b_ns", "Wall B"), |row| of_entry(row, Entry::Wall, |row| Cell::MeanTime(row.b_ns))),
    (Column::number("a_idle", "Idle A"), |row| of_entry(row, Entry::Idle, |row| Cell::Share(row.a_share))),
    (Column::number("b_idle", "Idle B"), |row| of_entry(row, Entry::Idle, |row| Cell::Share(row.b_share))),
    (Column::number("changes", "Changed lines").at(Level::Screen), |row| {
        let lines = &row.change.lines;
        match lines.iter().any(|line| line.not_judged.is_none()) {
            true => Cell::count(lines.iter().filter(|line| line.is_change).count()),
            false => Cell::missing("no line was judged: too few steps"),
        }
    }),
];

pub(super) const NO_PHASE: &str = "no phase exists on both sides";

fn of_entry(row: &PlaceChange, entry: Entry, cell: fn(&AccountRow) -> Cell) -> Cell {
    row.change.accounts.first().and_then(|account| account.row(entry)).map_or(Cell::missing(NO_PHASE), cell)
}

/// What a row of an account is called; parts are indented below what they add up to.
fn entry(row: &AccountRow) -> String {
    let name = row.name.replace('_', " ");
    match row.entry {
        Entry::Wall => name,
        Entry::Busy => format!("- {name}"),
        Entry::Idle => format!("- {name}"),
        // Short, so that all columns fit on a screen.
        Entry::Class => format!("- - {}", class(&row.name).replace("communication", "comm")),
        Entry::Operator => format!("- - {name}"),
        Entry::Cause => format!("- - {}", cause(&row.name)),
    }
}

/// What ran, in words: of what kernels may overlap, only the time that is left counts.
pub(super) fn class(name: &str) -> String {
    match name {
        COMMUNICATION => "exposed communication".to_owned(),
        "memcpy" | "memset" => format!("exposed {name}"),
        other => other.replace('_', " "),
    }
}

pub(super) const COMMUNICATION: &str = "communication";

/// Why nothing ran, in words.
pub(super) fn cause(name: &str) -> String {
    match name {
        "host_code" => "host code between operators".to_owned(),
        other => other.replace('_', " "),
    }
}

fn row_verdict(row: &AccountRow) -> &'static str {
    let can_tell = row.ratio.as_ref().and_then(least).is_some_and(|least| least <= WORTH_SEEING);
    // Clearly apart, but so few steps could be so by chance.
    let is_apart = row.ratio.as_ref().is_some_and(|ratio| ratio.excludes_same() && ratio.exceeds_drift());
    match (row.is_change, row.p_adjusted) {
        (_, None) => "not judged",
        (true, _) => "changed",
        (false, _) if can_tell => "no change",
        (false, _) if is_apart => "likely, few steps",
        (false, _) => "may be chance",
    }
}

/// As "tpot_p50 9.02 ms → 9.10 ms (+0.9%)".
pub(super) fn told(row: &Headline) -> String {
    let name = headline::find(&row.metric).map_or(&*row.metric, |metric| metric.name());
    let unit = ChartUnit::of_metric(&row.metric);
    let words = |value: Option<f64>| value.map_or("–".to_owned(), |value| format::value(value, &unit));
    let change = changed(row).map(|change| format!(" ({})", format::change(change)));
    format!("{name} {} → {}{}", words(row.a), words(row.b), change.unwrap_or_default())
}

/// B against A: of a typical pair of rounds where they took turns, else of the values.
pub(super) fn changed(row: &Headline) -> Option<f64> {
    let of_values = || row.a.zip(row.b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0);
    row.ratio.as_ref().map(|ratio| ratio.ratio - 1.0).or_else(of_values)
}

/// The least change that could be told.
pub(super) fn least(ratio: &Ratio) -> Option<f64> {
    ratio.least_change.map(|least| least.max(ratio.drift))
}

pub(super) fn place(row: &PlaceChange) -> String {
    match row.device {
        Some(device) => format!("rank {}, device {device}", row.rank),
        None => format!("rank {}", row.rank),
    }
}

pub(super) fn sure(ratio: Option<&Ratio>, is_change: bool) -> Cell {
    match ratio {
        Some(ratio) if !is_change => Cell::text(format!("({})", format::change(ratio.ratio - 1.0))),
        ratio => change(ratio),
    }
}

pub(super) fn named(line: &ComparedLine) -> String {
    match &line.types {
        Some((a, b)) => format!("{} ({a} → {b})", line.label),
        None => line.label.clone(),
    }
}

fn how(line: &ComparedLine) -> &'static str {
    match line.how {
        How::Same => "same",
        How::Renamed => "renamed",
        How::Fused => "fused",
        How::Split => "split",
        How::Replaced => "replaced",
        How::OnlyInB => "only in B",
        How::OnlyInA => "only in A",
    }
}

fn change(ratio: Option<&Ratio>) -> Cell {
    Cell::or(ratio.map(|ratio| ratio.ratio - 1.0), Cell::Change, "too few values, or none in A")
}

pub(super) fn interval(ratio: &Ratio) -> String {
    format!("{} to {}", format::change(ratio.low - 1.0), format::change(ratio.high - 1.0))
}

fn p(p: Option<f64>) -> Cell {
    Cell::or(
        p.map(|p| if p < 0.001 { format!("{p:.0e}") } else { format!("{p:.3}") }),
        Cell::text,
        "too few values",
    )
}

pub(super) fn value(metric: &str, value: Option<f64>) -> Cell {
    Cell::or(value, |value| Cell::metric(metric, value), "not measured")
}

/// A change below this is worth seeing; rounds that cannot show it are too few or too unlike.
const WORTH_SEEING: f64 = 0.05;

fn verdict(row: &Headline, is_valid: bool) -> String {
    let Some(ratio) = &row.ratio else {
        let (a, b) = (row.a.unwrap_or(0.0), row.b.unwrap_or(0.0));
        return match (row.is_change, row.p_adjusted) {
            (true, _) if (b > a) == row.more_is_better => "better",
            (true, _) => "worse",
            (false, Some(_)) if a == b => "no change",
            (false, Some(_)) => "may be chance",
            (false, None) if row.not_judged.is_some() => "too few rounds",
            (false, None) => "not judged",
        }
        .to_owned();
    };
    let better = (ratio.ratio > 1.0) == row.more_is_better;
    let can_tell = least(ratio).is_some_and(|least| least <= WORTH_SEEING);
    match (is_valid, row.is_change, better) {
        (false, ..) => "not comparable",
        (_, true, true) => "better",
        (_, true, false) => "worse",
        (_, false, _) if can_tell && !ratio.excludes_same() => "no change",
        (_, false, _) => "may be chance",
    }
    .to_owned()
}
