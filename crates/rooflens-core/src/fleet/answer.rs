//! An answer: columns with their units, and rows.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rooflens_queries::NamedQuery;
use rooflens_report::Part;
use rooflens_report::block::{Block, Cell, Level, Row, Table, TableColumn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::value::value;
use crate::document::SchemaTag;

/// A column of an answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// Unit of its values, where that is known.
    pub unit: Option<String>,
    /// What it means, where that is known.
    pub meaning: Option<String>,
}

/// What an answer is about.
#[derive(Debug, Clone)]
pub struct AnswerHead {
    /// Name of the query, where it has one.
    pub query: Option<String>,
    /// What it answers.
    pub title: Option<String>,
    /// The columns.
    pub columns: Vec<AnswerColumn>,
    /// Types of the columns.
    pub schema: SchemaRef,
}

/// What an answer took.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct QueryCost {
    /// Bytes that did not fit into memory and were written to disk.
    pub spilled_bytes: u64,
    /// Bytes of files that were read; null where the engine does not say.
    pub scanned_bytes: Option<u64>,
    /// Time that the engine took, in milliseconds; null where it does not say.
    pub elapsed_ms: Option<f64>,
}

/// An answer, for programs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueryDocument {
    /// `rooflens.query`.
    pub schema: SchemaTag,
    /// Name of the query; null for SQL.
    pub query: Option<String>,
    /// The columns, in their order.
    pub columns: Vec<AnswerColumn>,
    /// The rows, each an array in the order of the columns.
    pub rows: Vec<Vec<Json>>,
    /// What it took.
    #[serde(flatten)]
    pub cost: QueryCost,
}

impl AnswerHead {
    pub(super) fn new(query: Option<&NamedQuery>, schema: &SchemaRef) -> Self {
        let column = |name: &String| {
            let known = query.and_then(|query| query.columns().iter().find(|column| column.name == *name));
            AnswerColumn {
                name: name.clone(),
                unit: known.map(|column| column.unit.clone()),
                meaning: known.map(|column| column.meaning.clone()),
            }
        };
        AnswerHead {
            query: query.map(|query| query.name().to_owned()),
            title: query.map(|query| query.title().to_owned()),
            columns: schema.fields().iter().map(|field| column(field.name())).collect(),
            schema: schema.clone(),
        }
    }

    /// The unit of a column: what the query says, else what its name ends in.
    fn unit(&self, at: usize) -> &str {
        let column = &self.columns[at];
        let by_name = if column.name.ends_with("_ns") { "ns" } else { "" };
        column.unit.as_deref().unwrap_or(by_name)
    }
}

/// Rows of a batch, as JSON values.
pub(super) fn rows(batch: &RecordBatch) -> impl Iterator<Item = Vec<Json>> {
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(|column| value(column, row)).collect())
}

/// An answer for people: its first rows, and how many there are.
#[derive(Debug)]
pub struct FirstRows {
    head: AnswerHead,
    limit: usize,
    first: Vec<Vec<Json>>,
    all: usize,
}

impl FirstRows {
    /// Of an answer that begins; so many are kept.
    #[must_use]
    pub fn new(head: AnswerHead, limit: usize) -> Self {
        FirstRows { head, limit, first: Vec::new(), all: 0 }
    }

    /// Takes some rows.
    pub fn add(&mut self, batch: &RecordBatch) {
        self.first.extend(rows(batch).take(self.limit - self.first.len()));
        self.all += batch.num_rows();
    }

    /// The rows, times and shares in words.
    #[must_use]
    pub fn parts(self) -> Vec<Part> {
        let FirstRows { head, first, all, .. } = self;
        let is_number = |at: usize| head.schema.field(at).data_type().is_numeric() && head.unit(at) != "id";
        let has = |name: &str| head.columns.iter().any(|column| column.name == name);
        let is_named = |name: &str| name == "kernel_id" && has("kernel");
        let column = |(at, column): (usize, &AnswerColumn)| TableColumn {
            key: column.name.clone().into(),
            title: title(&column.name).into(),
            help: column.meaning.clone().unwrap_or_default().into(),
            number: is_number(at),
            // The id of a kernel says nothing to people where its name stands beside it.
            level: if is_named(&column.name) { Level::Raw } else { Level::Essential },
            bar: false,
        };
        let cell = |(at, value): (usize, Json)| cell(head.unit(at), value);
        let rows: Vec<Row> =
            first.into_iter().map(|row| Row::new(row.into_iter().enumerate().map(cell).collect())).collect();
        let left_out = (all > rows.len()).then(|| rooflens_report::block::LeftOut {
            rows: all - rows.len(),
            share: None,
            place: "--format csv".into(),
        });
        let columns = head.columns.iter().enumerate().map(column).collect();
        let table = Table { name: "rows".into(), columns, rows, left_out };
        let mut blocks: Vec<Block> =
            head.title.iter().map(|title| Block::Lead(format!("{title}."))).collect();
        blocks.push(match table.rows.is_empty() {
            true => Block::Lead("No row.".to_owned()),
            false => Block::Table(table),
        });
        vec![Part { name: "answer", title: "Answer", blocks }]
    }
}

/// A name for people: without underscores, and without the unit, which the values carry.
fn title(name: &str) -> String {
    name.strip_suffix("_ns").unwrap_or(name).replace('_', " ")
}

fn cell(unit: &str, value: Json) -> Cell {
    match (unit, value) {
        (_, Json::Null) => Cell::missing("null"),
        (_, Json::String(text)) => Cell::text(text),
        (_, Json::Bool(flag)) => Cell::text(if flag { "true" } else { "false" }),
        ("id", other) => Cell::code(other.to_string()),
        ("ns", Json::Number(number)) => match number.as_i64() {
            Some(whole) => Cell::Time(whole),
            None => Cell::MeanTime(number.as_f64().unwrap_or(f64::NAN)),
        },
        ("share", Json::Number(number)) => Cell::Share(number.as_f64().unwrap_or(f64::NAN)),
        ("change", Json::Number(number)) => Cell::Change(number.as_f64().unwrap_or(f64::NAN)),
        ("bytes", Json::Number(number)) => Cell::Bytes(number.as_i64().unwrap_or_default()),
        (_, Json::Number(number)) => match number.as_i64() {
            Some(whole) => Cell::Count(whole),
            None => Cell::text(rounded(number.as_f64().unwrap_or(f64::NAN))),
        },
        (_, other) => Cell::text(other.to_string()),
    }
}

/// Four digits that count.
fn rounded(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(1e-4..1e7).contains(&size) => format!("{value:.3e}"),
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
