//! The tables for programs.

use rooflens_analyze::Findings;
use rooflens_report::{CsvTable, csv};

use crate::sample;

#[test]
fn gaps() {
    insta::assert_snapshot!(csv(&sample::decode(), CsvTable::Gaps).replace('\r', ""));
}

#[test]
fn devices() {
    insta::assert_snapshot!(csv(&sample::decode(), CsvTable::Devices).replace('\r', ""));
}

#[test]
fn headers() {
    let findings = sample::decode();
    let header = |table: &CsvTable| csv(&findings, *table).lines().next().unwrap_or_default().to_owned();
    insta::assert_snapshot!(CsvTable::ALL.iter().map(header).collect::<Vec<String>>().join("\n"));
}

#[test]
fn every_row_is_there_unrounded() {
    let text = csv(&sample::fleet(), CsvTable::Kernels);
    assert_eq!(text.matches("\r\n").count(), 10_001);
    assert!(text.contains(",999901,"));
}

/// Reads RFC 4180 back: rows of fields.
fn read(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (vec![], vec![], String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => field.extend(chars.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut field)),
            ('\r', false) => {}
            ('\n', false) => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            (other, _) => field.push(other),
        }
    }
    rows
}

#[test]
fn what_a_trace_holds_stays_in_its_field() {
    // A roofline needs a model, and its names are cells like those of the kernels.
    for table in CsvTable::ALL.iter().filter(|table| !table.name().starts_with("roofline")) {
        let rows = read(&csv(&sample::hostile(), *table));
        assert!(rows.len() > 1, "{table:?}");
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{table:?}");
    }
    let kernels = read(&csv(&sample::hostile(), CsvTable::Kernels));
    assert!(kernels[1][0].starts_with(sample::HARM));
}

#[test]
fn nothing() {
    assert!(CsvTable::ALL.iter().all(|table| csv(&Findings::default(), *table).is_empty()));
}
