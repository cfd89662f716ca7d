//! How long steps and phases take, and which are slow.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Extent, PhaseExample, PhaseRole, PhaseStat, Phases};

use crate::block::Level::{Page, Raw, Screen};
use crate::block::{Block, Cell, Chart, ChartUnit, Column, Field, Mark, Series, Tone};
use crate::format;
use crate::section::{Detail, words};

/// Groups on one screen, with the line of step times.
const SCREEN: usize = 3;
/// Groups with a chart.
const CHARTS: usize = 6;
/// Fewer points than this say no more in a chart than in the table.
const POINTS: usize = 8;
/// Fewer steps than this are no line.
const FEWEST: usize = 3;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(Phases(phases)) = findings.get::<Phases>() else { return vec![] };
    if phases.is_empty() {
        return vec![];
    }
    // Of the kinds of steps, that with the most time; the page has the others.
    let is_drawn = |phase: &&PhaseStat| phase.role == PhaseRole::Step && phase.durations_ns.len() >= FEWEST;
    let drawn = phases.iter().find(is_drawn).filter(|_| detail.is_screen());
    let rows = match detail.is_screen() {
        true => detail.rows().min(SCREEN - usize::from(drawn.is_some())),
        false => detail.rows(),
    };
    let table = Block::table("phases", FIELDS, phases, rows);
    let left_out: Vec<Block> = phases.iter().take(rows).filter_map(left_out).map(Block::Text).collect();
    if detail.is_screen() {
        let spark = drawn.map(|phase| Block::Chart(Chart { title: spark_title(phase), ..durations(phase) }));
        return [table].into_iter().chain(left_out).chain(spark).collect();
    }
    let mut blocks: Vec<Block> = phases
        .iter()
        .filter(|phase| phase.durations_ns.len() >= POINTS)
        .take(CHARTS)
        .map(|phase| Block::Chart(durations(phase)))
        .collect();
    blocks.push(table);
    blocks.extend(left_out);
    let slowest: Vec<(String, PhaseExample)> = phases
        .iter()
        .take(detail.rows())
        .filter(|phase| phase.count > phase.slowest.len())
        .flat_map(|phase| phase.slowest.iter().map(|example| (phase.name.clone(), example.clone())))
        .collect();
    if !slowest.is_empty() {
        blocks.push(Block::Heading("Slowest ranges".to_owned()));
        blocks.push(Block::table("slowest_phases", SLOWEST, &slowest, detail.rows()));
    }
    blocks
}

fn spark_title(phase: &PhaseStat) -> String {
    let kind = words(phase.kind.as_str());
    let mut letters = kind.chars();
    match (kind.as_str(), letters.next()) {
        ("step", _) | (_, None) => "Step times".to_owned(),
        (_, Some(first)) => format!("{}{} steps", first.to_uppercase(), letters.as_str()),
    }
}

fn left_out(phase: &PhaseStat) -> Option<String> {
    let flawed: usize = phase.flawed.iter().map(|flawed| flawed.steps).sum();
    if flawed == 0 {
        return None;
    }
    let reasons: Vec<&str> = phase.flawed.iter().map(|flawed| reason(&flawed.reason)).collect();
    let reasons = reasons.join("; ");
    Some(match flawed < phase.count {
        true => format!(
            "{}: {flawed} of {} left out of these numbers: {reasons}.",
            words(phase.kind.as_str()),
            format::plural(phase.count as i64, "step"),
        ),
        false => format!("{}: every step is affected: {reasons}.", words(phase.kind.as_str())),
    })
}

fn reason(word: &str) -> &'static str {
    match word {
        "cut" => "the recording began or ended in it",
        "profiler" => "the profiler started, stopped or did its own work in it",
        _ => "the host waited in it for device work that is not in the trace",
    }
}

fn durations(phase: &PhaseStat) -> Chart {
    let points =
        phase.durations_ns.iter().enumerate().map(|(index, ns)| (index as f64, *ns as f64)).collect();
    // At most 2,000 are kept: then the axis counts what is kept, not what there was.
    let flawed: usize = phase.flawed.iter().map(|flawed| flawed.steps).sum();
    let picked = phase.durations_ns.len() + flawed < phase.count;
    let x = if picked { "in order of start, evenly sampled" } else { "in order of start" };
    let y = if phase.timeline == "device" { "device span" } else { "host duration" };
    let rules = phase.extent().map_or(vec![], |extent| {
        vec![("p50".into(), extent.p50_ns as f64), ("p99".into(), extent.p99_ns as f64)]
    });
    Chart {
        title: phase.name.clone(),
        x: (x.into(), ChartUnit::Index),
        y: (y.into(), ChartUnit::Time),
        mark: Mark::Points,
        series: vec![Series { label: y.to_owned(), tone: Tone::Plain, points }],
        rules,
    }
}

const NO_DEVICE: &str = "no device activity could be attributed";
const NO_HOST: &str = "recorded on the device only";
const NOT_TOLD: &str = "not in the annotations";

fn on_host(phase: &PhaseStat, part: fn(&Extent) -> i64) -> Cell {
    Cell::or(phase.host.as_ref().map(part), Cell::Time, NO_HOST)
}

fn span(phase: &PhaseStat, part: fn(&Extent) -> i64) -> Cell {
    Cell::or(phase.device_span.as_ref().map(part), Cell::Time, NO_DEVICE)
}

fn busy(phase: &PhaseStat, part: fn(&Extent) -> i64) -> Cell {
    Cell::or(phase.device_busy.as_ref().map(part), Cell::Time, NO_DEVICE)
}

const HOST: &str = "From begin to end on the host, which runs ahead of the device.";
const SPAN: &str = "From the start of the first device activity to the end of the last.";
const BUSY: &str = "Union of the device activities.";

const FIELDS: &[Field<PhaseStat>] = &[
    (Column::text("name", "name"), |row| Cell::code(&row.name)),
    (Column::text("also_named", "also named").at(Page), |row| {
        Cell::or(
            Some(row.also_named.join(", ")).filter(|names| !names.is_empty()),
            |names| Cell::code(&names),
            "one name",
        )
    }),
    (Column::text("kind", "kind").at(Screen), |row| match row.role {
        PhaseRole::HoldsSteps => Cell::word(row.role.as_str()),
        _ => Cell::word(row.kind.as_str()),
    }),
    (Column::text("source", "source").at(Page).help("Source of the phase."), |row| {
        Cell::word(row.source.as_str())
    }),
    (Column::number("count", "count"), |row| Cell::count(row.count)),
    (Column::number("flawed", "excluded").at(Raw).help("Steps that the recording disturbed."), |row| {
        Cell::count(row.flawed.iter().map(|flawed| flawed.steps).sum::<usize>())
    }),
    (Column::number("host_total_ns", "host total").at(Page).help(HOST), |row| on_host(row, |on| on.total_ns)),
    (Column::number("host_min_ns", "host shortest").at(Raw).help(HOST), |row| on_host(row, |on| on.min_ns)),
    (Column::number("host_p50_ns", "host p50").help(HOST), |row| on_host(row, |on| on.p50_ns)),
    (Column::number("host_p90_ns", "host p90").at(Raw).help(HOST), |row| on_host(row, |on| on.p90_ns)),
    (Column::number("host_max_ns", "host longest").at(Raw).help(HOST), |row| on_host(row, |on| on.max_ns)),
    (Column::number("device_span_p50_ns", "device p50").help(SPAN), |row| span(row, |on| on.p50_ns)),
    (Column::number("device_span_p90_ns", "device p90").at(Raw).help(SPAN), |row| span(row, |on| on.p90_ns)),
    (Column::number("device_span_p99_ns", "device p99").at(Screen).help(SPAN), |row| {
        span(row, |on| on.p99_ns)
    }),
    (Column::number("device_span_max_ns", "device longest").at(Raw).help(SPAN), |row| {
        span(row, |on| on.max_ns)
    }),
    (Column::number("device_busy_p50_ns", "device busy p50").at(Page).help(BUSY), |row| {
        busy(row, |on| on.p50_ns)
    }),
    (
        Column::number("drift", "drift")
            .at(Page)
            .help("Change from the first to the last, by linear regression."),
        |row| Cell::or(row.drift, Cell::Change, "fewer than eight"),
    ),
    (Column::number("activities", "activities").at(Raw), |row| {
        Cell::or(row.activities, Cell::Mean, NO_DEVICE)
    }),
    (Column::number("host_p99_ns", "host p99").at(Screen).help(HOST), |row| on_host(row, |on| on.p99_ns)),
    (Column::number("launches", "launches").at(Screen).help("Launching calls, mean."), |row| {
        Cell::or(row.launches, Cell::Mean, "no launches inside")
    }),
    (Column::number("batch", "batch").at(Page).help("Sequences in the batch, mean."), |row| {
        Cell::or(row.batch, Cell::Mean, NOT_TOLD)
    }),
    (Column::number("prefill_tokens", "prompt tokens").at(Page), |row| {
        Cell::or(row.prefill_tokens, Cell::Count, NOT_TOLD)
    }),
    (Column::number("decode_tokens", "decode tokens").at(Page), |row| {
        Cell::or(row.decode_tokens, Cell::Count, NOT_TOLD)
    }),
    (
        Column::number("confidence", "confidence")
            .at(Page)
            .help("Confidence of phases that Rooflens inferred."),
        |row| Cell::or(row.confidence, Cell::Share, "recorded, not inferred"),
    ),
    (
        Column::bar("device_busy_share", "device busy")
            .help("Share of the time on the device in which something runs, over all."),
        |row| Cell::or(row.device_busy_share, Cell::Share, NO_DEVICE),
    ),
];

const BEGINS: &str = "Where the range begins, on the host if it is recorded there, since the start of the first recording; \
                      negative on a rank whose clock is behind.";

const SLOWEST: &[Field<(String, PhaseExample)>] = &[
    (Column::text("group", "of"), |(group, _)| Cell::code(group)),
    (Column::text("name", "name"), |(_, example)| Cell::code(&example.name)),
    (Column::number("rank", "rank"), |(_, example)| Cell::count(example.rank)),
    (Column::number("ts_ns", "at").help(BEGINS), |(_, example)| Cell::At(example.ts_ns)),
    (
        Column::number("dur_ns", "duration").help("Device span, or on the host where there is no device."),
        |(_, example)| Cell::Time(example.dur_ns),
    ),
];
