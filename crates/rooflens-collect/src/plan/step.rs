//! The stages of a run, and their steps: what is done, by whom, and what it should leave.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{CommandWord, RunFolders};

/// A stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStage {
    /// Headline numbers, without any profiler. On unless the config switches it off.
    Measure,
    /// PyTorch's profiler.
    TorchProfiler,
    /// Nsight Systems.
    Nsys,
    /// Nsight Compute.
    Ncu,
    /// The log of the matrix library.
    CublasLog,
    /// Answers.
    DirectInference,
    /// What the model must cost.
    StaticAnalysis,
}

impl RunStage {
    /// Every stage, in the order they are run in. What the model must cost comes last: how long the
    /// prompts are is known by then.
    pub const ALL: &[RunStage] = &[
        RunStage::Measure,
        RunStage::TorchProfiler,
        RunStage::Nsys,
        RunStage::Ncu,
        RunStage::CublasLog,
        RunStage::DirectInference,
        RunStage::StaticAnalysis,
    ];

    /// Its name: `pipeline.<name>`, and the folder of what it leaves.
    pub fn name(self) -> &'static str {
        match self {
            RunStage::Measure => "measure",
            RunStage::TorchProfiler => "torch_profiler",
            RunStage::Nsys => "nsys",
            RunStage::Ncu => "ncu",
            RunStage::CublasLog => "cublas_log",
            RunStage::DirectInference => "direct_inference",
            RunStage::StaticAnalysis => "static_analysis",
        }
    }

    /// What the workload does in the stage's process, by its name in the specification.
    pub(crate) fn pass(self) -> &'static str {
        match self {
            RunStage::DirectInference => "predict",
            stage => stage.name(),
        }
    }
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedStep {
    /// Its name, and that of its folder in `raw/`.
    pub name: String,
    /// Its stage.
    pub stage: RunStage,
    /// What it is for, in a line.
    pub purpose: String,
    /// What is done.
    #[serde(flatten)]
    pub work: StepWork,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepWork {
    /// Starts a process.
    Process(Box<ProcessCommand>),
    /// Computes what the model must cost; nothing is started.
    #[serde(rename = "in_process")]
    Static(StaticWork),
}

/// A process to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessCommand {
    /// The program and its arguments.
    pub argv: Vec<CommandWord>,
    /// Environment variables beside those that are inherited.
    pub env: BTreeMap<String, CommandWord>,
    /// The folder it starts in.
    pub cwd: CommandWord,
    /// What is written before it starts.
    pub writes: Vec<WrittenFile>,
    /// Files that it must write, from the run's folder. A folder must not be empty.
    pub expects: Vec<String>,
    /// It is stopped when it takes longer; null: never.
    pub timeout_s: Option<u64>,
    /// Python packages that it cannot do without.
    pub packages: Vec<String>,
    /// The words before these packages, in the command that installs them.
    #[serde(skip)]
    pub install: Vec<CommandWord>,
}

/// A file that a process reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenFile {
    /// Where, from the run's folder.
    pub path: String,
    /// Paths in it, each under its key.
    pub paths: BTreeMap<Cow<'static, str>, CommandWord>,
    /// The rest of it.
    pub content: Json,
}

impl WrittenFile {
    pub(crate) fn text(&self, places: &RunFolders) -> String {
        let mut content = self.content.clone();
        if let Json::Object(object) = &mut content {
            for (key, path) in &self.paths {
                let path = path.resolve(places).to_string_lossy().into_owned();
                object.insert(key.to_string(), json!(path));
            }
        }
        serde_json::to_string_pretty(&content).map(|text| text + "\n").unwrap_or_default()
    }
}

/// The model and the sizes of the static analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaticWork {
    /// Folder of the model.
    pub model: CommandWord,
    /// Format of all weights; null: those of the checkpoint.
    pub dtype: Option<String>,
    /// Format of cached keys and values; null: that of the weights.
    pub kv_dtype: Option<String>,
    /// The device; null: the one that is found.
    pub hardware: Option<String>,
    /// Devices that share each layer.
    pub tensor_parallel: u64,
    /// Sequences in a step.
    pub batch_sizes: Vec<u64>,
    /// Tokens in the cache; none: those of the prompts.
    pub contexts: Vec<u64>,
}
