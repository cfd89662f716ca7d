//! Which part of a model a module is, by the words in its path: the only place where such words stand.

use std::collections::HashSet;

use rooflens_schema::{NameId, Opt, RankTables};

/// The part that a module belongs to: `attention.core`, `mlp` …; none where its name does not tell.
///
/// The innermost word that tells decides: a norm in attention is a norm. Paths are those of attributes
/// (`model.layers.3.self_attn.q_proj`) or of classes (`LlamaDecoderLayer_3/LlamaMLP_3`).
pub fn part_of(path: &str) -> Option<&'static str> {
    if is_vision(path) {
        return Some("vision");
    }
    let path = path.to_ascii_lowercase();
    let words: Vec<&str> = path.split(['.', '/']).map(without_number).collect();
    let mut is_projection = false;
    for word in words.iter().rev() {
        if PROJECTIONS.iter().any(|rule| rule.holds(word)) {
            is_projection = true;
            continue;
        }
        match PARTS.iter().find(|(_, has)| has.iter().any(|rule| rule.holds(word))) {
            Some((ATTENTION, _)) if is_projection => return Some("attention.projections"),
            Some((part, _)) => return Some(part),
            None => {}
        }
    }
    // Nothing but the residual stream runs in a layer outside of its modules.
    let mut last = path.rsplit('.');
    let number = last.next().is_some_and(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()));
    (number && last.next().is_some_and(|word| LAYERS.contains(&word))).then_some("norm")
}

pub(crate) fn is_vision(path: &str) -> bool {
    path.split(['.', '/']).any(|word| {
        let word = word.to_ascii_lowercase();
        VISION.iter().any(|known| word.contains(known)) || VISION_WORDS.contains(&word.as_str())
    })
}

enum Rule {
    Is(&'static str),
    Has(&'static str),
    Ends(&'static str),
}
use Rule::{Ends, Has, Is};

impl Rule {
    fn holds(&self, word: &str) -> bool {
        match self {
            Is(known) => word == *known,
            Has(known) => word.contains(known),
            Ends(known) => word.ends_with(known),
        }
    }
}

const ATTENTION: &str = "attention.core";

/// Parts and the words that tell them, the first that holds: a `post_attention_layernorm` is a norm.
const PARTS: &[(&str, &[Rule])] = &[
    ("norm", &[Has("norm"), Is("ln"), Is("ln_f")]),
    (ATTENTION, &[Has("rotary"), Has("rope")]),
    ("lm_head", &[Has("lm_head"), Has("lmhead"), Is("embed_out")]),
    ("embedding", &[Has("embed"), Is("wte"), Is("wpe")]),
    ("state", &[Has("linear_attn"), Has("mamba"), Has("mixer"), Has("short_conv"), Has("deltanet")]),
    ("moe", &[Has("expert"), Has("moe"), Has("router"), Is("gate")]),
    ("mlp", &[Has("mlp"), Has("feed_forward"), Has("feedforward"), Is("ffn")]),
    (ATTENTION, &[Has("attn"), Has("attention")]),
];

/// Matrices of attention. Elsewhere the block around them decides.
const PROJECTIONS: &[Rule] = &[
    Ends("proj"),
    Ends("proj_with_mqa"),
    Is("qkv"),
    Is("query_key_value"),
    Is("c_attn"),
    Is("dense"),
    Is("query"),
    Is("key"),
    Is("value"),
    Is("wq"),
    Is("wk"),
    Is("wv"),
    Is("wo"),
    Ends("linear"),
];

const VISION: &[&str] = &["visual", "vision", "image_encoder", "multi_modal_projector", "mm_projector"];

/// DeepSeek-OCR's first encoder, and what stands between encoders and decoder: whole words.
const VISION_WORDS: &[&str] = &["sam_model", "projector"];

/// What models call the list of their layers.
const LAYERS: &[&str] = &["layers", "h", "blocks", "block"];

/// A class of frames has a number behind it: `linear_5`.
fn without_number(word: &str) -> &str {
    match word.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('_') {
        Some(class) if !class.is_empty() && word.ends_with(|c: char| c.is_ascii_digit()) => class,
        _ => word,
    }
}

pub(crate) const OTHER: &str = "other";

/// The part of each module's path, looked up once.
pub(crate) struct PartsByName<'t> {
    tables: &'t RankTables,
    known: Vec<Option<&'static str>>,
    /// Blocks with experts in them: what runs in the block itself is theirs, too.
    moe: HashSet<String>,
}

impl<'t> PartsByName<'t> {
    pub(crate) fn new(tables: &'t RankTables) -> Self {
        let blocks = tables.names.iter().filter_map(|(_, name)| name.strip_suffix(".experts"));
        PartsByName {
            tables,
            known: vec![None; tables.names.len()],
            moe: blocks.map(str::to_owned).collect(),
        }
    }

    pub(crate) fn of(&mut self, module: Opt<NameId>) -> &'static str {
        let Some(name) = module.get() else { return OTHER };
        if let Some(part) = self.known[name.index()] {
            return part;
        }
        let path = self.tables.names.get(name);
        let part = if self.moe.contains(path) { "moe" } else { part_of(path).unwrap_or(OTHER) };
        self.known[name.index()] = Some(part);
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_many_models() {
        for (path, part) in [
            ("model", None),
            ("model.layers.3.self_attn.q_proj", Some("attention.projections")),
            ("model.layers.3.self_attn", Some("attention.core")),
            ("model.layers.3.self_attn.q_norm", Some("norm")),
            ("model.visual.blocks.0.mlp", Some("vision")),
            ("lm_head", Some("lm_head")),
            ("model.embed_tokens", Some("embedding")),
            ("transformer.wte", Some("embedding")),
            ("model.norm", Some("norm")),
            ("transformer.h.0.ln_1", Some("norm")),
            ("model.rotary_emb", Some("attention.core")),
            ("model.layers.0", Some("norm")),
            ("model.layers", None),
            ("model.layers.0.post_attention_layernorm", Some("norm")),
            ("model.layers.0.self_attn", Some("attention.core")),
            ("model.layers.0.self_attn.kv_a_proj_with_mqa", Some("attention.projections")),
            ("model.layers.0.self_attn.kv_a_layernorm", Some("norm")),
            ("transformer.h.0.attn.c_attn", Some("attention.projections")),
            ("gpt_neox.layers.0.attention.dense", Some("attention.projections")),
            ("model.layers.0.linear_attn.in_proj_qkvz", Some("state")),
            ("backbone.layers.0.mixer.out_proj", Some("state")),
            ("model.layers.0.mlp", Some("mlp")),
            ("model.layers.0.mlp.act_fn", Some("mlp")),
            ("model.layers.0.mlp.gate_proj", Some("mlp")),
            ("model.layers.0.mlp.gate", Some("moe")),
            ("model.layers.0.mlp.experts", Some("moe")),
            ("model.layers.0.mlp.experts.act_fn", Some("moe")),
            ("model.layers.0.mlp.shared_expert.up_proj", Some("moe")),
            ("model.layers.0.block_sparse_moe", Some("moe")),
            ("model.visual.patch_embed.proj", Some("vision")),
            ("model.vision_tower.encoder.layers.3.self_attn", Some("vision")),
            ("model.sam_model.blocks.0.attn.qkv", Some("vision")),
            ("model.projector.layers", Some("vision")),
            ("model.language_model.layers.0.mlp", Some("mlp")),
            ("LlamaForCausalLM_0/LlamaModel_0/LlamaDecoderLayer_3/LlamaMLP_3", Some("mlp")),
            ("LlamaModel_0/LlamaDecoderLayer_3/LlamaAttention_3/Linear_17", Some("attention.projections")),
            ("LlamaModel_0/LlamaDecoderLayer_3/LlamaAttention_3", Some("attention.core")),
            ("LlamaModel_0/LlamaDecoderLayer_3/LlamaRMSNorm_6", Some("norm")),
            ("", None),
        ] {
            assert_eq!(part_of(path), part, "{path}");
        }
    }
}
