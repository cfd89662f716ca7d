//! Changes to the model's design: apart from other advice, as they take a training run, not a flag.

use rooflens_analyze::Findings;
use rooflens_analyze::advice::AdviceList;

use crate::block::Block;
use crate::sections::{Detail, Section, advice};

pub(super) struct DesignSection;

/// The heading.
pub(crate) const TITLE: &str = "Changes to the model's design";

impl Section for DesignSection {
    fn name(&self) -> &'static str {
        "design"
    }
    fn title(&self) -> &'static str {
        TITLE
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        match findings.get::<AdviceList>() {
            // The screen has only the first advice, at its end.
            Some(list) if !detail.is_screen() => advice::page(list, &advice::design(list), "design"),
            _ => vec![],
        }
    }
}
