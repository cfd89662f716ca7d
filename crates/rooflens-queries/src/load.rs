//! Statements that copy the tables of a store into an engine's own storage.

use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;
use crate::error::QueryError;
use crate::table::{FileRef, TableDef};
use crate::views::{each, reading, views};

/// Where tables are loaded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadEngine {
    /// Tables of ClickHouse, engine `MergeTree`, sorted for the named queries.
    ClickHouse,
    /// Tables of a DuckDB database.
    DuckDb,
    /// External tables of Trino's Hive connector: nothing is copied.
    Trino,
    /// Iceberg tables, partitioned by day and tenant, written by Spark.
    Iceberg,
}

impl LoadEngine {
    /// Every target.
    pub const ALL: [LoadEngine; 4] =
        [LoadEngine::ClickHouse, LoadEngine::DuckDb, LoadEngine::Trino, LoadEngine::Iceberg];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LoadEngine::ClickHouse => "clickhouse",
            LoadEngine::DuckDb => "duckdb",
            LoadEngine::Trino => "trino",
            LoadEngine::Iceberg => "iceberg",
        }
    }
}

/// Statements that make the tables and fill them with the files that count.
pub fn load(target: LoadEngine, tables: &[TableDef], files: &[FileRef]) -> Result<String, QueryError> {
    match target {
        LoadEngine::Trino => views(Dialect::Trino, tables, files),
        LoadEngine::Iceberg => iceberg(tables, files),
        LoadEngine::DuckDb => each(
            "-- For DuckDB 2. An object store needs INSTALL httpfs, LOAD httpfs and a secret.\n\
             SET autoinstall_known_extensions = false;\n",
            tables,
            files,
            duckdb,
        ),
        LoadEngine::ClickHouse => each(
            "-- For ClickHouse 26. A server reads local files below its user_files_path only.\n\
             SET use_hive_partitioning = 1;\n",
            tables,
            files,
            clickhouse,
        ),
    }
}

fn duckdb(table: &TableDef, files: &[&FileRef]) -> Result<String, QueryError> {
    let dialect = Dialect::DuckDb;
    let name = dialect.identifier(&table.name);
    let mut script =
        format!("CREATE OR REPLACE TABLE {name} (\n  {}\n);\n", table.typed(dialect).join(",\n  "));
    script.push_str(&insertion(dialect, table, files)?);
    Ok(script)
}

fn insertion(dialect: Dialect, table: &TableDef, files: &[&FileRef]) -> Result<String, QueryError> {
    if files.is_empty() {
        return Ok(String::new());
    }
    let (name, names) = (dialect.identifier(&table.name), table.names(dialect).join(", "));
    Ok(format!("INSERT INTO {name}\nSELECT {names}\nFROM {};\n", reading(dialect, table, files)?))
}

fn clickhouse(table: &TableDef, files: &[&FileRef]) -> Result<String, QueryError> {
    let dialect = Dialect::ClickHouse;
    let name = dialect.identifier(&table.name);
    // Sorting keys may not be null. Days come first where nothing else is known, since every query bounds them.
    let keys = table
        .sorted_by
        .iter()
        .filter(|key| table.columns.iter().any(|column| column.name == **key && !column.is_nullable));
    let mut keys: Vec<String> = keys.map(|key| dialect.identifier(key)).collect();
    keys.extend(["day", "tenant"].map(|key| dialect.identifier(key)));
    // By month: a part per day would make too many of them in a year.
    let mut script = format!(
        "CREATE OR REPLACE TABLE {name} (\n  {}\n)\nENGINE = MergeTree\nPARTITION BY substring(`day`, 1, 7)\n\
         ORDER BY ({});\n",
        table.typed(dialect).join(",\n  "),
        keys.join(", ")
    );
    script.push_str(&insertion(dialect, table, files)?);
    Ok(script)
}

/// Copies by Spark. The procedures that add files in place (`add_files`) take whole folders, with files that do not
/// count, and leave a table that breaks when the store removes files that a later state has replaced.
fn iceberg(tables: &[TableDef], files: &[FileRef]) -> Result<String, QueryError> {
    let dialect = Dialect::Spark;
    let sources: Vec<TableDef> = tables
        .iter()
        .map(|table| TableDef { name: format!("{}_source", table.name), ..table.clone() })
        .collect();
    let source_files: Vec<FileRef> = files
        .iter()
        .map(|file| FileRef { table: format!("{}_source", file.table), ..file.clone() })
        .collect();
    let mut script =
        "-- For Spark 4 with a catalog of Iceberg tables and a namespace that USE has chosen.\n".to_owned();
    script.push_str(&views(dialect, &sources, &source_files)?);
    for (table, source) in tables.iter().zip(&sources) {
        script.push_str(&format!(
            "\nCREATE TABLE IF NOT EXISTS {name} (\n  {}\n) USING iceberg PARTITIONED BY (`day`, `tenant`);\n\
             INSERT OVERWRITE {name}\nSELECT {} FROM {};\n",
            table.typed(dialect).join(",\n  "),
            table.names(dialect).join(", "),
            dialect.identifier(&source.name),
            name = dialect.identifier(&table.name),
        ));
    }
    Ok(script)
}
