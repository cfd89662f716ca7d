//! Statements for engines that people keep their data in.

use rooflens_queries::{ColumnDef, Dialect, FileRef, LoadEngine, SqlType, TableDef, load, views};
use rooflens_store::{ColumnValue, KERNEL_NAMES, StoreColumn, StoreTable};

use super::query::wrong_query;
use super::store::{block_on, open};
use crate::error::Error;

/// What statements are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportTarget {
    /// Tables of the engine's own, and statements that fill them.
    Load(LoadEngine),
    /// Views over the files as they are.
    Views(Dialect),
}

impl ExportTarget {
    /// By the name of an engine.
    pub fn parse(name: &str, views: bool) -> Result<Self, Error> {
        let by_name = |engine: &LoadEngine| engine.name() == name;
        let found = match views || name == "spark" {
            true => Dialect::from_name(name)
                .filter(|dialect| *dialect != Dialect::DataFusion)
                .map(ExportTarget::Views),
            false => LoadEngine::ALL.into_iter().find(by_name).map(ExportTarget::Load),
        };
        let known = "clickhouse, duckdb, iceberg or trino; --views: clickhouse, duckdb, spark or trino";
        found.ok_or_else(|| Error::usage(format!("cannot export to '{name}': choose {known}")))
    }
}

/// The statements, for the files that count now.
pub fn statements(store: &str, target: ExportTarget) -> Result<String, Error> {
    let opened = open(store)?;
    let found = block_on(async {
        let snapshot = opened.snapshot().await?;
        snapshot.files_of(snapshot.partitions().iter()).await
    })?;
    let mut files = Vec::new();
    for (partition, held) in &found {
        files.extend(held.files.iter().map(|file| FileRef {
            table: file.table.clone(),
            path: opened.address(&file.relative),
            day: partition.day.clone(),
            tenant: partition.tenant.clone(),
        }));
    }
    let tables: Vec<TableDef> = rooflens_store::tables().iter().map(definition).collect();
    let text = match target {
        ExportTarget::Load(engine) => load(engine, &tables, &files),
        ExportTarget::Views(dialect) => views(dialect, &tables, &files),
    };
    let mut text = text.map_err(wrong_query)?;
    if let ExportTarget::Views(dialect) = target {
        let temporary = if dialect == Dialect::Spark { "TEMPORARY " } else { "" };
        let (name, sql) = KERNEL_NAMES;
        text.insert_str(0, STALE);
        text.push_str(&format!(
            "\n-- Each kernel once, to join names with.\nCREATE OR REPLACE {temporary}VIEW {name} AS\n{sql};\n"
        ));
    }
    Ok(text)
}

/// Views name files, and those do not stay for ever.
const STALE: &str = "-- These views name the files of the store as it is now. Export them again after runs were added, and before \
                     `rooflens store vacuum` deletes\n-- files that `rooflens store compact` replaced.\n";

fn definition(table: &StoreTable) -> TableDef {
    let column = |column: &StoreColumn| ColumnDef {
        name: column.name.to_owned(),
        kind: match column.value {
            ColumnValue::Text => SqlType::Text,
            ColumnValue::Int => SqlType::Int,
            ColumnValue::BigInt => SqlType::BigInt,
            ColumnValue::Double => SqlType::Double,
            ColumnValue::Bool => SqlType::Boolean,
        },
        is_nullable: column.nullable,
    };
    TableDef {
        name: table.name.to_owned(),
        doc: table.doc.to_owned(),
        columns: table.columns.iter().map(column).collect(),
        sorted_by: table.sort.iter().map(|&name| name.to_owned()).collect(),
    }
}
