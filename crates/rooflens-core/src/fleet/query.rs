//! A question to a store: SQL, or a query that has a name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use rooflens_queries::{Dialect, NamedQuery, find};
use serde_json::{Value as Json, json};

use super::answer::{AnswerHead, QueryCost};
use super::engine::{EngineLimits, EnginePart, EngineRequest, ask};
use super::judge;
use super::store::{block_on, open, unknown_values};
use crate::error::Error;

/// The engine that is started here, and the one that asks a cluster.
pub(super) const HERE: &str = "rooflens-query";
const CLUSTER: &str = "rooflens-query-spark";

/// What is asked.
#[derive(Debug, Clone)]
pub enum QueryText {
    /// SQL, as it is.
    Sql(String),
    /// A query by its name, with values of its parameters.
    Named {
        /// The query.
        query: &'static NamedQuery,
        /// Values of its parameters.
        values: BTreeMap<String, String>,
    },
}

impl QueryText {
    /// A name with values, or SQL, by what the words look like.
    pub fn parse(text: &str, values: &[String]) -> Result<QueryText, Error> {
        let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !is_name {
            return match values {
                [] => Ok(QueryText::Sql(text.to_owned())),
                [first, ..] => Err(wrong_value(format!(
                    "'{first}' comes after SQL, which has no parameters; only named queries do"
                ))),
            };
        }
        let query = find(text).map_err(wrong_query)?;
        let mut given = BTreeMap::new();
        for value in values {
            let Some((name, value)) = value.split_once('=') else {
                return Err(wrong_value(format!(
                    "'{value}' is not a parameter: write NAME=VALUE, or --store STORE for a store"
                )));
            };
            given.insert(name.to_owned(), value.to_owned());
        }
        Ok(QueryText::Named { query, values: given })
    }

    /// The SQL for an engine.
    pub fn sql(&self, dialect: Dialect) -> Result<String, Error> {
        match self {
            QueryText::Sql(sql) => Ok(sql.clone()),
            QueryText::Named { query, values } => query.render(dialect, values).map_err(wrong_query),
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        match self {
            QueryText::Sql(_) => None,
            QueryText::Named { values, .. } => values.get(name).map(String::as_str),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let why = match (self.value("base"), self.value("other"), self.value("since"), self.value("until")) {
            (Some(base), Some(other), ..) if base == other => {
                format!("base and other are both {base}: name two builds")
            }
            (_, _, Some(since), Some(until)) if since > until => {
                format!("since={since} is after until={until}")
            }
            _ => return Ok(()),
        };
        Err(Error::usage(why))
    }

    pub(crate) fn named(&self) -> Option<&'static NamedQuery> {
        match self {
            QueryText::Sql(_) => None,
            QueryText::Named { query, .. } => Some(query),
        }
    }
}

fn wrong_value(message: String) -> Error {
    Error::usage(message).command("rooflens query --help")
}

pub(super) fn wrong_query(error: impl std::fmt::Display) -> Error {
    Error::usage(error.to_string()).command("rooflens query --list")
}

/// A question, and how it is to be answered.
#[derive(Debug, Clone)]
pub struct QueryRequest {
    /// What is asked.
    pub text: QueryText,
    /// Address of the store.
    pub store: String,
    /// Only these tenants; nothing else is looked at.
    pub tenants: Option<Vec<String>>,
    /// Memory that the engine may use.
    pub memory_bytes: Option<u64>,
    /// Limits from outside.
    pub limits: EngineLimits,
    /// Where it may put what does not fit.
    pub spill_folder: Option<PathBuf>,
    /// Address of a Spark Connect server instead of the engine here.
    pub engine: Option<String>,
}

impl QueryRequest {
    /// Why an answer of so many rows may not be what was expected.
    pub fn notes(&self, rows: usize) -> Result<Vec<String>, Error> {
        let QueryText::Named { query, values } = &self.text else { return Ok(Vec::new()) };
        if rows == 0 {
            let mut notes = unknown_values(&self.store, values)?;
            if notes.is_empty() {
                notes.extend(query.needs().map(|needs| format!("this query needs: {needs}")));
            }
            return Ok(notes);
        }
        let limit = query.parameters().iter().find(|parameter| parameter.name == "limit");
        let limit = limit.and_then(|limit| values.get("limit").or(limit.default.as_ref()));
        let is_full = query.judge().is_none() && limit.is_some_and(|limit| *limit == rows.to_string());
        let more = is_full.then(|| format!("the answer ends at limit={rows}: there may be more rows"));
        Ok(more.into_iter().collect())
    }
}

/// Follows a query.
pub trait QueryWatch: Sync {
    /// So many rows and bytes were read.
    fn progress(&self, rows: u64, bytes: u64);

    /// Whether to end it now; asked some times a second.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Takes an answer as it comes: what it is about, then its rows.
pub trait AnswerTaker<E> {
    /// The answer begins.
    fn begin(&mut self, head: AnswerHead) -> Result<(), E>;
    /// Some rows of it.
    fn rows(&mut self, batch: &RecordBatch) -> Result<(), E>;
}

/// Asks, and hands the answer over row by row. Where it fails on the way, what was handed over is not all.
pub fn query<E: From<Error>>(
    request: &QueryRequest,
    watch: &dyn QueryWatch,
    taker: &mut dyn AnswerTaker<E>,
) -> Result<QueryCost, E> {
    let (program, dialect) = match request.engine {
        Some(_) => (CLUSTER, Dialect::Spark),
        None => (HERE, Dialect::DataFusion),
    };
    request.text.check()?;
    let sql = request.text.sql(dialect)?;
    let tables = request.engine.is_some().then(|| file_lists(request)).transpose()?;
    let asked = EngineRequest {
        sql: &sql,
        store: &request.store,
        tenants: request.tenants.as_deref(),
        memory_bytes: request.memory_bytes,
        spill_folder: request.spill_folder.as_ref(),
        engine: request.engine.as_deref(),
        tables,
        views: request.engine.iter().map(|_| rooflens_store::KERNEL_NAMES).collect(),
        explain: false,
    };
    let named = request.text.named();
    let Some(judge) = named.and_then(NamedQuery::judge) else {
        return ask(program, &asked, request.limits, watch, |part| match part {
            EnginePart::Schema(schema) => taker.begin(AnswerHead::new(named, &schema)),
            EnginePart::Rows(batch) => taker.rows(&batch),
        });
    };
    let (mut head, mut batches) = (None, Vec::new());
    let cost = ask(program, &asked, request.limits, watch, |part| {
        match part {
            EnginePart::Schema(schema) => head = Some(AnswerHead::new(named, &schema)),
            EnginePart::Rows(batch) => batches.push(batch),
        }
        Ok::<_, E>(())
    })?;
    if let Some(head) = head {
        let (head, batches) = judge::judged(head, batches, judge);
        taker.begin(head)?;
        batches.iter().try_for_each(|batch| taker.rows(batch))?;
    }
    Ok(cost)
}

fn file_lists(request: &QueryRequest) -> Result<Json, Error> {
    let store = open(&request.store)?;
    let found = block_on(async {
        let snapshot = store.snapshot_of(request.tenants.as_deref()).await?;
        snapshot.files_of(snapshot.partitions().iter()).await
    })?;
    let mut tables = serde_json::Map::new();
    for table in rooflens_store::tables() {
        let column = |column: &rooflens_store::StoreColumn| {
            json!([column.name, column.value.data_type().to_string().to_lowercase(), column.nullable])
        };
        let mut files = Vec::new();
        for (partition, held) in &found {
            for file in held.files.iter().filter(|file| file.table == table.name) {
                files.push(json!({
                    "path": store.address(&file.relative), "day": partition.day, "tenant": partition.tenant,
                    "bytes": file.bytes, "rows": file.rows,
                }));
            }
        }
        let columns: Vec<Json> = table.columns.iter().map(column).collect();
        tables.insert(table.name.to_owned(), json!({"files": files, "columns": columns}));
    }
    Ok(Json::Object(tables))
}
