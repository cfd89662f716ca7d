//! An answer: columns with their units, and rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use rooflens_queries::NamedQuery;
use rooflens_report::Part;
use rooflens_report::block::{Block, Cell, Level, Row, Table, TableColumn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::document::SchemaTag;
use crate::text::{capitalised, counted};

/// A column of an answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AnswerColumn {
    /// Its name.
    pub(crate) name: String,
    /// Unit of its values, where that is known.
    pub(crate) unit: Option<String>,
    /// What it means, where that is known.
    pub(crate) meaning: Option<String>,
}

/// What an answer is about.
#[derive(Debug, Clone)]
pub struct AnswerHead {
    pub(crate) query: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) columns: Vec<AnswerColumn>,
    pub(crate) schema: SchemaRef,
    /// What the rows come to, in a sentence, and how many of them people want to see; the others are at the end.
    pub(crate) summary: Option<(String, usize)>,
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
    /// What the answer lacks, in words.
    pub notes: Vec<String>,
}

/// An answer, for programs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueryDocument {
    /// `rooflens.query`.
    pub(crate) schema: SchemaTag,
    /// Name of the query; null for SQL.
    pub(crate) query: Option<String>,
    /// The columns, in their order.
    pub(crate) columns: Vec<AnswerColumn>,
    /// The rows, each an array in the order of the columns.
    pub(crate) rows: Vec<Vec<Json>>,
    /// What it took.
    #[serde(flatten)]
    pub(crate) cost: QueryCost,
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
            summary: None,
        }
    }

    /// The unit of a column, as the query says; SQL says none, and its values are shown as they are.
    fn unit(&self, at: usize) -> &str {
        match (&self.query, &self.columns[at]) {
            (None, _) => "",
            (Some(_), column) => column.unit.as_deref().unwrap_or_default(),
        }
    }

    /// The name of a column for people: those of SQL as they were asked for, others without underscores and without the
    /// unit, which the values carry.
    fn title(&self, name: &str) -> String {
        match self.query {
            None => name.to_owned(),
            Some(_) => name.strip_suffix("_ns").unwrap_or(name).replace('_', " "),
        }
    }
}

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
    /// Columns of words that say the same in all rows so far: one sentence says it better. SQL is shown as it was asked
    /// for.
    same: Vec<usize>,
}

impl FirstRows {
    /// Of an answer that begins; so many are kept.
    #[must_use]
    pub fn new(head: AnswerHead, limit: usize) -> Self {
        let same = if head.query.is_some() { (0..head.columns.len()).collect() } else { Vec::new() };
        FirstRows { head, limit, first: Vec::new(), all: 0, same }
    }

    /// Takes some rows.
    pub fn add(&mut self, batch: &RecordBatch) {
        self.first.extend(rows(batch).take(self.limit - self.first.len()));
        self.all += batch.num_rows();
        let Some(first) = self.first.first() else { return };
        let is_first = |row: usize, at: usize| value(batch.column(at), row) == first[at];
        self.same.retain(|&at| first[at].is_string() && (0..batch.num_rows()).all(|row| is_first(row, at)));
    }

    /// The rows, times and shares in words.
    #[must_use]
    pub fn parts(self) -> Vec<Part> {
        let FirstRows { head, first, all, same, .. } = self;
        let shown = head.summary.as_ref().map_or(usize::MAX, |(_, shown)| *shown);
        let first: Vec<Vec<Json>> = first.into_iter().take(shown).collect();
        let same = if all > 1 && !first.is_empty() { same } else { Vec::new() };
        let is_number = |at: usize| head.schema.field(at).data_type().is_numeric() && head.unit(at) != "id";
        let has = |name: &str| head.columns.iter().any(|column| column.name == name);
        let is_named = |name: &str| name == "kernel_id" && has("kernel");
        let column = |(at, column): (usize, &AnswerColumn)| TableColumn {
            key: column.name.clone().into(),
            title: head.title(&column.name).into(),
            help: column.meaning.clone().unwrap_or_default().into(),
            number: is_number(at),
            // The id of a kernel says nothing to people where its name stands beside it.
            level: if is_named(&column.name) || same.contains(&at) { Level::Raw } else { Level::Essential },
            bar: false,
        };
        let is_sql = head.query.is_none();
        let cell =
            |(at, value): (usize, Json)| if is_sql { plain(value) } else { cell(head.unit(at), value) };
        let words = |at: &usize| {
            let value = first[0][*at].as_str().filter(|word| !word.is_empty())?;
            Some(format!("{} {value}", head.title(&head.columns[*at].name)))
        };
        let all_rows: Vec<String> = same.iter().filter_map(words).collect();
        let rows: Vec<Row> =
            first.into_iter().map(|row| Row::new(row.into_iter().enumerate().map(cell).collect())).collect();
        let columns: Vec<TableColumn> = head.columns.iter().enumerate().map(column).collect();
        let is_cut = all.min(shown) > rows.len();
        let count = match (head.summary, is_cut) {
            (Some((words, _)), true) => format!("{words} The first {} are shown.", rows.len()),
            (Some((words, _)), false) => words,
            (None, true) => format!("{}, of which the first {} are shown.", counted(all, "row"), rows.len()),
            (None, false) => capitalised(&counted(all, "row")) + ".",
        };
        let mut lead = head.title.map_or(count.clone(), |title| format!("{title}. {count}"));
        if !all_rows.is_empty() {
            lead += &format!(" In all rows: {}.", all_rows.join(", "));
        }
        let table = Table { name: "rows".into(), columns, rows, left_out: None };
        let rows = (!table.rows.is_empty()).then_some(Block::Table(table));
        let blocks = [Block::Lead(lead)].into_iter().chain(rows).collect();
        vec![Part { name: "answer", title: "Answer", blocks }]
    }
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

fn plain(value: Json) -> Cell {
    match value {
        // Not left out: whoever asked for the column wants to see that there is nothing.
        Json::Null => Cell::text("null"),
        Json::String(text) => Cell::text(text),
        Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(value) => Cell::text(rounded(value)),
            None => Cell::text(number.to_string()),
        },
        other => Cell::text(other.to_string()),
    }
}

fn rounded(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && !(1e-4..1e15).contains(&size) => format!("{value:.3e}"),
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A value of an array. Dates and times are text as in ISO 8601; lists are arrays, and structures objects.
pub fn value(array: &ArrayRef, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    macro_rules! number {
        ($kind:ty) => {
            Json::from(array.as_primitive::<$kind>().value(row))
        };
    }
    macro_rules! moment {
        ($kind:ty, $zone:expr) => {{
            let time = array.as_primitive::<$kind>().value_as_datetime(row);
            let zone = if $zone.is_some() { "Z" } else { "" };
            time.map_or(Json::Null, |time| format!("{}{zone}", time.format("%Y-%m-%dT%H:%M:%S%.f")).into())
        }};
    }
    macro_rules! date {
        ($kind:ty) => {{
            let date = array.as_primitive::<$kind>().value_as_date(row);
            date.map_or(Json::Null, |date| date.to_string().into())
        }};
    }
    match array.data_type() {
        DataType::Null => Json::Null,
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
        DataType::Date32 => date!(Date32Type),
        DataType::Date64 => date!(Date64Type),
        DataType::Timestamp(TimeUnit::Second, zone) => moment!(TimestampSecondType, zone),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => moment!(TimestampMillisecondType, zone),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => moment!(TimestampMicrosecondType, zone),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => moment!(TimestampNanosecondType, zone),
        DataType::Decimal128(..) => decimal(&array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Dictionary(..) => {
            let words = array.as_any_dictionary();
            let at = words.normalized_keys().get(row).copied().unwrap_or_default();
            if at < words.values().len() { value(words.values(), at) } else { Json::Null }
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|at| value(&items, at)).collect()
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let entry = |(at, array): (usize, &ArrayRef)| (fields[at].name().clone(), value(array, row));
            Json::Object(columns.iter().enumerate().map(entry).collect())
        }
        other => Json::from(format!("({other})")),
    }
}

/// A number where that loses no digit, else its digits.
fn decimal(digits: &str) -> Json {
    let whole = digits.parse::<i64>().ok().map(Json::from);
    let is_short = digits.bytes().filter(u8::is_ascii_digit).count() <= 15;
    let real = || digits.parse::<f64>().ok().filter(|_| is_short).map(Json::from);
    whole.or_else(real).unwrap_or_else(|| digits.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        Date32Array, Decimal128Array, Int64Array, ListArray, NullArray, StringArray, TimestampNanosecondArray,
    };

    use super::*;

    #[test]
    fn what_all_rows_say_is_asked_of_all_rows() {
        let words = |words: [&str; 3]| Arc::new(StringArray::from(words.to_vec())) as ArrayRef;
        let batch = |tenants: [&str; 3]| {
            let numbers = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
            let columns = [("tenant", words(tenants)), ("node", words(["a"; 3])), ("samples", numbers)];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        let lead = |second: [&str; 3]| {
            let first = batch(["x"; 3]);
            let mut head = AnswerHead::new(None, &first.schema());
            head.query = Some("throttled-runs".to_owned());
            let mut rows = FirstRows::new(head, 2);
            rows.add(&first);
            rows.add(&batch(second));
            match rows.parts().remove(0).blocks.remove(0) {
                Block::Lead(lead) => lead,
                other => panic!("{other:?}"),
            }
        };
        assert!(lead(["x"; 3]).ends_with("In all rows: tenant x, node a."));
        // Not in the two that are shown.
        assert!(lead(["x", "x", "y"]).ends_with("In all rows: node a."));
    }

    fn first(array: impl Array + 'static) -> Json {
        value(&(Arc::new(array) as ArrayRef), 0)
    }

    #[test]
    fn dates_lists_and_decimals_are_written_out() {
        assert_eq!(first(Date32Array::from(vec![20_774])), "2026-11-17");
        assert_eq!(
            first(TimestampNanosecondArray::from(vec![1_000_000_001])),
            "1970-01-01T00:00:01.000000001"
        );
        let zoned = TimestampNanosecondArray::from(vec![0]).with_timezone("+00:00");
        assert_eq!(first(zoned), "1970-01-01T00:00:00Z");
        let decimal = |value, scale| {
            first(Decimal128Array::from(vec![value]).with_precision_and_scale(38, scale).unwrap())
        };
        assert_eq!(decimal(1250, 2), 12.5);
        assert_eq!(decimal(7, 0), 7);
        assert_eq!(decimal(10_i128.pow(30) + 1, 2), "10000000000000000000000000000.01");
        assert_eq!(
            first(ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None])])),
            serde_json::json!([1, null])
        );
        assert_eq!(first(NullArray::new(1)), Json::Null);
    }
}
