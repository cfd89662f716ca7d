//! Tables of the report as Arrow: every row and column, nothing rounded.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Field, Schema};
use rooflens_report::block::{Cell, Table};
use rooflens_report::format;

/// The rows of tables that have the same columns.
pub fn batch(tables: &[&Table]) -> Result<RecordBatch, ArrowError> {
    let Some(first) = tables.first() else { return Ok(RecordBatch::new_empty(Schema::empty().into())) };
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (index, column) in first.columns.iter().enumerate() {
        let cells: Vec<&Cell> =
            tables.iter().flat_map(|table| &table.rows).filter_map(|row| row.cells.get(index)).collect();
        let array = array(&cells, column.number);
        let words = if column.help.is_empty() { &column.title } else { &column.help };
        let doc = [("doc".to_owned(), words.to_string())].into();
        fields.push(Field::new(column.key.as_ref(), array.data_type().clone(), true).with_metadata(doc));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// What a cell holds, for programs.
enum Value {
    Missing,
    Whole(i64),
    Number(f64),
    Text,
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Missing(_) => Value::Missing,
        Cell::Time(value) | Cell::At(value) | Cell::Bytes(value) | Cell::Count(value) => Value::Whole(*value),
        Cell::MeanTime(value)
        | Cell::Seconds(value)
        | Cell::Mean(value)
        | Cell::Share(value)
        | Cell::Change(value)
        | Cell::Amount(value, _)
        | Cell::Params(value)
        | Cell::Rate(value) => {
            if value.is_finite() {
                Value::Number(*value)
            } else {
                Value::Missing
            }
        }
        Cell::Best(best) => value(best),
        Cell::Word(_) | Cell::Text(_) | Cell::Code { .. } | Cell::Link { .. } => Value::Text,
    }
}

/// A column of text, or of numbers: whole ones where all of its cells are.
fn array(cells: &[&Cell], is_number: bool) -> ArrayRef {
    let values: Vec<Value> = cells.iter().map(|cell| value(cell)).collect();
    let is_text = |value: &Value| matches!(value, Value::Text);
    if !is_number || values.iter().any(is_text) {
        let text = cells.iter().map(|cell| match cell {
            Cell::Missing(_) => None,
            _ => Some(format::raw(cell)),
        });
        return Arc::new(text.collect::<StringArray>());
    }
    if values.iter().any(|value| matches!(value, Value::Whole(_)))
        && !values.iter().any(|value| matches!(value, Value::Number(_)))
    {
        let whole = values.iter().map(|value| match value {
            Value::Whole(value) => Some(*value),
            _ => None,
        });
        return Arc::new(whole.collect::<Int64Array>());
    }
    let numbers = values.iter().map(|value| match value {
        Value::Whole(value) => Some(*value as f64),
        Value::Number(value) => Some(*value),
        _ => None,
    });
    Arc::new(numbers.collect::<Float64Array>())
}
