//! Types of columns on the way in and out.
//!
//! Within a query, text of files is read as `Utf8View` unless memory is scarce: Parquet's dictionary pages become views
//! without a copy per row, and comparisons look at the first bytes only. The partition columns are plain `Utf8`. On the
//! way out, views, dictionaries and the like become the plain type, so that any reader of Arrow IPC understands the
//! result.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextType {
    /// As views of the pages it was read from: fast, but a few rows may hold on to, and be charged with, all of them.
    Views,
    /// As text of its own: what operators are charged with is what they hold.
    Plain,
}

/// The schema that files of a table are read with. Every column may be null: files from before a column was
/// added do not have it.
pub(crate) fn read_as(schema: &Schema, texts: TextType) -> SchemaRef {
    let field = |field: &FieldRef| {
        let kind = match (field.data_type(), texts) {
            (DataType::Utf8 | DataType::LargeUtf8, TextType::Views) => DataType::Utf8View,
            (other, _) => other.clone(),
        };
        Field::new(field.name(), kind, true)
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// The schema of the result, in plain types. Whether a column can be null is not promised.
pub(crate) fn plain_schema(schema: &Schema) -> SchemaRef {
    let field = |field: &FieldRef| Field::new(field.name(), plain(field.data_type()), true);
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

pub(crate) fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let column = |(array, field): (&ArrayRef, &FieldRef)| cast(array, field.data_type());
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn plain(kind: &DataType) -> DataType {
    let within = |field: &FieldRef| Arc::new(Field::new(field.name(), plain(field.data_type()), true));
    match kind {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        DataType::Dictionary(_, value) => plain(value),
        DataType::RunEndEncoded(_, value) => plain(value.data_type()),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => DataType::List(within(field)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(within).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Array, AsArray, DictionaryArray, StringViewArray};
    use datafusion::arrow::datatypes::Int32Type;

    #[test]
    fn views_and_dictionaries_become_text() {
        let view = StringViewArray::from(vec![Some("a"), None]);
        let words: DictionaryArray<Int32Type> = vec!["x", "y"].into_iter().collect();
        let batch = RecordBatch::try_from_iter([
            ("a", Arc::new(view) as Arc<dyn Array>),
            ("b", Arc::new(words) as Arc<dyn Array>),
        ])
        .expect("two columns");
        let schema = plain_schema(&batch.schema());
        let batch = plain_batch(&batch, &schema).expect("both can be cast");
        assert_eq!(batch.column(0).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a"), None]);
        assert_eq!(batch.column(1).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("x"), Some("y")]);
    }
}
