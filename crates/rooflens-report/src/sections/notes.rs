//! Problems met on the way. What was lost or may mislead is always shown.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rooflens_analyze::Findings;
use rooflens_schema::{Note, Severity};

use crate::block::{Block, Grade, Remark};
use crate::format;
use crate::section::Detail;

/// Files that a page names for one problem.
const FILES: usize = 3;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let notes = &findings.notes;
    if notes.is_empty() {
        return vec![];
    }
    if !detail.is_screen() {
        let all: Vec<&Note> = notes.iter().collect();
        return vec![Block::Remarks(grouped(&all, |note| (&note.code, &note.message), FILES))];
    }
    let (minor, major): (Vec<&Note>, Vec<&Note>) =
        notes.iter().partition(|note| note.severity == Severity::Info);
    let mut blocks = vec![];
    if !major.is_empty() {
        blocks.push(Block::Remarks(grouped(&major, |note| (&note.code, ""), 1)));
    }
    if !minor.is_empty() {
        let count = format::plural(minor.len() as i64, "note");
        blocks.push(Block::Text(format!("{count} for information only: in the report that `-o` writes.")));
    }
    blocks
}

fn remark(note: &Note) -> Remark {
    Remark {
        grade: match note.severity {
            Severity::Info => Grade::Info,
            Severity::Warning => Grade::Warning,
            Severity::DataLoss => Grade::DataLoss,
        },
        code: note.code.clone(),
        count: Some(note.count),
        source: note.source.clone(),
        message: note.message.clone(),
    }
}

/// A thousand ranks with one problem are one remark, worst first. So many files are named.
fn grouped<'a>(notes: &[&'a Note], key: fn(&'a Note) -> (&'a str, &'a str), named: usize) -> Vec<Remark> {
    let mut groups: BTreeMap<_, Vec<&Note>> = BTreeMap::new();
    for note in notes {
        groups.entry((Reverse(note.severity), key(note))).or_default().push(note);
    }
    groups
        .into_values()
        .map(|notes| {
            let mut one = remark(notes[0]);
            one.count = Some(notes.iter().map(|note| note.count).fold(0, i64::saturating_add));
            if notes.len() > named {
                let first = notes[..named].iter().map(|note| note.source.as_str());
                let rest = format::count((notes.len() - named) as i64);
                one.source = match named {
                    0 | 1 => format::plural(notes.len() as i64, "file"),
                    _ => format!("{} and {rest} more", first.collect::<Vec<&str>>().join(", ")),
                };
            } else {
                one.source = notes.iter().map(|note| note.source.as_str()).collect::<Vec<&str>>().join(", ");
            }
            one
        })
        .collect()
}
