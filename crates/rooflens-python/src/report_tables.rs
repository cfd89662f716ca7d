//! The tables of a report, by name.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use rooflens_report::block::{self, Block};
use rooflens_report::render::Part;

use crate::html;
use crate::table::TableObject;

/// What a report says first, and every table of it, in its order. Several have one name where a report repeats them, as
/// for each phase.
pub struct ReportTables {
    lead: String,
    tables: Vec<block::Table>,
}

impl ReportTables {
    /// Those of some parts.
    pub fn new(parts: Vec<Part>) -> Self {
        let (mut lead, mut tables) = (String::new(), Vec::new());
        for part in parts {
            let mut sentences = Vec::new();
            for block in part.blocks {
                match block {
                    // The attribute of this name has more than the table.
                    Block::Table(table) if table.name == "advice" => {}
                    Block::Table(table) => tables.push(table),
                    Block::Lead(sentence) => sentences.push(sentence),
                    _ => {}
                }
            }
            // Later parts say it again, of one pair of many.
            if lead.is_empty() {
                lead = sentences.join(" ");
            }
        }
        ReportTables { lead, tables }
    }

    /// What the report says first.
    pub fn lead(&self) -> &str {
        &self.lead
    }

    /// Their names, each once.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for table in &self.tables {
            if !names.iter().any(|name| *name == table.name) {
                names.push(table.name.to_string());
            }
        }
        names
    }

    /// The table of a name, as an attribute.
    pub fn attribute(&self, name: &str) -> PyResult<TableObject> {
        let found: Vec<&block::Table> = self.tables.iter().filter(|table| table.name == name).collect();
        if found.is_empty() {
            let names = self.names().join(", ");
            return Err(PyAttributeError::new_err(format!("there is no table {name} here, only {names}")));
        }
        TableObject::of_report(name, &found)
    }

    /// The first rows of a table for people; nothing where there is none.
    fn html(&self, name: &str) -> String {
        let found = self.tables.iter().find(|table| table.name == name);
        found.map(|table| html::table(table, html::ROWS)).unwrap_or_default()
    }

    /// The first sentence and some tables, for a notebook.
    pub fn summary(&self, lead: &str, tables: &[&str]) -> String {
        let tables = tables.iter().map(|name| self.html(name));
        format!("<p><strong>{}</strong></p>{}", html::escape(lead), tables.collect::<String>())
    }

    /// All attributes of an object with these tables.
    pub fn dir(&self, of: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let own = of.get_type().dir()?.extract::<Vec<String>>()?;
        Ok(own.into_iter().chain(self.names()).collect())
    }
}
