//! How columns of numbers lie in a file.
//!
//! Times and durations are most of a store's bytes, and what suits them depends on the trace: durations in whole
//! microseconds repeat, those in nanoseconds do not. So a file of one run is written as its first rows come out
//! smallest. Only encodings that every engine has read for years are tried.

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

use crate::tables::StoreTable;

/// Rows that are tried.
const SAMPLE: usize = 1 << 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnEncoding {
    Delta,
    Dictionary,
    Plain,
}

impl ColumnEncoding {
    pub fn apply(self, properties: WriterPropertiesBuilder, column: &str) -> WriterPropertiesBuilder {
        let path = ColumnPath::from(column);
        match self {
            ColumnEncoding::Dictionary => properties,
            ColumnEncoding::Plain => properties.set_column_dictionary_enabled(path, false),
            ColumnEncoding::Delta => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        }
    }
}

/// What suits rows sorted by kernel: times and delays differ from row to row, durations of one kernel repeat.
pub(crate) fn usual(table: &StoreTable) -> Vec<(&'static str, ColumnEncoding)> {
    let repeats = |name: &str| matches!(name, "dur_ns" | "gap_before_ns" | "idle_before_ns");
    let of = |name: &'static str| {
        (name, if repeats(name) { ColumnEncoding::Dictionary } else { ColumnEncoding::Delta })
    };
    table.columns.iter().filter(|column| column.is_delta).map(|column| of(column.name)).collect()
}

pub(crate) fn smallest(table: &StoreTable, batch: &RecordBatch) -> Vec<(&'static str, ColumnEncoding)> {
    let sample = batch.slice(0, batch.num_rows().min(SAMPLE));
    let best = |name: &'static str, at: usize| {
        let one = sample.project(&[at]).ok()?;
        let all = [ColumnEncoding::Delta, ColumnEncoding::Dictionary, ColumnEncoding::Plain];
        all.into_iter()
            .filter_map(|encoding| Some((size(&one, name, encoding)?, encoding)))
            .min_by_key(|(size, _)| *size)
    };
    let columns = table.columns.iter().enumerate().filter(|(_, column)| column.is_delta);
    columns.filter_map(|(at, column)| Some((column.name, best(column.name, at)?.1))).collect()
}

/// Bytes that a column takes in a file of its own.
fn size(one: &RecordBatch, name: &str, encoding: ColumnEncoding) -> Option<usize> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap_or_default()));
    let properties = encoding.apply(properties, name).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), one.schema(), Some(properties)).ok()?;
    writer.write(one).ok()?;
    Some(writer.into_inner().ok()?.len())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    fn chosen(values: Vec<i64>) -> ColumnEncoding {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
        let one = RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(values)) as ArrayRef])
            .expect("a batch");
        let all = [ColumnEncoding::Delta, ColumnEncoding::Dictionary, ColumnEncoding::Plain];
        all.into_iter().min_by_key(|encoding| size(&one, "x", *encoding)).expect("one of three")
    }

    #[test]
    fn times_are_differences_and_repeated_values_a_dictionary() {
        assert_eq!(
            chosen((0..5_000).map(|at| 1_700_000_000_000 + at * 1_013 + at % 7).collect()),
            ColumnEncoding::Delta
        );
        assert_eq!(
            chosen(
                (0..5_000)
                    .map(|at| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) as i64 % 13
                        * 1_000_003)
                    .collect()
            ),
            ColumnEncoding::Dictionary
        );
    }
}
