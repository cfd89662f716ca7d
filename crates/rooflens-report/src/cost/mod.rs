//! What a model must cost, laid out: one design, two side by side, or a sweep.

mod best;
mod comparison;
mod design;
mod figures;
mod lead;
mod needs;
mod operators;
mod points;
mod sweep;

pub use comparison::{compared, differing_operators};
pub use design::design;
pub use figures::{FigureFile, design_figures};
pub use operators::operators;
pub use points::{Points, SweepPointRef, points};
pub use sweep::sweep_figures;

use rooflens_cost::step::Phase;

use crate::TerminalOptions;
use crate::block::{Block, Cell};
use crate::render::{self, Part};

/// Parts on a terminal.
#[must_use]
pub fn terminal(parts: &[Part], options: &TerminalOptions) -> String {
    render::terminal::parts(parts, options)
}

/// Parts as Markdown.
#[must_use]
pub fn markdown(title: &str, parts: &[Part]) -> String {
    render::markdown::parts(title, parts)
}

/// Parts as a page that needs nothing but itself.
#[must_use]
pub fn page(title: &str, parts: &[Part], footer: &'static str) -> String {
    render::html::parts(title, parts, footer)
}

/// The first table of the parts as CSV.
#[must_use]
pub fn csv(parts: &[Part]) -> String {
    let tables = parts.iter().flat_map(|part| &part.blocks).filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    tables.into_iter().next().map(render::csv::table).unwrap_or_default()
}

/// A duration in seconds.
fn seconds(value: f64) -> Cell {
    Cell::Seconds(value)
}

/// Bytes of memory traffic and sizes, in the decimal units of data sheets.
fn bytes(value: u128) -> Cell {
    Cell::amount(value as f64, "B")
}

/// Operations.
fn flops(value: u128) -> Cell {
    Cell::amount(value as f64, "FLOP")
}

/// What a phase is called.
fn phase_title(phase: Phase) -> &'static str {
    match phase {
        Phase::Prefill => "Prefill",
        Phase::Decode => "Decode",
        Phase::Vision => "Vision",
        Phase::Encoder => "Encoder",
    }
}

const NO_DEVICE: &str = "no --hardware was given";
