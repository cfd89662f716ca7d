//! What to do next: the last thing on the screen, since that is where the eye and the prompt are.
//! Pages have it right under the verdict.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::Verdict;

use crate::block::Block;
use crate::sections::{Detail, Section};

pub(super) struct NextSection;

impl Section for NextSection {
    fn name(&self) -> &'static str {
        "next"
    }
    fn title(&self) -> &'static str {
        "Next"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        match findings.get::<Verdict>() {
            Some(verdict) if detail.is_screen() && !verdict.next.is_empty() => {
                vec![Block::Steps(verdict.next.clone())]
            }
            _ => vec![],
        }
    }
}
