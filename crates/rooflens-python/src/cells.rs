//! Tables of the report as Arrow: every row and column, nothing rounded.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Field, Schema};
use rooflens_report::block::{Cell, CellValue, Table};
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

/// A column of text, or of numbers: whole ones where all of its cells are.
fn array(cells: &[&Cell], is_number: bool) -> ArrayRef {
    let values: Vec<CellValue<'_>> = cells
        .iter()
        .map(|cell| match cell.value() {
            // The values of a sweep, as they were typed.
            CellValue::Text(text) if is_number => {
                text.parse().map_or(CellValue::Text(text), CellValue::Whole)
            }
            value => value,
        })
        .collect();
    let is_text = |value: &CellValue<'_>| matches!(value, CellValue::Text(_));
    if !is_number || values.iter().any(is_text) {
        let text = cells.iter().map(|cell| match cell {
            Cell::Missing(_) => None,
            _ => Some(format::raw(cell)),
        });
        return Arc::new(text.collect::<StringArray>());
    }
    if values.iter().any(|value| matches!(value, CellValue::Whole(_)))
        && !values.iter().any(|value| matches!(value, CellValue::Number(_)))
    {
        let whole = values.iter().map(|value| match value {
            CellValue::Whole(value) => Some(*value),
            _ => None,
        });
        return Arc::new(whole.collect::<Int64Array>());
    }
    let numbers = values.iter().map(|value| match value {
        CellValue::Whole(value) => Some(*value as f64),
        CellValue::Number(value) => Some(*value),
        _ => None,
    });
    Arc::new(numbers.collect::<Float64Array>())
}
