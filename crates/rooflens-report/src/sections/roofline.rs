//! How near kernels came to what the device can do: by class, operator of the model, kernel and layer; and by the
//! recorded shapes of the trace's own operators, where no model was given.

use std::borrow::Cow;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{
    ClassLedger, LayerTime, Ledger, PhaseLedger, RooflineRate, ShapeKernelRate, ShapeRate, ShapeRates,
};
use rooflens_analyze::ledger::{Achieved, KernelTime, OperatorTime};

use crate::block::Level::{Page, Raw, Screen};
use crate::block::{Block, Cell, Column, Field, Table};
use crate::format;
use crate::section::{Detail, words};

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let mut blocks = of_model(findings, detail);
    // On one screen what a model says stands for what shapes say.
    if blocks.is_empty() || !detail.is_screen() {
        blocks.extend(of_shapes(findings, detail));
    }
    blocks
}

fn of_model(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(ledger) = findings.get::<Ledger>() else { return vec![] };
    let phases: Vec<&PhaseLedger> =
        ledger.phases.iter().filter(|phase| !phase.operators.is_empty()).collect();
    let Some(source) = ledger.floor_of.as_ref().filter(|_| !phases.is_empty()) else { return vec![] };
    if detail.is_screen() {
        // The phase with the most time stands for all; the page has the others.
        return vec![
            Block::Text(format!("{} of {} on {}", words(&phases[0].phase), source.model, source.device)),
            Block::Table(classes(phases[0], detail.rows())),
        ];
    }
    let mut blocks = vec![Block::Text(format!(
        "Work and lower bounds are those of {} on {}, at the sizes of the trace's steps. Each operator of \
         the model is matched with its kernels in the order of execution.",
        source.model, source.device
    ))];
    for phase in phases {
        blocks.push(Block::Heading(format!(
            "{}: {}",
            words(&phase.phase),
            format::plural(phase.steps as i64, "step")
        )));
        let rows = detail.rows();
        let operators = with_rates(OPERATORS, &[OPERATOR_KERNELS]);
        let kernels = with_rates(KERNELS, &[KERNEL_OPERATORS]);
        let layers = with_rates(LAYERS, &[]);
        blocks.push(Block::Table(classes(phase, rows)));
        blocks.push(Block::table("roofline_operators", &operators, &phase.operators, rows));
        blocks.push(Block::table("roofline_kernels", &kernels, &phase.kernels, rows));
        blocks.push(Block::table("roofline_layers", &layers, &phase.model_layers, rows));
        if phase.missing_floor_ns > 0.0 {
            blocks.push(Block::Text(format!(
                "Operators with a lower bound of {} in total have no kernel of their own: they run inside others.",
                format::time(phase.missing_floor_ns)
            )));
        }
    }
    blocks
}

fn of_shapes(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(rates) = findings.get::<ShapeRates>() else { return vec![] };
    let peaks = match (&rates.device, rates.not_computed.get("roof_share")) {
        (Some(device), _) => format!("against the peaks of {device}"),
        (None, Some(reason)) => format!("without a share of the roof: {reason}"),
        (None, None) => "without a share of the roof".to_owned(),
    };
    if detail.is_screen() {
        let told: Vec<&ShapeRate> =
            rates.shapes.iter().filter(|row| row.rate.flops_per_s.is_some()).collect();
        if told.is_empty() {
            return vec![];
        }
        return vec![
            Block::Text(format!("matmuls by recorded shapes, not by a model, {peaks}")),
            Block::table("roofline_shapes", SHAPES, &told, detail.rows()),
        ];
    }
    vec![
        Block::Heading("Matmuls by recorded shapes".to_owned()),
        Block::Text(format!(
            "FLOPs and bytes are those of each operator alone, by the shapes of its inputs, {peaks}. This is \
             not the lower bound of a model: savings from fusion are not included."
        )),
        Block::table("roofline_shapes", SHAPES, &rates.shapes, detail.rows()),
        Block::table("roofline_shape_kernels", SHAPE_KERNELS, &rates.kernels, detail.rows()),
    ]
}

fn classes(phase: &PhaseLedger, rows: usize) -> Table {
    let classes: Vec<&ClassLedger> = phase.classes.iter().filter(|class| class.achieved.is_some()).collect();
    Table::new("roofline", &with_rates(CLASSES, &[]), &classes, rows)
}

const NO_WORK: &str = "no operator of the model uses it";

/// A row with what was achieved, where an operator of the model uses it.
trait Worked {
    fn achieved(&self) -> Option<&Achieved>;
}

impl Worked for ClassLedger {
    fn achieved(&self) -> Option<&Achieved> {
        self.achieved.as_ref()
    }
}

impl Worked for KernelTime {
    fn achieved(&self) -> Option<&Achieved> {
        self.achieved.as_ref()
    }
}

impl Worked for OperatorTime {
    fn achieved(&self) -> Option<&Achieved> {
        Some(&self.achieved)
    }
}

impl Worked for LayerTime {
    fn achieved(&self) -> Option<&Achieved> {
        Some(&self.achieved)
    }
}

fn of<T: Worked>(row: &T, cell: impl FnOnce(&Achieved) -> Cell) -> Cell {
    Cell::or(row.achieved(), cell, NO_WORK)
}

/// The columns of rates between others.
fn with_rates<T: Worked>(before: &[Field<T>], after: &[Field<T>]) -> Vec<Field<T>> {
    let rates: [Field<T>; 7] = [
        (LOST, |row| of(row, |it| Cell::Time(it.lost_ns))),
        (TERA, |row| {
            let rate = row.achieved().map(|it| it.flops_per_s).filter(|rate| *rate > 0.0);
            Cell::or(rate, |rate| Cell::amount(rate, "FLOP/s"), "it does not use tensor cores")
        }),
        (BANDWIDTH, |row| of(row, |it| Cell::Rate(it.bytes_per_s / 1e9))),
        (ROOF, |row| of(row, |it| Cell::Share(it.roof_share))),
        (LIMIT, |row| of(row, |it| Cell::word(&*it.limit))),
        (FLOPS, |row| of(row, |it| Cell::amount(it.flops, "FLOP"))),
        (BYTES, |row| of(row, |it| Cell::amount(it.bytes, "B"))),
    ];
    [before, &rates, after].concat()
}

const TIME: Column = Column::number("ns", "time").help("Over all steps of the phase.");
const BOUND: Column = Column::number("floor_ns", "lower bound").help("No kernel on this device is faster.");
const TERA: Column = Column::number("flop_per_s", "achieved").help("Model FLOPs / time.");
const BANDWIDTH: Column = Column::number("gb_per_s", "bandwidth").help("Bytes that must be moved / time.");
const ROOF: Column = Column::bar("roof_share", "of roof").help("Lower bound / time.");
const LOST: Column = Column::number("lost_ns", "lost").help("Time above the lower bound.");
const LIMIT: Column = Column::text("limit", "limit").help("Limiting resource.").at(Screen);
const FLOPS: Column = Column::number("flops", "FLOPs").at(Page);
const BYTES: Column = Column::number("bytes", "bytes").at(Page);

const CLASSES: &[Field<ClassLedger>] = &[
    (Column::text("class", "class"), |row| Cell::word(row.class.as_str())),
    (TIME, |row| Cell::Time(row.ns)),
    (BOUND, |row| Cell::or(row.floor_ns, Cell::Time, NO_WORK)),
];

const OPERATORS: &[Field<OperatorTime>] = &[
    (Column::text("operator", "operator of the model"), |row| Cell::code(row.operator.clone())),
    (Column::text("class", "class").at(Page), |row| Cell::code(&*row.class)),
    (Column::number("count", "times").help("Layers × steps."), |row| Cell::count(row.count)),
    (TIME, |row| Cell::Time(row.ns)),
    (BOUND, |row| Cell::Time(row.floor_ns)),
];

const OPERATOR_KERNELS: Field<OperatorTime> =
    (Column::text("kernels", "kernels").at(Page), |row| Cell::code(row.kernels.join(", ")));

const KERNELS: &[Field<KernelTime>] = &[
    (Column::text("kernel", "kernel"), |row| Cell::name(&row.short_name, &row.name)),
    (Column::text("class", "class"), |row| Cell::word(row.class.as_str())),
    (Column::number("count", "calls"), |row| Cell::count(row.count)),
    (TIME, |row| Cell::Time(row.ns)),
    (BOUND, |row| Cell::Time(row.floor_ns)),
];

const KERNEL_OPERATORS: Field<KernelTime> =
    (Column::text("operators", "operators of the model").at(Page), |row| {
        Cell::code(row.operators.join(", "))
    });

const LAYERS: &[Field<LayerTime>] = &[
    (Column::number("layer", "layer"), |row| Cell::count(row.layer)),
    (TIME, |row| Cell::Time(row.ns)),
    (BOUND, |row| Cell::Time(row.floor_ns)),
];

fn untold(rate: &RooflineRate) -> Cow<'static, str> {
    rate.no_roof.clone().unwrap_or(Cow::Borrowed("it took no time"))
}

fn shape_flops_per_s(rate: &RooflineRate) -> Cell {
    Cell::or(rate.flops_per_s, |rate| Cell::amount(rate, "FLOP/s"), untold(rate))
}

fn shape_bandwidth(rate: &RooflineRate) -> Cell {
    Cell::or(rate.bytes_per_s.map(|rate| rate / 1e9), Cell::Rate, untold(rate))
}

fn shape_flops(rate: &RooflineRate) -> Cell {
    Cell::or(rate.flops, |flops| Cell::amount(flops, "FLOP"), untold(rate))
}

fn shape_bytes(rate: &RooflineRate) -> Cell {
    Cell::or(rate.bytes, |bytes| Cell::amount(bytes, "B"), untold(rate))
}

fn no_roof(rate: &RooflineRate) -> Cell {
    Cell::or(rate.no_roof.as_deref(), Cell::text, "it has a share")
}

const DEVICE_TIME: Column =
    Column::number("ns", "time").help("Device time of everything that the calls launched.");
const SHAPE_BOUND: Column = Column::number("floor_ns", "lower bound")
    .help("The longer of FLOPs at the peak and bytes at memory bandwidth.")
    .at(Page);
const NO_ROOF: Column = Column::text("no_roof", "reason").at(Raw);

const SHAPES: &[Field<ShapeRate>] = &[
    // One name, so that rows stay distinct wherever a table is broken.
    (Column::text("call", "operator and shape"), |row| Cell::code(format!("{} {}", row.operator, row.sizes))),
    (Column::text("format", "format").help("Dtype of the multiplication.").at(Screen), |row| {
        Cell::or(row.format.as_deref(), Cell::word, "the trace does not record it")
    }),
    (Column::number("count", "calls").at(Screen), |row| Cell::count(row.count)),
    (DEVICE_TIME, |row| Cell::Time(row.ns)),
    (SHAPE_BOUND, |row| Cell::or(row.rate.floor_ns, Cell::Time, untold(&row.rate))),
    (LOST, |row| Cell::or(row.rate.lost_ns, Cell::Time, untold(&row.rate))),
    (TERA, |row| shape_flops_per_s(&row.rate)),
    (BANDWIDTH, |row| shape_bandwidth(&row.rate)),
    (ROOF, |row| Cell::or(row.rate.roof_share, Cell::Share, untold(&row.rate))),
    (LIMIT, |row| Cell::or(row.rate.limit.as_deref(), Cell::word, untold(&row.rate))),
    // A page of 1,400 pixels has no room for them beside the names of kernels.
    (FLOPS.at(Raw), |row| shape_flops(&row.rate)),
    (BYTES.at(Raw), |row| shape_bytes(&row.rate)),
    (Column::text("kernels", "kernels").at(Page), |row| {
        let names: Vec<&str> = row.kernels.iter().map(|kernel| kernel.short_name.as_str()).collect();
        Cell::code(names.join(", "))
    }),
    (Column::text("operator", "operator").at(Raw), |row| Cell::code(&row.operator)),
    (Column::text("sizes", "shape").at(Raw), |row| Cell::code(&row.sizes)),
    (Column::text("shapes", "shapes").at(Raw), |row| Cell::code(&row.shapes)),
    (Column::text("dtypes", "types").at(Raw), |row| Cell::code(&row.dtypes)),
    (NO_ROOF, |row| no_roof(&row.rate)),
];

const SHAPE_KERNELS: &[Field<ShapeKernelRate>] = &[
    (Column::text("kernel", "kernel"), |row| Cell::name(&row.short_name, &row.name)),
    (Column::number("count", "calls"), |row| Cell::count(row.count)),
    (Column::number("ns", "time").help("Its own time."), |row| Cell::Time(row.ns)),
    (SHAPE_BOUND, |row| Cell::or(row.rate.floor_ns, Cell::Time, untold(&row.rate))),
    (LOST, |row| Cell::or(row.rate.lost_ns, Cell::Time, untold(&row.rate))),
    (TERA, |row| shape_flops_per_s(&row.rate)),
    (BANDWIDTH, |row| shape_bandwidth(&row.rate)),
    (ROOF, |row| Cell::or(row.rate.roof_share, Cell::Share, untold(&row.rate))),
    (LIMIT, |row| Cell::or(row.rate.limit.as_deref(), Cell::word, untold(&row.rate))),
    (FLOPS, |row| shape_flops(&row.rate)),
    (BYTES, |row| shape_bytes(&row.rate)),
    (Column::text("operators", "operators and shapes").at(Page), |row| Cell::code(row.operators.join(", "))),
    (NO_ROOF, |row| no_roof(&row.rate)),
];
