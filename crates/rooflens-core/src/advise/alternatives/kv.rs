//! Attention whose cache has less for each token.

use rooflens_cost::measured::Ran;
use rooflens_cost::memory::cache;
use rooflens_report::format;

use super::Change;
use crate::model::ResolvedModel;

/// Families whose layers are attention and a gated feed-forward network or a mixture, each behind a norm, as
/// those of DeepSeek-V3 are: the same config with its attention is the same model otherwise.
const PLAIN: &[&str] = &["llama", "mistral", "qwen2", "qwen3", "qwen3_moe", "mixtral"];
/// Rank of the latent and width of the part with a position: DeepSeek-V2 (arXiv 2405.04434) and all after it.
const LATENT: (u64, u64) = (512, 64);

/// Latent attention where the model can have it, else one head of keys and values.
pub(crate) fn smaller(known: &ResolvedModel, ran: &[Ran]) -> Option<Change> {
    latent(known, ran).or_else(|| one_head(known))
}

fn one_head(known: &ResolvedModel) -> Option<Change> {
    let heads = known.blueprint.number("num_key_value_heads").filter(|heads| *heads > 1)?;
    let change =
        Change::set(known, format!("one KV head instead of {heads}"), &[("num_key_value_heads", 1)])?;
    (bytes(&change.known) < bytes(known)).then_some(change)
}

fn latent(known: &ResolvedModel, ran: &[Ran]) -> Option<Change> {
    let number = |key: &str| known.blueprint.number(key);
    // A window bounds the cache already, and latent attention has none.
    if !PLAIN.contains(&known.model.family) || !cache(&known.model, &known.setup).windows.is_empty() {
        return None;
    }
    let (layers, heads) = (number("num_hidden_layers")?, number("num_attention_heads")?);
    let head = number("head_dim").unwrap_or(known.model.hidden / heads.max(1));
    let is_sparse = number("num_experts_per_tok").is_some();
    let mut set = vec![
        ("model_type", "deepseek_v3".to_owned()),
        ("q_lora_rank", "null".to_owned()),
        ("kv_lora_rank", LATENT.0.to_string()),
        ("qk_rope_head_dim", LATENT.1.to_string()),
        ("qk_nope_head_dim", head.to_string()),
        ("v_head_dim", head.to_string()),
        ("first_k_dense_replace", if is_sparse { 0 } else { layers }.to_string()),
        ("n_shared_experts", "0".to_owned()),
    ];
    if is_sparse && number("moe_intermediate_size").is_none() {
        set.push(("moe_intermediate_size", number("intermediate_size")?.to_string()));
    }
    let set: Vec<(String, String)> = set.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let other = known.with(&set).ok()?;
    let (old, new) = (bytes(known), bytes(&other));
    if new >= old || !is_same_otherwise(known, &other, ran) {
        return None;
    }
    Some(Change {
        what: format!("latent attention (MLA): KV cache {} per token instead of {}", size(new), size(old)),
        how: format!(
            "kv_lora_rank={} and qk_rope_head_dim={} with the attention of DeepSeek-V3 (MLA); trained with \
             it, or converted (TransMLA, arXiv 2502.07864)",
            LATENT.0, LATENT.1
        ),
        known: other,
    })
}

/// Whether nothing but attention has changed: feed-forward networks, experts and the head cost the same.
fn is_same_otherwise(old: &ResolvedModel, new: &ResolvedModel, ran: &[Ran]) -> bool {
    let (Ok(old), Ok(new)) = (old.floors(ran), new.floors(ran)) else { return false };
    let others = |class: &str| ["mlp", "moe", "lm_head"].iter().any(|word| class.starts_with(word));
    let of = |floors: &[rooflens_analyze::ledger::Floor]| -> Vec<(String, f64, f64)> {
        let found = floors.iter().filter(|floor| others(&floor.class));
        found.map(|floor| (floor.class.clone(), floor.flops, floor.bytes)).collect()
    };
    of(&old) == of(&new)
}

fn size(bytes: u128) -> String {
    format::bytes(bytes as f64)
}

/// Bytes of cache that a token adds in the whole model.
fn bytes(known: &ResolvedModel) -> u128 {
    cache(&known.model, &known.setup).bytes_per_token
}
