//! The changes of a model that rules may advise, each with the least times that it would have.

mod experts;
mod kv;
mod widths;

use rooflens_analyze::advice::Alternative;
use rooflens_cost::hardware::DeviceKind;
use rooflens_cost::measured::{Ran, RunPhase, Shape};
use rooflens_cost::precision::Dtype;
use rooflens_cost::step::Step;
use rooflens_cost::{Parallel, Setup};

use crate::model::{ModelContext, ResolvedModel};

/// All that the model and the device allow.
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
        if let Some(change) = kv::smaller(known, ran) {
            add("kv_layout", change.what, change.how, Some(change.known), ran, 1.0);
        }
        for change in experts::fewer(known) {
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
        found.extend(widths::whole(known, phase, ran));
    }
    found
}

/// A changed model.
struct Change {
    /// In words.
    what: String,
    /// How to make it.
    how: String,
    /// The model.
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

#[cfg(test)]
mod tests;
