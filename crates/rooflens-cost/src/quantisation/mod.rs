//! What of a checkpoint is quantised, and how: `quantization_config` in its many dialects, and ModelOpt's
//! `hf_quant_config.json` beside it.

mod patterns;

use serde_json::{Map, Value};

use crate::config::{ConfigError, Keys};
use crate::precision::{Dtype, Storage};
use patterns::{Pattern, Patterns, WANTED};

/// Which weights are stored how. What no rule names keeps the checkpoint's plain format.
#[derive(Debug, Clone, Default)]
pub struct Quantisation {
    pub(crate) name: Option<String>,
    pub(crate) kv: Option<Dtype>,
    groups: Vec<Rule>,
    kept: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Rule {
    targets: Vec<Pattern>,
    storage: Storage,
}

/// Weights of 4 bits or 8 in groups that share a 16-bit scale, multiplied as bfloat16.
fn weight_only(bits: u64, group: Option<u64>, zero_points: bool) -> Option<Storage> {
    let element = match bits {
        4 => Dtype::Int4,
        8 => Dtype::Int8,
        _ => return None,
    };
    let shared = 16 + if zero_points { bits } else { 0 };
    Some(match group {
        Some(elements) => Storage::grouped(element, elements, shared, Dtype::Bf16),
        None => Storage { element, group: None, compute: Dtype::Bf16 },
    })
}

/// Microscaling FP4 (OCP MX 1.0): an 8-bit scale for 32 elements; weights only, widened to bfloat16.
pub(crate) const MXFP4: Storage = Storage::grouped(Dtype::Fp4, 32, 8, Dtype::Bf16);
/// NVIDIA's FP4: an 8-bit scale for 16 elements; weights and activations.
pub(crate) const NVFP4: Storage = Storage::grouped(Dtype::Fp4, 16, 8, Dtype::Fp4);

impl Quantisation {
    /// Reads what `config` and, where there is one, `side` (`hf_quant_config.json`) say.
    pub fn read(config: &Map<String, Value>, side: Option<&Map<String, Value>>) -> Result<Self, ConfigError> {
        if let Some(side) = side {
            let keys = Keys::new(side, "hf_quant_config.json: ");
            return modelopt(&keys.inside("quantization").unwrap_or(keys));
        }
        let root = Keys::new(config, "");
        let nested = ["text_config", "language_config"].into_iter().filter_map(|key| root.inside(key));
        let found = root
            .inside("quantization_config")
            .or_else(|| nested.into_iter().find_map(|keys| keys.inside("quantization_config")));
        let Some(keys) = found else { return Ok(Self::default()) };
        match keys.text("quant_method") {
            Some("fp8" | "fbgemm_fp8") => fp8(&keys),
            Some("mxfp4") => Ok(Self {
                name: Some("mxfp4".to_owned()),
                groups: vec![Rule {
                    targets: vec![Pattern::Stars(EXPERTS.map(str::to_owned).into())],
                    storage: MXFP4,
                }],
                kept: patterns(&keys, "modules_to_not_convert")?,
                kv: None,
            }),
            Some(method @ ("gptq" | "awq" | "gptq_marlin" | "awq_marlin" | "auto-round")) => {
                integers(&keys, method)
            }
            Some("compressed-tensors") => compressed(&keys),
            Some("modelopt" | "modelopt_fp4") => modelopt(&keys),
            Some("bitsandbytes") => bitsandbytes(&keys),
            // Written by ModelOpt's exporter without a method.
            None if keys.text("quant_algo").is_some() => modelopt(&keys),
            None if keys.get("config_groups").is_some() => compressed(&keys),
            _ => Err(keys.wrong(
                "quant_method",
                "fp8, mxfp4, gptq, awq, compressed-tensors, modelopt or bitsandbytes",
            )),
        }
    }

    pub(crate) fn uniform(name: &str, storage: Storage) -> Self {
        Self { name: Some(name.to_owned()), groups: every(storage), kept: vec![head()], kv: None }
    }

    /// The rules, ready for the paths of `layers` layers; an error where matching them would take long.
    pub(crate) fn rules(&self, layers: usize) -> Result<Rules<'_>, ConfigError> {
        let mut rules = Rules { quantisation: self, targets: Patterns::default(), kept: Patterns::default() };
        for (number, rule) in self.groups.iter().enumerate() {
            rule.targets.iter().for_each(|target| rules.targets.add(target, number));
        }
        self.kept.iter().for_each(|pattern| rules.kept.add(pattern, 0));
        let effort = rules.targets.effort() + rules.kept.effort();
        if effort.saturating_mul(layers) > MOST_EFFORT {
            return Err(ConfigError::Wrong {
                key: "quantization_config".to_owned(),
                found: format!("{layers} layers with {effort} characters of expressions"),
                wanted: "patterns that can be matched within a second",
            });
        }
        Ok(rules)
    }
}

/// Characters of expressions, tried in each layer: about a second. Real checkpoints come to a tenth of it.
const MOST_EFFORT: usize = 1_000_000;

#[derive(Debug)]
pub(crate) struct Rules<'a> {
    quantisation: &'a Quantisation,
    targets: Patterns<'a>,
    kept: Patterns<'a>,
}

impl Rules<'_> {
    /// How the weights at `path` are stored, where they are quantised.
    pub(crate) fn storage(&self, path: &str) -> Option<Storage> {
        let rule = self.targets.first(path)?;
        match self.kept.first(path) {
            Some(_) => None,
            None => self.quantisation.groups.get(rule).map(|rule| rule.storage),
        }
    }
}

/// A path with `experts` anywhere in it.
const EXPERTS: [&str; 3] = ["", "experts", ""];

/// The head, which quantisers leave alone unless it is asked for.
fn head() -> Pattern {
    Pattern::Path("lm_head".to_owned())
}

fn patterns(keys: &Keys, key: &str) -> Result<Vec<Pattern>, ConfigError> {
    let mut patterns = listed(keys, key)?.unwrap_or_default();
    patterns.push(head());
    Ok(patterns)
}

fn listed(keys: &Keys, key: &str) -> Result<Option<Vec<Pattern>>, ConfigError> {
    let Some(texts) = keys.texts(key)? else { return Ok(None) };
    let patterns: Option<Vec<Pattern>> = texts.into_iter().map(Pattern::read).collect();
    patterns.map(Some).ok_or_else(|| keys.wrong(key, WANTED))
}

fn every(storage: Storage) -> Vec<Rule> {
    vec![Rule { targets: vec![Pattern::Every], storage }]
}

/// Every linear layer stored so, except those that a list names.
fn all_but(name: String, storage: Storage, keys: &Keys, list: &str) -> Result<Quantisation, ConfigError> {
    Ok(Quantisation { name: Some(name), kv: None, groups: every(storage), kept: patterns(keys, list)? })
}

fn fp8(keys: &Keys) -> Result<Quantisation, ConfigError> {
    let block = keys.numbers("weight_block_size")?;
    let (name, storage) = match block.as_deref() {
        Some([rows, columns]) if *rows > 0 && *columns > 0 => (
            format!("fp8, {rows}×{columns} blocks"),
            Storage::grouped(Dtype::Fp8, rows * columns, 32, Dtype::Fp8),
        ),
        _ => ("fp8".to_owned(), Storage::plain(Dtype::Fp8)),
    };
    all_but(name, storage, keys, "modules_to_not_convert")
}

fn integers(keys: &Keys, method: &str) -> Result<Quantisation, ConfigError> {
    let bits = keys.size_if("bits")?.or(keys.size_if("w_bit")?).unwrap_or(4);
    let group =
        ["group_size", "q_group_size"].into_iter().find_map(|key| keys.get(key)).and_then(Value::as_i64);
    let group = group.filter(|group| *group > 0).map(|group| group as u64).or(match group {
        Some(_) => None,
        None => Some(128),
    });
    let symmetric = keys.flag_or("sym", method != "awq")? && !keys.flag_or("zero_point", false)?;
    let storage =
        weight_only(bits, group, !symmetric).ok_or_else(|| keys.wrong("bits", "4 or 8 bits per weight"))?;
    let name = match group {
        Some(group) => format!("{method} int{bits}, groups of {group}"),
        None => format!("{method} int{bits}"),
    };
    all_but(name, storage, keys, "modules_to_not_convert")
}

fn compressed(keys: &Keys) -> Result<Quantisation, ConfigError> {
    let groups = keys.need_inside("config_groups")?;
    let mut rules = Vec::new();
    let mut names = Vec::new();
    let Some(Value::Object(map)) = keys.get("config_groups") else {
        return Err(keys.missing("config_groups"));
    };
    for name in map.keys() {
        let group = groups.need_inside(name)?;
        let Some(weights) = group.inside("weights") else { continue };
        let bits = weights.size_or("num_bits", 8)?;
        let float = weights.text("type") == Some("float");
        let group_size = weights.get("group_size").and_then(Value::as_i64).filter(|size| *size > 0);
        let group_size = group_size.map(|size| size as u64);
        let activations = group.inside("input_activations");
        let activation_bits = match &activations {
            Some(activations) => activations.size_or("num_bits", 8)?,
            None => 16,
        };
        let storage = match (float, bits) {
            (true, 4) => {
                let compute = if activation_bits == 4 { Dtype::Fp4 } else { Dtype::Bf16 };
                Storage::grouped(Dtype::Fp4, group_size.unwrap_or(32), 8, compute)
            }
            (true, 8) => {
                let compute = if activation_bits == 8 { Dtype::Fp8 } else { Dtype::Bf16 };
                let block = weights.numbers("block_structure")?;
                let block = match block.as_deref() {
                    Some([rows, columns]) => Some(rows * columns),
                    Some(_) => return Err(weights.wrong("block_structure", "two sides of a block")),
                    None => group_size,
                };
                let block = block.filter(|size| *size > 0);
                match block {
                    Some(elements) => Storage::grouped(Dtype::Fp8, elements, 32, compute),
                    None => Storage { element: Dtype::Fp8, group: None, compute },
                }
            }
            (false, _) => {
                let zero_points = !weights.flag_or("symmetric", true)?;
                let mut storage = weight_only(bits, group_size, zero_points)
                    .ok_or_else(|| weights.wrong("num_bits", "4 or 8 bits per weight"))?;
                if activation_bits == 8 {
                    storage.compute = if float { Dtype::Fp8 } else { Dtype::Int8 };
                }
                storage
            }
            (true, _) => return Err(weights.wrong("num_bits", "4 or 8 bits per weight")),
        };
        names.push(format!("{}{bits}", if float { "fp" } else { "int" }));
        let targets = listed(&group, "targets")?.unwrap_or_else(|| vec![Pattern::Every]);
        rules.push(Rule { targets, storage });
    }
    names.dedup();
    let kv = keys.inside("kv_cache_scheme").map(|scheme| scheme.size_or("num_bits", 8)).transpose()?;
    Ok(Quantisation {
        name: Some(format!("compressed-tensors {}", names.join(" + "))),
        kv: kv.filter(|bits| *bits == 8).map(|_| Dtype::Fp8),
        groups: rules,
        kept: listed(keys, "ignore")?.unwrap_or_default(),
    })
}

fn modelopt(keys: &Keys) -> Result<Quantisation, ConfigError> {
    let algorithm = |keys: &Keys, key: &str| -> Result<Option<Storage>, ConfigError> {
        let group = keys.size_if("group_size")?;
        Ok(match keys.text(key) {
            None => None,
            Some("FP8" | "FP8_PER_CHANNEL_PER_TOKEN") => Some(Storage::plain(Dtype::Fp8)),
            Some("FP8_PB_WO" | "FP8_PB_REAL") => {
                Some(Storage::grouped(Dtype::Fp8, 128 * 128, 32, Dtype::Fp8))
            }
            Some("NVFP4") => Some(Storage::grouped(Dtype::Fp4, group.unwrap_or(16), 8, Dtype::Fp4)),
            Some("W4A16_AWQ") => weight_only(4, Some(group.unwrap_or(128)), false),
            Some("W4A8_AWQ") => {
                let storage = weight_only(4, Some(group.unwrap_or(128)), false);
                storage.map(|storage| Storage { compute: Dtype::Fp8, ..storage })
            }
            Some("INT8_SQ" | "W8A8_SQ_PER_CHANNEL") => Some(Storage::plain(Dtype::Int8)),
            Some(_) => {
                return Err(keys.wrong(key, "FP8, NVFP4, W4A16_AWQ, W4A8_AWQ, INT8_SQ or MIXED_PRECISION"));
            }
        })
    };
    let mut groups = Vec::new();
    let name = if keys.text("quant_algo") == Some("MIXED_PRECISION") {
        let layers = keys.need_inside("quantized_layers")?;
        let Some(Value::Object(map)) = keys.get("quantized_layers") else {
            return Err(keys.missing("quantized_layers"));
        };
        for path in map.keys() {
            if let Some(storage) = algorithm(&layers.need_inside(path)?, "quant_algo")? {
                groups.push(Rule { targets: vec![Pattern::Path(path.clone())], storage });
            }
        }
        "modelopt, mixed".to_owned()
    } else {
        if let Some(storage) = algorithm(keys, "quant_algo")? {
            groups = every(storage);
        }
        format!("modelopt {}", keys.text("quant_algo").unwrap_or("none"))
    };
    let kv = match keys.text("kv_cache_quant_algo") {
        Some("FP8") => Some(Dtype::Fp8),
        Some("NVFP4") => Some(Dtype::Fp4),
        Some("INT8") => Some(Dtype::Int8),
        _ => None,
    };
    let mut kept = patterns(keys, "exclude_modules")?;
    kept.extend(listed(keys, "ignore")?.unwrap_or_default());
    Ok(Quantisation { name: Some(name), kv, groups, kept })
}

fn bitsandbytes(keys: &Keys) -> Result<Quantisation, ConfigError> {
    let (name, storage) = if keys.flag_or("load_in_4bit", false)? {
        // NF4 with a 32-bit maximum for 64 elements.
        ("bitsandbytes nf4", Storage::grouped(Dtype::Int4, 64, 32, Dtype::Bf16))
    } else {
        ("bitsandbytes int8", Storage { element: Dtype::Int8, group: None, compute: Dtype::Int8 })
    };
    all_but(name.to_owned(), storage, keys, "llm_int8_skip_modules")
}
