//! What a load test is asked to do, as plain data.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rooflens_load::cluster::ClusterTls;
use rooflens_load::plan::{ArrivalGaps, LoadLimits, LoadTarget};
use rooflens_load::workload::WorkloadSpec;

use super::efficiency::ModelOnDevice;

/// A load test, or several one after the other.
#[derive(Debug, Clone)]
pub struct BenchRequest {
    /// The server.
    pub server: BenchServer,
    /// Model name in the requests; the first one that the server lists where it is not said.
    pub model: Option<String>,
    /// How to talk to it. Its address is set once the server runs.
    pub target: LoadTarget,
    /// How hard.
    pub load: LoadLevels,
    /// When each level ends.
    pub limits: LoadLimits,
    /// Users of a closed loop begin one by one over this time.
    pub ramp: Duration,
    /// What is left out at the beginning.
    pub warmup: Warmup,
    /// Threads of the client; 0 chooses.
    pub threads: usize,
    /// What is sent. Its model is set once the server runs.
    pub workload: WorkloadSpec,
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

/// What is left out at the begin of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// Found in the data.
    Auto,
    /// So many requests.
    Requests(u64),
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
    pub tls: Option<ClusterTls>,
}
