//! The same blocks for each medium.

pub mod bars;
pub mod csv;
pub mod html;
pub mod markdown;
pub mod terminal;

use rooflens_analyze::Findings;

use crate::block::Block;
use crate::sections::{Detail, Section};

/// The sections with something to show.
fn filled(
    sections: &[&'static dyn Section],
    findings: &Findings,
    detail: Detail,
) -> Vec<(&'static dyn Section, Vec<Block>)> {
    sections
        .iter()
        .map(|section| (*section, section.blocks(findings, detail)))
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect()
}
