//! The tools.

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, schemars, tool, tool_handler, tool_router};
use rooflens_core::advise::{AdviceRequest, advise};
use rooflens_core::cost::CostQuestion;
use rooflens_core::cost::amount::{Numbers, seconds};
use rooflens_core::kept::KeptTables;
use rooflens_core::model::{ModelRequest, files};
use rooflens_core::{AnalyzedInput, Notes, ReadOptions, SharedObserver};
use rooflens_report::TerminalOptions;
use serde::Deserialize;

use crate::bounded::bounded;
use crate::roots::Roots;
use crate::tables::{self, MOST_ROWS, WantedRows};
use crate::work::{told, work};

/// Answers questions about files below its roots.
#[derive(Clone)]
pub struct RooflensServer {
    roots: Arc<Roots>,
}

/// What is known of the model that ran.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
pub struct ModelArguments {
    /// config.json of the model that ran, its folder, or its name on the Hugging Face Hub if it is in the local cache.
    /// Gives lower bounds
    model: Option<String>,
    /// Device that it ran on, as h100, b200, mi300x; by default the one that the trace names
    hardware: Option<String>,
    /// Tensor-parallel size; by default the number of ranks that the trace's collectives span
    tp: Option<u64>,
    /// Batch size, if the trace does not give it
    batch: Option<u64>,
    /// Tokens in the KV cache per sequence, if the trace does not give it
    context: Option<u64>,
}

/// Which trace.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct TraceArguments {
    /// Traces of the ranks of one job, or a single trace, a folder of traces, or a run directory
    paths: Vec<String>,
    #[serde(flatten)]
    known: ModelArguments,
}

/// Which runs or traces.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct CompareArguments {
    /// The baseline: a run directory or a trace
    base: String,
    /// What is compared with it
    others: Vec<String>,
}

/// Which model, where.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct CostArguments {
    /// config.json of a model, its folder, or its name on the Hugging Face Hub if it is in the local cache. Two are
    /// compared
    configs: Vec<String>,
    /// Devices, as h100, b200, mi300x; several are compared
    #[serde(default)]
    hardware: Vec<String>,
    /// Batch sizes: 8, or a list or range, as "1..256"
    batch: Option<String>,
    /// Prompt lengths in tokens, as "2k"
    prefill: Option<String>,
    /// Tokens in the KV cache before a decode step, as "4k"
    context: Option<String>,
    /// Tensor-parallel sizes
    tp: Option<String>,
    /// Expert-parallel sizes
    ep: Option<String>,
    /// Pipeline-parallel sizes
    pp: Option<String>,
    /// Weight format: bf16, fp8, int4, mxfp4 …
    dtype: Option<String>,
    /// Keys of the config to change, as "num_key_value_heads=4"
    #[serde(default)]
    set: Vec<String>,
    /// Target time per output token, as "30ms"
    tpot: Option<String>,
    /// Target time to first token, as "500ms"
    ttft: Option<String>,
}

/// What to explain.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct ExplainArguments {
    /// A word or number of a report: launch bound, mfu, gaps, kernels.dur_ns
    name: String,
}

/// Which rows.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct TableArguments {
    /// Traces of the ranks of one job, or a single trace, a folder of traces, or a run directory
    paths: Vec<String>,
    /// The table, as list_tables names it
    table: String,
    /// Columns, in this order; all by default
    #[serde(default)]
    columns: Vec<String>,
    /// Order rows by this column, largest first
    largest: Option<String>,
    /// Rows to skip
    #[serde(default)]
    offset: usize,
    /// Rows to return, at most 200
    limit: Option<usize>,
}

/// Which trace, of those that have tables.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub struct PathsArguments {
    /// Traces of the ranks of one job, or a single trace, a folder of traces, or a run directory
    paths: Vec<String>,
}

const SCREEN: TerminalOptions = TerminalOptions { width: 110, color: false, unicode: true, limit: 12 };

#[tool_router]
impl RooflensServer {
    /// A server for these folders.
    pub fn new(roots: Roots) -> Self {
        RooflensServer { roots: Arc::new(roots) }
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
        let roots = Arc::clone(&self.roots);
        work(context, move |observer| {
            let (analysis, _) = analyzed(&roots, &arguments.paths, arguments.known, observer)?;
            let screen = rooflens_report::terminal(&analysis.findings, &SCREEN);
            Ok(bounded(
                &screen,
                "advise for evidence and how to do it; explain for a word; list_tables for rows",
            ))
        })
        .await
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
        let roots = Arc::clone(&self.roots);
        work(context, move |observer| {
            let request = AdviceRequest {
                inputs: roots.all_allowed(&arguments.paths)?,
                model: model(&roots, arguments.known)?,
                wall_ns: None,
                steps: None,
                what_if: Vec::new(),
            };
            let advice = advise(&request, observer).map_err(|error| told(&error))?;
            let text = rooflens_report::cost::terminal(&advice.parts(8), &SCREEN);
            Ok(bounded(&text, "compare a trace before and after the change"))
        })
        .await
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
        let roots = Arc::clone(&self.roots);
        work(context, move |observer| {
            let typed: Vec<String> = std::iter::once(arguments.base).chain(arguments.others).collect();
            let paths = roots.all_allowed(&typed)?;
            let sides = rooflens_core::read_sides(&paths, observer).map_err(|error| told(&error))?;
            let comparison = rooflens_core::compare(sides, &[]).map_err(|error| told(&error))?;
            let text = rooflens_report::cost::terminal(&comparison.parts(SCREEN.limit), &SCREEN);
            Ok(bounded(&text, "analyze either side for its own ledger"))
        })
        .await
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
        let roots = Arc::clone(&self.roots);
        work(context, move |_| {
            let answer = rooflens_core::cost(&question(&roots, arguments)?)
                .map_err(|error| told(&rooflens_core::Error::from(error)))?;
            let (parts, rows) = answer.screen(false);
            let text = rooflens_report::cost::terminal(&parts, &TerminalOptions { limit: rows, ..SCREEN });
            Ok(bounded(
                &text,
                "set a key of the config, as set=[\"num_key_value_heads=4\"], or another device",
            ))
        })
        .await
    }

    #[tool(
        description = "Explain a word or number of a report: what it means, how it is computed, its unit",
        annotations(read_only_hint = true, open_world_hint = false)
    )]
    fn explain(&self, Parameters(arguments): Parameters<ExplainArguments>) -> Result<String, String> {
        let meanings = rooflens_core::explain(&arguments.name).map_err(|error| told(&error))?;
        let text: Vec<String> = meanings
            .iter()
            .map(|meaning| {
                let entry = &meaning.entry;
                let parts = entry.parts.iter().map(|part| format!("\n  {}: {}", part.name, part.about));
                let parts: String = parts.collect();
                let unit =
                    Some(&entry.unit).filter(|unit| !unit.is_empty()).map(|unit| format!(", in {unit}"));
                let kind = format!("{}{}", meaning.kind, unit.unwrap_or_default());
                format!("{} ({kind}): {}\n{}{parts}", entry.name, entry.about, entry.detail)
            })
            .collect();
        Ok(bounded(&text.join("\n\n"), ""))
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
        let roots = Arc::clone(&self.roots);
        work(context, move |observer| {
            let (_, tables) = analyzed(&roots, &arguments.paths, ModelArguments::default(), observer)?;
            Ok(bounded(&tables::list(&tables)?, "read_table with a table, columns and largest"))
        })
        .await
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
        let roots = Arc::clone(&self.roots);
        work(context, move |observer| {
            let limit = arguments.limit.unwrap_or(20);
            if limit > MOST_ROWS {
                return Err(format!(
                    "{limit} rows are too many: at most {MOST_ROWS}, then the next with offset"
                ));
            }
            let (_, tables) = analyzed(&roots, &arguments.paths, ModelArguments::default(), observer)?;
            let table = tables.table(&arguments.table).map_err(|error| told(&error))?;
            let Some(table) = table else {
                let names = tables.names().map_err(|error| told(&error))?.join(", ");
                return Err(format!("no table {}; there are {names}", arguments.table));
            };
            let TableArguments { columns, largest, offset, .. } = arguments;
            let (rows, all) = tables::read(&table, &WantedRows { columns, largest, offset, limit })?;
            let next = match offset.saturating_add(limit) {
                end if end < all => format!("{all} rows in all; the next with offset={end}"),
                _ => String::new(),
            };
            Ok(bounded(&rows, &next))
        })
        .await
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

/// A model's config: below the roots, or in the local cache by its name on the hub.
fn config(roots: &Roots, typed: &str) -> Result<PathBuf, String> {
    match roots.allowed(typed) {
        Ok(path) => Ok(path),
        Err(refused) => files::named(typed).ok_or(refused),
    }
}

fn model(roots: &Roots, known: ModelArguments) -> Result<ModelRequest, String> {
    let ModelArguments { model, hardware, tp, batch, context } = known;
    let model = model.map(|typed| config(roots, &typed)).transpose()?;
    Ok(ModelRequest { model, hardware, tp, context, batch, dtype: None, force: false })
}

fn analyzed(
    roots: &Roots,
    typed: &[String],
    known: ModelArguments,
    observer: &SharedObserver,
) -> Result<(AnalyzedInput, KeptTables), String> {
    let paths = roots.all_allowed(typed)?;
    let model = model(roots, known)?;
    let notes = Notes::default();
    let input = rooflens_core::open_input(&paths, &ReadOptions::default(), &notes, observer);
    let input = input.map_err(|error| told(&error))?;
    roots.check(&input)?;
    rooflens_core::analyze_and_keep(&input, &notes, &model, observer).map_err(|error| told(&error))
}

fn question(roots: &Roots, arguments: CostArguments) -> Result<CostQuestion, String> {
    let numbers =
        |text: Option<String>| text.map(|text| text.parse::<Numbers>().map(|numbers| numbers.0)).transpose();
    let degree = |text: Option<String>| Ok::<_, String>(numbers(text)?.unwrap_or_else(|| vec![1]));
    let configs = arguments.configs.iter().map(|typed| config(roots, typed)).collect::<Result<_, _>>()?;
    Ok(CostQuestion {
        configs,
        batch: degree(arguments.batch)?,
        prefill: numbers(arguments.prefill)?,
        context: numbers(arguments.context)?,
        hardware: arguments.hardware,
        tp: degree(arguments.tp)?,
        pp: degree(arguments.pp)?,
        ep: degree(arguments.ep)?,
        dtype: arguments.dtype.into_iter().collect(),
        set: arguments.set.iter().map(|text| text.parse()).collect::<Result<_, _>>()?,
        ttft: arguments.ttft.as_deref().map(seconds).transpose()?,
        tpot: arguments.tpot.as_deref().map(seconds).transpose()?,
        ..CostQuestion::default()
    })
}
