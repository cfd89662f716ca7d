//! How long steps and phases take, and which are slow.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{PhaseExample, PhaseStat, Phases};

use crate::block::{Block, Cell, Chart, Column, Field, Level, Mark, Series, Table, Tone, Unit};
use crate::sections::{Detail, Section};

pub(super) struct PhasesSection;

/// Groups on one screen.
const SCREEN: usize = 3;
/// Groups with a chart.
const CHARTS: usize = 6;
/// Fewer points than this say no more in a chart than in the table.
const POINTS: usize = 8;

impl Section for PhasesSection {
    fn name(&self) -> &'static str {
        "phases"
    }
    fn title(&self) -> &'static str {
        "Steps and phases"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        let Some(Phases(phases)) = findings.get::<Phases>() else { return vec![] };
        if phases.is_empty() {
            return vec![];
        }
        let rows = if detail.is_screen() { detail.rows().min(SCREEN) } else { detail.rows() };
        let table = Block::Table(Table::new("phases", FIELDS, phases, rows));
        if detail.is_screen() {
            return vec![table];
        }
        let mut blocks: Vec<Block> = phases
            .iter()
            .filter(|phase| phase.durations_ns.len() >= POINTS)
            .take(CHARTS)
            .map(|phase| Block::Chart(durations(phase)))
            .collect();
        blocks.push(table);
        let slowest: Vec<(String, PhaseExample)> = phases
            .iter()
            .take(detail.rows())
            .filter(|phase| phase.count > phase.slowest.len())
            .flat_map(|phase| phase.slowest.iter().map(|example| (phase.name.clone(), example.clone())))
            .collect();
        if !slowest.is_empty() {
            blocks.push(Block::Heading("The slowest of each".to_owned()));
            blocks.push(Block::Table(Table::new("slowest_phases", SLOWEST, &slowest, detail.rows())));
        }
        blocks
    }
}

fn durations(phase: &PhaseStat) -> Chart {
    let points =
        phase.durations_ns.iter().enumerate().map(|(index, ns)| (index as f64, *ns as f64)).collect();
    // At most 2,000 are kept: then the axis counts what is kept, not what there was.
    let picked = phase.durations_ns.len() < phase.count;
    let x = if picked { "in order of start, evenly picked" } else { "in order of start" };
    Chart {
        title: phase.name.clone(),
        x: (x, Unit::Index),
        y: ("duration", Unit::Time),
        mark: Mark::Points,
        series: vec![Series { label: "duration".to_owned(), tone: Tone::Plain, points }],
        rules: vec![("p50", phase.p50_ns as f64), ("p99", phase.p99_ns as f64)],
    }
}

const NO_DEVICE: &str = "no device activity could be attributed";
const NOT_TOLD: &str = "the annotations do not tell";

const FIELDS: &[Field<PhaseStat>] = &[
    (Column::text("name", "name"), |phase| Cell::code(&phase.name)),
    (Column::text("kind", "kind").at(Level::Screen), |phase| Cell::word(phase.kind.as_str())),
    (Column::text("source", "source").at(Level::Page).help("Who says so."), |phase| {
        Cell::word(phase.source.as_str())
    }),
    (Column::number("count", "count"), |phase| Cell::count(phase.count)),
    (Column::number("total_ns", "total").at(Level::Page), |phase| Cell::Time(phase.total_ns)),
    (Column::number("mean_ns", "mean").at(Level::Raw), |phase| Cell::MeanTime(phase.mean_ns)),
    (Column::number("min_ns", "shortest").at(Level::Raw), |phase| Cell::Time(phase.min_ns)),
    (Column::number("p50_ns", "p50"), |phase| Cell::Time(phase.p50_ns)),
    (Column::number("p90_ns", "p90").at(Level::Page), |phase| Cell::Time(phase.p90_ns)),
    (Column::number("p99_ns", "p99"), |phase| Cell::Time(phase.p99_ns)),
    (Column::number("max_ns", "longest").at(Level::Screen), |phase| Cell::Time(phase.max_ns)),
    (
        Column::number("drift", "drift")
            .at(Level::Page)
            .help("Change from the first to the last, by a straight line through all."),
        |phase| Cell::or(phase.drift, Cell::Change, "fewer than eight"),
    ),
    (Column::number("device_busy_ns", "device busy").at(Level::Raw), |phase| {
        Cell::or(phase.device_busy_ns, Cell::MeanTime, NO_DEVICE)
    }),
    (Column::number("activities", "activities").at(Level::Raw), |phase| {
        Cell::or(phase.activities, Cell::Mean, NO_DEVICE)
    }),
    (Column::number("launches", "launches").at(Level::Screen).help("Launching calls, mean."), |phase| {
        Cell::or(phase.launches, Cell::Mean, "no launches inside")
    }),
    (Column::number("batch", "batch").at(Level::Page).help("Sequences in the batch, mean."), |phase| {
        Cell::or(phase.batch, Cell::Mean, NOT_TOLD)
    }),
    (Column::number("prefill_tokens", "prompt tokens").at(Level::Page), |phase| {
        Cell::or(phase.prefill_tokens, Cell::Count, NOT_TOLD)
    }),
    (Column::number("decode_tokens", "new tokens").at(Level::Page), |phase| {
        Cell::or(phase.decode_tokens, Cell::Count, NOT_TOLD)
    }),
    (
        Column::number("confidence", "confidence")
            .at(Level::Page)
            .help("How sure Rooflens is of phases that it found itself."),
        |phase| Cell::or(phase.confidence, Cell::Share, "recorded, not inferred"),
    ),
    (Column::bar("device_busy_share", "busy").help("Device time / duration, over all."), |phase| {
        Cell::or(phase.device_busy_share, Cell::Share, NO_DEVICE)
    }),
];

const SLOWEST: &[Field<(String, PhaseExample)>] = &[
    (Column::text("group", "of"), |(group, _)| Cell::code(group)),
    (Column::text("name", "name"), |(_, example)| Cell::code(&example.name)),
    (Column::number("rank", "rank"), |(_, example)| Cell::Count(example.rank.into())),
    (Column::number("ts_ns", "at").help("Start, since the run's clock base."), |(_, example)| {
        Cell::At(example.ts_ns)
    }),
    (Column::number("dur_ns", "duration"), |(_, example)| Cell::Time(example.dur_ns)),
];
