//! Which framework operators take the time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Kernels, OperatorStat, Operators, ShapeStat};

use crate::block::Level::{Page, Raw, Screen};
use crate::block::{Block, Cell, Column, Field, Table, TableColumn};
use crate::section::Detail;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(Operators(operators)) = findings.get::<Operators>() else { return vec![] };
    if operators.is_empty() {
        return vec![];
    }
    let kernels = findings.get::<Kernels>().is_some_and(|kernels| !kernels.0.is_empty());
    let table = Table::new("operators", FIELDS, operators, detail.rows())
        .rest("operators.md and the JSON findings", operators, |operator| operator.share)
        .children(operators, |operator| operator.shapes.iter().map(shape).collect());
    let is_device = |column: &TableColumn| column.key.ends_with("device_ns");
    vec![Block::Table(if kernels {
        table
    } else {
        table.without(is_device, "the trace has no device activity")
    })]
}

const FIELDS: &[Field<OperatorStat>] = &[
    (Column::text("name", "operator"), |row| Cell::code(&row.name)),
    (Column::number("count", "calls").at(Screen), |row| Cell::count(row.count)),
    (Column::number("mean_ns", "mean").at(Page), |row| Cell::MeanTime(row.mean_ns)),
    (Column::number("p50_ns", "median").at(Page), |row| Cell::Time(row.p50_ns)),
    (Column::number("max_ns", "longest").at(Page), |row| Cell::Time(row.max_ns)),
    (
        Column::number("total_ns", "host total").at(Page).help("Host time, operators inside included."),
        |row| Cell::Time(row.total_ns),
    ),
    (
        Column::number("device_ns", "device total")
            .at(Page)
            .help("Device time of everything launched inside."),
        |row| Cell::Time(row.device_ns),
    ),
    (
        Column::number("self_device_ns", "device self")
            .at(Screen)
            .help("Device time launched directly by it, not by an operator inside."),
        |row| Cell::Time(row.self_device_ns),
    ),
    (
        Column::number("self_ns", "host self").help("Host time less that of the operators directly inside."),
        |row| Cell::Time(row.self_ns),
    ),
    (Column::text("input_shapes", "shapes").at(Raw), |row| Cell::text(shapes(row))),
    (Column::number("cpu_memory_bytes", "host memory").at(Raw), |row| bytes(row.cpu_memory_bytes)),
    (Column::number("self_cpu_memory_bytes", "host memory self").at(Raw), |row| {
        bytes(row.self_cpu_memory_bytes)
    }),
    (Column::number("device_memory_bytes", "device memory").at(Raw), |row| bytes(row.device_memory_bytes)),
    (Column::number("self_device_memory_bytes", "device memory self").at(Raw), |row| {
        bytes(row.self_device_memory_bytes)
    }),
    (Column::bar("share", "host share").help("Share of all operators' self host time."), |row| {
        Cell::Share(row.share)
    }),
];

pub(crate) fn bytes(value: Option<i64>) -> Cell {
    Cell::or(value, Cell::Bytes, "the trace was recorded without profile_memory")
}

/// Input shapes with how many calls have them, as `[[4, 8], [8]] x2; [[1, 8], [8]] x1`; calls beyond those
/// kept are `others`. Empty where no shapes were recorded.
pub fn shapes(operator: &OperatorStat) -> String {
    let mut words: Vec<String> =
        operator.shapes.iter().map(|shape| format!("{} x{}", shape.shapes, shape.count)).collect();
    let kept: usize = operator.shapes.iter().map(|shape| shape.count).sum();
    if !words.is_empty() && kept < operator.count {
        words.push(format!("others x{}", operator.count - kept));
    }
    words.join("; ")
}

fn shape(shape: &ShapeStat) -> Vec<Cell> {
    let none = || Cell::missing("not kept for each shape");
    vec![
        Cell::code(format!("{} {}", shape.shapes, shape.dtypes).trim()),
        Cell::count(shape.count),
        none(),
        none(),
        none(),
        Cell::Time(shape.total_ns),
        Cell::Time(shape.device_ns),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
    ]
}
