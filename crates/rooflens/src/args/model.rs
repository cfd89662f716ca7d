//! The model that ran, for the commands that compare with its lower bounds.

use std::path::PathBuf;

use rooflens_core::cost::amount::whole;
use rooflens_core::model::ModelRequest;

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
    /// As the library takes it.
    pub(crate) fn request(self) -> ModelRequest {
        let ModelArgs { model, hardware, tp, context, batch, dtype, force } = self;
        ModelRequest { model, hardware, tp, context, batch, dtype, force }
    }
}
