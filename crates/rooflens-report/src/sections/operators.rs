//! Which framework operators take the time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Kernels, OperatorStat, Operators, ShapeStat};

use crate::block::{Block, Cell, Column, Field, Level, Table, TableColumn};
use crate::sections::{Detail, Section};

pub(super) struct OperatorsSection;

impl Section for OperatorsSection {
    fn name(&self) -> &'static str {
        "operators"
    }
    fn title(&self) -> &'static str {
        "Operators"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
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
}

const FIELDS: &[Field<OperatorStat>] = &[
    (Column::text("name", "operator"), |operator| Cell::code(&operator.name)),
    (Column::number("count", "calls").at(Level::Screen), |operator| Cell::count(operator.count)),
    (Column::number("mean_ns", "mean").at(Level::Page), |operator| Cell::MeanTime(operator.mean_ns)),
    (Column::number("p50_ns", "median").at(Level::Page), |operator| Cell::Time(operator.p50_ns)),
    (Column::number("max_ns", "longest").at(Level::Page), |operator| Cell::Time(operator.max_ns)),
    (
        Column::number("total_ns", "host total")
            .at(Level::Page)
            .help("Host time, operators inside included."),
        |operator| Cell::Time(operator.total_ns),
    ),
    (
        Column::number("device_ns", "device total")
            .at(Level::Page)
            .help("Device time of everything launched inside."),
        |operator| Cell::Time(operator.device_ns),
    ),
    (
        Column::number("self_device_ns", "device self")
            .at(Level::Screen)
            .help("Device time launched directly by it, not by an operator inside."),
        |operator| Cell::Time(operator.self_device_ns),
    ),
    (
        Column::number("self_ns", "host self").help("Host time less that of the operators directly inside."),
        |operator| Cell::Time(operator.self_ns),
    ),
    (Column::text("input_shapes", "shapes").at(Level::Raw), |operator| Cell::text(shapes(operator))),
    (Column::number("cpu_memory_bytes", "host memory").at(Level::Raw), |operator| {
        bytes(operator.cpu_memory_bytes)
    }),
    (Column::number("self_cpu_memory_bytes", "host memory self").at(Level::Raw), |operator| {
        bytes(operator.self_cpu_memory_bytes)
    }),
    (Column::number("device_memory_bytes", "device memory").at(Level::Raw), |operator| {
        bytes(operator.device_memory_bytes)
    }),
    (Column::number("self_device_memory_bytes", "device memory self").at(Level::Raw), |operator| {
        bytes(operator.self_device_memory_bytes)
    }),
    (Column::bar("share", "host share").help("Share of all operators' self host time."), |operator| {
        Cell::Share(operator.share)
    }),
];

fn bytes(value: Option<i64>) -> Cell {
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

/// A shape in the columns of its operator.
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
