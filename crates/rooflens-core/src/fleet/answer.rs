//! An answer: columns with their units, and rows.

use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use rooflens_queries::NamedQuery;
use rooflens_report::Part;
use rooflens_report::block::{Block, Cell, Level, Row, Table, TableColumn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

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

/// An answer.
#[derive(Debug, Clone)]
pub struct QueryAnswer {
    /// Name of the query, where it has one.
    pub query: Option<String>,
    /// What it answers.
    pub title: Option<String>,
    /// The columns.
    pub columns: Vec<AnswerColumn>,
    /// Types of the columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
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
}

impl QueryAnswer {
    pub(super) fn new(query: Option<&NamedQuery>, schema: &SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let column = |name: &String| {
            let known = query.and_then(|query| query.columns().iter().find(|column| column.name == *name));
            AnswerColumn {
                name: name.clone(),
                unit: known.map(|column| column.unit.clone()),
                meaning: known.map(|column| column.meaning.clone()),
            }
        };
        QueryAnswer {
            query: query.map(|query| query.name().to_owned()),
            title: query.map(|query| query.title().to_owned()),
            columns: schema.fields().iter().map(|field| column(field.name())).collect(),
            schema: schema.clone(),
            batches,
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Every row, as JSON values.
    pub fn values(&self) -> impl Iterator<Item = Vec<Json>> {
        self.batches.iter().flat_map(|batch| {
            (0..batch.num_rows())
                .map(move |row| batch.columns().iter().map(|column| value(column, row)).collect())
        })
    }

    /// For programs.
    #[must_use]
    pub fn document(&self) -> QueryDocument {
        QueryDocument {
            schema: SchemaTag::new("query"),
            query: self.query.clone(),
            columns: self.columns.clone(),
            rows: self.values().collect(),
        }
    }

    /// As CSV, with a line of names. Numbers are as they are; null is empty.
    #[must_use]
    pub fn csv(&self) -> String {
        let quoted = |text: &str| match text.contains([',', '"', '\n', '\r']) || text.is_empty() {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        let cell = |value: Json| match value {
            Json::Null => String::new(),
            Json::String(text) => quoted(&text),
            other => other.to_string(),
        };
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let mut out = line(self.columns.iter().map(|column| quoted(&column.name)).collect());
        for row in self.values() {
            out += &line(row.into_iter().map(cell).collect());
        }
        out
    }

    /// For people: the first rows, times and shares in words.
    #[must_use]
    pub fn parts(&self, limit: usize) -> Vec<Part> {
        let is_number = |at: usize| self.schema.field(at).data_type().is_numeric() && self.unit(at) != "id";
        let has = |name: &str| self.columns.iter().any(|column| column.name == name);
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
        let cell = |(at, value): (usize, Json)| cell(self.unit(at), value);
        let rows: Vec<Row> = self
            .values()
            .take(limit)
            .map(|row| Row::new(row.into_iter().enumerate().map(cell).collect()))
            .collect();
        let left_out = (self.rows() > rows.len()).then(|| rooflens_report::block::LeftOut {
            rows: self.rows() - rows.len(),
            share: None,
            place: "--format csv".into(),
        });
        let columns = self.columns.iter().enumerate().map(column).collect();
        let table = Table { name: "rows".into(), columns, rows, left_out };
        let mut blocks: Vec<Block> =
            self.title.iter().map(|title| Block::Lead(format!("{title}."))).collect();
        blocks.push(match table.rows.is_empty() {
            true => Block::Lead("No row.".to_owned()),
            false => Block::Table(table),
        });
        vec![Part { name: "answer", title: "Answer", blocks }]
    }

    /// As an Arrow IPC stream.
    pub fn write_arrow(&self, to: impl Write) -> std::io::Result<()> {
        let mut writer = StreamWriter::try_new(to, &self.schema).map_err(std::io::Error::other)?;
        for batch in &self.batches {
            writer.write(batch).map_err(std::io::Error::other)?;
        }
        writer.finish().map_err(std::io::Error::other)
    }

    /// As a Parquet file.
    pub fn write_parquet(&self, to: impl Write + Send) -> std::io::Result<()> {
        let mut writer =
            ArrowWriter::try_new(to, self.schema.clone(), None).map_err(std::io::Error::other)?;
        for batch in &self.batches {
            writer.write(batch).map_err(std::io::Error::other)?;
        }
        writer.close().map(drop).map_err(std::io::Error::other)
    }

    /// The unit of a column: what the query says, else what its name ends in.
    fn unit(&self, at: usize) -> &str {
        let column = &self.columns[at];
        let by_name = if column.name.ends_with("_ns") { "ns" } else { "" };
        column.unit.as_deref().unwrap_or(by_name)
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

/// A value of an array.
fn value(array: &ArrayRef, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    macro_rules! number {
        ($kind:ty) => {
            Json::from(array.as_primitive::<$kind>().value(row))
        };
    }
    match array.data_type() {
        DataType::Int64 => number!(Int64Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int8 => number!(Int8Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Boolean => Json::from(array.as_boolean().value(row)),
        DataType::Utf8 => Json::from(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Json::from(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Json::from(array.as_string_view().value(row)),
        other => Json::from(format!("({other})")),
    }
}

/// A query that has a name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedQuery {
    /// Its name.
    pub name: String,
    /// What it answers, in a few words.
    pub title: String,
    /// The same, in sentences.
    pub about: String,
    /// Its parameters.
    pub parameters: Vec<ListedParameter>,
    /// Columns of the answer.
    pub columns: Vec<AnswerColumn>,
    /// Tables that it reads.
    pub tables: Vec<String>,
}

/// A parameter of a query.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedParameter {
    /// Its name.
    pub name: String,
    /// Type of its values: day, integer, number, text or duration.
    pub kind: String,
    /// Value where none is given; null where one must be.
    pub default: Option<String>,
    /// What it means.
    pub meaning: String,
}

/// The queries that have names.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueriesDocument {
    /// `rooflens.queries`.
    pub schema: SchemaTag,
    /// The queries.
    pub queries: Vec<ListedQuery>,
}

impl QueriesDocument {
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        let parameter = |parameter: &rooflens_queries::QueryParameter| ListedParameter {
            name: parameter.name.clone(),
            kind: parameter.kind.name().to_owned(),
            default: parameter.default.clone(),
            meaning: parameter.meaning.clone(),
        };
        let column = |column: &rooflens_queries::QueryColumn| AnswerColumn {
            name: column.name.clone(),
            unit: Some(column.unit.clone()),
            meaning: Some(column.meaning.clone()),
        };
        let query = |query: &NamedQuery| ListedQuery {
            name: query.name().to_owned(),
            title: query.title().to_owned(),
            about: query.doc().to_owned(),
            parameters: query.parameters().iter().map(parameter).collect(),
            columns: query.columns().iter().map(column).collect(),
            tables: query.tables().to_vec(),
        };
        let queries = rooflens_queries::all().iter().map(query).collect();
        QueriesDocument { schema: SchemaTag::new("queries"), queries }
    }
}
