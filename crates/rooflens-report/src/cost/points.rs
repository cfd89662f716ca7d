//! Points of a sweep.

use rooflens_cost::sweep::Summary;

use super::design::assumptions;
use super::{NO_DEVICE, bytes, flops, seconds};
use crate::block::{Block, Cell, Column, LeftOut, Level, Row, Table};
use crate::render::Part;

/// What varies, and what each point costs.
#[derive(Debug)]
pub struct Points<'a> {
    /// Names of the axes.
    pub axes: Vec<&'static str>,
    /// The value of each axis, and what it costs.
    pub points: Vec<(&'a [String], &'a Summary)>,
    /// What all of it rests on.
    pub assumptions: &'a [String],
}

/// A sweep as a table of at most `rows` rows.
#[must_use]
pub fn points(sweep: &Points<'_>, rows: usize) -> Vec<Part> {
    let mut columns: Vec<Column> = sweep
        .axes
        .iter()
        .enumerate()
        .map(|(axis, name)| {
            // An axis is aligned as its values are.
            let numbers = sweep.points.iter().all(|(at, _)| at[axis].parse::<f64>().is_ok());
            if numbers { Column::number(name, name) } else { Column::text(name, name) }
        })
        .collect();
    columns.extend(SUMMARY.iter().map(|(column, _)| *column));
    let shown = sweep.points.len().min(rows);
    let row = |(at, summary): &(&[String], &Summary)| {
        let axes = at.iter().map(Cell::text);
        Row::new(axes.chain(SUMMARY.iter().map(|(_, cell)| cell(summary))).collect())
    };
    let table = Table {
        name: "points",
        columns,
        rows: sweep.points[..shown].iter().map(row).collect(),
        left_out: (sweep.points.len() > shown).then(|| LeftOut {
            rows: sweep.points.len() - shown,
            share: None,
            place: "--format csv and --format json",
        }),
    };
    vec![
        Part { name: "points", title: "", blocks: vec![Block::Table(table)] },
        assumptions(sweep.assumptions),
    ]
}

type SummaryField = (Column, fn(&Summary) -> Cell);

const SUMMARY: &[SummaryField] = &[
    (Column::number("seconds", "least time"), |point| Cell::or(point.seconds, seconds, NO_DEVICE)),
    (Column::number("tokens_per_s", "tokens/s"), |point| Cell::or(point.tokens_per_s, Cell::Mean, NO_DEVICE)),
    (Column::text("limit", "bound by"), |point| {
        Cell::or(point.limit, |limit| Cell::word(limit.as_str()), NO_DEVICE)
    }),
    (Column::number("mfu_ceiling", "MFU ≤").at(Level::Screen), |point| {
        Cell::or(point.mfu_ceiling, Cell::Share, NO_DEVICE)
    }),
    (Column::number("mbu_ceiling", "MBU ≤").at(Level::Screen), |point| {
        Cell::or(point.mbu_ceiling, Cell::Share, NO_DEVICE)
    }),
    (Column::number("flops", "useful"), |point| flops(point.flops)),
    (Column::number("bytes", "moved"), |point| bytes(point.bytes)),
    (Column::number("weight_bytes", "weights").at(Level::Page), |point| bytes(point.weight_bytes)),
    (Column::number("kv_read_bytes", "cache read").at(Level::Page), |point| bytes(point.kv_read_bytes)),
    (Column::number("intensity", "FLOP/B").at(Level::Screen), |point| Cell::Mean(point.intensity)),
    (Column::number("kv_bytes", "cache").at(Level::Screen), |point| bytes(point.kv_bytes)),
    (Column::number("memory_bytes", "memory").at(Level::Screen), |point| bytes(point.memory_bytes)),
    (Column::text("fits", "fits").at(Level::Screen), |point| {
        Cell::or(point.fits, |fits| Cell::word(if fits { "yes" } else { "no" }), NO_DEVICE)
    }),
];
