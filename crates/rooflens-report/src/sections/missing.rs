//! What was not computed, and why.

use rooflens_analyze::analyses::{self, Devices};
use rooflens_analyze::finding::NotComputed;
use rooflens_analyze::{Analysis, Findings};

use crate::block::{Block, Cell, Column, Field};
use crate::section::{Detail, words};

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    if findings.not_computed.is_empty() {
        return vec![];
    }
    if detail.is_screen() {
        // Of a log, a list of all that only a timeline has would hide what there is.
        let found = |analysis: &Analysis| findings.iter().any(|(name, _)| name == analysis.name);
        if findings.get::<Devices>().is_none()
            && analyses::ALL.iter().any(|analysis| analysis.is_special && found(analysis))
        {
            return vec![Block::Text("not available: this input has no timeline".to_owned())];
        }
        let mut reasons: Vec<(&str, Vec<String>)> = vec![];
        for missing in &findings.not_computed {
            let special = |analysis: &Analysis| analysis.is_special && analysis.name == missing.analysis;
            if analyses::ALL.iter().any(special) {
                continue;
            }
            let name = words(&missing.analysis);
            match reasons.iter_mut().find(|(reason, _)| *reason == missing.reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((&missing.reason, vec![name])),
            }
        }
        if reasons.is_empty() {
            return vec![];
        }
        let line = |(reason, names): (&str, Vec<String>)| format!("{}: {reason}", names.join(", "));
        return vec![Block::Text(reasons.into_iter().map(line).collect::<Vec<String>>().join("; "))];
    }
    vec![Block::table("not_computed", FIELDS, &findings.not_computed, usize::MAX)]
}

const FIELDS: &[Field<NotComputed>] = &[
    (Column::text("analysis", "what"), |row| Cell::word(&row.analysis)),
    (Column::text("reason", "reason"), |row| Cell::text(&row.reason)),
];
