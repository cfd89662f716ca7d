//! What is asked for, and how a server is started, found ready, measured and profiled.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    pub fn traces(&self) -> Option<&Path> {
        match self {
            ServerProfile::StartStop { traces } | ServerProfile::StartStopWithFolder { traces } => {
                Some(traces)
            }
            ServerProfile::Nothing { .. } => None,
        }
    }

    pub(super) fn not_asked() -> Self {
        ServerProfile::Nothing { why: "no profile was asked for".to_owned() }
    }
}

/// A spec that no plan can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ServerPlanError(pub(super) String);

impl ServerPlanError {
    /// The plan sets this flag itself; `by` says what sets it.
    pub(super) fn own_flag(flag: &str, by: &str) -> Self {
        Self(format!("the flag {flag} cannot be set: {by} sets it"))
    }

    pub(super) fn no_flag(flag: &str) -> Self {
        Self(format!("'{flag}' is no name of a flag"))
    }
}

impl ServerPlan {
    pub(super) fn started(spec: &ServerSpec, folder: &Path, argv: Vec<String>) -> Self {
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

pub(super) const HOST: &str = "127.0.0.1";

pub(super) fn whole(spec: &ServerSpec, names: &[&str]) -> Option<u64> {
    let same = |flag: &str, name: &str| flag.trim_start_matches('-').replace('-', "_") == name;
    spec.flags.iter().find(|(flag, _)| names.iter().any(|name| same(flag, name)))?.1.as_u64()
}

pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub(super) struct Spelling {
    pub(crate) separator: char,
    /// What false is: `--no-NAME`, or nothing.
    pub(crate) has_no: bool,
    pub(crate) own: &'static [(&'static str, &'static str)],
}

pub(super) fn words(spec: &ServerSpec, spelling: &Spelling) -> Result<Vec<String>, ServerPlanError> {
    let mut words = Vec::new();
    for (flag, value) in &spec.flags {
        let bare = flag.trim_start_matches('-').replace(['-', '_'], "_");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if bare.is_empty() || !bare.chars().all(is_name) {
            return Err(ServerPlanError::no_flag(flag));
        }
        if let Some((_, instead)) = spelling.own.iter().find(|(own, _)| *own == bare) {
            return Err(ServerPlanError::own_flag(flag, instead));
        }
        let name = bare.replace('_', &spelling.separator.to_string());
        // A flag of one dash is taken as it is.
        let is_short = flag.starts_with('-') && !flag.starts_with("--");
        let option = if is_short { flag.clone() } else { format!("--{name}") };
        match value {
            Value::Null => {}
            Value::Bool(true) => words.push(option),
            Value::Bool(false) if spelling.has_no => words.push(format!("--no-{name}")),
            Value::Bool(false) => {}
            Value::Array(values) => {
                words.push(option);
                for value in values {
                    words.push(word(flag, value)?);
                }
            }
            Value::Object(_) => words.extend([option, value.to_string()]),
            Value::Number(_) | Value::String(_) => words.extend([option, word(flag, value)?]),
        }
    }
    Ok(words)
}

fn word(flag: &str, value: &Value) -> Result<String, ServerPlanError> {
    match value {
        Value::String(text) if !text.contains('\0') => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(_) | Value::Object(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::String(_) => {
            Err(ServerPlanError(format!("the flag {flag} cannot be {value}")))
        }
    }
}
