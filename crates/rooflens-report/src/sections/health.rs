//! Whether the trace can be trusted.

use std::borrow::Cow;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Health, HealthCheck, Trace};

use crate::block::{Block, Cell, Column, Field, Grade, Remark};
use crate::format;
use crate::section::Detail;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let mut blocks = vec![];
    let checks = findings.get::<Health>().map(|health| health.0.as_slice()).unwrap_or_default();
    let mut remarks: Vec<Remark> =
        checks.iter().filter(|check| !(check.ok && detail.is_screen())).map(remark).collect();
    remarks.sort_by_key(|remark| std::cmp::Reverse(remark.grade));
    if !remarks.is_empty() {
        blocks.push(Block::Remarks(remarks));
    }
    if let (false, Some(trace)) = (detail.is_screen(), findings.get::<Trace>()) {
        let rows: Vec<(Cow<'static, str>, usize)> =
            trace.rows.iter().map(|(table, rows)| (table.clone(), *rows)).collect();
        blocks.push(Block::table("trace_rows", ROWS, &rows, usize::MAX));
        let properties = properties(trace);
        blocks.push(Block::table("trace_properties", PROPERTIES, &properties, 200));
    }
    blocks
}

fn remark(check: &HealthCheck) -> Remark {
    Remark {
        grade: if check.ok { Grade::Ok } else { Grade::Warning },
        code: check.name.to_string(),
        count: None,
        source: String::new(),
        message: check.message.clone(),
    }
}

fn properties(trace: &Trace) -> Vec<(String, String)> {
    let clock = if trace.microsecond_clock { "whole microseconds" } else { "nanoseconds" };
    let mut rows = vec![("format".to_owned(), trace.format.clone()), ("clock".to_owned(), clock.to_owned())];
    rows.extend(trace.sources.iter().map(|source| ("source".to_owned(), source.clone())));
    if trace.ranks > trace.sources.len() {
        let more = (trace.ranks - trace.sources.len()) as i64;
        rows.push(("source".to_owned(), format!("and {} more", format::count(more))));
    }
    rows.extend(trace.properties.iter().map(|(name, value)| (name.clone(), value.clone())));
    rows
}

const ROWS: &[Field<(Cow<'static, str>, usize)>] = &[
    (Column::text("table", "table"), |row| Cell::word(&*row.0)),
    (Column::number("rows", "rows"), |row| Cell::count(row.1)),
];

const PROPERTIES: &[Field<(String, String)>] = &[
    (Column::text("property", "property"), |row| Cell::word(&row.0)),
    (Column::text("value", "value"), |row| Cell::code(&row.1)),
];
