//! What may be asked: one SELECT, or EXPLAIN of one.
//!
//! The check is of the parsed statement, before anything is planned; the plan is checked once more, so that a kind of
//! statement that a later DataFusion learns is refused too. No function that reads files is registered, and a quoted
//! path is never taken for a table.

use datafusion::execution::context::SQLOptions;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{Query, SetExpr, Statement as Sql};
use rooflens_engine_protocol::{Fault, Kind};

use crate::fault;

pub(crate) fn parse(sql: &str) -> Result<Statement, Fault> {
    let parsed = DFParserBuilder::new(sql).build().and_then(|mut parser| parser.parse_statements());
    let mut statements = parsed.map_err(|error| fault::of_datafusion(&error))?;
    let (Some(statement), None) = (statements.pop_front(), statements.pop_front()) else {
        let message = match sql.trim().is_empty() {
            true => "there is no SQL statement",
            false => "only one SQL statement is allowed",
        };
        return Err(Fault::new(Kind::Sql, message));
    };
    if let Statement::Statement(sql) = &statement
        && matches!(**sql, Sql::ShowTables { .. } | Sql::ShowColumns { .. } | Sql::ExplainTable { .. })
    {
        return Err(listing());
    }
    match refused(&statement) {
        Some(name) => Err(refusal(&name)),
        None => Ok(statement),
    }
}

pub(crate) fn options() -> SQLOptions {
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false)
}

fn refusal(name: &str) -> Fault {
    let fault = Fault::new(Kind::Sql, format!("{name} is not allowed: the store is read-only"));
    fault.hint("write one SELECT, WITH … SELECT or EXPLAIN")
}

/// What to ask instead of `SHOW TABLES` and `DESCRIBE`.
fn listing() -> Fault {
    let names: Vec<&str> = rooflens_store::tables().iter().map(|table| table.name).collect();
    let fault = Fault::new(Kind::Sql, format!("the tables are {}", names.join(", ")));
    fault.hint(
        "SELECT * FROM runs LIMIT 1 shows the columns of one; docs/reference/store.md says what they mean",
    )
}

/// The name of a statement that may not run.
fn refused(statement: &Statement) -> Option<String> {
    match statement {
        Statement::Statement(sql) => match sql.as_ref() {
            Sql::Query(query) => refused_query(query),
            other => Some(first_words(&other.to_string())),
        },
        Statement::Explain(explain) => refused(&explain.statement),
        Statement::CreateExternalTable(_) => Some("CREATE EXTERNAL TABLE".to_owned()),
        Statement::CopyTo(_) => Some("COPY".to_owned()),
        Statement::Reset(_) => Some("RESET".to_owned()),
    }
}

fn refused_query(query: &Query) -> Option<String> {
    let mut within = query.with.iter().flat_map(|with| &with.cte_tables);
    within.find_map(|table| refused_query(&table.query)).or_else(|| refused_body(&query.body))
}

fn refused_body(body: &SetExpr) -> Option<String> {
    match body {
        SetExpr::Select(select) => select.into.as_ref().map(|_| "SELECT INTO".to_owned()),
        SetExpr::Query(query) => refused_query(query),
        SetExpr::SetOperation { left, right, .. } => refused_body(left).or_else(|| refused_body(right)),
        SetExpr::Values(_) | SetExpr::Table(_) => None,
        SetExpr::Insert(sql) | SetExpr::Update(sql) | SetExpr::Delete(sql) | SetExpr::Merge(sql) => {
            Some(first_words(&sql.to_string()))
        }
    }
}

fn first_words(sql: &str) -> String {
    let is_keyword = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let words: Vec<&str> = sql.split_whitespace().take_while(is_keyword).take(2).collect();
    match words.is_empty() {
        true => "this statement".to_owned(),
        false => words.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_query_passes() {
        for sql in [
            "SELECT 1",
            "select 1;",
            "WITH a AS (SELECT 1 AS x) SELECT * FROM a",
            "EXPLAIN SELECT 1",
            "EXPLAIN ANALYZE SELECT 1",
            "(SELECT 1) UNION ALL (SELECT 2)",
            "VALUES (1), (2)",
        ] {
            assert!(parse(sql).is_ok(), "{sql}");
        }
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        for (sql, message) in [
            ("", "there is no SQL statement"),
            ("SELECT 1; SELECT 2", "only one SQL statement is allowed"),
            ("INSERT INTO runs VALUES (1)", "INSERT INTO is not allowed: the store is read-only"),
            ("DELETE FROM runs", "DELETE FROM is not allowed: the store is read-only"),
            ("UPDATE runs SET kind = 'x'", "UPDATE is not allowed: the store is read-only"),
            ("CREATE TABLE x AS SELECT 1", "CREATE TABLE is not allowed: the store is read-only"),
            ("CREATE VIEW x AS SELECT 1", "CREATE VIEW is not allowed: the store is read-only"),
            ("DROP TABLE runs", "DROP TABLE is not allowed: the store is read-only"),
            ("COPY runs TO 'x.parquet'", "COPY is not allowed: the store is read-only"),
            (
                "CREATE EXTERNAL TABLE x STORED AS PARQUET LOCATION '/x'",
                "CREATE EXTERNAL TABLE is not allowed: the store is read-only",
            ),
            ("EXPLAIN COPY runs TO 'x.parquet'", "COPY is not allowed: the store is read-only"),
            (
                "WITH a AS (SELECT 1) INSERT INTO runs SELECT * FROM a",
                "INSERT INTO is not allowed: the store is read-only",
            ),
            ("SELECT 1 INTO x", "SELECT INTO is not allowed: the store is read-only"),
            ("RESET datafusion.execution.batch_size", "RESET is not allowed: the store is read-only"),
        ] {
            let fault = parse(sql).map(drop).map_err(|fault| fault.message);
            assert_eq!(fault, Err(message.to_owned()), "{sql}");
        }
        for sql in
            ["SET datafusion.execution.batch_size = 1", "SHOW TABLES", "BEGIN", "PREPARE p AS SELECT 1"]
        {
            let fault = parse(sql).map(drop).map_err(|fault| fault.kind);
            assert_eq!(fault, Err(Kind::Sql), "{sql}");
        }
    }
}
