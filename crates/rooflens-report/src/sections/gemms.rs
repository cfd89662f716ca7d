//! GEMM calls from the log of a BLAS library.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{GemmShape, Gemms};

use crate::block::{Block, Cell, Column, Fact, Field, Level, Table};
use crate::sections::{Detail, Section};

pub(super) struct GemmsSection;

const NO_TIMES: &str = "no timeline was joined";
const TOO_LARGE: &str = "the sizes are implausibly large";
const NO_TYPE: &str = "the log has no known type";

impl Section for GemmsSection {
    fn name(&self) -> &'static str {
        "gemms"
    }
    fn title(&self) -> &'static str {
        "GEMMs"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
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
    (Column::text("shape", "m × n × k").help("In the library's column-major order."), |shape| {
        let batch = if shape.batch > 1 { format!("{} × ", shape.batch) } else { String::new() };
        Cell::code(format!("{batch}{}×{}×{}", shape.m, shape.n, shape.k))
    }),
    (Column::text("transposes", "op").help("Transposition of A and B: n none, t transposed."), |shape| {
        Cell::word(&shape.transposes)
    }),
    (Column::text("dtypes", "types"), |shape| Cell::text(dtypes(shape))),
    (Column::text("compute", "compute type").at(Level::Page), |shape| {
        Cell::or(shape.compute.as_ref(), Cell::code, "the log does not record it")
    }),
    (Column::text("epilogue", "epilogue").at(Level::Page), |shape| {
        Cell::or(shape.epilogue.as_ref(), Cell::code, "there is none")
    }),
    (Column::text("library", "library").at(Level::Page), |shape| Cell::word(&shape.library)),
    (
        Column::text("algorithms", "algorithms")
            .at(Level::Page)
            .help("Id, tile, stages and cluster, as the library names them."),
        |shape| match shape.algorithms.is_empty() {
            true => Cell::missing("the log does not record it"),
            false => Cell::code(shape.algorithms.join(", ")),
        },
    ),
    (Column::number("calls", "calls"), |shape| Cell::count(shape.calls)),
    (Column::number("flops", "FLOPs per call"), |shape| Cell::or(shape.flops, flop, TOO_LARGE)),
    (Column::bar("flops_share", "share").help("Fraction of the FLOPs of all calls."), |shape| {
        Cell::or(shape.flops_share, Cell::Share, TOO_LARGE)
    }),
    (Column::number("bytes", "bytes").at(Level::Page).help("A, B and the result once each."), |shape| {
        Cell::or(shape.bytes, Cell::Bytes, NO_TYPE)
    }),
    (Column::number("intensity", "FLOP/B").at(Level::Screen), |shape| {
        Cell::or(shape.intensity, Cell::Mean, NO_TYPE)
    }),
    (Column::number("kernel_ns", "time"), |shape| Cell::or(shape.kernel_ns, Cell::Time, NO_TIMES)),
    (Column::number("flop_per_s", "achieved"), |shape| Cell::or(shape.flop_per_s, flop_per_s, NO_TIMES)),
    (Column::text("kernels", "kernels").at(Level::Page), |shape| match shape.kernels.is_empty() {
        true => Cell::missing(NO_TIMES),
        false => Cell::code(shape.kernels.join(", ")),
    }),
];
