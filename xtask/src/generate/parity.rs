//! docs/parity.md: what llm-perf-opt offers, where it is in Rooflens, and the tests that hold it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::claims::tests_named;
use super::markdown::{cell, test_link};

const ROWS: &str = include_str!("parity.tsv");

/// Rows that were missing when the comparison was made: each has a test that is named after it.
const CLOSED: &[u32] = &[
    4, 5, 6, 9, 10, 16, 17, 18, 19, 23, 25, 29, 30, 31, 33, 36, 39, 41, 44, 46, 48, 49, 52, 53, 55, 76, 78,
    79, 80, 84, 87, 90, 91, 94, 96, 98, 106, 109, 110, 113, 117, 123, 124, 127, 132, 133, 135, 139, 140, 142,
    145, 146, 147, 153, 154, 156, 158,
];

struct Row<'a> {
    number: u32,
    section: &'a str,
    capability: &'a str,
    place: &'a str,
    how: &'a str,
}

pub(crate) fn page() -> Result<String> {
    let rows = rows()?;
    let tests = tests_named("parity_")?;
    let mut page = format!(
        "# What llm-perf-opt offers, and where it is in Rooflens\n\nThe {} capabilities that the documents of \
         llm-perf-opt name. Coming from there: [migrating](migrating.md).\n",
        rows.len()
    );
    let mut section = "";
    for row in &rows {
        if row.section != section {
            section = row.section;
            page.push_str(&format!(
                "\n## {section}\n\n| row | capability | in Rooflens | tests |\n| --- | --- | --- | --- |\n"
            ));
        }
        page.push_str(&line(row, &tests)?);
    }
    Ok(page)
}

fn line(row: &Row<'_>, tests: &BTreeMap<u32, Vec<(String, String)>>) -> Result<String> {
    let found = tests.get(&row.number).map_or(&[][..], Vec::as_slice);
    ensure!(
        !found.is_empty() || !CLOSED.contains(&row.number),
        "no test is named after row {:03} ({})",
        row.number,
        row.capability
    );
    let links: Vec<String> = found.iter().map(|(name, file)| test_link(name, file)).collect();
    let how = match row.how {
        "same" => "",
        "other" => " (different on purpose)",
        "plan" => " (needs hardware: its plans are tested)",
        other => bail!("row {:03}: '{other}' is not known", row.number),
    };
    let place = format!("{}{how}", row.place);
    Ok(format!(
        "| {:03} | {} | {} | {} |\n",
        row.number,
        cell(row.capability),
        cell(&place),
        links.join(", ")
    ))
}

fn rows() -> Result<Vec<Row<'static>>> {
    let read = |(at, text): (usize, &'static str)| {
        let cells: Vec<&str> = text.split('\t').collect();
        let [number, section, capability, place, how] = cells[..] else {
            bail!("parity.tsv, line {}: {} cells", at + 2, cells.len());
        };
        let number: u32 = number.parse().with_context(|| format!("parity.tsv, line {}", at + 2))?;
        ensure!(number as usize == at + 1, "parity.tsv, line {}: row {number} is out of order", at + 2);
        Ok(Row { number, section, capability, place, how })
    };
    ROWS.lines().skip(1).enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_there_and_every_closed_one_has_a_test() {
        assert_eq!(rows().unwrap().len(), 158);
        assert_eq!(CLOSED.len(), 57);
        page().unwrap();
    }
}
