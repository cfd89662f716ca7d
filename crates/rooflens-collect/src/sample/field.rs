//! The columns of a sample as values: for CSV, JSON, Prometheus and screens alike.

use std::borrow::Cow;

use rooflens_schema::Opt;
use rooflens_schema::tables::{CounterRow, CounterSource, CounterStep, Counters};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;

/// A value of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CounterValue {
    /// Not known.
    Null,
    /// A whole number.
    Whole(i64),
    /// Any number.
    Real(f64),
    /// A word.
    Word(&'static str),
}

impl CounterValue {
    /// As a number, where it is one.
    pub fn number(self) -> Option<f64> {
        match self {
            CounterValue::Whole(number) => Some(number as f64),
            CounterValue::Real(number) => Some(number),
            CounterValue::Null | CounterValue::Word(_) => None,
        }
    }
}

impl std::fmt::Display for CounterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CounterValue::Null => Ok(()),
            CounterValue::Whole(number) => number.fmt(f),
            CounterValue::Real(number) => number.fmt(f),
            CounterValue::Word(word) => f.write_str(word),
        }
    }
}

impl Serialize for CounterValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CounterValue::Null => serializer.serialize_none(),
            CounterValue::Whole(number) => serializer.serialize_i64(*number),
            CounterValue::Real(number) => serializer.serialize_f64(*number),
            CounterValue::Word(word) => serializer.serialize_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for CounterValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        CounterValue::read(&json).ok_or_else(|| {
            D::Error::custom(format!("{json} is not a number, a word of the table `counters`, or null"))
        })
    }
}

impl CounterValue {
    fn read(json: &Json) -> Option<Self> {
        match json {
            Json::Null => Some(CounterValue::Null),
            Json::Number(number) => {
                number.as_i64().map(CounterValue::Whole).or_else(|| number.as_f64().map(CounterValue::Real))
            }
            Json::String(word) => {
                let sources = CounterSource::ALL.iter().map(|source| source.as_str());
                let mut words = sources.chain(CounterStep::ALL.iter().map(|step| step.as_str()));
                words.find(|known| *known == word.as_str()).map(CounterValue::Word)
            }
            _ => None,
        }
    }
}

impl From<i64> for CounterValue {
    fn from(number: i64) -> Self {
        CounterValue::Whole(number)
    }
}
impl From<Opt<i64>> for CounterValue {
    fn from(number: Opt<i64>) -> Self {
        number.get().map_or(CounterValue::Null, CounterValue::Whole)
    }
}
impl From<Opt<i32>> for CounterValue {
    fn from(number: Opt<i32>) -> Self {
        number.get().map_or(CounterValue::Null, |number| CounterValue::Whole(number.into()))
    }
}
impl From<Option<f64>> for CounterValue {
    fn from(number: Option<f64>) -> Self {
        number.map_or(CounterValue::Null, CounterValue::Real)
    }
}
impl From<CounterSource> for CounterValue {
    fn from(source: CounterSource) -> Self {
        CounterValue::Word(source.as_str())
    }
}
impl From<CounterStep> for CounterValue {
    fn from(step: CounterStep) -> Self {
        CounterValue::Word(step.as_str())
    }
}

/// A column.
pub struct CounterField {
    /// Its name in the table.
    pub name: &'static str,
    /// Its value in a row.
    pub of: fn(&CounterRow) -> CounterValue,
}

macro_rules! fields {
    ($($name:ident,)+) => {
        /// Every column, in the order of the table.
        pub const ALL: &[CounterField] = &[$(CounterField { name: stringify!($name), of: |row| row.$name.into() },)+];
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
pub fn named(name: &str) -> Option<&'static CounterField> {
    ALL.iter().find(|field| field.name == name)
}

/// The value of every column of [`ALL`], in its order. A JSON object: null where a value is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleValues(Vec<CounterValue>);

impl SampleValues {
    /// The values that `of` tells of each column.
    pub fn of(of: impl FnMut(&CounterField) -> CounterValue) -> Self {
        SampleValues(ALL.iter().map(of).collect())
    }

    /// The value of the column of that name; null where there is none.
    pub fn get(&self, name: &str) -> CounterValue {
        let at = ALL.iter().position(|field| field.name == name);
        at.and_then(|at| self.0.get(at)).copied().unwrap_or(CounterValue::Null)
    }
}

impl From<&CounterRow> for SampleValues {
    fn from(row: &CounterRow) -> Self {
        SampleValues::of(|field| (field.of)(row))
    }
}

impl Serialize for SampleValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(ALL.len()))?;
        for (field, value) in ALL.iter().zip(&self.0) {
            map.serialize_entry(field.name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for SampleValues {
    /// Columns that an older version did not have are unknown.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let columns = serde_json::Map::deserialize(deserializer)?;
        let value = |field: &CounterField| columns.get(field.name).and_then(CounterValue::read);
        Ok(SampleValues::of(|field| value(field).unwrap_or(CounterValue::Null)))
    }
}

impl JsonSchema for SampleValues {
    fn schema_name() -> Cow<'static, str> {
        "SampleValues".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let property = |column: &rooflens_schema::table::ColumnSchema| {
            let (kind, unit) = (column.data_type.to_string(), column.unit);
            let kind = match kind.as_str() {
                "Float32" | "Float64" => "number",
                kind if kind.starts_with("Int") => "integer",
                _ => "string",
            };
            let unit = if unit.is_empty() { String::new() } else { format!(" Unit: {unit}.") };
            let schema = json_schema!({
                "description": format!("{}{unit}", column.doc),
                "type": [kind, "null"],
            });
            (column.name.to_owned(), schema.into())
        };
        let spec = Counters::spec();
        let properties: serde_json::Map<String, Json> = spec.columns.iter().map(property).collect();
        let required: Vec<&str> = ALL.iter().map(|field| field.name).collect();
        json_schema!({
            "description": "A row of the table `counters`: null where a value is not known.",
            "type": "object",
            "properties": properties,
            "required": required,
        })
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
        assert_eq!((of("power_mw"), of("energy_mj")), (CounterValue::Whole(0), CounterValue::Null));
        assert_eq!((of("source"), of("device")), (CounterValue::Word("device"), CounterValue::Whole(0)));
        assert_eq!(
            (CounterValue::Whole(0).to_string(), CounterValue::Null.to_string()),
            ("0".to_owned(), String::new())
        );
    }
}
