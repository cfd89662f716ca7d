//! The changes of a model that rules may advise, each with the least times that it would have.

use std::collections::HashMap;

use rooflens_analyze::advice::{Alternative, Tiles};
use rooflens_cost::hardware::DeviceKind;
use rooflens_cost::measured::{Ran, RunPhase, Shape};
use rooflens_cost::memory::cache;
use rooflens_cost::precision::Dtype;
use rooflens_cost::roof::Roof;
use rooflens_cost::step::Step;
use rooflens_cost::tiles::{HEAD_WIDTHS, Tiled, tiled};
use rooflens_cost::{Parallel, Setup};
use rooflens_report::format;

use crate::model::{ModelContext, ResolvedModel};

pub(crate) fn of(joined: &ModelContext) -> Vec<Alternative> {
    let known = &joined.known;
    let mut found = Vec::new();
    for (kind, ran) in &joined.passes {
        let phase = kind.as_str();
        let Ok(unchanged) = known.floors(ran) else { continue };
        let mut add =
            |rule, what: String, change: String, known: Option<ResolvedModel>, ran: &[Ran], work| {
                let floors = known.and_then(|known| known.floors(ran).ok());
                // Two all-reduces in each layer, one after attention and one after the feed-forward network.
                let collectives = match rule {
                    "tensor_parallel" => 2.0 * f64::from(joined.known.model.depth) * ran.len() as f64,
                    _ => 0.0,
                };
                found.extend(floors.map(|floors| Alternative {
                    rule,
                    phase,
                    what,
                    change,
                    floors,
                    unchanged: unchanged.clone(),
                    work,
                    collectives,
                    tiles: Vec::new(),
                }));
            };
        let (format, _) = fewer_bits(known);
        add(
            "weight_quantisation",
            format!("weights in {format}"),
            format!(
                "vLLM: --quantization {0}; SGLang: --quantization {0}; or a checkpoint in {format}",
                quantisation_flag(format)
            ),
            quantised(known),
            ran,
            1.0,
        );
        add(
            "kv_quantisation",
            "KV cache in fp8".to_owned(),
            "vLLM: --kv-cache-dtype fp8; SGLang: --kv-cache-dtype fp8_e4m3".to_owned(),
            narrow_cache(known),
            ran,
            1.0,
        );
        if let Some(heads) = known.blueprint.number("num_key_value_heads").filter(|heads| *heads > 1) {
            let half = (heads / 2).to_string();
            add(
                "gqa",
                format!("{half} KV heads instead of {heads}"),
                format!(
                    "num_key_value_heads={half} in config.json; --what-if num_key_value_heads={half} shows it"
                ),
                known.with(&[("num_key_value_heads".to_owned(), half)]).ok(),
                ran,
                1.0,
            );
        }
        if let Some(change) = smaller_cache(known, ran) {
            add("kv_layout", change.what, change.how, Some(change.known), ran, 1.0);
        }
        for change in fewer_experts(known) {
            add("expert_granularity", change.what, change.how, Some(change.known), ran, 1.0);
        }
        let tp = known.setup.parallel.tp.saturating_mul(2);
        add(
            "tensor_parallel",
            format!("tensor parallelism over {tp} devices"),
            format!("vLLM: --tensor-parallel-size {tp}; SGLang: --tp-size {tp}"),
            shared(known, tp),
            ran,
            1.0,
        );
        if ran.iter().all(|one| one.shape.phase == RunPhase::Decode) {
            let batch = ran.iter().map(|one| sequences(&one.shape)).max().unwrap_or(0).saturating_mul(2);
            let doubled: Vec<Ran> = ran.iter().map(twice).collect();
            add(
                "larger_batch",
                format!("batch size {batch} instead of {}", batch / 2),
                format!(
                    "vLLM: --max-num-seqs {batch}; SGLang: --max-running-requests {batch}; enough concurrent \
                     requests to fill {batch}"
                ),
                Some(known.clone()),
                &doubled,
                2.0,
            );
        }
        found.extend(whole_tiles(known, phase, ran));
    }
    found
}

struct Change {
    what: String,
    how: String,
    known: ResolvedModel,
}

impl Change {
    /// Sets keys of the config; none where the family does not know them so.
    fn set(known: &ResolvedModel, what: String, set: &[(&str, u64)]) -> Option<Change> {
        let set: Vec<(String, String)> =
            set.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
        let words: Vec<String> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let how =
            format!("{} in config.json; --what-if {} shows it", words.join(" "), words.join(" --what-if "));
        Some(Change { what, how, known: known.with(&set).ok()? })
    }
}

/// Weights in 8 bits where the device multiplies in them, else in 4 that are multiplied in 16.
fn fewer_bits(known: &ResolvedModel) -> (&'static str, Dtype) {
    match known.device.matmul_peak(Dtype::Fp8) {
        Some(_) => ("fp8", Dtype::Fp8),
        None => ("int4", Dtype::Bf16),
    }
}

fn quantisation_flag(format: &str) -> &'static str {
    if format == "fp8" { "fp8" } else { "awq" }
}

fn quantised(known: &ResolvedModel) -> Option<ResolvedModel> {
    let (format, computed_in) = fewer_bits(known);
    // Weights of 32 bits are to be halved first: the rule `dtype` says so, and it costs far less.
    let is_wide = known.model.dtype == Dtype::Fp32;
    // Runtimes have no such kernels for processors.
    let is_cpu = known.device.kind == DeviceKind::Cpu;
    if is_wide
        || is_cpu
        || known.model.quantisation.is_some()
        || known.device.matmul_peak(computed_in).is_none()
    {
        return None;
    }
    let mut blueprint = known.blueprint.clone();
    blueprint.weights(format).then_some(())?;
    let model = blueprint.model().ok()?;
    Some(ResolvedModel { blueprint, model, ..known.clone() })
}

fn narrow_cache(known: &ResolvedModel) -> Option<ResolvedModel> {
    let is_wide = known.setup.kv(&known.model) != Dtype::Fp8;
    let setup = Setup { kv: Some(Dtype::Fp8), ..known.setup.clone() };
    (is_wide && known.device.kind != DeviceKind::Cpu).then(|| ResolvedModel { setup, ..known.clone() })
}

fn shared(known: &ResolvedModel, tp: u64) -> Option<ResolvedModel> {
    let setup = Setup { parallel: Parallel { tp, ..known.setup.parallel }, ..known.setup.clone() };
    let fits = setup.parallel.fault(known.model.depth).is_none() && known.device.kind == DeviceKind::Gpu;
    fits.then(|| ResolvedModel { setup, ..known.clone() })
}

fn sequences(shape: &Shape) -> u64 {
    shape.needed.iter().map(|step| step.sequences).sum()
}

fn twice(ran: &Ran) -> Ran {
    let steps = |steps: &[Step]| -> Vec<Step> {
        let twice = |step: &Step| Step { sequences: step.sequences.saturating_mul(2), ..*step };
        steps.iter().map(twice).collect()
    };
    let shape =
        Shape { needed: steps(&ran.shape.needed), padded: steps(&ran.shape.padded), ..ran.shape.clone() };
    Ran { shape, ..ran.clone() }
}

// Half of the experts, with as many parameters that a token meets.

/// Names of the number of experts. Where a config has several, all say the same.
const COUNT: &[&str] = &["num_experts", "n_routed_experts", "num_local_experts"];
const TOP_K: &str = "num_experts_per_tok";
/// Active parameters that are the same: routers are smaller, nothing else may be.
const ALIKE: f64 = 0.01;

/// Coarser ones first: these keep all parameters.
fn fewer_experts(known: &ResolvedModel) -> Vec<Change> {
    let number = |key: &str| known.blueprint.number(key);
    let counts: Vec<(&str, u64)> = COUNT.iter().filter_map(|key| Some((*key, number(key)?))).collect();
    let (Some((_, count)), Some(top_k)) = (counts.first().copied(), number(TOP_K)) else { return Vec::new() };
    if count < 2 || count % 2 != 0 {
        return Vec::new();
    }
    let half: Vec<(&str, u64)> = counts.iter().map(|(key, count)| (*key, count / 2)).collect();
    let inner = ["moe_intermediate_size", "intermediate_size"].into_iter();
    let inner = inner.filter_map(|key| Some((key, number(key)?))).next();
    let mut found = Vec::new();
    if let Some((key, width)) = inner.filter(|_| top_k % 2 == 0) {
        let mut set = half.clone();
        set.extend([(key, width * 2), (TOP_K, top_k / 2)]);
        // Shared experts are as wide as the others.
        let shared = number("n_shared_experts").filter(|shared| *shared > 0);
        set.extend(shared.map(|shared| ("n_shared_experts", shared / 2)));
        let what = format!(
            "{} experts of width {}, {} per token, instead of {count} of width {width}, {top_k} per token",
            count / 2,
            width * 2,
            top_k / 2
        );
        found.extend(Change::set(known, what, &set));
    }
    let what = format!("{} experts of the same width instead of {count}, still {top_k} per token", count / 2);
    found.extend(Change::set(known, what, &half));
    let active = known.model.active_parameters() as f64;
    found.retain(|change| (change.known.model.active_parameters() as f64 - active).abs() <= ALIKE * active);
    found
}

// Attention whose cache has less for each token.

/// Families whose layers are attention and a gated feed-forward network or a mixture, each behind a norm, as
/// those of DeepSeek-V3 are: the same config with its attention is the same model otherwise.
const PLAIN: &[&str] = &["llama", "mistral", "qwen2", "qwen3", "qwen3_moe", "mixtral"];
/// Rank of the latent and width of the part with a position: DeepSeek-V2 (arXiv 2405.04434) and all after it.
const LATENT: (u64, u64) = (512, 64);

/// Latent attention where the model can have it, else one head of keys and values.
fn smaller_cache(known: &ResolvedModel, ran: &[Ran]) -> Option<Change> {
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

fn bytes(known: &ResolvedModel) -> u128 {
    cache(&known.model, &known.setup).bytes_per_token
}

// Widths that are whole tiles on each device.

/// Columns of the tiles that libraries choose from for large products (NVIDIA, Matrix Multiplication Background
/// User's Guide: 256x128, 128x128, 128x64, 64x64 and others).
const SIDES: [u64; 2] = [64, 128];
const SHARED: &[&str] = &["intermediate_size", "moe_intermediate_size", "vocab_size"];
/// Less padding is not worth a change: embeddings and norms do not come out even to the last digit.
const WORTH_IT: f64 = 0.005;

/// The model whose widths are whole tiles, up or down, whichever does a useful operation in less time; none
/// where they are so already.
fn whole_tiles(known: &ResolvedModel, phase: &'static str, ran: &[Ran]) -> Option<Alternative> {
    let roof = Roof::of(&known.device)?;
    let steps = distinct(ran);
    let old = SIDES.map(|side| all(known, &roof, &steps, side));
    let changes = [rounded(known, Rounding::Up), rounded(known, Rounding::Down), heads(known)];
    let with_cost = changes.into_iter().flatten().map(|change| {
        let new = SIDES.map(|side| all(&change.known, &roof, &steps, side));
        (change, new)
    });
    let price = |cost: &[Tiled; 2]| cost[1].seconds / cost[1].useful;
    let (change, new) = with_cost.min_by(|a, b| price(&a.1).total_cmp(&price(&b.1)))?;
    // Not a number where nothing is multiplied: no gain either.
    let is_less = price(&new) < price(&old) * (1.0 - WORTH_IT);
    if !is_less {
        return None;
    }
    let (floors, unchanged) = (change.known.floors(ran).ok()?, known.floors(ran).ok()?);
    let tiles = SIDES.iter().zip(old.iter().zip(&new)).map(|(side, (old, new))| Tiles {
        side: *side,
        old_ns: old.seconds * 1e9,
        new_ns: new.seconds * 1e9 * old.useful / new.useful,
        old_padding: 1.0 - old.useful / old.issued,
        new_padding: 1.0 - new.useful / new.issued,
    });
    let (what, how, tiles) = (change.what, change.how, tiles.collect());
    Some(Alternative {
        rule: "tile_fit",
        phase,
        what,
        change: how,
        floors,
        unchanged,
        work: 1.0,
        collectives: 0.0,
        tiles,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    Up,
    Down,
}

/// Every width that is not whole tiles, rounded.
fn rounded(known: &ResolvedModel, rounding: Rounding) -> Option<Change> {
    let number = |key: &str| known.blueprint.number(key);
    let largest = SIDES[1];
    let mut widths: Vec<(&str, u64, u64)> = SHARED
        .iter()
        .filter_map(|key| Some((*key, number(key)?, largest * known.setup.parallel.tp)))
        .collect();
    // Heads keep their width only where it is told apart from this one.
    if number("head_dim").is_some() {
        widths.extend(number("hidden_size").map(|width| ("hidden_size", width, largest)));
    }
    let mut set = Vec::new();
    let mut words = Vec::new();
    for (key, width, whole) in widths {
        let new = match rounding {
            Rounding::Up => width.next_multiple_of(whole),
            Rounding::Down => width / whole * whole,
        };
        // A width of less than a tile on each device is not made a whole one without being another model.
        if new != width && new > 0 && new.abs_diff(width) * 2 <= width {
            set.push((key, new));
            words.push(format!("{key} {new} instead of {width}"));
        }
    }
    if set.is_empty() { None } else { Change::set(known, words.join("; "), &set) }
}

/// Heads of a width that attention has a kernel for, as many more as make up for it.
fn heads(known: &ResolvedModel) -> Option<Change> {
    let number = |key: &str| known.blueprint.number(key);
    let (count, kv) = (number("num_attention_heads")?, number("num_key_value_heads")?);
    let width = number("head_dim").or_else(|| known.model.hidden.checked_div(count))?;
    if HEAD_WIDTHS.contains(&width) {
        return None;
    }
    [64, 128].into_iter().find_map(|new| {
        let (all, all_kv) = (count * width, kv * width);
        if all % new != 0 || all_kv % new != 0 {
            return None;
        }
        let what = format!("{} heads of width {new} instead of {count} of width {width}", all / new);
        let set =
            [("head_dim", new), ("num_attention_heads", all / new), ("num_key_value_heads", all_kv / new)];
        Change::set(known, what, &set)
    })
}

fn distinct(ran: &[Ran]) -> Vec<(&[Step], f64)> {
    let mut steps: Vec<(&[Step], f64)> = Vec::new();
    let mut known: HashMap<&[Step], usize> = HashMap::new();
    for one in ran {
        let at = *known.entry(&one.shape.needed).or_insert(steps.len());
        if at == steps.len() {
            steps.push((&one.shape.needed, 0.0));
        }
        steps[at].1 += 1.0;
    }
    steps
}

fn all(known: &ResolvedModel, roof: &Roof, steps: &[(&[Step], f64)], side: u64) -> Tiled {
    steps.iter().fold(Tiled::default(), |sum, (groups, count)| {
        let one = tiled(&known.model, &known.setup, roof, groups, side);
        Tiled {
            seconds: sum.seconds + one.seconds * count,
            useful: sum.useful + one.useful * count,
            issued: sum.issued + one.issued * count,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rooflens_cost::blueprint::Blueprint;
    use rooflens_cost::hardware::Catalog;
    use rooflens_schema::tables::PhaseKind;

    use super::*;

    fn known(config: &str) -> ResolvedModel {
        let blueprint = Blueprint::new(config.as_bytes(), None).unwrap();
        let model = blueprint.model().unwrap();
        let device = Catalog::embedded().find("h100").unwrap().clone();
        ResolvedModel { blueprint, model, name: "m".to_owned(), setup: Setup::default(), device }
    }

    fn ran(phase: RunPhase, step: Step) -> Vec<Ran> {
        let shape = Shape { phase, needed: vec![step], padded: vec![step], pictures: Some(Vec::new()) };
        vec![Ran { shape, dur_ns: 0 }]
    }

    fn decode(sequences: u64, past: u64) -> Vec<Ran> {
        ran(RunPhase::Decode, Step::decode(sequences, past))
    }

    const MIXTURE: &str = r#"{"model_type": "qwen3_moe", "hidden_size": 512, "num_hidden_layers": 1, "head_dim": 64,
        "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 1024, "moe_intermediate_size": 512,
        "num_experts": 128, "num_experts_per_tok": 8}"#;

    #[test]
    fn fewer_experts_are_read_where_tokens_share_them() {
        let known = known(MIXTURE);
        let changes = fewer_experts(&known);
        let words: Vec<&str> = changes.iter().map(|change| change.what.as_str()).collect();
        assert_eq!(
            words,
            [
                "64 experts of width 1024, 4 per token, instead of 128 of width 512, 8 per token",
                "64 experts of the same width instead of 128, still 8 per token"
            ]
        );
        assert!(changes[1].how.starts_with("num_experts=64 in config.json"));
        let bytes = |known: &ResolvedModel| {
            let floors = known.floors(&decode(16, 100)).unwrap();
            floors.iter().filter(|floor| floor.class == "moe.routed").map(|floor| floor.bytes).sum::<f64>()
        };
        // Three matrices of 512 x width in 16 bits for every expert touched; each visit moves the token in and
        // out and three times the width.
        let all = |experts: f64, top_k: f64, width: f64| {
            let touched = experts * (1.0 - (1.0 - top_k / experts).powi(16));
            touched * 3.0 * 512.0 * width * 2.0 + 16.0 * top_k * (2.0 * 512.0 + 3.0 * width) * 2.0
        };
        for (known, expected) in [
            (&known, all(128.0, 8.0, 512.0)),
            (&changes[0].known, all(64.0, 4.0, 1024.0)),
            (&changes[1].known, all(64.0, 8.0, 512.0)),
        ] {
            assert!((bytes(known) - expected).abs() <= 1.0, "{} {expected}", bytes(known));
        }
    }

    const DENSE: &str = r#""hidden_size": 1024, "num_hidden_layers": 2, "head_dim": 128, "num_attention_heads": 16,
        "num_key_value_heads": 8, "vocab_size": 1024, "intermediate_size": 2048}"#;

    #[test]
    fn the_cache_shrinks_and_the_rest_stays() {
        let ran = decode(4, 30_000);
        let llama = known(&format!(r#"{{"model_type": "llama", {DENSE}"#));
        let change = smaller_cache(&llama, &ran).unwrap();
        // Two layers: keys and values of 8 heads of 128 in 16 bits, or 512 + 64.
        let size = format::bytes;
        assert_eq!(
            change.what,
            format!(
                "latent attention (MLA): KV cache {} per token instead of {}",
                size(2304.0),
                size(8192.0)
            )
        );
        let read = |known: &ResolvedModel, class: &str| {
            let floors = known.floors(&ran).unwrap();
            floors.iter().find(|floor| floor.class == class).map(|floor| (floor.flops, floor.bytes))
        };
        assert_eq!(read(&llama, "mlp"), read(&change.known, "mlp"));
        assert!(read(&llama, "mlp").is_some());
        // A family with more than attention and a feed-forward network keeps its attention.
        let gemma = known(&format!(r#"{{"model_type": "gemma2", "sliding_window": 512, {DENSE}"#));
        assert_eq!(smaller_cache(&gemma, &ran).unwrap().what, "one KV head instead of 8");
        // What is latent already stays so.
        let latent = change.known;
        assert!(smaller_cache(&latent, &ran).is_none());
    }

    #[test]
    fn heads_that_no_kernel_fits() {
        let config = |width: u64, heads: u64| {
            known(&format!(
                r#"{{"model_type": "llama", "hidden_size": 2560, "num_hidden_layers": 1, "head_dim": {width},
                "num_attention_heads": {heads}, "num_key_value_heads": {heads}, "vocab_size": 1024,
                "intermediate_size": 6912}}"#
            ))
        };
        let ran = ran(RunPhase::Prefill, Step::prefill(1, 16_384, 0));
        let found = whole_tiles(&config(80, 32), "prefill", &ran).unwrap();
        assert_eq!(found.what, "40 heads of width 64 instead of 32 of width 80");
        // A fifth of the operations on heads of 80 is for nothing; scores and values of 16,384 tokens are about
        // 128 blocks of 128 x 129 / 2 pairs in 32 heads: 4 * 80 operations each.
        let pairs = 128.0 * 129.0 / 2.0 * 128.0 * 128.0;
        let spared_ns = 0.2 * pairs * 32.0 * 4.0 * 80.0 / 989.5e12 * 1e9;
        for tiles in &found.tiles {
            let difference = tiles.old_ns - tiles.new_ns;
            assert!((difference / spared_ns - 1.0).abs() < 0.05, "{difference} {spared_ns}");
            assert!(tiles.old_padding > tiles.new_padding);
        }
        assert!(whole_tiles(&config(64, 40), "prefill", &ran).is_none());
    }

    #[test]
    fn a_change_is_compared_over_the_same_steps() {
        let known = known(&format!(r#"{{"model_type": "llama", {DENSE}"#));
        let ran = [decode(4, 1_000), decode(4, 1_001)].concat();
        let unchanged = known.floors(&ran).unwrap();
        let passes = BTreeMap::from([(PhaseKind::Decode, ran)]);
        let found = of(&ModelContext { known, passes, told: BTreeMap::new() });
        let rules: Vec<&str> = found.iter().map(|alternative| alternative.rule).collect();
        for rule in ["weight_quantisation", "gqa", "tensor_parallel", "larger_batch"] {
            assert!(rules.contains(&rule), "{rule}: {rules:?}");
        }
        for alternative in &found {
            assert_eq!(alternative.unchanged, unchanged, "{}", alternative.rule);
            let ratio = alternative.ratio();
            let is_larger = alternative.rule == "larger_batch";
            assert!(
                if is_larger { ratio > 1.0 && ratio < 2.0 } else { ratio < 1.0 },
                "{} {ratio}",
                alternative.rule
            );
        }
    }
}
