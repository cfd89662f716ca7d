//! From a request to its result.

use std::sync::Arc;
use std::time::Instant;

use datafusion::common::DataFusionError;
use datafusion::datasource::ViewTable;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use futures::StreamExt;
use object_store::ObjectStore;
use rooflens_engine_protocol::{Event, Fault, Kind, emit};
use rooflens_store::{KERNEL_NAMES, Snapshot, Store};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::notes::QueryNotes;
use crate::output::Output;
use crate::progress::Scanned;
use crate::request::Request;
use crate::session::{self, Limits};
use crate::table::Table;
use crate::types::TextType;
use crate::{damage, fault, memory, names, progress, spill, statement};

/// Where the plan is announced before it runs.
type Announce = oneshot::Sender<Arc<dyn ExecutionPlan>>;

/// Runs the request of standard input on other threads and reports its progress; returns the last event.
pub(crate) async fn spawn(workers: &Handle, spill: spill::Registry) -> Result<Event<Scanned>, Fault> {
    let (announce, plan) = oneshot::channel();
    let ended = tokio::select! {
        ended = workers.spawn(run(spill, announce)) => ended,
        () = progress::report(plan) => return Err(Fault::new(Kind::Engine, "the report of progress ended")),
    };
    match ended {
        Ok(ended) => ended,
        Err(error) => Err(Fault::new(Kind::Engine, format!("the query ended unexpectedly: {error}"))),
    }
}

async fn run(spill: spill::Registry, announce: Announce) -> Result<Event<Scanned>, Fault> {
    let start = Instant::now();
    let request = tokio::task::spawn_blocking(rooflens_engine_protocol::request::<Request>).await;
    let request =
        request.map_err(|error| Fault::new(Kind::Engine, format!("cannot read the request: {error}")))??;
    let statement = statement::parse(&request.sql)?;
    let limits = limits(&request, &spill)?;
    let context = session::within(&limits).map_err(|error| fault::of_datafusion(&error))?;
    let store = Store::open(&request.store).map_err(|error| fault::of_store(&error))?;
    let snapshot = snapshot(&store, request.tenants.as_deref()).await?;
    let notes = QueryNotes::default();
    let registered = register(&context, &store, &snapshot, limits.texts(), &notes).await;
    registered.map_err(|error| fault::of_datafusion(&error))?;
    check_tables(&context, &statement)?;
    let plan = plan(&context, statement, request.explain, &notes).await;
    let plan = plan.map_err(|error| fault::of_datafusion(&error))?;
    // Nobody may be interested in progress any more.
    let _ = announce.send(Arc::clone(&plan));
    let rows = execute(&context, &plan, &store.object_store()).await?;
    let spilled = progress::spilled(plan.as_ref());
    if spilled.files > 0 {
        emit::<Scanned>(&Event::Spilled { bytes: spilled.bytes, files: spilled.files });
    }
    for message in notes.words() {
        emit::<Scanned>(&Event::Note { message });
    }
    let scanned_bytes = progress::scanned(plan.as_ref()).bytes;
    let elapsed_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Event::Done { rows, scanned_bytes, elapsed_ms })
}

fn limits(request: &Request, spill: &spill::Registry) -> Result<Limits, Fault> {
    Ok(Limits {
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: request.memory_bytes.unwrap_or_else(memory::default_limit),
        spill_folder: spill.folder(request.spill_folder.as_deref())?,
    })
}

/// What the store holds now. Where tenants are named only their logs are listed: there may be no right to more.
async fn snapshot(store: &Store, tenants: Option<&[String]>) -> Result<Snapshot, Fault> {
    let snapshot = store.snapshot_of(tenants).await.map_err(|error| fault::of_store(&error))?;
    if snapshot.partitions().is_empty() {
        // It may be empty, or no store at all: listing the tenants tells.
        store.tenants().await.map_err(|error| fault::of_store(&error))?;
    }
    Ok(snapshot)
}

async fn register(
    context: &SessionContext,
    store: &Store,
    snapshot: &Snapshot,
    texts: TextType,
    notes: &QueryNotes,
) -> Result<(), DataFusionError> {
    let objects = ObjectStoreUrl::parse(store.object_store_url())?;
    context.register_object_store(store.object_store_url(), store.object_store());
    for table in rooflens_store::tables() {
        let provider = Table::new(table, objects.clone(), snapshot.clone(), texts, notes.clone());
        context.register_table(table.name, Arc::new(provider))?;
    }
    let (name, select) = KERNEL_NAMES;
    let names = context.state().create_logical_plan(select).await?;
    context.register_table(name, Arc::new(ViewTable::new(names, Some(select.to_owned()))))?;
    Ok(())
}

/// Names that are no table are found before planning, which would name the catalog and not the alternatives.
fn check_tables(context: &SessionContext, statement: &Statement) -> Result<(), Fault> {
    let state = context.state();
    let used = state.resolve_table_references(statement);
    let known = || rooflens_store::tables().iter().map(|table| table.name).chain([KERNEL_NAMES.0]);
    for reference in used.map_err(|error| fault::of_datafusion(&error))? {
        // Functions are resolved by planning; those that there are, `generate_series` and `range`, read no files.
        let is_known = reference.schema().is_none()
            && (known().any(|name| name == reference.table())
                || state.table_functions().contains_key(reference.table()));
        if !is_known {
            let fault = Fault::new(Kind::Sql, format!("there is no table '{reference}'"));
            return Err(Fault { hint: names::hint(reference.table(), "tables", known()), ..fault });
        }
    }
    Ok(())
}

async fn plan(
    context: &SessionContext,
    statement: Statement,
    explain: bool,
    notes: &QueryNotes,
) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
    let state = context.state();
    let plan = state.statement_to_plan(statement).await?;
    notes.look_at(&plan);
    statement::options().verify_plan(&plan)?;
    let is_explained = matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
    let plan = match explain && !is_explained {
        true => LogicalPlanBuilder::from(plan).explain(false, false)?.build()?,
        false => plan,
    };
    state.create_physical_plan(&plan).await
}

async fn execute(
    context: &SessionContext,
    plan: &Arc<dyn ExecutionPlan>,
    objects: &Arc<dyn ObjectStore>,
) -> Result<u64, Fault> {
    let stream = execute_stream(Arc::clone(plan), context.task_ctx());
    let mut stream = stream.map_err(|error| fault::of_datafusion(&error))?;
    let output = Output::start(&plan.schema())?;
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(batch) => {
                if !output.push(batch).await {
                    break;
                }
            }
            Err(error) => return Err(explained(&error, plan, objects).await),
        }
    }
    output.finish().await
}

/// The fault of an error while reading, with the file where it is one.
async fn explained(
    error: &DataFusionError,
    plan: &Arc<dyn ExecutionPlan>,
    objects: &Arc<dyn ObjectStore>,
) -> Fault {
    let fault = fault::of_datafusion(error);
    if !fault::is_of_unnamed_file(error) {
        return fault;
    }
    damage::find(plan.as_ref(), objects).await.unwrap_or(fault)
}
