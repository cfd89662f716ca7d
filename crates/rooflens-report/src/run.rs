//! What a report says about a run in addition to its trace: the measured numbers, and what the model must cost.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_analyze::allocator::PassAllocator;
use rooflens_cost::measured::{Efficiency, FlopsCheck, Matches, StaticVsMeasured};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run, as its report opens with it. Kept among the findings.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// The model and the run, as a title.
    pub title: String,
    /// By what and on what it was run, in words.
    pub what: String,
    /// Whether every step ended well and nothing was lost.
    pub is_whole: bool,
    /// Measured times; empty where no workload was run.
    pub times: Vec<Times>,
    /// Sequences that were measured.
    pub requests: Option<usize>,
    /// Tokens made a second, from the first prompt to the last token.
    pub output_tokens_per_s: Option<f64>,
    /// Tokens made a second in decode steps.
    pub decode_tokens_per_s: Option<f64>,
    /// How long loading the model took.
    pub load_ns: Option<u64>,
    /// Warm-up rounds, and how long they took together.
    pub warmup: Option<(usize, u64)>,
    /// The CUDA allocator's account, by pass.
    #[serde(default)]
    pub allocator: Vec<PassAllocator>,
    /// MFU and MBU.
    pub efficiency: Option<Efficiency>,
    /// FLOPs by the static model and by torch.
    pub flops_check: Option<FlopsCheck>,
    /// Products matched with operators of the static model.
    pub matches: Option<Matches>,
    /// Each part of the model.
    pub static_vs_measured: Option<StaticVsMeasured>,
    /// Why one of these is missing.
    pub reasons: BTreeMap<String, String>,
}

/// A measured time, over all sequences.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// What it is.
    pub title: Cow<'static, str>,
    /// Median.
    pub p50_ns: Option<f64>,
    /// 90th percentile.
    pub p90_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Why it is missing.
    pub reason: Option<String>,
}
