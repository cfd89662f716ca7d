//! The tools, as clients see them.

use std::sync::Arc;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};
use rooflens_core::text::printable;
use rooflens_core::{Event, Observer, SharedObserver, Stop};

use crate::mcp::answers::{self, cut};
use crate::mcp::arguments::{
    CompareArguments, CostArguments, ExplainArguments, PathsArguments, TableArguments, TraceArguments,
};
use crate::mcp::roots::Roots;

#[derive(Clone)]
pub(crate) struct RooflensServer {
    roots: Arc<Roots>,
}

#[tool_router]
impl RooflensServer {
    pub(crate) fn new(roots: Roots) -> Self {
        RooflensServer { roots: Arc::new(roots) }
    }

    async fn answered<A: Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        arguments: A,
        answer: fn(&Roots, A, &SharedObserver) -> Result<String, String>,
    ) -> Result<String, String> {
        let roots = Arc::clone(&self.roots);
        work(context, move |observer| answer(&roots, arguments, observer)).await
    }

    #[tool(
        description = "Show where device time goes in a trace of LLM inference (torch.profiler, Nsight Systems, rocprof): \
                       verdict, time ledger, kernels, operators, steps, communication, what to change",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn analyze(
        &self,
        Parameters(arguments): Parameters<TraceArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, String> {
        self.answered(context, arguments, answers::analyze).await
    }

    #[tool(
        description = "Recommendations for a trace, largest gain first, each with a range of its gain, evidence and how to \
                       do it",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn advise(
        &self,
        Parameters(arguments): Parameters<TraceArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, String> {
        self.answered(context, arguments, answers::advise).await
    }

    #[tool(
        description = "Compare runs or traces with a baseline: what changed, whether it is significant, and where it comes \
                       from",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn compare(
        &self,
        Parameters(arguments): Parameters<CompareArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, String> {
        self.answered(context, arguments, answers::compare).await
    }

    #[tool(
        description = "Compute what a model costs on a device from its config.json, without running it: FLOPs, bytes, \
                       memory, lower bound and estimate of the time, MFU, MBU",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn cost(
        &self,
        Parameters(arguments): Parameters<CostArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, String> {
        self.answered(context, arguments, answers::cost).await
    }

    #[tool(
        description = "Explain a word or number of a report: what it means, how it is computed, its unit",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn explain(
        &self,
        Parameters(arguments): Parameters<ExplainArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, String> {
        self.answered(context, arguments, answers::explain).await
    }

    #[tool(
        description = "List the tables of a trace or run directory (a row per kernel, operator call, runtime call, step …) \
                       with their columns and number of rows",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn list_tables(
        &self,
        Parameters(arguments): Parameters<PathsArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, String> {
        self.answered(context, arguments, answers::list_tables).await
    }

    #[tool(
        description = "Read rows of a table of a trace or run directory, at most 200 at a time",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    async fn read_table(
        &self,
        Parameters(arguments): Parameters<TableArguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, String> {
        self.answered(context, arguments, answers::read_table).await
    }
}

#[tool_handler]
impl ServerHandler for RooflensServer {
    fn get_info(&self) -> ServerConfig {
        let instructions = format!(
            "Rooflens shows where every microsecond of LLM inference goes. It reads traces and run directories below {}, \
             and changes nothing. Begin with analyze on a trace, or with cost on a config.json.",
            self.roots.words()
        );
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("rooflens", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions)
    }
}

/// Characters of an error: it repeats what was asked for, which may be long.
const MOST_OF_AN_ERROR: usize = 2_000;

struct Cancelled(Box<dyn Fn() -> bool + Send + Sync>);

impl Observer for Cancelled {
    fn event(&self, _: &Event<'_>) {}

    fn stop(&self) -> Stop {
        if (self.0)() { Stop::Kill } else { Stop::No }
    }
}

/// Does `work`, which may take seconds, without holding up other requests.
async fn work<T: Send + 'static>(
    context: RequestContext<RoleServer>,
    work: impl FnOnce(&SharedObserver) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let token = context.ct.clone();
    let observer: SharedObserver = Arc::new(Cancelled(Box::new(move || token.is_cancelled())));
    let done = tokio::task::spawn_blocking(move || work(&observer)).await;
    let done = done.unwrap_or_else(|_| Err("this is a bug in Rooflens: it has panicked".to_owned()));
    done.map_err(|error| cut(&printable(&error), MOST_OF_AN_ERROR))
}
