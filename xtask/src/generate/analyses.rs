//! The analyses, from what `rooflens explain` prints.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use rooflens_analyze::analyses::ALL;

use super::cell;

pub fn page() -> Result<String> {
    let mut page = "# Analyses\n\nEach answers one question; its answer is a key of `rooflens analyze --format json`, \
                    in this order, and a file of `DIR/findings/`. `rooflens explain <name>` prints the same text.\n\n\
                    | analysis | question | needs |\n| --- | --- | --- |\n"
        .to_owned();
    for analysis in ALL {
        let (name, question) = (analysis.name(), cell(analysis.question()));
        writeln!(page, "| [`{name}`](#{name}) | {question} | {} |", cell(analysis.needs()))?;
    }
    for analysis in ALL {
        ensure!(!analysis.explain().is_empty(), "analysis {} explains nothing", analysis.name());
        let explained = analysis.explain().trim();
        writeln!(page, "\n## {}\n\n{}\n\n{explained}", analysis.name(), analysis.question())?;
    }
    Ok(page)
}
