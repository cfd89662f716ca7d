//! What to do next: the last thing on the screen, since that is where the eye and the prompt are.
//! Pages have it right under the verdict.

use rooflens_analyze::Findings;
use rooflens_analyze::advice::AdviceList;
use rooflens_analyze::analyses::Verdict;

use crate::block::Block;
use crate::sections::{Detail, Section, advice};

/// Advice on one screen.
const MOST: usize = 3;

pub(super) struct NextSection;

impl Section for NextSection {
    fn name(&self) -> &'static str {
        "next"
    }
    fn title(&self) -> &'static str {
        "Next"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        if let Some(list) =
            findings.get::<AdviceList>().filter(|list| detail.is_screen() && !list.items.is_empty())
        {
            let mut steps = advice::titles(list, MOST);
            steps.push("How, and what each rests on: rooflens advise with the same arguments".to_owned());
            return vec![Block::Steps(steps)];
        }
        match findings.get::<Verdict>() {
            Some(verdict) if detail.is_screen() && !verdict.next.is_empty() => {
                vec![Block::Steps(verdict.next.clone())]
            }
            _ => vec![],
        }
    }
}
