//! Two runs side by side: the largest change first, then what it is made of, then whether to believe it.

use rooflens_analyze::compare::{
    Check, CheckVerdict, Difference, Headline, How, Line, Pair, PhaseChange, PlaceChange, Ratio,
};

use crate::block::{Block, Cell, Column, Field, Level, Row as TableRow, Table};
use crate::format;
use crate::render::{Part, html as page};

const LINES: &[Field<Line>] = &[
    (Column::text("phase", "Phase"), |line| Cell::word(line.phase)),
    (Column::text("label", "What"), |line| Cell::code(named(line))),
    (Column::text("how", "How").at(Level::Screen), |line| Cell::word(how(line))),
    (Column::number("a_count", "Calls A").at(Level::Screen), |line| Cell::Mean(line.a_count)),
    (Column::number("b_count", "Calls B").at(Level::Screen), |line| Cell::Mean(line.b_count)),
    (Column::number("a_ns", "A, a step"), |line| Cell::MeanTime(line.a_ns)),
    (Column::number("b_ns", "B, a step"), |line| Cell::MeanTime(line.b_ns)),
    (Column::number("delta_ns", "Change"), |line| Cell::text(signed(line.delta_ns))),
    (Column::number("ratio", "Change %").at(Level::Screen), |line| change(line.ratio.as_ref())),
    (Column::number("p_adjusted", "p").at(Level::Page), |line| p(line.p_adjusted)),
];

/// A number, and whether the comparison holds.
type Row = (Headline, bool);

const HEADLINE: &[Field<Row>] = &[
    (Column::text("metric", "Metric"), |(row, _)| Cell::code(row.metric)),
    (Column::number("a", "A"), |(row, _)| value(row.metric, row.a)),
    (Column::number("b", "B"), |(row, _)| value(row.metric, row.b)),
    (Column::number("change", "Change"), |(row, _)| change(row.ratio.as_ref())),
    (Column::text("interval", "95 % interval"), |(row, _)| {
        Cell::or(row.ratio.as_ref().map(interval), Cell::text, "too few rounds")
    }),
    (Column::number("p", "p").at(Level::Screen), |(row, _)| p(row.p_adjusted)),
    (
        Column::number("least_change", "Least")
            .at(Level::Screen)
            .help("a smaller change is within what the rounds of a side differ by themselves"),
        |(row, _)| Cell::or(row.ratio.as_ref().and_then(least), Cell::Share, "too few rounds"),
    ),
    (Column::text("is_change", "Verdict"), |(row, is_valid)| Cell::text(verdict(row, *is_valid))),
];

const PHASES: &[Field<PhaseChange>] = &[
    (Column::text("phase", "Phase"), |row| Cell::word(row.phase)),
    (Column::number("a_steps", "Steps A"), |row| Cell::count(row.a_steps)),
    (Column::number("b_steps", "Steps B"), |row| Cell::count(row.b_steps)),
    (Column::number("a_ns", "A, a step"), |row| Cell::MeanTime(row.a_ns)),
    (Column::number("b_ns", "B, a step"), |row| Cell::MeanTime(row.b_ns)),
    (Column::number("change", "Change"), |row| change(row.ratio.as_ref())),
    (Column::text("interval", "95 % interval"), |row| {
        Cell::or(row.ratio.as_ref().map(interval), Cell::text, "too few steps")
    }),
    (
        Column::number("common_ratio", "All work")
            .help("what all work of the phase shares, as on a slower machine"),
        |row| Cell::or(row.common_ratio.map(|ratio| ratio - 1.0), Cell::Change, "no work is on both sides"),
    ),
];

const CHECKS: &[Field<Check>] = &[
    (Column::text("what", "Check"), |row| Cell::word(row.what.clone())),
    (Column::text("a", "A"), |row| Cell::or(row.a.clone(), Cell::text, "not known")),
    (Column::text("b", "B"), |row| Cell::or(row.b.clone(), Cell::text, "not known")),
    (Column::text("verdict", "Verdict"), |row| Cell::word(row.verdict.as_str())),
];

const DIFFERENCES: &[Field<Difference>] = &[
    (Column::text("key", "Key"), |row| Cell::code(row.key.clone())),
    (Column::text("a", "A"), |row| Cell::or(row.a.clone(), Cell::text, "not there")),
    (Column::text("b", "B"), |row| Cell::or(row.b.clone(), Cell::text, "not there")),
];

const PLACES: &[Field<PlaceChange>] = &[
    (Column::text("place", "Place"), |row| Cell::text(place(row))),
    (Column::text("phase", "Phase"), |row| {
        Cell::or(row.change.phases.first(), |phase| Cell::word(phase.phase), NO_PHASE)
    }),
    (Column::number("a_ns", "A, a step"), |row| of_phase(row, |phase| Cell::MeanTime(phase.a_ns))),
    (Column::number("b_ns", "B, a step"), |row| of_phase(row, |phase| Cell::MeanTime(phase.b_ns))),
    (Column::number("change", "Change"), |row| of_phase(row, |phase| change(phase.ratio.as_ref()))),
    (Column::number("changes", "Changed lines"), |row| {
        Cell::count(row.change.lines.iter().filter(|line| line.is_change).count())
    }),
];

const NO_PHASE: &str = "no phase is on both sides";

fn of_phase(row: &PlaceChange, cell: fn(&PhaseChange) -> Cell) -> Cell {
    row.change.phases.first().map_or(Cell::Missing(NO_PHASE), cell)
}

/// Comparisons with the same A, with at most `limit` lines a table.
pub fn parts(pairs: &[Pair], limit: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    if pairs.len() > 1 {
        parts.push(overview(pairs));
    }
    parts.extend(
        pairs.iter().enumerate().map(|(at, pair)| part(pair, (pairs.len() > 1).then_some(at), limit)),
    );
    parts
}

/// One comparison; `at` is its place among several.
fn part(pair: &Pair, at: Option<usize>, limit: usize) -> Part {
    let above = at.map_or(String::new(), |at| format!(" ({} above)", letter(at).0));
    let mut blocks =
        vec![Block::Lead(lead(pair)), Block::Text(format!("A is {}, B is {}{above}.", pair.a, pair.b))];
    for place in pair.places.iter().take(1) {
        let only = [("A", &place.change.only_a), ("B", &place.change.only_b)];
        for (side, phases) in only.into_iter().filter(|(_, phases)| !phases.is_empty()) {
            blocks.push(Block::Text(format!("Only {side} has the phase {}.", phases.join(", "))));
        }
    }
    let mut section = |title: &str, table: Table| {
        if !table.rows.is_empty() {
            blocks.push(Block::Heading(title.to_owned()));
            blocks.push(Block::Table(table));
        }
    };
    section("Config", Table::new("differences", DIFFERENCES, &pair.differences, limit));
    let rounds: Vec<Row> = pair.headline.iter().map(|row| (row.clone(), pair.is_valid)).collect();
    section("Rounds", Table::new("headline", HEADLINE, &rounds, usize::MAX));
    if pair.places.len() > 1 {
        section("Ranks and devices", Table::new("places", PLACES, &pair.places, limit));
    }
    if let Some(first) = pair.places.first() {
        let of = |title: &str| {
            if pair.places.len() > 1 { format!("{title} of {}", place(first)) } else { title.to_owned() }
        };
        section(&of("Steps"), Table::new("phases", PHASES, &first.change.phases, usize::MAX));
        let changes: Vec<&Line> = first.change.lines.iter().filter(|line| line.is_change).collect();
        section(&of("Changes"), Table::new("changes", LINES, &changes, limit));
        let renamed = first.change.lines.iter();
        let renamed = renamed.filter(|line| !line.is_change && line.how != How::Same && line.what == "work");
        section(&of("Other names"), Table::new("renamed", LINES, &renamed.collect::<Vec<_>>(), limit));
    }
    section("Checks", Table::new("checks", CHECKS, &pair.checks, usize::MAX));
    Part { name: "comparison", title: "Comparison", blocks }
}

/// Inputs in columns: the number of A, then of each other with its change.
fn overview(pairs: &[Pair]) -> Part {
    let mut blocks: Vec<Block> =
        pairs.iter().map(|pair| Block::Lead(format!("{}: {}", pair.b, lead(pair)))).collect();
    let named = pairs.iter().enumerate().map(|(at, pair)| format!("{} is {}", letter(at).0, pair.b));
    let a = pairs.first().map_or("", |pair| &pair.a);
    blocks.push(Block::Text(format!("A is {a}, {}.", named.collect::<Vec<_>>().join(", "))));
    let columns = |first: Column| {
        let others = (0..pairs.len()).flat_map(|at| {
            let (title, key, key_of_change) = letter(at);
            [Column::number(key, title), Column::number(key_of_change, "Change")]
        });
        [first, Column::number("a", "A")].into_iter().chain(others).collect::<Vec<Column>>()
    };
    let mut section = |title: &str, name: &'static str, first: Column, rows: Vec<Vec<Cell>>| {
        if !rows.is_empty() {
            let rows = rows.into_iter().map(TableRow::new).collect();
            blocks.push(Block::Heading(title.to_owned()));
            blocks.push(Block::Table(Table { name, columns: columns(first), rows, left_out: None }));
        }
    };
    let Some(first) = pairs.first() else { return Part { name: "overview", title: "Overview", blocks } };
    let rounds = first.headline.iter().map(|row| {
        let mut cells = vec![Cell::code(row.metric), value(row.metric, row.a)];
        for pair in pairs {
            let found = pair.headline.iter().find(|found| found.metric == row.metric);
            cells.push(value(row.metric, found.and_then(|found| found.b)));
            cells.push(sure(
                found.and_then(|found| found.ratio.as_ref()),
                found.is_some_and(|found| found.is_change),
            ));
        }
        cells
    });
    section("Rounds", "rounds_of_all", Column::text("metric", "Metric"), rounds.collect());
    let phases_of = |pair: &'_ Pair| {
        pair.places
            .iter()
            .min_by_key(|place| (place.rank, place.device))
            .map(|place| place.change.phases.clone())
            .unwrap_or_default()
    };
    let of_first = phases_of(first);
    let steps = of_first.iter().map(|row| {
        let mut cells = vec![Cell::word(row.phase), Cell::MeanTime(row.a_ns)];
        for pair in pairs {
            let found = phases_of(pair).into_iter().find(|found| found.phase == row.phase);
            cells.push(Cell::or(found.as_ref().map(|found| found.b_ns), Cell::MeanTime, NO_PHASE));
            let ratio = found.as_ref().and_then(|found| found.ratio.as_ref());
            cells.push(change(ratio));
        }
        cells
    });
    section("Steps", "phases_of_all", Column::text("phase", "Phase"), steps.collect());
    Part { name: "overview", title: "Overview", blocks }
}

/// Of the other input at a place: its letter, the key of its column and that of its change.
fn letter(at: usize) -> (&'static str, &'static str, &'static str) {
    const LETTERS: &[(&str, &str, &str)] = &[
        ("B", "b", "b_change"),
        ("C", "c", "c_change"),
        ("D", "d", "d_change"),
        ("E", "e", "e_change"),
        ("F", "f", "f_change"),
        ("G", "g", "g_change"),
        ("H", "h", "h_change"),
        ("I", "i", "i_change"),
    ];
    LETTERS.get(at).copied().unwrap_or(("…", "other", "other_change"))
}

/// The same as a page of its own.
pub fn html(parts: &[Part]) -> String {
    page::parts("Comparison", parts, "Made by Rooflens.")
}

/// The largest change, in a sentence; first of all, whether it may be believed.
fn lead(pair: &Pair) -> String {
    let told = |check: &Check| {
        let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        format!("{} {} against {}", check.what.replace('_', " "), side(&check.a), side(&check.b))
    };
    let invalid = pair.checks.iter().filter(|check| check.verdict == CheckVerdict::Invalid);
    let invalid: Vec<String> = invalid.map(told).collect();
    let change = format!("{}{}", settings(pair), largest(pair));
    match invalid.as_slice() {
        [] => change,
        [one] => format!("Not comparable: {one}. {change}"),
        [first, rest @ ..] => format!("Not comparable: {first}, and {} more below. {change}", rest.len()),
    }
}

/// What the user changed, where that is so little that it is the answer: `model.dtype bf16 → fp32. `.
fn settings(pair: &Pair) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let told = |one: &Difference| format!("{} {} → {}", one.key, side(&one.a), side(&one.b));
    match pair.differences.as_slice() {
        few @ ([_] | [_, _]) => format!("{}. ", few.iter().map(told).collect::<Vec<_>>().join(", ")),
        _ => String::new(),
    }
}

/// A phase that is so different that few steps are enough to look there first: `prefill 83 ms → 316 ms a step, most
/// of it aten::mm (60 ms → 290 ms), in 2 and 2 steps: too few to be sure. `.
fn unsure(pair: &Pair, told_ns: f64) -> Option<String> {
    let at = pair.places.first()?;
    let in_all =
        |phase: &PhaseChange| (phase.b_ns - phase.a_ns).abs() * phase.a_steps.min(phase.b_steps) as f64;
    let is_other =
        |phase: &&PhaseChange| (phase.b_ns - phase.a_ns).abs() > CLEARLY * phase.a_ns.min(phase.b_ns);
    let phases = at.change.phases.iter().filter(|phase| phase.ratio.is_none()).filter(is_other);
    let phase = phases.max_by(|a, b| in_all(a).total_cmp(&in_all(b)))?;
    if in_all(phase) < told_ns {
        return None;
    }
    let lines = at.change.lines.iter().filter(|line| line.phase == phase.phase);
    let most = lines.max_by(|a, b| a.delta_ns.abs().total_cmp(&b.delta_ns.abs()));
    let most = most.map_or(String::new(), |line| {
        let (a, b) = (format::time(line.a_ns), format::time(line.b_ns));
        format!(", most of it {} ({a} → {b})", named(line))
    });
    let (a, b) = (format::time(phase.a_ns), format::time(phase.b_ns));
    Some(format!(
        "{}: {a} → {b} a step{most}, in {} and {} steps: too few to be sure. ",
        phase.phase, phase.a_steps, phase.b_steps
    ))
}

/// Half as much again.
const CLEARLY: f64 = 0.5;

fn largest(pair: &Pair) -> String {
    let first =
        pair.places.first().and_then(|at| Some((at, at.change.lines.iter().find(|line| line.is_change)?)));
    let number = pair.headline.iter().find(|row| row.is_change);
    let from = |(at, line): (&PlaceChange, &Line)| {
        let (a, b) = (format::time(line.a_ns), format::time(line.b_ns));
        let at = if pair.places.len() > 1 { format!("{}, ", place(at)) } else { String::new() };
        format!("{at}{}: {} {} a step ({a} → {b}).", line.phase, named(line), signed(line.delta_ns))
    };
    let told_ns = first.map_or(0.0, |(at, line)| {
        let phase = at.change.phases.iter().find(|phase| phase.phase == line.phase);
        line.delta_ns.abs() * phase.map_or(1.0, |phase| phase.a_steps.min(phase.b_steps) as f64)
    });
    if let Some(unsure) = unsure(pair, told_ns).filter(|_| first.is_some()) {
        let sure = first.map_or(String::new(), from);
        return format!("{unsure}{sure}");
    }
    match (first, number) {
        (Some(line), Some(row)) => format!("{} {}.", from(line), told(row)),
        (Some(line), None) => from(line),
        (None, Some(row)) => format!("{}.", told(row)),
        (None, None) => unchanged(pair),
    }
}

/// Why no change is told: there is none, or nobody can tell.
fn unchanged(pair: &Pair) -> String {
    let judged = pair.headline.iter().find_map(|row| Some((row, row.ratio.as_ref()?)));
    if let Some((row, least)) = judged.and_then(|(row, ratio)| Some((row, least(ratio)?))) {
        let least = format::share(least);
        return format!(
            "No change that is more than chance: {}; less than {least} could not be told.",
            told(row)
        );
    }
    let phases = pair.places.iter().flat_map(|place| &place.change.phases);
    let Some(phase) = phases.clone().find(|phase| phase.ratio.is_some()).or(phases.clone().next()) else {
        if let Some(row) = pair.headline.first() {
            return format!(
                "Not enough to tell: {}.",
                row.not_judged.as_deref().unwrap_or("it was not measured")
            );
        }
        return "Nothing to compare: no phase or measured round is on both sides.".to_owned();
    };
    let (a, b) = (format::time(phase.a_ns), format::time(phase.b_ns));
    let steps = format!("{} {a} → {b} a step", phase.phase);
    match &phase.ratio {
        Some(ratio) => {
            let change = format::change(ratio.ratio - 1.0);
            format!("No change that is more than chance: {steps} ({change}).")
        }
        None => format!(
            "Not enough steps to tell: {} and {}, and at least four are needed; {steps}.",
            phase.a_steps, phase.b_steps
        ),
    }
}

/// As "tpot_p50 9.02 ms → 9.10 ms (+0.9%)".
fn told(row: &Headline) -> String {
    let name = row.metric.trim_end_matches("_ns");
    let words = |value: Option<f64>| match value {
        Some(value) if row.metric.ends_with("_ns") => format::time(value),
        Some(value) => format!("{value:.1}"),
        None => "–".to_owned(),
    };
    let change = row.ratio.as_ref().map(|ratio| format!(" ({})", format::change(ratio.ratio - 1.0)));
    format!("{name} {} → {}{}", words(row.a), words(row.b), change.unwrap_or_default())
}

/// The least change that could be told.
fn least(ratio: &Ratio) -> Option<f64> {
    ratio.least_change.map(|least| least.max(ratio.drift))
}

fn place(row: &PlaceChange) -> String {
    match row.device {
        Some(device) => format!("rank {}, device {device}", row.rank),
        None => format!("rank {}", row.rank),
    }
}

/// A change, marked where it is more than chance.
fn sure(ratio: Option<&Ratio>, is_change: bool) -> Cell {
    match ratio {
        Some(ratio) if !is_change => Cell::text(format!("({})", format::change(ratio.ratio - 1.0))),
        ratio => change(ratio),
    }
}

fn named(line: &Line) -> String {
    match &line.types {
        Some((a, b)) => format!("{} ({a} → {b})", line.label),
        None => line.label.clone(),
    }
}

fn how(line: &Line) -> &'static str {
    match line.how {
        How::Same => "same",
        How::Renamed => "renamed",
        How::Fused => "fused",
        How::Split => "split",
        How::Replaced => "replaced",
        How::New => "new",
        How::Gone => "gone",
    }
}

fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "−" } else { "+" }, format::time(ns.abs()))
}

fn change(ratio: Option<&Ratio>) -> Cell {
    Cell::or(ratio.map(|ratio| ratio.ratio - 1.0), Cell::Change, "too few values, or none in A")
}

fn interval(ratio: &Ratio) -> String {
    format!("{} to {}", format::change(ratio.low - 1.0), format::change(ratio.high - 1.0))
}

fn p(p: Option<f64>) -> Cell {
    Cell::or(
        p.map(|p| if p < 0.001 { format!("{p:.0e}") } else { format!("{p:.3}") }),
        Cell::text,
        "too few values",
    )
}

fn value(metric: &str, value: Option<f64>) -> Cell {
    let is_time = metric.ends_with("_ns");
    let cell = |value| if is_time { Cell::MeanTime(value) } else { Cell::Amount(value, "tokens/s") };
    Cell::or(value, cell, "not measured")
}

/// A change below this is worth seeing; rounds that cannot show it are too few or too unlike.
const WORTH_SEEING: f64 = 0.05;

fn verdict(row: &Headline, is_valid: bool) -> String {
    let Some(ratio) = &row.ratio else {
        return row.not_judged.clone().unwrap_or_else(|| "not judged".to_owned());
    };
    let better = (ratio.ratio > 1.0) == row.more_is_better;
    let can_tell = least(ratio).is_some_and(|least| least <= WORTH_SEEING);
    match (is_valid, row.is_change, better) {
        (false, ..) => "not comparable",
        (_, true, true) => "better",
        (_, true, false) => "worse",
        (_, false, _) if can_tell => "no change",
        (_, false, _) => "not enough to tell",
    }
    .to_owned()
}
