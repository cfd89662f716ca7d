//! The order of rows in a file.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take_record_batch;

use crate::tables::StoreTable;

/// The columns that rows are ordered by, of one batch.
pub struct Keys {
    columns: Vec<KeyColumn>,
}

enum KeyColumn {
    Int(ArrayRef),
    BigInt(ArrayRef),
    Text(StringArray),
}

impl Keys {
    /// Those of a table; columns that cannot order rows are passed over.
    pub(crate) fn of(table: &StoreTable, batch: &RecordBatch) -> Keys {
        let column = |name: &&str| {
            let array = batch.column_by_name(name)?;
            match array.data_type() {
                DataType::Int32 => Some(KeyColumn::Int(array.clone())),
                DataType::Int64 => Some(KeyColumn::BigInt(array.clone())),
                DataType::Utf8 => Some(KeyColumn::Text(array.as_string::<i32>().clone())),
                _ => None,
            }
        };
        Keys { columns: table.sort.iter().filter_map(column).collect() }
    }

    /// How row `a` of these stands to row `b` of others.
    pub fn compare(&self, a: usize, others: &Keys, b: usize) -> Ordering {
        for (mine, theirs) in self.columns.iter().zip(&others.columns) {
            let order = match (mine, theirs) {
                (KeyColumn::Int(x), KeyColumn::Int(y)) => {
                    x.as_primitive::<Int32Type>().value(a).cmp(&y.as_primitive::<Int32Type>().value(b))
                }
                (KeyColumn::BigInt(x), KeyColumn::BigInt(y)) => {
                    x.as_primitive::<Int64Type>().value(a).cmp(&y.as_primitive::<Int64Type>().value(b))
                }
                (KeyColumn::Text(x), KeyColumn::Text(y)) => x.value(a).cmp(y.value(b)),
                _ => Ordering::Equal,
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }
}

/// The rows of a batch in the order of its table. Rows that are equal in it keep theirs.
pub(crate) fn sorted(table: &StoreTable, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let keys = Keys::of(table, &batch);
    let mut order: Vec<u32> = (0..u32::try_from(batch.num_rows()).unwrap_or(u32::MAX)).collect();
    let in_order =
        |pair: &[u32]| keys.compare(pair[0] as usize, &keys, pair[1] as usize) != Ordering::Greater;
    if order.windows(2).all(in_order) {
        return Ok(batch);
    }
    order.sort_by(|&a, &b| keys.compare(a as usize, &keys, b as usize));
    take_record_batch(&batch, &UInt32Array::from(order))
}
