//! What a load test is asked to do, as plain data.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rooflens_load::plan::{Api, ArrivalGaps};

use super::efficiency::ModelOnDevice;
use super::workers::WorkerTls;

/// A load test, or several one after the other.
#[derive(Debug, Clone)]
pub struct BenchRequest {
    /// The server.
    pub server: BenchServer,
    /// Model name in the requests; the first one that the server lists where it is not said.
    pub model: Option<String>,
    /// The endpoint.
    pub api: Api,
    /// How to talk to it.
    pub http: HttpOptions,
    /// How hard.
    pub load: LoadLevels,
    /// How much.
    pub extent: LoadExtent,
    /// With what.
    pub workload: WorkloadOptions,
    /// Objectives, as typed: `ttft_p99<500ms,tpot_p99<50ms`.
    pub slo: Option<String>,
    /// Gates, as typed.
    pub fail_on: Vec<String>,
    /// The server's own metrics.
    pub scrape: ScrapeOptions,
    /// When the server's profiler is started.
    pub profile: Option<ServerProfileRequest>,
    /// The model and device that decoding is compared with.
    pub efficiency: Option<ModelOnDevice>,
    /// Other machines that send the load.
    pub workers: Option<WorkerOptions>,
    /// Where the run is kept; nowhere if it is not said.
    pub output: Option<PathBuf>,
}

/// Which server.
#[derive(Debug, Clone)]
pub enum BenchServer {
    /// One that runs.
    Url(String),
    /// One that is started for the load test.
    Start {
        /// As `vllm_server`.
        kind: String,
        /// The model that it serves: a folder or a name.
        model: String,
        /// Its Python interpreter, or its program.
        python: Option<PathBuf>,
        /// Its flags; several values of one are swept.
        flags: BTreeMap<String, Vec<String>>,
    },
}

/// How requests are sent.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Headers, as name and value.
    pub headers: Vec<(String, String)>,
    /// HTTP/2.
    pub http2: bool,
    /// Any certificate is accepted.
    pub insecure: bool,
    /// Certificates that are trusted, too.
    pub ca_file: Option<PathBuf>,
    /// Compressed answers are asked for.
    pub gzip: bool,
    /// How long a request may take.
    pub timeout: Duration,
}

/// How hard.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadLevels {
    /// So many users, one level after the other.
    Concurrency(Vec<usize>),
    /// So many sessions per second.
    Rate {
        /// One level after the other.
        rates: Vec<RateLevel>,
        /// How arrivals vary.
        gaps: ArrivalGaps,
        /// At most so many in progress.
        max_concurrency: Option<usize>,
    },
    /// The highest rate within the objectives.
    Search {
        /// Where it begins.
        from: Option<f64>,
        /// How arrivals vary.
        gaps: ArrivalGaps,
        /// Relative resolution.
        resolution: f64,
        /// Highest rate to try.
        most: Option<f64>,
    },
    /// The arrival times of a trace, times a factor.
    Replay {
        /// 0.5 is twice as quick.
        stretch: f64,
        /// At most so many in progress.
        max_concurrency: Option<usize>,
    },
}

/// A rate, or a ramp between two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLevel {
    /// At the begin, sessions per second.
    pub from: f64,
    /// At the end.
    pub to: f64,
}

/// How much.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadExtent {
    /// Requests per level.
    pub requests: Option<u64>,
    /// Time per level.
    pub duration: Option<Duration>,
    /// Users of a closed loop begin one by one over this time.
    pub ramp: Duration,
    /// How long requests in progress may take at the end; all that they need where it is not said.
    pub drain: Option<Duration>,
    /// What is left out at the begin.
    pub warmup: Warmup,
    /// Threads of the client; 0 chooses.
    pub threads: usize,
}

/// What is left out at the begin of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// Found in the data.
    Auto,
    /// So many requests.
    Requests(u64),
}

/// What is sent. Texts are parsed by `rooflens_load::workload`.
#[derive(Debug, Clone, Default)]
pub struct WorkloadOptions {
    /// Prompt lengths, as typed.
    pub input_tokens: Option<String>,
    /// Output lengths, as typed.
    pub output_tokens: Option<String>,
    /// A file of prompts, conversations or arrivals.
    pub dataset: Option<PathBuf>,
    /// Its format, where it is not recognised.
    pub dataset_format: Option<String>,
    /// Folder or file of the tokenizer.
    pub tokenizer: Option<PathBuf>,
    /// Prompts as token ids.
    pub token_ids: bool,
    /// A prefix that requests share, as typed: `TOKENS[:GROUPS[:SHARE]]`.
    pub shared_prefix: Option<String>,
    /// Turns of a conversation.
    pub turns: Option<u32>,
    /// Time between the turns.
    pub think_time: Duration,
    /// Length of tool results of an agent.
    pub tool_tokens: Option<String>,
    /// LoRA adapters that take turns.
    pub lora: Vec<String>,
    /// An image of this size in every request.
    pub image: Option<(u32, u32)>,
    /// Sampling parameters and whatever else is merged into the body, as JSON objects.
    pub extra_body: Vec<String>,
    /// Whether outputs go on to their length; by default for synthetic prompts only.
    pub ignore_eos: Option<bool>,
    /// Whether the server is asked for usage with every chunk.
    pub continuous_usage: bool,
    /// Of prompts and arrivals.
    pub seed: u64,
}

/// The server's own metrics.
#[derive(Debug, Clone)]
pub struct ScrapeOptions {
    /// Whether they are read.
    pub is_on: bool,
    /// Their address; `/metrics` of the server by default.
    pub url: Option<String>,
    /// How often.
    pub interval: Duration,
}

/// When the server's profiler is started.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerProfileRequest {
    /// After this time; at the first breach of the objectives where it is not said.
    pub at: Option<Duration>,
    /// For how long.
    pub seconds: f64,
    /// Where the server writes traces, as this machine sees it.
    pub folder: Option<PathBuf>,
}

/// Other machines that send the load.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Their addresses.
    pub addresses: Vec<String>,
    /// File with the shared token.
    pub token_file: PathBuf,
    /// Certificates, if connections are to be encrypted.
    pub tls: Option<WorkerTls>,
}
