//! Servers as runtimes: what is asked for ([`ServerSpec`]) → how it is started, found ready, measured and profiled
//! ([`ServerPlan`], pure) → a process ([`ServerProcess`]).
//!
//! One file per server; `flags` puts its flags into words; `process` starts, watches and stops it.

mod flags;
mod llamacpp;
mod process;
mod ready;
mod sglang;
mod trtllm;
mod url;
mod vllm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::process::{ServerError, ServerExit, ServerProcess};

/// A server that can be benchmarked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerProgram {
    /// `vllm serve`.
    VllmServer,
    /// `sglang.launch_server`.
    SglangServer,
    /// `llama-server`, or the same server in the Python package `xllamacpp`.
    LlamacppServer,
    /// `trtllm-serve`.
    TrtllmServer,
    /// One that runs already.
    Url,
}

impl ServerProgram {
    /// All, in the order of lists.
    pub const ALL: [ServerProgram; 5] = [
        ServerProgram::VllmServer,
        ServerProgram::SglangServer,
        ServerProgram::LlamacppServer,
        ServerProgram::TrtllmServer,
        ServerProgram::Url,
    ];

    /// `runtime.name`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ServerProgram::VllmServer => "vllm_server",
            ServerProgram::SglangServer => "sglang_server",
            ServerProgram::LlamacppServer => "llamacpp_server",
            ServerProgram::TrtllmServer => "trtllm_server",
            ServerProgram::Url => "url",
        }
    }

    /// What it is, in a line.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            ServerProgram::VllmServer => "vLLM's OpenAI-compatible server",
            ServerProgram::SglangServer => "SGLang's OpenAI-compatible server",
            ServerProgram::LlamacppServer => {
                "the server of llama.cpp: llama-server, or the Python package xllamacpp"
            }
            ServerProgram::TrtllmServer => "TensorRT-LLM's OpenAI-compatible server, trtllm-serve",
            ServerProgram::Url => "an OpenAI-compatible server that is running already",
        }
    }

    /// The program of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.name() == name)
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSpec {
    /// The server.
    pub program: ServerProgram,
    /// Path or name of the model; the address of the server for [`ServerProgram::Url`].
    pub model: String,
    /// What requests call the model.
    pub served_name: Option<String>,
    /// Port to listen on, at the loopback address.
    pub port: u16,
    /// The interpreter that has the server's package; `None` starts the program that stands in `PATH`.
    pub python: Option<PathBuf>,
    /// Any flag of the server, as `max_num_seqs`: true alone, lists as several words, objects as JSON. For `xllamacpp`:
    /// attributes of its `CommonParams`, as `n_parallel`, `cpuparams.n_threads`.
    pub flags: BTreeMap<String, Value>,
    /// Added to the environment.
    pub env: BTreeMap<String, String>,
    /// Whether profiles will be taken.
    pub profile: bool,
}

/// How a server is started, found ready, measured and profiled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerPlan {
    /// The server.
    pub(crate) program: ServerProgram,
    /// Program and arguments; empty for one that runs already.
    pub argv: Vec<String>,
    /// Added to the environment.
    pub(crate) env: BTreeMap<String, String>,
    /// Files to be written before: path and content.
    pub writes: BTreeMap<PathBuf, String>,
    /// Scheme, host and port.
    pub base_url: String,
    /// Answers 200 once it is ready.
    pub(crate) ready_url: String,
    /// Its page of metrics.
    pub(crate) metrics_url: String,
    /// What requests call the model; null where the server must be asked.
    pub served_name: Option<String>,
    /// What it prints.
    pub(crate) log_file: PathBuf,
    /// The most requests that run at once, if a flag sets it.
    pub running_limit: Option<u64>,
    /// How profiles are taken.
    pub profile: ServerProfile,
}

/// How profiles of a server are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum ServerProfile {
    /// `POST /start_profile` and `POST /stop_profile`, without a body.
    StartStop {
        /// Where traces land.
        traces: PathBuf,
    },
    /// `POST /start_profile` with `output_dir` in a JSON body, and `POST /stop_profile`.
    StartStopWithFolder {
        /// Where traces land.
        traces: PathBuf,
    },
    /// Not at all.
    Nothing {
        /// Why.
        why: String,
    },
}

impl ServerProfile {
    /// Where traces land.
    #[must_use]
    pub fn traces(&self) -> Option<&Path> {
        match self {
            ServerProfile::StartStop { traces } | ServerProfile::StartStopWithFolder { traces } => {
                Some(traces)
            }
            ServerProfile::Nothing { .. } => None,
        }
    }

    fn not_asked() -> Self {
        ServerProfile::Nothing { why: "no profile was asked for".to_owned() }
    }
}

/// A spec that no plan can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerPlanError {
    /// The plan sets this flag itself.
    #[error("the flag {flag} cannot be set: {instead} sets it")]
    OwnFlag {
        /// As it was given.
        flag: String,
        /// What sets it.
        instead: &'static str,
    },
    /// That is no name of a flag.
    #[error("'{flag}' is no name of a flag")]
    NoFlag {
        /// As it was given.
        flag: String,
    },
    /// A value cannot be put into words.
    #[error("the flag {flag} cannot be {value}")]
    NoWord {
        /// The flag.
        flag: String,
        /// Its value.
        value: String,
    },
    /// The folder is relative: servers change their own.
    #[error("the folder {folder} must be absolute")]
    RelativeFolder {
        /// As it was given.
        folder: PathBuf,
    },
    /// The address is none.
    #[error("'{url}' is no address of a server")]
    NoAddress {
        /// As it was given.
        url: String,
    },
}

impl ServerPlan {
    /// The plan of a spec. Logs and traces go to a folder, which must be absolute.
    ///
    /// # Errors
    /// [`ServerPlanError`].
    pub fn new(spec: &ServerSpec, folder: &Path) -> Result<Self, ServerPlanError> {
        if !folder.is_absolute() {
            return Err(ServerPlanError::RelativeFolder { folder: folder.to_owned() });
        }
        match spec.program {
            ServerProgram::VllmServer => vllm::plan(spec, folder),
            ServerProgram::SglangServer => sglang::plan(spec, folder),
            ServerProgram::LlamacppServer => llamacpp::plan(spec, folder),
            ServerProgram::TrtllmServer => trtllm::plan(spec, folder),
            ServerProgram::Url => url::plan(spec, folder),
        }
    }

    /// What plans of started servers have in common.
    fn started(spec: &ServerSpec, folder: &Path, argv: Vec<String>) -> Self {
        let base_url = format!("http://{HOST}:{}", spec.port);
        ServerPlan {
            program: spec.program,
            argv,
            env: spec.env.clone(),
            writes: BTreeMap::new(),
            ready_url: format!("{base_url}/health"),
            metrics_url: format!("{base_url}/metrics"),
            base_url,
            served_name: Some(spec.served_name.clone().unwrap_or_else(|| spec.model.clone())),
            log_file: folder.join("server.log"),
            running_limit: None,
            profile: ServerProfile::not_asked(),
        }
    }
}

/// Servers that we start listen here alone.
const HOST: &str = "127.0.0.1";

/// The whole number that a flag sets, by either spelling.
fn whole(spec: &ServerSpec, names: &[&str]) -> Option<u64> {
    let same = |flag: &str, name: &str| flag.trim_start_matches('-').replace('-', "_") == name;
    spec.flags.iter().find(|(flag, _)| names.iter().any(|name| same(flag, name)))?.1.as_u64()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
