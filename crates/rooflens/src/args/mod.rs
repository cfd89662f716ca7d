//! What several commands take, resolved into plain requests: no clap type goes further than this folder and the head
//! of each command.

pub(crate) mod bench;
pub(crate) mod store;

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rooflens_core::cost::amount::whole;
use rooflens_core::input::ReadOptions;
use rooflens_core::model::ModelRequest;
use rooflens_core::project;

use crate::error::CliError;

/// One of several values, each by its name.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<(&'static str, T)> = values.into_iter().collect();
    let names = PossibleValuesParser::new(values.iter().map(|(name, _)| *name));
    names.try_map(move |text| {
        let found = values.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| value.clone()).ok_or("no such value")
    })
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    Csv,
    Md,
}

impl OutputFormat {
    pub(crate) fn is_json(self) -> bool {
        self == OutputFormat::Json
    }

    pub(crate) fn text_or_json() -> impl TypedValueParser<Value = OutputFormat> {
        only(&["text", "json"])
    }

    /// Of a command whose answer is no table.
    pub(crate) fn without_csv() -> impl TypedValueParser<Value = OutputFormat> {
        only(&["text", "json", "md"])
    }
}

fn only(names: &'static [&'static str]) -> impl TypedValueParser<Value = OutputFormat> {
    PossibleValuesParser::new(names).try_map(|name| OutputFormat::from_str(&name, false))
}

/// Which project a command is about, and who reads its answer.
#[derive(clap::Args)]
pub(crate) struct ProjectArgs {
    /// Project folder; the surrounding one by default
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

impl ProjectArgs {
    pub(crate) fn root(&self) -> Result<PathBuf, CliError> {
        Ok(project::root(self.project.as_deref())?)
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format.is_json()
    }
}

/// How traces are read.
#[derive(clap::Args)]
#[group(id = "reading")]
pub(crate) struct ReadingArgs {
    /// Trace of the CUDA graph capture: gives the kernels of replayed graphs their module names. One for all
    /// ranks, or one per rank
    #[arg(long, value_name = "TRACE")]
    capture: Vec<PathBuf>,
    /// Keep paths, addresses, environment values and keys found in names; by default they are removed
    #[arg(long)]
    keep_private: bool,
}

impl ReadingArgs {
    pub(crate) fn options(self) -> ReadOptions {
        ReadOptions { captures: self.capture, keep_private: self.keep_private, gemms: Vec::new() }
    }
}

/// What is known of what ran, besides the trace.
#[derive(clap::Args)]
#[group(id = "floor")]
pub(crate) struct ModelArgs {
    /// config.json of the model that ran, or its folder: shows how far each kernel is from its lower bound
    #[arg(long, value_name = "PATH", help_heading = "Model that ran")]
    model: Option<PathBuf>,
    /// Device it ran on; by default the one that the trace names
    #[arg(long, value_name = "NAME", help_heading = "Model that ran")]
    hardware: Option<String>,
    /// Tensor-parallel size; by default the number of ranks that the trace's collectives span
    #[arg(long, value_name = "N", help_heading = "Model that ran")]
    tp: Option<u64>,
    /// Tokens in the KV cache per sequence; used only if the trace does not give it
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Model that ran")]
    context: Option<u64>,
    /// Batch size; used only if the trace does not give it
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Model that ran")]
    batch: Option<u64>,
    /// Weight dtype; used only if the config does not give it
    #[arg(long, value_name = "FORMAT", help_heading = "Model that ran")]
    dtype: Option<String>,
    /// Use this model even if the trace contradicts it
    #[arg(long, help_heading = "Model that ran")]
    force: bool,
}

impl ModelArgs {
    pub(crate) fn request(self) -> ModelRequest {
        let ModelArgs { model, hardware, tp, context, batch, dtype, force } = self;
        ModelRequest { model, hardware, tp, context, batch, dtype, force }
    }
}
