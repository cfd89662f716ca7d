//! A value of an answer, for programs and people.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use serde_json::Value as Json;

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
        Date32Array, Decimal128Array, ListArray, NullArray, TimestampNanosecondArray, types::Int64Type,
    };

    use super::*;

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
