//! GEMM calls from the log of a BLAS library.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{GemmShape, Gemms};

use crate::block::Level::{Page, Screen};
use crate::block::{Block, Cell, Column, Fact, Field, Table};
use crate::section::Detail;

const NO_TIMES: &str = "no timeline was joined";
const TOO_LARGE: &str = "the sizes are implausibly large";
const NO_TYPE: &str = "the log has no known type";

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(gemms) = findings.get::<Gemms>() else { return vec![] };
    let mut facts = vec![
        Fact::new("calls", Cell::count(gemms.calls)),
        Fact::new("shapes", Cell::count(gemms.shapes.len())),
        Fact::new("FLOPs", Cell::or(gemms.flops, flop, TOO_LARGE)),
        Fact::new("in kernels", Cell::or(gemms.kernel_ns, Cell::Time, NO_TIMES)),
        Fact::new("achieved", Cell::or(gemms.flop_per_s, flop_per_s, NO_TIMES))
            .help("FLOPs of the matched calls / time of their kernels."),
    ];
    if (1..gemms.calls).contains(&gemms.joined_calls) {
        facts.insert(1, Fact::new("of which timed", Cell::count(gemms.joined_calls)));
    }
    let mut blocks = vec![Block::Facts(facts)];
    if let Some(reason) = gemms.not_computed.get("kernel_ns") {
        blocks.push(Block::Text(format!("No times: {reason}.")));
    }
    let table = Table::new("gemms", FIELDS, &gemms.shapes, detail.rows());
    blocks.push(Block::Table(
        table.rest("the JSON findings", &gemms.shapes, |shape| shape.flops_share.unwrap_or(0.0)),
    ));
    blocks
}

fn flop(value: i64) -> Cell {
    Cell::amount(value as f64, "FLOP")
}

fn flop_per_s(value: f64) -> Cell {
    Cell::amount(value, "FLOP/s")
}

fn dtypes(shape: &GemmShape) -> String {
    let word = |dtype: &Option<String>| dtype.clone().unwrap_or_else(|| "?".to_owned());
    let (a, b, d) = (word(&shape.a_dtype), word(&shape.b_dtype), word(&shape.d_dtype));
    match a == b {
        true if b == d => a,
        true => format!("{a} → {d}"),
        false => format!("{a} × {b} → {d}"),
    }
}

const FIELDS: &[Field<GemmShape>] = &[
    (Column::text("shape", "m × n × k").help("In the library's column-major order."), |row| {
        let batch = if row.batch > 1 { format!("{} × ", row.batch) } else { String::new() };
        Cell::code(format!("{batch}{}×{}×{}", row.m, row.n, row.k))
    }),
    (Column::text("transposes", "op").help("Transposition of A and B: n none, t transposed."), |row| {
        Cell::word(&row.transposes)
    }),
    (Column::text("dtypes", "types"), |row| Cell::text(dtypes(row))),
    (Column::text("compute", "compute type").at(Page), |row| {
        Cell::or(row.compute.as_ref(), Cell::code, "the log does not record it")
    }),
    (Column::text("epilogue", "epilogue").at(Page), |row| {
        Cell::or(row.epilogue.as_ref(), Cell::code, "there is none")
    }),
    (Column::text("library", "library").at(Page), |row| Cell::word(&row.library)),
    (
        Column::text("algorithms", "algorithms")
            .at(Page)
            .help("Id, tile, stages and cluster, as the library names them."),
        |row| match row.algorithms.is_empty() {
            true => Cell::missing("the log does not record it"),
            false => Cell::code(row.algorithms.join(", ")),
        },
    ),
    (Column::number("calls", "calls"), |row| Cell::count(row.calls)),
    (Column::number("flops", "FLOPs per call"), |row| Cell::or(row.flops, flop, TOO_LARGE)),
    (Column::bar("flops_share", "share").help("Fraction of the FLOPs of all calls."), |row| {
        Cell::or(row.flops_share, Cell::Share, TOO_LARGE)
    }),
    (Column::number("bytes", "bytes").at(Page).help("A, B and the result once each."), |row| {
        Cell::or(row.bytes, Cell::Bytes, NO_TYPE)
    }),
    (Column::number("intensity", "FLOP/B").at(Screen), |row| Cell::or(row.intensity, Cell::Mean, NO_TYPE)),
    (Column::number("kernel_ns", "time"), |row| Cell::or(row.kernel_ns, Cell::Time, NO_TIMES)),
    (Column::number("flop_per_s", "achieved"), |row| Cell::or(row.flop_per_s, flop_per_s, NO_TIMES)),
    (Column::text("kernels", "kernels").at(Page), |row| match row.kernels.is_empty() {
        true => Cell::missing(NO_TIMES),
        false => Cell::code(row.kernels.join(", ")),
    }),
];
