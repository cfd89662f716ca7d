//! What is asked of the cost model, with every word understood.

use std::path::PathBuf;

use rooflens_cost::hold::Held;
use rooflens_cost::pass::LatentOrder;
use rooflens_cost::practice::Assume;
use rooflens_cost::precision::Dtype;
use rooflens_cost::routing::Routing;
use rooflens_cost::setup::{Nodes, VisionSharding};
use rooflens_cost::vision::Images;

use crate::error::CostError;

/// A key of the config and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not KEY=VALUE, as in num_key_value_heads=4");
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        if key.is_empty() || value.is_empty() {
            return Err(wrong());
        }
        // A list in JSON is one value; what reads as numbers may be a list or range of them.
        let values = if value.starts_with(['[', '{', '"']) {
            vec![value.to_owned()]
        } else if let Ok(numbers) = value.parse::<super::amount::Numbers>() {
            numbers.0.iter().map(u64::to_string).collect()
        } else {
            value.split(',').map(str::to_owned).collect()
        };
        Ok(Setting { key: key.trim().to_owned(), values })
    }
}

/// A question.
#[derive(Debug, Clone)]
pub struct CostQuestion {
    /// Configs: the last is asked about, one before it is compared with.
    pub configs: Vec<PathBuf>,
    /// Sequences.
    pub batch: Vec<u64>,
    /// Tokens of prompts.
    pub prefill: Option<Vec<u64>>,
    /// Tokens before them.
    pub prefix: u64,
    /// Tokens of a step.
    pub chunk: Option<u64>,
    /// Tokens in the cache before the first is made.
    pub context: Option<Vec<u64>>,
    /// Positions of an encoder, where not as many as the prompt or the context.
    pub encoder_tokens: Option<u64>,
    /// Steps of making tokens.
    pub steps: u64,
    /// Tokens drafted in each.
    pub draft: u64,
    /// Images of each sequence.
    pub images: Option<u64>,
    /// Their size, as typed.
    pub image_size: Option<String>,
    /// Local views of each.
    pub crops: Option<Vec<u64>>,
    /// Names of devices.
    pub hardware: Vec<String>,
    /// Ways of dealing out.
    pub tp: Vec<u64>,
    /// Stages.
    pub pp: Vec<u64>,
    /// Devices with experts.
    pub ep: Vec<u64>,
    /// Replicas.
    pub dp: Vec<u64>,
    /// Devices of a node, where not the catalog's.
    pub node_size: Option<u64>,
    /// Bytes a second per device between nodes, where not the usual.
    pub inter_node: Option<f64>,
    /// How the vision tower is sharded.
    pub vision: VisionSharding,
    /// Part of memory that may be used.
    pub usable: f64,
    /// Formats of all weights.
    pub dtype: Vec<String>,
    /// Format of cached keys and values, as typed.
    pub kv_dtype: Option<String>,
    /// Format of recurrent states, as typed.
    pub state_dtype: Option<String>,
    /// Assumptions of the estimate, as typed.
    pub assume: Vec<String>,
    /// Keys that are set.
    pub set: Vec<Setting>,
    /// What is held.
    pub hold: Option<Held>,
    /// By which key.
    pub by: Option<String>,
    /// How tokens choose experts, as typed.
    pub routing: String,
    /// Order of products in latent attention.
    pub latent: LatentOrder,
    /// Target for prompts, in seconds.
    pub ttft: Option<f64>,
    /// Target for tokens, in seconds.
    pub tpot: Option<f64>,
}

impl Default for CostQuestion {
    fn default() -> Self {
        CostQuestion {
            configs: Vec::new(),
            batch: vec![1],
            prefill: None,
            prefix: 0,
            chunk: None,
            context: None,
            encoder_tokens: None,
            steps: 1,
            draft: 0,
            images: None,
            image_size: None,
            crops: None,
            hardware: Vec::new(),
            tp: vec![1],
            pp: vec![1],
            ep: vec![1],
            dp: vec![1],
            node_size: None,
            inter_node: None,
            vision: VisionSharding::Tensor,
            usable: 0.9,
            dtype: Vec::new(),
            kv_dtype: None,
            state_dtype: None,
            assume: Vec::new(),
            set: Vec::new(),
            hold: None,
            by: None,
            routing: "uniform".to_owned(),
            latent: LatentOrder::ByPhase,
            ttft: None,
            tpot: None,
        }
    }
}

impl CostQuestion {
    pub(crate) fn check(&self) -> Result<(), CostError> {
        if !(self.usable > 0.0 && self.usable <= 1.0) {
            return Err(CostError::BadShare { flag: "--usable", value: self.usable });
        }
        let keys: Vec<&String> = self.set.iter().map(|set| &set.key).collect();
        if let Some(key) =
            keys.iter().enumerate().find_map(|(at, key)| keys[..at].contains(key).then_some(key))
        {
            return Err(CostError::SetTwice { key: (*key).clone() });
        }
        if self.hold.is_some() && self.set.is_empty() && self.configs.len() < 2 {
            return Err(CostError::NothingChanged);
        }
        match &self.by {
            Some(by) if keys.contains(&by) => Err(CostError::SetAndBy { key: by.clone() }),
            _ => Ok(()),
        }
    }

    pub(crate) fn kv(&self) -> Result<Option<Dtype>, CostError> {
        const KV: &[Dtype] =
            &[Dtype::Fp32, Dtype::Bf16, Dtype::Fp16, Dtype::Fp8, Dtype::Int8, Dtype::Fp4, Dtype::Int4];
        format_among("--kv-dtype", self.kv_dtype.as_ref(), KV)
    }

    pub(crate) fn state(&self) -> Result<Option<Dtype>, CostError> {
        const STATES: &[Dtype] = &[Dtype::Fp32, Dtype::Bf16, Dtype::Fp16, Dtype::Fp8];
        format_among("--state-dtype", self.state_dtype.as_ref(), STATES)
    }

    pub(crate) fn assumed(&self) -> Result<Assume, CostError> {
        let mut assume = Assume::default();
        for text in &self.assume {
            let set = match text.split_once('=') {
                Some((key, value)) => assume.set(key.trim(), value.trim()),
                None => Err(format!("{text:?} is not KEY=VALUE, as in gemm=0.8")),
            };
            set.map_err(|reason| CostError::BadAssumption { reason })?;
        }
        Ok(assume)
    }

    pub(crate) fn nodes(&self) -> Nodes {
        Nodes { size: self.node_size, bytes_per_s: self.inter_node }
    }

    pub(crate) fn images(&self, crops: Option<u64>) -> Result<Option<Images>, CostError> {
        if self.images.is_none() && self.image_size.is_none() && crops.is_none() {
            return Ok(None);
        }
        let size = self.image_size.as_deref().map(|text| {
            let sides =
                text.split_once(['x', '×']).and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
            sides.ok_or_else(|| CostError::BadImageSize { text: text.to_owned() })
        });
        let size: Option<(u64, u64)> = size.transpose()?;
        Ok(Some(Images {
            count: self.images.unwrap_or(1),
            width: size.map(|size| size.0),
            height: size.map(|size| size.1),
            crops,
        }))
    }

    pub(crate) fn routing(&self) -> Result<Routing, CostError> {
        let wrong = |reason: String| CostError::BadRouting { text: self.routing.clone(), reason };
        match self.routing.as_str() {
            "uniform" => Ok(Routing::Uniform),
            "balanced" => Ok(Routing::Balanced),
            text => match text.strip_prefix("power:") {
                Some(alpha) => match alpha.parse::<f64>() {
                    Ok(alpha) if (0.0..=10.0).contains(&alpha) => Ok(Routing::PowerLaw { alpha }),
                    _ => Err(wrong("ALPHA is a number from 0 to 10".to_owned())),
                },
                None => self.routing_file(),
            },
        }
    }

    fn routing_file(&self) -> Result<Routing, CostError> {
        let text = self.routing.clone();
        let bytes = match std::fs::read(&text) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let reason = "neither a routing nor a file".to_owned();
                return Err(CostError::BadRouting { text, reason });
            }
            Err(error) => return Err(CostError::BadRoutingFile { text, reason: error.to_string() }),
        };
        let wrong = |reason: String| CostError::BadRoutingFile { text: text.clone(), reason };
        let visits: Vec<f64> = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if visits.iter().any(|visits| !visits.is_finite() || *visits < 0.0) {
            return Err(wrong("a number of visits is below 0".to_owned()));
        }
        if visits.iter().sum::<f64>() <= 0.0 {
            return Err(wrong("it has no visits".to_owned()));
        }
        Ok(Routing::Histogram { visits })
    }
}

fn format_among(
    flag: &'static str,
    name: Option<&String>,
    known: &'static [Dtype],
) -> Result<Option<Dtype>, CostError> {
    let Some(name) = name else { return Ok(None) };
    let found = known.iter().copied().find(|dtype| dtype.as_str() == name);
    let unknown = || CostError::UnknownFormat {
        flag,
        name: name.clone(),
        known: known.iter().map(|dtype| dtype.as_str()).collect(),
    };
    found.map(Some).ok_or_else(unknown)
}
