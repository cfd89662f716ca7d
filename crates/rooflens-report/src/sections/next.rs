//! What to do next: the last thing on the screen, since that is where the eye and the prompt are.
//! Pages have it right under the verdict.

use rooflens_analyze::Findings;
use rooflens_analyze::advice::AdviceList;
use rooflens_analyze::analyses::{Ledger, Verdict};

use crate::block::Block;
use crate::sections::{Detail, Section, advice};

/// Advice on one screen.
const MOST: usize = 3;

/// What a model would add.
const ADD_MODEL: &str = "Add --model CONFIG to see how far the kernels are from the limit";

pub(super) struct NextSection;

impl Section for NextSection {
    fn name(&self) -> &'static str {
        "next"
    }
    fn title(&self) -> &'static str {
        "Next"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        if !detail.is_screen() {
            return vec![];
        }
        let found = steps(findings);
        let mut blocks = vec![];
        if !found.is_empty() {
            blocks.push(Block::Steps(found));
        }
        if has_advice(findings) {
            blocks.push(Block::Text(
                "Evidence and how to do it: rooflens advise with the same arguments".to_owned(),
            ));
        }
        if lacks_model(findings) {
            blocks.push(Block::Text(ADD_MODEL.to_owned()));
        }
        blocks
    }
}

/// What to look at next, everywhere the same: the first advice with its gains, or what stands out where there is none.
pub(super) fn steps(findings: &Findings) -> Vec<String> {
    match findings.get::<AdviceList>() {
        Some(list) if !list.items.is_empty() => advice::titles(list, MOST),
        _ => findings.get::<Verdict>().map_or_else(Vec::new, |verdict| verdict.next.clone()),
    }
}

/// Whether kernels have no lower bound because nobody said which model ran.
fn lacks_model(findings: &Findings) -> bool {
    let Some(ledger) = findings.get::<Ledger>() else { return false };
    let reason = ledger.not_computed.get("floor");
    ledger.timeline == "device" && reason.is_some_and(|reason| reason.starts_with("no model was given"))
}

fn has_advice(findings: &Findings) -> bool {
    findings.get::<AdviceList>().is_some_and(|list| !list.items.is_empty())
}
