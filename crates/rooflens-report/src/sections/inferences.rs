//! Runs of a compiled engine.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{DurationSpread, Inferences};

use crate::block::Level::{Page, Screen};
use crate::block::{Block, Cell, Column, Fact, Field};
use crate::section::Detail;

/// From here on, six digits of milliseconds are steps of 10 µs.
const COARSE_NS: i64 = 1_000_000_000;

pub(super) fn blocks(findings: &Findings, _detail: Detail) -> Vec<Block> {
    let Some(found) = findings.get::<Inferences>() else { return vec![] };
    let facts = vec![
        Fact::new("runs", Cell::count(found.runs)),
        Fact::new("in", Cell::Time(found.span_ns)),
        Fact::new("per second", Cell::or(found.runs_per_s, Cell::Mean, "no time elapsed"))
            .help("Runs / time from the first to the last."),
    ];
    let rows = [
        ("latency", found.latency.clone()),
        ("enqueue, on the host", found.enqueue.clone()),
        ("copies to the device", found.h2d.clone()),
        ("compute", found.compute.clone()),
        ("copies from the device", found.d2h.clone()),
    ];
    let mut blocks = vec![Block::Facts(facts)];
    if found.span_ns >= COARSE_NS {
        let words = "The file has six digits: after its first second, timestamps are precise to 10 µs, \
                     and so is the enqueue time, a difference of two. Its mean is precise, its \
                     percentiles are coarse.";
        blocks.push(Block::Text(words.to_owned()));
    }
    blocks.push(Block::table("inferences", FIELDS, &rows, usize::MAX));
    blocks
}

const FIELDS: &[Field<(&'static str, DurationSpread)>] = &[
    (Column::text("what", "stage of a run"), |row| Cell::text(row.0)),
    (Column::number("min_ns", "min").at(Screen), |row| Cell::Time(row.1.min_ns)),
    (Column::number("mean_ns", "mean"), |row| Cell::MeanTime(row.1.mean_ns)),
    (Column::number("p50_ns", "p50"), |row| Cell::Time(row.1.p50_ns)),
    (Column::number("p90_ns", "p90"), |row| Cell::Time(row.1.p90_ns)),
    (Column::number("p95_ns", "p95").at(Page), |row| Cell::Time(row.1.p95_ns)),
    (Column::number("p99_ns", "p99"), |row| Cell::Time(row.1.p99_ns)),
    (Column::number("max_ns", "max").at(Screen), |row| Cell::Time(row.1.max_ns)),
];
