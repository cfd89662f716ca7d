//! What can go wrong with a question about cost.

use std::path::{Path, PathBuf};

use rooflens_collect::project::hub::HubName;
use rooflens_cost::hardware::HardwareError;
use rooflens_cost::hold::{Held, HoldError};
use rooflens_cost::{ConfigError, EstimateError};

use super::{ErrorKind, Hint, name_of};
use crate::shell::word;

/// A question that cannot be answered.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what it is")]
pub enum CostError {
    #[error("no config at {path}")]
    NoConfig { path: PathBuf, near: Vec<PathBuf> },
    #[error("{} is neither a path nor in the Hugging Face cache{}", .name.repository, has_others(.known))]
    NotCached { name: HubName, caches: Vec<PathBuf>, known: Vec<String> },
    #[error("{axis} has no values")]
    NoValues { axis: String },
    #[error("{given} models were named: one is wanted, or two to compare")]
    ModelCount { given: usize },
    #[error("no weights in {folder}")]
    NoWeights { folder: PathBuf, name: Option<HubName> },
    #[error("cannot read {path}: {source}")]
    UnreadableFile { path: PathBuf, source: std::io::Error },
    #[error("{path} has {bytes} bytes: too large for a config")]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("{path}: {source}")]
    Config { path: PathBuf, source: ConfigError },
    #[error("--set: {source}")]
    Setting { source: ConfigError, was: Option<(String, u64)> },
    #[error("--set {key} is given twice")]
    SetTwice { key: String },
    #[error("--hold: nothing is changed, so nothing has to be adjusted")]
    NothingChanged,
    #[error("--by {key}: the key is set by --set, so it cannot be adjusted too")]
    SetAndBy { key: String },
    #[error(transparent)]
    Hardware(HardwareError),
    #[error(transparent)]
    Estimate(#[from] EstimateError),
    #[error("{}", cannot_hold(.source, *.held, .by.as_deref()))]
    Hold { source: HoldError, held: Held, by: Option<String> },
    #[error("{flag} {name}: there is no such format")]
    UnknownFormat { flag: &'static str, name: String, known: Vec<&'static str> },
    #[error("{text:?} is not an image size")]
    BadImageSize { text: String },
    #[error("--routing {text}: {reason}")]
    BadRouting { text: String, reason: String },
    #[error("--routing {text}: {reason}")]
    BadRoutingFile { text: String, reason: String },
    #[error("{flag} {value}: expected a fraction above 0 and at most 1")]
    BadShare { flag: &'static str, value: f64 },
    #[error("--assume {reason}")]
    BadAssumption { reason: String },
    #[error("{points} points; at most {most} can be computed at once")]
    TooManyPoints { points: usize, most: usize },
}

impl CostError {
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            CostError::NoConfig { .. }
            | CostError::NotCached { .. }
            | CostError::NoWeights { .. }
            | CostError::UnreadableFile { .. }
            | CostError::TooLarge { .. }
            | CostError::Config { .. }
            | CostError::BadRoutingFile { .. } => ErrorKind::Data,
            CostError::Hardware(HardwareError::Unknown { .. }) => ErrorKind::Usage,
            // A file of the project's own devices.
            CostError::Hardware(_) => ErrorKind::Data,
            _ => ErrorKind::Usage,
        }
    }

    pub(crate) fn hint(&self) -> Hint {
        if let CostError::NotCached { name, known, .. } = self {
            let words = match known.as_slice() {
                [] => "Rooflens does not download models:".to_owned(),
                [first, ..] => format!("name one of them, as {}@{first}, or", name.repository),
            };
            return Hint::leading(words, name.download(false));
        }
        if let CostError::NoWeights { name: Some(name), .. } = self {
            return Hint::leading(
                "add model.weights=random for random ones, or".to_owned(),
                name.download(false),
            );
        }
        Hint::words(match self {
            CostError::NotCached { .. } => String::new(),
            CostError::NoValues { axis } => format!("leave {axis} out, or give at least one value"),
            CostError::ModelCount { .. } => {
                "a model is a config.json of Hugging Face, its folder, or its name".to_owned()
            }
            CostError::NoWeights { .. } => {
                "add model.weights=random to run it with random weights".to_owned()
            }
            CostError::NoConfig { near, .. } if !near.is_empty() => format!(
                "did you mean {}? rooflens cost {}",
                near.iter().map(|path| name_of(path)).collect::<Vec<String>>().join(", "),
                word(&near[0])
            ),
            CostError::NoConfig { path, .. } => format!(
                "a config.json of a Hugging Face model, or its folder; ls {}",
                word(path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
            ),
            CostError::UnreadableFile { path, .. } | CostError::TooLarge { path, .. } => {
                format!("ls -l {}", word(path))
            }
            CostError::Config { path, source } => config(path, source),
            CostError::Setting { source, was } => setting(source, was.as_ref()),
            CostError::SetTwice { key } => format!("a list is swept over: --set {key}=1,2"),
            CostError::NothingChanged => {
                "change a key, or give a second config: --set hidden_size=2048 --hold params".to_owned()
            }
            CostError::SetAndBy { .. } => "leave out --by, or name another key".to_owned(),
            CostError::Hardware(HardwareError::Unknown { near, .. }) => match near.as_slice() {
                [] => "rooflens list hardware".to_owned(),
                near => format!("did you mean {}? rooflens list hardware", near.join(", ")),
            },
            CostError::Hardware(_) => {
                "rooflens list hardware; to add a device: catalog/hardware/README.md".to_owned()
            }
            CostError::Estimate(error) => estimate(error),
            CostError::TooManyPoints { .. } => {
                "use a larger step: --batch 1..1024 doubles, --context 0..32k:+4k adds".to_owned()
            }
            CostError::Hold { held, .. } => match held {
                Held::Params | Held::Flops => "--by intermediate_size, or --by num_hidden_layers".to_owned(),
                Held::Kv => "--by num_key_value_heads, or --by num_hidden_layers".to_owned(),
            },
            CostError::UnknownFormat { known, .. } => format!("one of {}", known.join(", ")),
            CostError::BadImageSize { .. } => "as in --image-size 1024x768".to_owned(),
            CostError::BadRoutingFile { .. } => {
                "a JSON list with the visits of each expert, as in [120, 80, 97]".to_owned()
            }
            CostError::BadRouting { .. } => {
                "uniform, balanced, power:1.2, or a JSON list with the visits of each expert".to_owned()
            }
            CostError::BadAssumption { .. } => "as in --assume gemm=0.8,bandwidth=0.85,launch=2us".to_owned(),
            CostError::BadShare { flag, .. } => format!("as in {flag} 0.9"),
        })
    }
}

fn cannot_hold(source: &HoldError, held: Held, by: Option<&str>) -> String {
    let what = match held {
        Held::Params => "parameters do not depend on it",
        Held::Flops => "FLOPs do not depend on it",
        Held::Kv => "the KV cache does not depend on it",
    };
    match (source, by) {
        (HoldError::NoKey { .. }, Some(key)) => format!("--by {key} cannot keep the total constant: {what}"),
        (source, _) => source.to_string(),
    }
}

fn config(path: &Path, error: &ConfigError) -> String {
    match error {
        ConfigError::UnknownArchitecture { .. } | ConfigError::Unread { .. } => {
            "rooflens list families shows the known architectures".to_owned()
        }
        ConfigError::Missing(key) => format!("give it: --set {key}=VALUE"),
        ConfigError::Wrong { key, .. } => format!("set it: --set {key}=VALUE"),
        ConfigError::Contradiction { right, .. } => format!("set one of them: --set {right}=VALUE"),
        ConfigError::TwoNames { key, .. } => format!("set it: --set {key}=VALUE"),
        _ => format!("expected the config.json of a Hugging Face model; head -c 300 {}", word(path)),
    }
}

fn setting(error: &ConfigError, was: Option<&(String, u64)>) -> String {
    match (error, was) {
        (ConfigError::Unused { near, .. }, _) if !near.is_empty() => {
            format!("did you mean {}? --set {}=VALUE", near.join(", "), near[0])
        }
        (ConfigError::Unused { .. }, _) => "only keys that change the cost can be set".to_owned(),
        (_, Some((key, number))) => format!("the config has {number}: --set {key}={number}"),
        _ => "as in --set num_key_value_heads=4".to_owned(),
    }
}

fn estimate(error: &EstimateError) -> String {
    match error {
        EstimateError::NoRoof { .. } => "give the device's figures in hardware/NAME.toml".to_owned(),
        EstimateError::Workload(fault) => {
            let usual = match fault.what {
                "batch" => "8",
                "prefill" => "2k",
                "prefix" => "1k",
                "chunk" => "512",
                "context" => "4k",
                "encoder-tokens" => "512",
                "steps" => "16",
                _ => "1",
            };
            format!("as in --{} {usual}", fault.what)
        }
        EstimateError::Parallel(_) => "as in --tp 8 --ep 8, or --tp 4 --pp 2".to_owned(),
        EstimateError::Encoder(_) => {
            "encoder-decoder models: --prefill 512 is the input, --context 64 --encoder-tokens 512 a decode step"
                .to_owned()
        }
        EstimateError::Images(reason) if reason.ends_with("no vision tower") => {
            "leave out --images, --image-size and --crops".to_owned()
        }
        EstimateError::Images(_) => "as in --images 1 --image-size 1024x768".to_owned(),
    }
}

/// Which revisions there are, where the one that was asked for is not among them.
fn has_others(known: &[String]) -> String {
    match known {
        [] => String::new(),
        known => format!(": that has the revisions {}", known.join(", ")),
    }
}
