//! Made models, questions and devices: random, and the same in every run.

use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::model::{EncoderInput, Model};
use rooflens_cost::parallel::Parallel;
use rooflens_cost::pass::LatentOrder;
use rooflens_cost::precision::Dtype;
use rooflens_cost::roof::Roof;
use rooflens_cost::routing::Routing;
use rooflens_cost::setup::Setup;
use rooflens_cost::step::{Mask, Step};
use rooflens_cost::units::Unit;
use rooflens_cost::workload::{Decode, Prefill, Workload};
use serde_json::{Value, json};

use crate::common::language_goldens;

/// A source of chance (SplitMix64): a seed gives the same numbers everywhere, so that a failure repeats.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `least` to `most`.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.bits() % (most - least + 1)
    }

    /// The same, as often small as large.
    pub fn of_any_size(&mut self, least: u64, most: u64) -> u64 {
        let bits = u64::from((most - least + 1).ilog2());
        let most_of_size = 1 << self.between(0, bits);
        least + self.bits() % most_of_size
    }

    pub fn yes(&mut self) -> bool {
        self.bits() & 1 == 1
    }

    /// From 0 up to 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.between(0, all.len() as u64 - 1) as usize].clone()
    }
}

/// Real families, each with keys of its own.
const FAMILIES: &str = "llama mistral gemma3_text mixtral qwen3_moe gpt_oss llama4_text deepseek_v2 deepseek_v3 \
    deepseek_v32 deepseek_v4 nemotron_h mamba2 qwen3_next minimax lfm2 t5 bart whisper";

/// A config of a family with random sizes, that do not come out even.
pub fn config(family: &str, chance: &mut Chance) -> Value {
    let kv_heads = chance.between(1, 6);
    let heads = kv_heads * chance.between(1, 5);
    let layers = chance.between(1, 6);
    let experts = chance.between(1, 24);
    let mut config = json!({
        "model_type": family,
        "hidden_size": chance.between(6, 160),
        "intermediate_size": chance.between(3, 300),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": chance.between(3, 700),
        "tie_word_embeddings": chance.yes(),
        "torch_dtype": chance.one_of(&["bfloat16", "float16", "float32"]),
    });
    let head_dim = 2 * chance.between(1, 20);
    let top_k = chance.between(1, experts);
    let window = chance.between(1, 60);
    let more = match family {
        "llama" => json!({"head_dim": head_dim, "attention_bias": chance.yes()}),
        "mistral" | "gemma3_text" => json!({"head_dim": head_dim, "sliding_window": window}),
        "mixtral" => {
            json!({"head_dim": head_dim, "num_local_experts": experts, "num_experts_per_tok": top_k})
        }
        "gpt_oss" => json!({
            "head_dim": head_dim, "num_local_experts": experts, "num_experts_per_tok": top_k,
            "sliding_window": window,
        }),
        "minimax" => json!({
            "head_dim": head_dim, "num_local_experts": experts, "num_experts_per_tok": top_k,
            "block_size": chance.between(1, 40),
        }),
        "qwen3_moe" => json!({
            "head_dim": head_dim, "num_experts": experts, "num_experts_per_tok": top_k,
            "moe_intermediate_size": chance.between(1, 40),
        }),
        "llama4_text" => json!({
            "head_dim": head_dim, "num_local_experts": experts, "num_experts_per_tok": top_k,
            "attention_chunk_size": window, "intermediate_size_mlp": chance.between(3, 90),
            "interleave_moe_layer_step": chance.between(1, 3),
        }),
        "deepseek_v2" | "deepseek_v3" | "deepseek_v32" => {
            let rank = chance.between(1, 40);
            let compressed = family != "deepseek_v2" || chance.yes();
            let mut more = json!({
                "kv_lora_rank": chance.between(1, 40), "q_lora_rank": compressed.then_some(rank),
                "qk_nope_head_dim": chance.between(1, 30), "qk_rope_head_dim": 2 * chance.between(1, 10),
                "v_head_dim": chance.between(1, 30), "n_routed_experts": experts, "num_experts_per_tok": top_k,
                "n_shared_experts": chance.between(1, 2), "moe_intermediate_size": chance.between(1, 40),
                "first_k_dense_replace": chance.between(0, layers),
                "num_nextn_predict_layers": chance.between(0, 1),
            });
            if family == "deepseek_v32" {
                more["index_topk"] = json!(window);
                more["index_n_heads"] = json!(chance.between(1, 8));
                more["index_head_dim"] = json!(2 * chance.between(1, 16));
            }
            more
        }
        "deepseek_v4" => {
            let groups = chance.between(1, 3);
            let ratios: Vec<u64> = (0..layers).map(|_| chance.one_of(&[0, 4, 128])).collect();
            json!({
                "num_attention_heads": groups * chance.between(1, 5), "num_key_value_heads": 1,
                "o_groups": groups, "o_lora_rank": chance.between(1, 20), "q_lora_rank": chance.between(1, 20),
                "head_dim": head_dim + 8, "qk_rope_head_dim": 4, "compress_ratios": ratios,
                "hc_mult": chance.between(1, 4), "index_topk": chance.between(1, 30),
                "index_n_heads": chance.between(1, 8), "index_head_dim": 8, "n_routed_experts": experts,
                "num_experts_per_tok": top_k, "moe_intermediate_size": chance.between(1, 40),
                "sliding_window": window,
            })
        }
        "nemotron_h" => {
            let pattern: String = (0..layers).map(|_| chance.one_of(&['M', '*', '-', 'E'])).collect();
            let groups = chance.between(1, 4);
            json!({
                "hybrid_override_pattern": pattern, "head_dim": head_dim, "n_groups": groups,
                "mamba_num_heads": groups * chance.between(1, 5), "mamba_head_dim": chance.between(1, 16),
                "ssm_state_size": chance.between(1, 20), "chunk_size": chance.between(1, 40),
                "n_routed_experts": experts, "num_experts_per_tok": top_k,
                "moe_intermediate_size": chance.between(1, 40),
                "moe_shared_expert_intermediate_size": chance.between(1, 40),
            })
        }
        "mamba2" => {
            let (groups, width) = (chance.between(1, 4), chance.between(1, 16));
            let heads = groups * chance.between(1, 5);
            json!({
                "num_heads": heads, "head_dim": width, "hidden_size": heads * width, "expand": 1,
                "n_groups": groups, "state_size": chance.between(1, 20), "chunk_size": chance.between(1, 40),
            })
        }
        "qwen3_next" => {
            let keys = chance.between(1, 4);
            json!({
                "head_dim": head_dim, "linear_num_key_heads": keys,
                "linear_num_value_heads": keys * chance.between(1, 4),
                "linear_key_head_dim": chance.between(1, 16), "linear_value_head_dim": chance.between(1, 16),
                "num_experts": experts, "num_experts_per_tok": top_k,
                "moe_intermediate_size": chance.between(1, 40),
                "shared_expert_intermediate_size": chance.between(1, 40),
            })
        }
        "lfm2" => {
            let full: Vec<u64> = (0..layers).filter(|_| chance.yes()).collect();
            json!({"hidden_size": heads * head_dim, "full_attn_idxs": full})
        }
        // Hidden size, heads and layers are names of theirs, too: those of the encoder.
        "t5" => json!({
            "d_kv": head_dim, "d_ff": chance.between(3, 300), "num_decoder_layers": chance.between(1, 6),
            "feed_forward_proj": chance.one_of(&["relu", "gated-gelu"]),
        }),
        "bart" | "whisper" => {
            let decoder_heads = chance.between(1, 5);
            json!({
                "d_model": heads * decoder_heads * head_dim, "hidden_size": null,
                "decoder_attention_heads": decoder_heads, "decoder_layers": chance.between(1, 6),
                "encoder_ffn_dim": chance.between(3, 300), "decoder_ffn_dim": chance.between(3, 300),
                "max_position_embeddings": chance.between(8, 3000),
                "max_source_positions": chance.between(1, 900),
                "max_target_positions": chance.between(8, 900), "num_mel_bins": chance.between(1, 90),
            })
        }
        _ => panic!("no such family: {family}"),
    };
    let quantised = match chance.between(0, 5) {
        0 => json!({"quantization_config": {"quant_method": "fp8", "weight_block_size": [16, 16]}}),
        1 => json!({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32}}),
        _ => json!({}),
    };
    for keys in [more, quantised] {
        config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    }
    config
}

/// A model and what it was made of.
pub struct Made {
    pub name: String,
    pub model: Model,
}

impl Made {
    fn units(&self) -> impl Iterator<Item = &Unit> {
        self.model.kinds.iter().flat_map(|kind| &kind.layer.units)
    }

    pub fn has(&self, wanted: impl Fn(&Unit) -> bool) -> bool {
        self.units().any(wanted)
    }

    /// Whether it keeps states, which are updated token by token or chunk by chunk.
    pub fn is_recurrent(&self) -> bool {
        self.has(|unit| matches!(unit, Unit::Ssd(_) | Unit::Delta(_) | Unit::Lightning(_)))
    }

    /// Whether a token may see less than the one before it, at the start of a chunk, or a step does more
    /// than the next, at the end of a summary.
    pub fn goes_up_and_down(&self) -> bool {
        self.has(|unit| match unit {
            Unit::Attention(attention) => matches!(attention.mask, Mask::Chunk(_)),
            Unit::Compressed(_) => true,
            Unit::IndexScores(scores) => scores.every > 1,
            _ => false,
        })
    }
}

/// `each` models of every family, then those of the goldens.
pub fn models(seed: u64, each: usize) -> Vec<Made> {
    let mut chance = Chance::new(seed);
    let mut models = Vec::new();
    for family in FAMILIES.split(' ') {
        for _ in 0..each {
            let config = config(family, &mut chance).to_string();
            let model =
                Model::from_json(config.as_bytes()).unwrap_or_else(|error| panic!("{config}: {error}"));
            models.push(Made { name: config, model });
        }
    }
    models.extend(goldens());
    models
}

/// The configs of `fixtures/cost`, by name.
pub fn golden_configs() -> Vec<(String, Value)> {
    language_goldens().map(|(name, mut golden)| (name, golden["config"].take())).collect()
}

/// The models of `fixtures/cost`.
pub fn goldens() -> Vec<Made> {
    let read = |(name, config): (String, Value)| Made {
        name,
        model: Model::from_json(config.to_string().as_bytes()).unwrap(),
    };
    golden_configs().into_iter().map(read).collect()
}

pub fn step(chance: &mut Chance) -> Step {
    let sequences = chance.of_any_size(1, 60);
    if chance.yes() {
        return Step::decode(sequences, chance.of_any_size(1, 900));
    }
    Step::prefill(
        sequences,
        chance.of_any_size(1, 300),
        if chance.yes() { 0 } else { chance.of_any_size(1, 500) },
    )
}

/// A question of one phase or two; drafts only where the model has layers for it.
pub fn workload(chance: &mut Chance, model: &Model) -> Workload {
    let tokens = chance.of_any_size(1, 600);
    let prefill = Prefill {
        tokens,
        prefix: if chance.yes() { 0 } else { chance.of_any_size(1, 500) },
        chunk: chance.yes().then(|| chance.between(tokens / 8 + 1, tokens + 1)),
    };
    let draft = if model.drafts.is_empty() { 0 } else { chance.between(0, 3) };
    let decode = Decode { context: chance.of_any_size(1, 2000), steps: chance.between(1, 4), draft };
    let phases = chance.between(0, 2);
    let workload = Workload {
        batch: chance.of_any_size(1, 600),
        images: None,
        encoder_tokens: None,
        prefill: (phases != 1).then_some(prefill),
        decode: (phases != 0).then_some(decode),
    };
    fitted(model, workload)
}

/// `workload` as an encoder-decoder model can take it: no prefix and no chunks where an encoder reads the
/// prompt, and no more tokens than there are positions.
pub fn fitted(model: &Model, mut workload: Workload) -> Workload {
    let Some(encoder) = &model.encoder else { return workload };
    let decoded = encoder.most_decoded.unwrap_or(u64::MAX);
    if let Some(prefill) = &mut workload.prefill {
        match encoder.input {
            EncoderInput::Text { most } => {
                let tokens = prefill.tokens.min(most.unwrap_or(u64::MAX));
                *prefill = Prefill { tokens, prefix: 0, chunk: None };
            }
            EncoderInput::Audio { .. } => {
                prefill.tokens = prefill.tokens.min(decoded / 2).max(1);
                prefill.prefix = prefill.prefix.min(decoded - prefill.tokens);
            }
        }
    }
    if let Some(decode) = &mut workload.decode {
        decode.steps = decode.steps.min(decoded);
        decode.draft = decode.draft.min(decoded / decode.steps - 1);
        decode.context = decode.context.min(decoded - decode.steps * (1 + decode.draft));
    }
    workload
}

pub fn parallel(chance: &mut Chance, depth: u32) -> Parallel {
    let (tp, dp) = (chance.between(1, 16), chance.one_of(&[1, 1, 2, 3, 4]));
    let ways: Vec<u64> = (1..=tp * dp).filter(|ep| (tp * dp).is_multiple_of(*ep)).collect();
    Parallel { tp, dp, ep: chance.one_of(&ways), pp: chance.between(1, u64::from(depth).min(5)) }
}

pub fn routing(chance: &mut Chance) -> Routing {
    let visits = |chance: &mut Chance, hostile: &[f64]| {
        (0..chance.between(0, 30))
            .map(|_| if chance.yes() { chance.share() * 100.0 } else { chance.one_of(hostile) })
            .collect()
    };
    match chance.between(0, 4) {
        0 => Routing::Balanced,
        1 => Routing::Uniform,
        2 => Routing::PowerLaw { alpha: chance.one_of(&[0.0, 0.3, 1.0, 2.5, 400.0, -1.0]) },
        3 => Routing::Histogram { visits: visits(chance, &[0.0]) },
        _ => Routing::Histogram {
            visits: visits(chance, &[0.0, -1.0, 1e308, 1e-308, f64::INFINITY, f64::NEG_INFINITY]),
        },
    }
}

pub fn setup(chance: &mut Chance, depth: u32) -> Setup {
    Setup {
        parallel: parallel(chance, depth),
        kv: chance.one_of(&[None, Some(Dtype::Fp8)]),
        routing: routing(chance),
        latent: chance.one_of(&[LatentOrder::ByPhase, LatentOrder::Absorbed, LatentOrder::Expanded]),
        ..Setup::default()
    }
}

/// The devices of the catalog that have a roof, and as many random ones.
pub fn devices(seed: u64) -> Vec<Device> {
    let known = Catalog::embedded().devices();
    let mut chance = Chance::new(seed);
    let random = (0..known.len()).map(|number| {
        let mut rate = |most: f64| most * (chance.share() + 0.01).powi(4);
        let (bf16, fp32, fp8) = (rate(5e3), rate(500.0), rate(1e4));
        let (size, bandwidth, link) = (rate(500.0), rate(1e4), rate(2e3));
        let text = format!(
            "name = \"Made {number}\"\nvendor = \"Nobody\"\nkind = \"asic\"\narch = \"none\"\nsource = \"chance\"\n\
             [compute]\nconfidence = \"unconfirmed\"\ndense_tflops = {{ fp32 = {fp32:.9}, bf16 = {bf16:.9}, fp8 = {fp8:.9} }}\n\
             [memory]\nconfidence = \"unconfirmed\"\nsize_gb = {size:.9}\nbandwidth_gb_per_s = {bandwidth:.9}\n\
             [package]\nconfidence = \"unconfirmed\"\nlink_gb_per_s = {link:.9}\n"
        );
        (format!("made-{number}.toml"), text)
    });
    let all = Catalog::with(random).unwrap();
    all.devices().iter().filter(|device| Roof::of(device).is_some()).cloned().collect()
}
