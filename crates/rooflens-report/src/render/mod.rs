//! The same blocks for each medium.

pub(crate) mod bars;
pub(crate) mod csv;
pub mod html;
pub(crate) mod markdown;
pub(crate) mod terminal;

use rooflens_analyze::Findings;
use rooflens_analyze::sampled::Sampled;

use crate::block::Block;
use crate::section::{Detail, Section};
use crate::sections;

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

/// What a report has in addition to the findings of a trace.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// Parts that do not come from a trace.
    pub more: &'a [Part],
    /// Rows of the tables of kernels and operators, in the report and on the page.
    pub top: Option<usize>,
    /// What was sampled while a run went on, for charts.
    pub sampled: Option<&'a Sampled>,
}

/// Sections whose tables the user may keep short: they have a row for every name there is.
const BY_NAME: &[&str] = &["kernels", "operators"];

/// The sections with something to show. Tables of kernels and operators have `top` rows, where that is said.
fn filled(
    sections: impl IntoIterator<Item = &'static Section>,
    findings: &Findings,
    detail: Detail,
    top: Option<usize>,
) -> Vec<Part> {
    let part = |section: &Section| {
        let top = top.filter(|_| BY_NAME.contains(&section.name));
        let detail = top.map_or(detail, |rows| detail.with_rows(rows));
        Part { name: section.name, title: section.title, blocks: section.blocks(findings, detail) }
    };
    sections.into_iter().map(part).filter(|part| !part.blocks.is_empty()).collect()
}

/// Every part of the report, with every row of its tables.
pub fn whole(findings: &Findings) -> Vec<Part> {
    filled(sections::ALL, findings, Detail::Full, None)
}

/// Sections that stand at the end, whatever a report has besides.
pub(crate) const LAST: &[&str] = &["health", "notes", "missing", "next"];

fn with_more(mut parts: Vec<Part>, more: &[Part]) -> Vec<Part> {
    let end = parts.iter().position(|part| LAST.contains(&part.name)).unwrap_or(parts.len());
    parts.splice(end..end, more.iter().filter(|part| !part.blocks.is_empty()).cloned());
    parts
}

/// A path below the page as a link: what could end it, leave the folder's scheme or be markup is written
/// as bytes.
pub(crate) fn url_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_only_a_path() {
        assert_eq!(url_path("../a b/c\"><.svg"), "../a%20b/c%22%3E%3C.svg");
        assert_eq!(url_path("javascript:alert(1)"), "javascript%3Aalert%281%29");
    }
}
