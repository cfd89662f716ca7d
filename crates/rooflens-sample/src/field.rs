//! The columns of a sample as values: for CSV, JSON, Prometheus and screens alike.

use rooflens_schema::Opt;
use rooflens_schema::tables::{CounterRow, CounterSource, CounterStep};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A value of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Not known.
    Null,
    /// A whole number.
    Whole(i64),
    /// Any number.
    Real(f64),
    /// A word.
    Word(&'static str),
}

impl Value {
    /// As a number, where it is one.
    pub fn number(self) -> Option<f64> {
        match self {
            Value::Whole(number) => Some(number as f64),
            Value::Real(number) => Some(number),
            Value::Null | Value::Word(_) => None,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Null => Ok(()),
            Value::Whole(number) => number.fmt(f),
            Value::Real(number) => number.fmt(f),
            Value::Word(word) => f.write_str(word),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_none(),
            Value::Whole(number) => serializer.serialize_i64(*number),
            Value::Real(number) => serializer.serialize_f64(*number),
            Value::Word(word) => serializer.serialize_str(word),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Whole(number)
    }
}
impl From<Opt<i64>> for Value {
    fn from(number: Opt<i64>) -> Self {
        number.get().map_or(Value::Null, Value::Whole)
    }
}
impl From<Opt<i32>> for Value {
    fn from(number: Opt<i32>) -> Self {
        number.get().map_or(Value::Null, |number| Value::Whole(number.into()))
    }
}
impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Value::Null, Value::Real)
    }
}
impl From<CounterSource> for Value {
    fn from(source: CounterSource) -> Self {
        Value::Word(source.as_str())
    }
}
impl From<CounterStep> for Value {
    fn from(step: CounterStep) -> Self {
        Value::Word(step.as_str())
    }
}

/// A column.
pub struct Field {
    /// Its name in the table.
    pub name: &'static str,
    /// Its value in a row.
    pub of: fn(&CounterRow) -> Value,
}

macro_rules! fields {
    ($($name:ident,)+) => {
        /// Every column, in the order of the table.
        pub const ALL: &[Field] = &[$(Field { name: stringify!($name), of: |row| row.$name.into() },)+];
    };
}

fields! {
    ts_ns, late_ns, took_ns, source, device, step,
    gpu_util_pct, mem_util_pct, sm_clock_mhz, mem_clock_mhz,
    power_mw, power_limit_mw, energy_mj, temperature_c,
    mem_used_bytes, mem_total_bytes, throttle_reasons, pstate, processes, watched_mem_bytes,
    sm_active_pct, sm_occupancy_pct, tensor_active_pct, dram_active_pct,
    pcie_tx_bytes_per_s, pcie_rx_bytes_per_s, nvlink_tx_bytes_per_s, nvlink_rx_bytes_per_s,
    cpu_busy_pct, cpu_busy_ns, watched_cpu_ns, swap_used_bytes,
    disk_read_bytes, disk_write_bytes, net_rx_bytes, net_tx_bytes,
}

/// The column of that name.
pub fn named(name: &str) -> Option<&'static Field> {
    ALL.iter().find(|field| field.name == name)
}

/// A row as a JSON object: every column, null where it is not known.
pub struct Row<'a>(pub &'a CounterRow);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(ALL.len()))?;
        for field in ALL {
            map.serialize_entry(field.name, &(field.of)(self.0))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rooflens_schema::tables::Counters;

    #[test]
    fn every_column_is_a_field() {
        let columns: Vec<&str> = Counters::spec().columns.iter().map(|column| column.name).collect();
        assert_eq!(ALL.iter().map(|field| field.name).collect::<Vec<_>>(), columns);
    }

    #[test]
    fn what_is_not_known_is_null_and_what_is_zero_is_zero() {
        let mut row = CounterRow::new(7, 0, CounterSource::Device, Some(0));
        row.power_mw = Opt::some(0);
        let of = |name| (named(name).unwrap().of)(&row);
        assert_eq!((of("power_mw"), of("energy_mj")), (Value::Whole(0), Value::Null));
        assert_eq!((of("source"), of("device")), (Value::Word("device"), Value::Whole(0)));
        assert_eq!((Value::Whole(0).to_string(), Value::Null.to_string()), ("0".to_owned(), String::new()));
    }
}
