//! The same blocks for each medium.

pub mod bars;
pub mod csv;
pub mod html;
pub mod markdown;
pub mod terminal;

use rooflens_analyze::Findings;

use crate::block::Block;
use crate::sections::{Detail, Section};

/// Blocks under a title.
#[derive(Debug, Clone)]
pub struct Part {
    /// Stable word: anchor in HTML.
    pub name: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What there is to show.
    pub blocks: Vec<Block>,
}

/// The sections with something to show.
fn filled(sections: &[&'static dyn Section], findings: &Findings, detail: Detail) -> Vec<Part> {
    let part = |section: &&'static dyn Section| Part {
        name: section.name(),
        title: section.title(),
        blocks: section.blocks(findings, detail),
    };
    sections.iter().map(part).filter(|part| !part.blocks.is_empty()).collect()
}

/// Sections that stand at the end, whatever a report has besides.
const LAST: &[&str] = &["health", "notes", "missing", "next"];

/// Puts what does not come from the trace behind what does.
fn with_more(mut parts: Vec<Part>, more: &[Part]) -> Vec<Part> {
    let end = parts.iter().position(|part| LAST.contains(&part.name)).unwrap_or(parts.len());
    parts.splice(end..end, more.iter().filter(|part| !part.blocks.is_empty()).cloned());
    parts
}
