//! What a section is made of. A block says what there is to show and in which unit; each renderer
//! decides how it looks. Values stay exact here: rounding happens in [`crate::format`].

mod picture;
mod table;

pub use picture::{Chart, ChartUnit, Drawing, Mark, Series, Stack, StackBar, Tone};
pub use table::{Column, Field, LeftOut, Level, Row, Table, TableColumn};

use std::borrow::{Borrow, Cow};

use rooflens_analyze::compare::headline::MetricUnit;
use rooflens_schema::DocumentSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::format;

/// The documents whose types this crate defines.
pub const DOCUMENTS: &[DocumentSchema] =
    &[DocumentSchema::of::<Vec<Block>>("blocks", "the blocks of a section of a report, as JSON")];

/// A piece of a section.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// The sentence everything begins with.
    Lead(String),
    /// A heading inside a section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// An ordered list of sentences.
    Steps(Vec<String>),
    /// A list of sentences in no order.
    Lines(Vec<String>),
    /// A few named values.
    Facts(Vec<Fact>),
    /// Rows and columns.
    Table(Table),
    /// Bars that each show the parts of a whole.
    Stack(Stack),
    /// Values over time or in order.
    Chart(Chart),
    /// Problems and checks.
    Remarks(Vec<Remark>),
    /// A figure that has a file of its own.
    Drawing(Drawing),
    /// Details: collapsed on a page until they are opened.
    Folded {
        /// Text shown while it is collapsed.
        title: String,
        /// What it opens to.
        blocks: Vec<Block>,
    },
}

impl Block {
    /// A table of the first `limit` items, a row each.
    pub fn table<T>(name: &'static str, fields: &[Field<T>], items: &[impl Borrow<T>], limit: usize) -> Self {
        Block::Table(Table::new(name, fields, items, limit))
    }
}

/// A named value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// What it is; empty where the value says it.
    pub(crate) label: String,
    /// How much.
    pub(crate) value: Cell,
    /// What it means; may be empty.
    pub(crate) help: Cow<'static, str>,
}

impl Fact {
    /// A fact whose label explains itself.
    pub fn new(label: impl Into<String>, value: Cell) -> Self {
        Fact { label: label.into(), value, help: "".into() }
    }

    pub(crate) fn plain(words: impl Into<String>) -> Self {
        Fact::new("", Cell::text(words))
    }

    pub(crate) fn help(mut self, help: &'static str) -> Self {
        self.help = help.into();
        self
    }
}

/// A value with its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Not measured, and why.
    Missing(Cow<'static, str>),
    /// A duration in nanoseconds.
    Time(i64),
    /// A mean duration in nanoseconds.
    MeanTime(#[serde(deserialize_with = "number")] f64),
    /// A duration in seconds.
    Seconds(#[serde(deserialize_with = "number")] f64),
    /// A moment in nanoseconds since the run's clock base, shown precisely enough to find it.
    At(i64),
    /// Bytes.
    Bytes(i64),
    /// A count.
    Count(i64),
    /// A mean count.
    Mean(#[serde(deserialize_with = "number")] f64),
    /// A part of a whole, 0 to 1.
    Share(#[serde(deserialize_with = "number")] f64),
    /// A signed change relative to a whole, as 0.03 for three percent more.
    Change(#[serde(deserialize_with = "number")] f64),
    /// A signed change of a time in nanoseconds.
    TimeChange(#[serde(deserialize_with = "number")] f64),
    /// GB/s.
    Rate(#[serde(deserialize_with = "number")] f64),
    /// A number in a base unit that takes decimal prefixes: FLOP, FLOP/B, B, tokens/s.
    Amount(#[serde(deserialize_with = "number")] f64, Cow<'static, str>),
    /// Parameters, in the words of the field: 8.03 B.
    Params(#[serde(deserialize_with = "number")] f64),
    /// A word for programs, shown without its underscores.
    Word(String),
    /// Words.
    Text(String),
    /// Something from a program: an identifier, a shape, a path.
    Code {
        /// What is shown.
        short: String,
        /// What it stands for, where that is longer.
        full: Option<String>,
    },
    /// The best of its column.
    Best(Box<Cell>),
    /// Words that lead to a file.
    Link {
        /// The words.
        words: String,
        /// Path of the file, from the page's own folder.
        path: String,
    },
}

/// What a cell holds for programs: nothing rounded, in its base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CellValue<'a> {
    /// Not measured.
    Missing,
    /// A whole number.
    Whole(i64),
    /// A number, finite.
    Number(f64),
    /// Words.
    Text(&'a str),
}

/// Reads a number as JSON has it, where one that is not finite is null.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

impl Cell {
    /// What it holds, for programs.
    pub fn value(&self) -> CellValue<'_> {
        match self {
            Cell::Missing(_) => CellValue::Missing,
            Cell::Time(value) | Cell::At(value) | Cell::Bytes(value) | Cell::Count(value) => {
                CellValue::Whole(*value)
            }
            Cell::MeanTime(value)
            | Cell::Seconds(value)
            | Cell::Mean(value)
            | Cell::Share(value)
            | Cell::Change(value)
            | Cell::TimeChange(value)
            | Cell::Amount(value, _)
            | Cell::Params(value)
            | Cell::Rate(value) => match value.is_finite() {
                true => CellValue::Number(*value),
                false => CellValue::Missing,
            },
            Cell::Word(text) | Cell::Text(text) => CellValue::Text(text),
            Cell::Code { short, full } => CellValue::Text(full.as_ref().unwrap_or(short)),
            Cell::Best(best) => best.value(),
            Cell::Link { path, .. } => CellValue::Text(path),
        }
    }

    /// The value, or a dash with the reason.
    pub fn or<T>(
        value: Option<T>,
        cell: impl FnOnce(T) -> Cell,
        reason: impl Into<Cow<'static, str>>,
    ) -> Cell {
        value.map_or_else(|| Cell::missing(reason), cell)
    }

    /// Not measured, and why.
    pub fn missing(reason: impl Into<Cow<'static, str>>) -> Cell {
        Cell::Missing(reason.into())
    }

    /// The value of a metric, by its key.
    pub fn metric(key: &str, value: f64) -> Cell {
        match MetricUnit::of(key) {
            MetricUnit::Time => Cell::MeanTime(value),
            MetricUnit::Share => Cell::Share(value),
            MetricUnit::Rate(unit) => Cell::amount(value, unit),
            MetricUnit::Number => Cell::amount(value, ""),
        }
    }

    /// A number in a base unit that takes decimal prefixes.
    pub fn amount(value: f64, unit: impl Into<Cow<'static, str>>) -> Cell {
        Cell::Amount(value, unit.into())
    }

    /// A count, at most the largest that fits.
    pub fn count(value: impl TryInto<i64>) -> Cell {
        Cell::Count(value.try_into().unwrap_or(i64::MAX))
    }

    /// A word for programs.
    pub fn word(value: impl Into<String>) -> Cell {
        Cell::Word(value.into())
    }

    /// Words.
    pub fn text(value: impl Into<String>) -> Cell {
        Cell::Text(value.into())
    }

    /// Something from a program.
    pub fn code(value: impl Into<String>) -> Cell {
        Cell::Code { short: value.into(), full: None }
    }

    /// A short name that stands for a longer one.
    pub fn name(short: &str, full: &str) -> Cell {
        let full = (short != full).then(|| full.to_owned());
        Cell::Code { short: short.to_owned(), full }
    }
}

/// How good or bad a remark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Info,
    /// A number may mislead.
    Warning,
    /// Something is not there.
    DataLoss,
}

impl Grade {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Grade::Ok => "ok",
            Grade::Info => "info",
            Grade::Warning => "warning",
            Grade::DataLoss => "data loss",
        }
    }
}

/// A problem or a check.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// How bad.
    pub grade: Grade,
    /// A stable word.
    pub code: String,
    /// How often, where the sentence does not tell.
    pub count: Option<i64>,
    /// Where; may be empty.
    pub source: String,
    /// A sentence.
    pub message: String,
}

impl Remark {
    /// `×3`; nothing where it was met once or the sentence tells.
    pub(crate) fn how_often(&self) -> String {
        match self.count {
            Some(count) if count != 1 => format!("×{}", format::count(count)),
            _ => String::new(),
        }
    }
}
