//! What a model must cost, laid out: one design, two side by side, or a sweep.

mod comparison;
mod design;
mod figures;
mod lead;
mod points;

pub use comparison::{compared, differing_operators};
pub use design::{design, operators};
pub use figures::{FigureFile, design_figures, sweep_figures};
pub use points::{Points, SweepPointRef, points};

use rooflens_cost::step::Phase;

use crate::TerminalOptions;
use crate::block::{Block, Cell};
use crate::format;
use crate::render::{self, Part};

/// Parts on a terminal.
pub fn terminal(parts: &[Part], options: &TerminalOptions) -> String {
    render::terminal::parts(parts, options)
}

/// Parts as Markdown.
pub fn markdown(title: &str, parts: &[Part]) -> String {
    render::markdown::parts(title, parts)
}

/// Parts as a page that needs nothing but itself.
pub fn page(title: &str, parts: &[Part], footer: &'static str) -> String {
    render::html::parts(title, parts, footer)
}

/// The first table of the parts as CSV.
pub fn csv(parts: &[Part]) -> String {
    let tables = parts.iter().flat_map(|part| &part.blocks).filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    tables.into_iter().next().map(render::csv::table).unwrap_or_default()
}

fn seconds(value: f64) -> Cell {
    Cell::Seconds(value)
}

fn bytes(value: u128) -> Cell {
    Cell::amount(value as f64, "B")
}

fn flops(value: u128) -> Cell {
    Cell::amount(value as f64, "FLOP")
}

fn phase_title(phase: Phase) -> &'static str {
    match phase {
        Phase::Prefill => "Prefill",
        Phase::Decode => "Decode",
        Phase::Vision => "Vision",
        Phase::Encoder => "Encoder",
    }
}

const NO_DEVICE: &str = "no --hardware was given";

fn count(number: impl TryInto<i64>) -> String {
    format::count(number.try_into().unwrap_or(i64::MAX))
}
