//! Statements that make the tables of a store known to an engine, over lists of files.
//!
//! Lists, not wildcards: a folder also holds files that do not count, as those that a later state has replaced.
//! `day` and `tenant` come from paths and are text in each engine; left to themselves DuckDB and ClickHouse take
//! `day` for a date.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::error::QueryError;
use crate::table::{FileRef, TableDef, pattern};

/// Statements that make one view per table over the files that count. DataFusion has none: `rooflens query` reads a
/// store itself.
pub fn views(dialect: Dialect, tables: &[TableDef], files: &[FileRef]) -> Result<String, QueryError> {
    each(beginning(dialect)?, tables, files, |table, files| view(dialect, table, files))
}

/// A script of what is made of each table and its files.
pub(crate) fn each(
    beginning: &str,
    tables: &[TableDef],
    files: &[FileRef],
    one: impl Fn(&TableDef, &[&FileRef]) -> Result<String, QueryError>,
) -> Result<String, QueryError> {
    let mut script = beginning.to_owned();
    for table in tables {
        let files: Vec<&FileRef> = files.iter().filter(|file| file.table == table.name).collect();
        script.push('\n');
        script.push_str(&table.comment());
        script.push_str(&one(table, &files)?);
    }
    Ok(script)
}

fn beginning(dialect: Dialect) -> Result<&'static str, QueryError> {
    match dialect {
        Dialect::DuckDb => {
            Ok("-- For DuckDB 2. An object store needs INSTALL httpfs, LOAD httpfs and a secret.\n\
                               SET autoinstall_known_extensions = false;\n")
        }
        Dialect::ClickHouse => {
            Ok("-- For clickhouse-local and chDB 26. A server reads local files below its \
                                   user_files_path only.\n\
                                   SET use_hive_partitioning = 1;\n")
        }
        Dialect::Spark => Ok("-- For Spark 4, which logs a warning for each list of files.\n"),
        Dialect::Trino => Ok("-- For Trino, in a catalog of the Hive connector that USE has chosen, with \
                              hive.allow-register-partition-procedure=true.\n\
                              CREATE SCHEMA IF NOT EXISTS \"rooflens\";\nUSE \"rooflens\";\n"),
        Dialect::DataFusion => Err(QueryError::Unsupported {
            dialect,
            action: "be given a list of files by a statement".to_owned(),
            hint: "`rooflens query` reads a store itself".to_owned(),
        }),
    }
}

fn view(dialect: Dialect, table: &TableDef, files: &[&FileRef]) -> Result<String, QueryError> {
    if files.is_empty() {
        return Ok(empty(dialect, table));
    }
    match dialect {
        Dialect::Spark => spark(table, files),
        Dialect::Trino => trino(table, files),
        _ => Ok(format!(
            "CREATE OR REPLACE VIEW {} AS\nSELECT {}\nFROM {};\n",
            dialect.identifier(&table.name),
            table.names(dialect).join(", "),
            reading(dialect, table, files)?
        )),
    }
}

/// A view without rows, so that queries work on a store that has no such file.
fn empty(dialect: Dialect, table: &TableDef) -> String {
    let columns = table.columns.iter().map(|column| (column.name.as_str(), column.kind));
    let columns = columns.chain(["day", "tenant"].map(|name| (name, crate::table::SqlType::Text)));
    let columns: Vec<String> = columns
        .map(|(name, kind)| {
            format!("CAST(NULL AS {}) AS {}", kind.sql(dialect, true), dialect.identifier(name))
        })
        .collect();
    let temporary = if dialect == Dialect::Spark { "TEMPORARY " } else { "" };
    let name = dialect.identifier(&table.name);
    format!("CREATE OR REPLACE {temporary}VIEW {name} AS\nSELECT {}\nWHERE 1 = 0;\n", columns.join(", "))
}

pub(crate) fn reading(dialect: Dialect, table: &TableDef, files: &[&FileRef]) -> Result<String, QueryError> {
    let paths: Vec<&str> = files.iter().map(|file| file.local()).collect();
    if dialect == Dialect::DuckDb {
        let list: Vec<String> = paths.iter().map(|path| dialect.text_literal(path)).collect();
        return Ok(format!(
            "read_parquet([\n  {}\n], hive_partitioning = true, hive_types = {{'day': VARCHAR, 'tenant': VARCHAR}})",
            list.join(",\n  ")
        ));
    }
    let function = match scheme(paths[0]) {
        None => "file",
        Some("s3" | "gs") => "s3",
        Some(other) => {
            return Err(QueryError::Unsupported {
                dialect,
                action: format!("read {other}:// by a list of files"),
                hint: "copy the store to a disk or to S3".to_owned(),
            });
        }
    };
    let path = pattern(&paths).ok_or_else(|| special(dialect, table))?;
    let structure = table.typed(dialect).join(", ");
    Ok(format!(
        "{function}({}, 'Parquet', {})",
        dialect.text_literal(&path),
        dialect.text_literal(&structure)
    ))
}

fn scheme(path: &str) -> Option<&str> {
    path.split_once("://").map(|(scheme, _)| scheme)
}

fn special(dialect: Dialect, table: &TableDef) -> QueryError {
    QueryError::Unsupported {
        dialect,
        action: format!("read the files of `{}`, whose names have characters of patterns", table.name),
        hint: "rename the tenant or move the store".to_owned(),
    }
}

/// One view per tenant, whose days Spark finds in paths, and one over all of them: Spark stops looking for columns
/// in a path at the first folder without `=`, so it never sees `tenant=`.
fn spark(table: &TableDef, files: &[&FileRef]) -> Result<String, QueryError> {
    let dialect = Dialect::Spark;
    let mut by_folder: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for file in files {
        let (folder, _) = file.split_at_day().ok_or_else(|| without_day(dialect, file))?;
        by_folder.entry((&file.tenant, folder)).or_default().push(&file.path);
    }
    let hadoop = |path: &str| match path.strip_prefix("s3://") {
        Some(rest) => format!("s3a://{rest}"),
        None => path.to_owned(),
    };
    let (mut script, mut parts) = (String::new(), Vec::new());
    let names = table.names(dialect);
    let mut typed = table.typed(dialect);
    typed.pop();
    for (number, ((tenant, folder), paths)) in by_folder.iter().enumerate() {
        let name = dialect.identifier(&format!("{}_files_{number}", table.name));
        let path = pattern(paths).ok_or_else(|| special(dialect, table))?;
        script.push_str(&format!(
            "CREATE OR REPLACE TEMPORARY VIEW {name} ({})\nUSING parquet OPTIONS (path {}, basePath {});\n",
            typed.join(", "),
            dialect.text_literal(&hadoop(&path)),
            dialect.text_literal(&hadoop(folder)),
        ));
        let of_files = names[..names.len() - 1].join(", ");
        parts.push(format!("SELECT {of_files}, {} AS `tenant` FROM {name}", dialect.text_literal(tenant)));
    }
    script.push_str(&format!(
        "CREATE OR REPLACE TEMPORARY VIEW {} AS\n{};\n",
        dialect.identifier(&table.name),
        parts.join("\nUNION ALL\n")
    ));
    Ok(script)
}

/// An external table over the folders, and a view that takes those of its files that count.
fn trino(table: &TableDef, files: &[&FileRef]) -> Result<String, QueryError> {
    let dialect = Dialect::Trino;
    let folders: BTreeMap<(&str, &str), &str> = files
        .iter()
        .map(|file| {
            let (folder, _) = file.path.rsplit_once('/').ok_or_else(|| without_day(dialect, file))?;
            Ok(((file.day.as_str(), file.tenant.as_str()), folder))
        })
        .collect::<Result<_, QueryError>>()?;
    let raw = format!("{}_files", table.name);
    // The connector wants a location of the table's own; each partition then has its folder.
    let location = files[0].split_at_day().ok_or_else(|| without_day(dialect, files[0]))?.0;
    let mut script = format!(
        "CREATE TABLE IF NOT EXISTS {} (\n  {}\n) WITH (external_location = {}, format = 'PARQUET', \
         partitioned_by = ARRAY['day', 'tenant']);\n",
        dialect.identifier(&raw),
        table.typed(dialect).join(",\n  "),
        dialect.text_literal(location)
    );
    for ((day, tenant), folder) in folders {
        script.push_str(&format!(
            "CALL system.register_partition(schema_name => 'rooflens', table_name => {}, \
             partition_columns => ARRAY['day', 'tenant'], partition_values => ARRAY[{}, {}], location => {});\n",
            dialect.text_literal(&raw),
            dialect.text_literal(day),
            dialect.text_literal(tenant),
            dialect.text_literal(folder)
        ));
    }
    let paths: Vec<String> = files.iter().map(|file| dialect.text_literal(&file.path)).collect();
    script.push_str(&format!(
        "CREATE OR REPLACE VIEW {} AS\nSELECT {}\nFROM {}\nWHERE \"$path\" IN (\n  {}\n);\n",
        dialect.identifier(&table.name),
        table.names(dialect).join(", "),
        dialect.identifier(&raw),
        paths.join(",\n  ")
    ));
    Ok(script)
}

fn without_day(dialect: Dialect, file: &FileRef) -> QueryError {
    QueryError::Unsupported {
        dialect,
        action: format!("find the day of {}", file.path),
        hint: "files of a store lie in folders `day=…`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadEngine, load};
    use crate::table::{ColumnDef, SqlType};

    fn made() -> (Vec<TableDef>, Vec<FileRef>) {
        let column = |name: &str, kind, is_nullable| ColumnDef { name: name.to_owned(), kind, is_nullable };
        let table = |name: &str| TableDef {
            name: name.to_owned(),
            doc: "A row; of\ntests.".to_owned(),
            columns: vec![column("run_id", SqlType::Text, false), column("node", SqlType::Text, true)],
            sorted_by: vec!["run_id".to_owned(), "node".to_owned()],
        };
        let file = |tenant: &str, day: &str| FileRef {
            table: "runs".to_owned(),
            path: format!("s3://bucket/it's/tenant={tenant}/rollups/runs/day={day}/x.parquet"),
            day: day.to_owned(),
            tenant: tenant.to_owned(),
        };
        (vec![table("runs"), table("steps")], vec![file("a", "2026-11-01"), file("b", "2026-11-02")])
    }

    #[test]
    fn days_and_tenants_are_text_and_paths_are_literals() {
        let (tables, files) = made();
        let of = |dialect| views(dialect, &tables, &files).unwrap();
        let duckdb = of(Dialect::DuckDb);
        assert!(duckdb.contains("SET autoinstall_known_extensions = false;\n"), "{duckdb}");
        assert!(duckdb.contains("hive_types = {'day': VARCHAR, 'tenant': VARCHAR}"), "{duckdb}");
        assert!(
            duckdb.contains("'s3://bucket/it''s/tenant=a/rollups/runs/day=2026-11-01/x.parquet'"),
            "{duckdb}"
        );
        assert!(duckdb.contains("-- runs: A row, of tests.\n"), "{duckdb}");
        let clickhouse = of(Dialect::ClickHouse);
        let pattern = "s3('s3://bucket/it''s/{tenant=a/rollups/runs/day=2026-11-01/x.parquet,tenant=b/";
        assert!(clickhouse.contains(pattern), "{clickhouse}");
        assert!(
            clickhouse.contains("`node` Nullable(String), `day` String, `tenant` String"),
            "{clickhouse}"
        );
        let spark = of(Dialect::Spark);
        assert!(spark.contains(r"basePath 's3a://bucket/it\'s/tenant=b/rollups/runs'"), "{spark}");
        assert!(spark.contains("'b' AS `tenant` FROM `runs_files_1`"), "{spark}");
        let trino = of(Dialect::Trino);
        assert!(trino.contains("partition_values => ARRAY['2026-11-02', 'b']"), "{trino}");
        assert!(trino.contains("WHERE \"$path\" IN ("), "{trino}");
        assert!(views(Dialect::DataFusion, &tables, &files).is_err());
    }

    #[test]
    fn a_table_without_files_is_empty() {
        let (tables, files) = made();
        for dialect in [Dialect::DuckDb, Dialect::ClickHouse, Dialect::Spark, Dialect::Trino] {
            let script = views(dialect, &tables, &files).unwrap();
            assert_eq!(script.matches("WHERE 1 = 0;").count(), 1, "{script}");
        }
    }

    #[test]
    fn loads_make_tables_and_fill_them() {
        let (tables, files) = made();
        let of = |engine| load(engine, &tables, &files).unwrap();
        let clickhouse = of(LoadEngine::ClickHouse);
        // The column that may be null is no key.
        assert!(clickhouse.contains("ORDER BY (`run_id`, `day`, `tenant`);"), "{clickhouse}");
        assert_eq!(clickhouse.matches("INSERT INTO").count(), 1, "{clickhouse}");
        assert_eq!(of(LoadEngine::DuckDb).matches("CREATE OR REPLACE TABLE").count(), 2);
        let iceberg = of(LoadEngine::Iceberg);
        assert!(iceberg.contains("USING iceberg PARTITIONED BY (`day`, `tenant`)"), "{iceberg}");
        assert!(iceberg.contains("`day`, `tenant` FROM `runs_source`;"), "{iceberg}");
    }

    #[test]
    fn names_that_patterns_cannot_hold_are_refused() {
        let (tables, mut files) = made();
        files[0].path = "/store/tenant={a,b}/rollups/runs/day=2026-11-01/x.parquet".to_owned();
        for dialect in [Dialect::ClickHouse, Dialect::Spark] {
            let error = views(dialect, &tables, &files).unwrap_err().to_string();
            assert!(error.contains("characters of patterns"), "{error}");
        }
    }
}
