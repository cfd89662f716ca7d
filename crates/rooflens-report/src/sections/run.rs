//! What was measured: the numbers that a report of a run opens with.

use rooflens_analyze::Findings;
use rooflens_cost::measured::{PhaseEfficiency, RunPhase};

use crate::block::{Block, Cell, Column, Fact, Field, Level, Table};
use crate::run::{RunFacts, Times};
use crate::sections::{Detail, Section};

pub(super) struct RunSection;

impl Section for RunSection {
    fn name(&self) -> &'static str {
        "run"
    }
    fn title(&self) -> &'static str {
        "What was measured"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        let Some(run) = findings.get::<RunFacts>() else { return vec![] };
        if detail.is_screen() {
            return vec![];
        }
        let mut blocks = vec![Block::Text(run.what.clone())];
        let known: Vec<Fact> =
            headline(run).into_iter().filter(|fact| !matches!(fact.value, Cell::Missing(_))).collect();
        if !known.is_empty() {
            blocks.push(Block::Facts(known));
        }
        let measured: Vec<Times> = run.times.iter().filter(|times| times.p50_ns.is_some()).cloned().collect();
        if measured.is_empty() {
            let reason = run.times.iter().find_map(|times| times.reason.as_deref());
            let reason = reason.unwrap_or("no request of a workload was timed");
            blocks.push(Block::Text(format!("TTFT, TPOT and token rates were not measured: {reason}.")));
        } else {
            blocks.push(Block::Table(Table::new("times", TIMES, &measured, detail.rows())));
        }
        match &run.efficiency {
            Some(efficiency) => {
                let rows: Vec<Row> =
                    efficiency.phases.iter().map(|(phase, of)| (*phase, of.clone())).collect();
                if !rows.is_empty() {
                    blocks.push(Block::Heading("What was reached".to_owned()));
                    blocks.push(Block::Table(Table::new("efficiency", EFFICIENCY, &rows, detail.rows())));
                }
                let mut lines: Vec<String> =
                    efficiency.not_computed.iter().map(|(name, why)| format!("{name}: {why}.")).collect();
                if let Some(device) = &efficiency.device {
                    lines.push(format!("Peaks are those of {device}."));
                }
                lines.extend(efficiency.assumptions.iter().map(|line| format!("{line}.")));
                blocks.push(Block::Lines(lines));
            }
            None => blocks.extend(
                run.reasons
                    .get("efficiency")
                    .map(|why| Block::Text(format!("MFU and MBU are not computed: {why}."))),
            ),
        }
        blocks
    }
}

/// The numbers that people ask for first.
fn headline(run: &RunFacts) -> Vec<Fact> {
    let time = |title: &'static str| {
        let of = run.times.iter().find(|times| times.title == title);
        Fact::new(format!("{title} p50"), Cell::or(of.and_then(|of| of.p50_ns), Cell::MeanTime, NOT_MEASURED))
    };
    let rate = |label: &'static str, value: Option<f64>| {
        Fact::new(label, Cell::or(value, |rate| Cell::Amount(rate, "tokens/s"), NOT_MEASURED))
    };
    let mut facts = vec![
        time("TTFT"),
        time("TPOT"),
        rate("tokens, total", run.output_tokens_per_s),
        rate("tokens in decode", run.decode_tokens_per_s),
    ];
    for (phase, of) in run.efficiency.iter().flat_map(|efficiency| &efficiency.phases) {
        let words = |what: &str| format!("{what} {}", phase.as_str());
        let mfu = Fact::new(words("MFU"), Cell::or(of.mfu, Cell::Share, NO_PEAKS));
        facts.push(mfu.help("Useful operations over what the device could do in the time."));
        let mbu = Fact::new(words("MBU"), Cell::or(of.mbu, Cell::Share, NO_PEAKS));
        facts.push(mbu.help("Bytes that had to move over what memory could move in the time."));
    }
    facts
}

const NOT_MEASURED: &str = "it was not measured";
const NO_PEAKS: &str = "no peaks of the device are known";

const TIMES: &[Field<Times>] = &[
    (Column::text("what", "time"), |times| Cell::text(times.title)),
    (Column::number("p50_ns", "p50"), |times| Cell::or(times.p50_ns, Cell::MeanTime, NOT_MEASURED)),
    (Column::number("p90_ns", "p90"), |times| Cell::or(times.p90_ns, Cell::MeanTime, NOT_MEASURED)),
    (Column::number("p99_ns", "p99"), |times| Cell::or(times.p99_ns, Cell::MeanTime, NOT_MEASURED)),
    (Column::number("mean_ns", "mean"), |times| Cell::or(times.mean_ns, Cell::MeanTime, NOT_MEASURED)),
];

type Row = (RunPhase, PhaseEfficiency);

const EFFICIENCY: &[Field<Row>] = &[
    (Column::text("phase", "phase"), |row| Cell::word(row.0.as_str())),
    (Column::number("steps", "steps").at(Level::Page), |row| Cell::Count(count(row.1.steps.into()))),
    (Column::number("tokens", "tokens").help("Padding not counted."), |row| Cell::Count(count(row.1.tokens))),
    (Column::number("measured_ns", "measured"), |row| Cell::MeanTime(row.1.measured_ns as f64)),
    (Column::number("flops", "useful").help("Useful operations of the matrix units."), |row| {
        Cell::Amount(row.1.flops.useful as f64, "FLOP")
    }),
    (Column::number("bytes", "bytes").help("Bytes that had to move."), |row| {
        Cell::Amount(row.1.bytes.total as f64, "B")
    }),
    (Column::number("flops_per_s", "rate"), |row| {
        Cell::or(row.1.flops_per_s, |rate| Cell::Amount(rate, "FLOP/s"), NOT_MEASURED)
    }),
    (Column::number("bytes_per_s", "bandwidth"), |row| {
        Cell::or(row.1.bytes_per_s, |rate| Cell::Amount(rate, "B/s"), NOT_MEASURED)
    }),
    (Column::number("mfu", "MFU"), |row| Cell::or(row.1.mfu, Cell::Share, NO_PEAKS)),
    (Column::number("mbu", "MBU"), |row| Cell::or(row.1.mbu, Cell::Share, NO_PEAKS)),
    (Column::number("floor_ns", "least time").help("On the device, one operator after the other."), |row| {
        Cell::or(row.1.floor_ns, Cell::MeanTime, NO_PEAKS)
    }),
    (Column::number("floor_share", "least / measured"), |row| {
        Cell::or(row.1.floor_share, Cell::Share, NO_PEAKS)
    }),
];

fn count(number: u128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
