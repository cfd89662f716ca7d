//! What was measured: the numbers that a report of a run opens with.

use rooflens_analyze::Findings;
use rooflens_analyze::allocator::PassAllocator;
use rooflens_cost::measured::{PhaseEfficiency, RunPhase};

use crate::block::Level::Page;
use crate::block::{Block, Cell, Column, Fact, Field};
use crate::format;
use crate::run::{RunFacts, Times};
use crate::section::Detail;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
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
        blocks.push(Block::table("times", TIMES, &measured, detail.rows()));
    }
    blocks.extend(start(run).map(Block::Text));
    blocks.extend(allocator(run, detail));
    match &run.efficiency {
        Some(efficiency) => {
            let rows: Vec<Row> = efficiency.phases.iter().map(|(phase, of)| (*phase, of.clone())).collect();
            if !rows.is_empty() {
                blocks.push(Block::Heading("Achieved rates".to_owned()));
                blocks.push(Block::table("efficiency", EFFICIENCY, &rows, detail.rows()));
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

fn start(run: &RunFacts) -> Option<String> {
    let load = run.load_ns.map(|ns| format!("loading the model took {}", format::time(ns as f64)));
    let warmup = run.warmup.map(|(rounds, ns)| {
        format!("{} took {}", format::plural(rounds as i64, "warm-up round"), format::time(ns as f64))
    });
    let parts: Vec<String> = load.into_iter().chain(warmup).collect();
    (!parts.is_empty()).then(|| format!("Before the measured rounds: {}.", parts.join(", ")))
}

fn allocator(run: &RunFacts, detail: Detail) -> Vec<Block> {
    let known: Vec<PassAllocator> =
        run.allocator.iter().filter(|pass| pass.peak_reserved_bytes.is_some()).cloned().collect();
    if known.is_empty() {
        return vec![];
    }
    let mut blocks = vec![
        Block::Heading("CUDA allocator".to_owned()),
        Block::table("allocator", ALLOCATOR, &known, detail.rows()),
    ];
    let told = |pass: &PassAllocator, count: Option<u64>, what: &str| {
        let count = count.filter(|count| *count > 0)?;
        Some(format!("In the pass {} {what} {count} times.", pass.step))
    };
    let retries = "cudaMalloc failed and was retried after the cache was emptied,";
    let lines: Vec<String> = known
        .iter()
        .flat_map(|pass| {
            [
                told(pass, pass.num_alloc_retries, retries),
                told(pass, pass.num_ooms, "an allocation failed (out of memory),"),
            ]
        })
        .flatten()
        .collect();
    if !lines.is_empty() {
        blocks.push(Block::Lines(lines));
    }
    blocks
}

const NOT_TOLD: &str = "not reported by the allocator";

const ALLOCATOR: &[Field<PassAllocator>] = &[
    (Column::text("step", "pass"), |row| Cell::word(&row.step)),
    (Column::number("peak_allocated_bytes", "peak allocated"), |row| bytes(row.peak_allocated_bytes)),
    (Column::number("peak_reserved_bytes", "peak reserved"), |row| bytes(row.peak_reserved_bytes)),
    (
        Column::number("fragmentation", "fragmentation").help("Inactive split / reserved bytes at the end."),
        |row| Cell::or(row.fragmentation, Cell::Share, NOT_TOLD),
    ),
    (Column::number("inactive_split_bytes", "inactive split"), |row| bytes(row.inactive_split_bytes)),
    (Column::number("num_alloc_retries", "alloc retries"), |row| {
        Cell::or(row.num_alloc_retries, Cell::count, NOT_TOLD)
    }),
    (Column::number("num_ooms", "OOMs"), |row| Cell::or(row.num_ooms, Cell::count, NOT_TOLD)),
];

fn bytes(value: Option<u64>) -> Cell {
    Cell::or(value, |value| Cell::Bytes(value.try_into().unwrap_or(i64::MAX)), NOT_TOLD)
}

fn headline(run: &RunFacts) -> Vec<Fact> {
    let time = |title: &'static str| {
        let of = run.times.iter().find(|times| times.title == title);
        Fact::new(format!("{title} p50"), Cell::or(of.and_then(|of| of.p50_ns), Cell::MeanTime, NOT_MEASURED))
    };
    let rate = |label: &'static str, value: Option<f64>| {
        Fact::new(label, Cell::or(value, |rate| Cell::amount(rate, "tokens/s"), NOT_MEASURED))
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
        facts.push(mfu.help("Model FLOPs / (peak FLOP/s × time)."));
        let mbu = Fact::new(words("MBU"), Cell::or(of.mbu, Cell::Share, NO_PEAKS));
        facts.push(mbu.help("Bytes that must be moved / (peak bandwidth × time)."));
    }
    facts
}

const NOT_MEASURED: &str = "it was not measured";
const NO_PEAKS: &str = "no peaks of the device are known";

const TIMES: &[Field<Times>] = &[
    (Column::text("what", "time"), |row| Cell::text(&*row.title)),
    (Column::number("p50_ns", "p50"), |row| Cell::or(row.p50_ns, Cell::MeanTime, NOT_MEASURED)),
    (Column::number("p90_ns", "p90"), |row| Cell::or(row.p90_ns, Cell::MeanTime, NOT_MEASURED)),
    (Column::number("p99_ns", "p99"), |row| Cell::or(row.p99_ns, Cell::MeanTime, NOT_MEASURED)),
    (Column::number("mean_ns", "mean"), |row| Cell::or(row.mean_ns, Cell::MeanTime, NOT_MEASURED)),
];

type Row = (RunPhase, PhaseEfficiency);

const EFFICIENCY: &[Field<Row>] = &[
    (Column::text("phase", "phase"), |row| Cell::word(row.0.as_str())),
    (Column::number("steps", "steps").at(Page), |row| Cell::count(row.1.steps)),
    (Column::number("tokens", "tokens").help("Padding not counted."), |row| Cell::count(row.1.tokens)),
    (Column::number("measured_ns", "measured"), |row| Cell::MeanTime(row.1.measured_ns as f64)),
    (Column::number("flops", "model FLOPs").help("Model FLOPs."), |row| {
        Cell::amount(row.1.flops.useful as f64, "FLOP")
    }),
    (Column::number("bytes", "bytes").help("Bytes that must be moved."), |row| {
        Cell::amount(row.1.bytes.total as f64, "B")
    }),
    (Column::number("flops_per_s", "rate"), |row| {
        Cell::or(row.1.flops_per_s, |rate| Cell::amount(rate, "FLOP/s"), NOT_MEASURED)
    }),
    (Column::number("bytes_per_s", "bandwidth"), |row| {
        Cell::or(row.1.bytes_per_s, |rate| Cell::amount(rate, "B/s"), NOT_MEASURED)
    }),
    (Column::number("mfu", "MFU"), |row| Cell::or(row.1.mfu, Cell::Share, NO_PEAKS)),
    (Column::number("mbu", "MBU"), |row| Cell::or(row.1.mbu, Cell::Share, NO_PEAKS)),
    (
        Column::number("floor_ns", "lower bound")
            .help("Lower bound on the device, one operator after the other."),
        |row| Cell::or(row.1.floor_ns, Cell::MeanTime, NO_PEAKS),
    ),
    (Column::number("floor_share", "lower bound / measured"), |row| {
        Cell::or(row.1.floor_share, Cell::Share, NO_PEAKS)
    }),
];
