//! The tables of a store: what leaves the machine of a run, and what is summed up of it.
//!
//! `events` lists, column by column, what is taken over from the tables of a run; whatever it does not name stays
//! where it is. `rollups` declares what is computed when a run is added. Every table also has `day` and `tenant`,
//! which are in the paths of its files and not in the files.

mod events;
mod rollups;

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, Schema};

use crate::layout::StoreArea;

pub use events::KEPT_AT_HOME;

/// What a column holds. The plainest types only: every engine reads them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnValue {
    /// Text, in UTF-8.
    Text,
    /// A whole number of 32 bits.
    Int,
    /// A whole number of 64 bits.
    BigInt,
    /// A number of 64 bits with a point.
    Double,
    /// True or false.
    Bool,
}

impl ColumnValue {
    /// The type in Arrow and Parquet.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            ColumnValue::Text => DataType::Utf8,
            ColumnValue::Int => DataType::Int32,
            ColumnValue::BigInt => DataType::Int64,
            ColumnValue::Double => DataType::Float64,
            ColumnValue::Bool => DataType::Boolean,
        }
    }
}

/// A column of a store's table.
#[derive(Debug, Clone)]
pub struct StoreColumn {
    /// Name.
    pub name: &'static str,
    /// What it holds.
    pub value: ColumnValue,
    /// Whether it may be null.
    pub nullable: bool,
    /// Unit of its values.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Whether neighbours are close, so that differences are what to store.
    pub(crate) is_delta: bool,
}

/// A table of a store.
#[derive(Debug, Clone)]
pub struct StoreTable {
    /// Name in SQL.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Which part of a tenant's data it belongs to.
    pub area: StoreArea,
    /// Its columns, without `day` and `tenant`.
    pub columns: Vec<StoreColumn>,
    /// The columns that rows are sorted by once they are compacted; before, events are in the order of the run.
    pub sort: &'static [&'static str],
}

impl StoreTable {
    /// The schema of its files.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        let field = |column: &StoreColumn| Field::new(column.name, column.value.data_type(), column.nullable);
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    /// Where a column is.
    #[must_use]
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.name == column)
    }
}

static TABLES: LazyLock<Vec<StoreTable>> = LazyLock::new(|| {
    let mut tables = rollups::tables();
    tables.extend(events::tables());
    tables
});

/// Every table, roll-ups first.
#[must_use]
pub fn tables() -> &'static [StoreTable] {
    &TABLES
}

/// A view that engines have besides the tables: each kernel once. `kernel_dim` has it once for every run until a day is
/// compacted, and once per day and tenant then, so that a join with it repeats rows.
pub const KERNEL_NAMES: (&str, &str) = (
    "kernel_names",
    "SELECT d.kernel_id AS kernel_id, min(d.name) AS name, min(d.short_name) AS short_name, min(d.class) AS class, \
     min(d.library) AS library, min(d.dtype) AS dtype FROM kernel_dim d GROUP BY d.kernel_id",
);

/// The table of a name.
#[must_use]
pub fn table(name: &str) -> Option<&'static StoreTable> {
    TABLES.iter().find(|table| table.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_a_run_was_decided_on() {
        for spec in rooflens_schema::tables::specs() {
            let stored = table(spec.name).filter(|table| table.area == StoreArea::Events);
            let home = KEPT_AT_HOME.iter().find(|(name, _)| *name == spec.name).map_or(&[][..], |(_, c)| c);
            for column in &spec.columns {
                let goes = stored.is_some_and(|table| table.position(column.name).is_some());
                let stays = home.contains(&column.name) || home == ["*"];
                assert!(goes != stays, "{}.{}: list it as one that goes or stays", spec.name, column.name);
            }
        }
    }

    #[test]
    fn sorted_columns_exist_and_names_are_unique() {
        for table in tables() {
            assert!(table.sort.iter().all(|column| table.position(column).is_some()), "{}", table.name);
            let names: std::collections::BTreeSet<_> = table.columns.iter().map(|c| c.name).collect();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
            assert!(!names.contains("day") && !names.contains("tenant"), "{}", table.name);
            assert!(table.columns.iter().all(|column| !column.doc.is_empty()), "{}", table.name);
        }
    }
}
