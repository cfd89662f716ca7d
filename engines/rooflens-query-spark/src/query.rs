//! A query from request to answer.

use std::collections::HashSet;
use std::time::Duration;

use proto::execute_plan_response::ResponseType;
use proto::relation::RelType;
use rooflens_engine_protocol::{Fault, Kind};
use spark_connect_proto as proto;

use crate::address::{Address, percent_decoded, token_of_environment};
use crate::answer::Answer;
use crate::connection::Connection;
use crate::events::{Events, Progress};
use crate::execution::Execution;
use crate::request::{Request, Table};
use crate::session_settings::{LISTING_LOCAL, LISTING_REMOTE};
use crate::statement;
use crate::views::{create_view, create_view_of, hadoop_path, relation};

/// How long to wait for the server to cancel queries: interrupts end within a second.
const CLOSE_PATIENCE: Duration = Duration::from_millis(700);

#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) rows: u64,
    /// Bytes of the files that were scanned.
    pub(crate) scanned_bytes: u64,
}

/// Runs a request until it ends or `stopped` does.
pub(crate) async fn run(
    request: Request,
    events: &mut Events,
    stopped: impl Future<Output = ()>,
) -> Result<Totals, Fault> {
    statement::read_only(&request.sql)?;
    let address = request.engine.as_deref().unwrap_or_default();
    let address = Address::parse(address, token_of_environment())?;
    let token = address.token.clone();
    let mut stopped = std::pin::pin!(stopped);
    let outcome = async {
        let mut connection = tokio::select! {
            opened = Connection::open(address) => opened?,
            () = &mut stopped => return Err(interrupted()),
        };
        let closing = connection.clone();
        let outcome = tokio::select! {
            outcome = answer(&request, &mut connection, events) => outcome,
            () = &mut stopped => Err(interrupted()),
        };
        closing.close(CLOSE_PATIENCE).await;
        outcome
    };
    outcome.await.map_err(|failure| failure.without(token.as_deref()))
}

fn interrupted() -> Fault {
    Fault::new(Kind::Stopped, "the query was interrupted")
}

async fn answer(
    request: &Request,
    connection: &mut Connection,
    events: &mut Events,
) -> Result<Totals, Fault> {
    let views: Vec<_> =
        request.views.iter().filter(|(name, _)| statement::uses(&request.sql, name)).collect();
    let reads = |name: &str| {
        statement::uses(&request.sql, name) || views.iter().any(|(_, select)| statement::uses(select, name))
    };
    let used: Vec<_> = request.tables.iter().flatten().filter(|(name, _)| reads(name)).collect();
    let is_local = |table: &Table| table.files.iter().all(|file| file.path.starts_with("file:"));
    let listing =
        if used.iter().all(|(_, table)| is_local(table)) { &LISTING_LOCAL } else { &LISTING_REMOTE };
    connection.set(listing, true).await?;
    for (name, table) in &used {
        let mut execution = Execution::start(connection, command(create_view(name, table)?));
        while execution.next().await?.is_some() {}
    }
    for (name, select) in views {
        let mut execution = Execution::start(connection, command(create_view_of(name, select)));
        while execution.next().await?.is_some() {}
    }
    let sql =
        if request.explain { format!("EXPLAIN FORMATTED {}", request.sql) } else { request.sql.clone() };
    let plan = query(sql);
    check_files(connection, &plan, &used).await.map_err(|failure| name_tables(failure, request))?;

    let mut answer = Answer::to(std::io::stdout());
    let mut progress = Progress {
        of_files: used.iter().map(|(_, table)| table.files.len() as u64).sum(),
        ..Progress::default()
    };
    let mut scanned_bytes = 0;
    let mut execution = Execution::start(connection, plan);
    while let Some(response) = execution.next().await? {
        match response.response_type {
            Some(ResponseType::ArrowBatch(batch)) => {
                answer.take(&batch.data, batch.row_count).await?;
                progress.rows = answer.rows();
                events.progress(&progress);
            }
            Some(ResponseType::ExecutionProgress(report)) => {
                note(&mut progress, &report);
                events.progress(&progress);
            }
            _ => {}
        }
        scanned_bytes = response.metrics.as_ref().map_or(scanned_bytes, scanned);
    }
    Ok(Totals { rows: answer.end().await?, scanned_bytes })
}

fn command(command: proto::Command) -> proto::Plan {
    proto::Plan { op_type: Some(proto::plan::OpType::Command(command)) }
}

fn query(sql: String) -> proto::Plan {
    let sql = relation(RelType::Sql(proto::Sql { query: sql, ..Default::default() }));
    proto::Plan { op_type: Some(proto::plan::OpType::Root(sql)) }
}

/// Fails where the query would read a file that is not of the store, as through a table of the cluster's catalog.
async fn check_files(
    connection: &mut Connection,
    plan: &proto::Plan,
    used: &[(&String, &Table)],
) -> Result<(), Fault> {
    use proto::analyze_plan_request::{Analyze, InputFiles};
    let files = Analyze::InputFiles(InputFiles { plan: Some(plan.clone()) });
    let result = connection.analyze(files).await?;
    let Some(proto::analyze_plan_response::Result::InputFiles(found)) = result else { return Ok(()) };
    let mut known = HashSet::new();
    for file in used.iter().flat_map(|(_, table)| &table.files) {
        known.insert(without_scheme(&hadoop_path(&file.path)?).to_owned());
    }
    // Spark names them as URLs, though it takes plain paths.
    match found
        .files
        .iter()
        .map(|file| percent_decoded(file))
        .find(|file| !known.contains(without_scheme(file)))
    {
        Some(file) => {
            Err(Fault::new(Kind::Sql, format!("the SQL reads {file}, which is no file of the store"))
                .hint("use the tables of the store only"))
        }
        None => Ok(()),
    }
}

/// Says which tables there are where one was not found.
fn name_tables(failure: Fault, request: &Request) -> Fault {
    if !failure.message.starts_with("[TABLE_OR_VIEW_NOT_FOUND]") {
        return failure;
    }
    let message = failure.message.lines().next().unwrap_or_default().to_owned();
    let names: Vec<_> = request.tables.iter().flat_map(|tables| tables.keys()).map(String::as_str).collect();
    let hint = if names.is_empty() {
        "the store has no tables".into()
    } else {
        format!("the tables are {}", names.join(", "))
    };
    Fault { message, ..failure }.hint(hint)
}

/// A path without the scheme's slashes, of which `file:` has one or three.
fn without_scheme(path: &str) -> &str {
    path.split_once(':').map_or(path, |(_, rest)| rest).trim_start_matches('/')
}

fn note(progress: &mut Progress, report: &proto::execute_plan_response::ExecutionProgress) {
    let sum = |of: fn(&proto::execute_plan_response::execution_progress::StageInfo) -> i64| {
        report.stages.iter().map(|stage| of(stage).max(0).unsigned_abs()).sum()
    };
    progress.bytes = sum(|stage| stage.input_bytes_read);
    progress.tasks = sum(|stage| stage.num_completed_tasks);
    progress.of_tasks = sum(|stage| stage.num_tasks);
}

/// Bytes of the files that the scans of a plan read.
fn scanned(metrics: &proto::execute_plan_response::Metrics) -> u64 {
    let values = metrics.metrics.iter().filter_map(|node| node.execution_metrics.get("filesSize"));
    values.map(|metric| metric.value.max(0).unsigned_abs()).sum()
}
