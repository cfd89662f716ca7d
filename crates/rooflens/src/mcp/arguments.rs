//! What each tool takes. The comments are what agents read.

use rmcp::schemars;
use rooflens_core::cost::amount::Numbers;
use serde::Deserialize;

/// One string, or several.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "a string or a list of strings is wanted")]
pub(crate) enum StringList {
    /// None.
    #[default]
    #[schemars(skip)]
    None,
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl StringList {
    pub(crate) fn all(self) -> Vec<String> {
        match self {
            StringList::None => Vec::new(),
            StringList::One(text) => vec![text],
            StringList::Many(texts) => texts,
        }
    }
}

/// Whole numbers: 8, or text with a list or a range.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "a whole number, or text such as \"4k\" or \"1..64\", is wanted")]
pub(crate) enum NumberArgument {
    /// One.
    Number(u64),
    /// As on a command line.
    Text(String),
}

impl NumberArgument {
    pub(crate) fn numbers(self) -> Result<Vec<u64>, String> {
        match self {
            NumberArgument::Number(number) => Ok(vec![number]),
            NumberArgument::Text(text) => text.parse::<Numbers>().map(|numbers| numbers.0),
        }
    }

    /// The only one.
    pub(crate) fn number(self) -> Result<u64, String> {
        match self.numbers()?.as_slice() {
            [number] => Ok(*number),
            _ => Err("one number is wanted here, not several".to_owned()),
        }
    }
}

/// Which trace, and what is known of the model that ran.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceArguments {
    /// Traces of the ranks of one job, or a single trace, a folder of traces, or a run directory
    pub(crate) paths: StringList,
    /// config.json of the model that ran, its folder, or its name on the Hugging Face Hub if it is in the local cache.
    /// Gives lower bounds
    pub(crate) model: Option<String>,
    /// Device that it ran on, as h100, b200, mi300x; by default the one that the trace names
    pub(crate) hardware: Option<String>,
    /// Tensor-parallel size; by default the number of ranks that the trace's collectives span
    pub(crate) tp: Option<NumberArgument>,
    /// Batch size, if the trace does not give it
    pub(crate) batch: Option<NumberArgument>,
    /// Tokens in the KV cache per sequence, if the trace does not give it: 4096 or "4k"
    pub(crate) context: Option<NumberArgument>,
}

/// Which runs or traces.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareArguments {
    /// The baseline: a run directory or a trace
    pub(crate) base: String,
    /// What is compared with it
    pub(crate) others: StringList,
}

/// Which model, where.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CostArguments {
    /// config.json of a model, its folder, or its name on the Hugging Face Hub if it is in the local cache. Two are
    /// compared
    pub(crate) configs: StringList,
    /// Devices, as h100, b200, mi300x; several are compared
    #[serde(default)]
    pub(crate) hardware: StringList,
    /// Batch sizes: 8, or a list or range, as "1..256"
    pub(crate) batch: Option<NumberArgument>,
    /// Prompt lengths in tokens, as "2k"
    pub(crate) prefill: Option<NumberArgument>,
    /// Tokens in the KV cache before a decode step, as "4k"
    pub(crate) context: Option<NumberArgument>,
    /// Tensor-parallel sizes
    pub(crate) tp: Option<NumberArgument>,
    /// Expert-parallel sizes
    pub(crate) ep: Option<NumberArgument>,
    /// Pipeline-parallel sizes
    pub(crate) pp: Option<NumberArgument>,
    /// Weight format: bf16, fp8, int4, mxfp4 …
    pub(crate) dtype: Option<String>,
    /// Keys of the config to change, as "num_key_value_heads=4"
    #[serde(default)]
    pub(crate) set: StringList,
    /// Target time per output token, as "30ms"
    pub(crate) tpot: Option<String>,
    /// Target time to first token, as "500ms"
    pub(crate) ttft: Option<String>,
}

/// What to explain.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainArguments {
    /// A word or number of a report: launch bound, mfu, gaps, kernels.dur_ns
    pub(crate) name: String,
}

/// Which rows.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableArguments {
    /// Traces of the ranks of one job, or a single trace, a folder of traces, or a run directory
    pub(crate) paths: StringList,
    /// The table, as list_tables names it
    pub(crate) table: String,
    /// Columns, in this order; all by default
    #[serde(default)]
    pub(crate) columns: StringList,
    /// Order rows by this column, largest first
    pub(crate) largest: Option<String>,
    /// Rows to skip
    #[serde(default)]
    pub(crate) offset: usize,
    /// Rows to return, at most 200
    pub(crate) limit: Option<usize>,
}

/// Which trace, of those that have tables.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathsArguments {
    /// Traces of the ranks of one job, or a single trace, a folder of traces, or a run directory
    pub(crate) paths: StringList,
}
