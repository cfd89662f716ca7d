//! Crossovers and targets.

use rooflens_cost::crossover::Crossovers;
use rooflens_cost::document::EstimateDocument;
use rooflens_cost::inverse::{Needs, only};
use rooflens_cost::step::Phase;

use super::lead::target_name;
use super::seconds;
use crate::block::{Cell, Fact};
use crate::format;

/// The most that is searched for: an answer at the edge says "or more".
const MOST_BATCH: u64 = 1 << 18;
const MOST_TOKENS: u64 = 1 << 24;

/// Where decode becomes compute-bound, by batch, and KV-bound, by context.
pub(super) fn crossover_lines(crossovers: &Crossovers, document: &EstimateDocument) -> Vec<String> {
    let count = |number: u64| format::count(i64::try_from(number).unwrap_or(i64::MAX));
    let context = count(document.workload.decode.map_or(0, |decode| decode.context));
    let from =
        |batch: Option<u64>| batch.map_or("never".to_owned(), |batch| format!("from batch {}", count(batch)));
    let stays = crossovers.compute_bound_batch.is_none();
    let whole = match crossovers.compute_bound_batch {
        Some(batch) => format!("decode is compute-bound from batch {}", count(batch)),
        None => "decode stays memory-bound up to batch 131,072".to_owned(),
    };
    // The products with weights turn; attention, which each sequence does for itself, seldom does.
    let turns = ["mlp", "moe.routed", "attn.core"].into_iter().filter_map(|class| {
        let batch = crossovers.classes.get(class)?;
        // The first that turns is said to turn alone, where the whole does not.
        let alone = if stays && batch.is_some() { "alone is compute-bound " } else { "" };
        Some(format!("`{class}` {alone}{}", from(*batch)))
    });
    let turns: Vec<String> = turns.collect();
    let turns = if turns.is_empty() { String::new() } else { format!(" ({})", turns.join(", ")) };
    let kv = match crossovers.kv_bound_context {
        Some(0) => "reading the KV cache outweighs reading the weights at any context".to_owned(),
        Some(tokens) => {
            format!("reading the KV cache outweighs reading the weights from context {}", count(tokens))
        }
        None => "reading the weights outweighs reading the KV cache at any context".to_owned(),
    };
    vec![
        format!("at context {context}, {whole}{turns}"),
        format!("at batch {}, {kv}", count(document.workload.batch)),
    ]
}

/// What it takes to meet a target.
pub(super) fn facts(needs: &Needs, document: &EstimateDocument) -> Vec<Fact> {
    let context = match needs.target.phase {
        Phase::Decode => "largest context",
        _ => "longest prefill",
    };
    let mut facts = vec![Fact::new(target_name(needs.target.phase), seconds(needs.target.seconds))];
    let asked = only(&document.workload, needs.target.phase);
    if asked.phases().iter().any(|phase| !document.workload.phases().contains(phase)) {
        // A phase that the workload does not have: with which tokens it was asked for.
        facts.extend(
            asked.prefill.map(|prefill| Fact::new("prefill tokens", Cell::Count(prefill.tokens as i64))),
        );
        facts.extend(asked.decode.map(|decode| Fact::new("at context", Cell::Count(decode.context as i64))));
    }
    if let (Some(now), Some(estimate)) = (needs.now_s, needs.estimate_s) {
        facts.push(Fact::new("verdict", Cell::word(verdict(needs.ruled_out, needs.met))));
        facts.push(Fact::new("lower bound ≥", seconds(now)));
        facts.push(Fact::new("estimate", seconds(estimate)));
    }
    facts.push(Fact::new("required of all devices", Cell::amount(needs.flops_per_s, "FLOP/s")));
    facts.push(Fact::new("and", Cell::amount(needs.bytes_per_s, "B/s")));
    if needs.now_s.is_some() {
        let devices = needs.devices.map_or("over 1,024".to_owned(), |devices| format::count(devices as i64));
        facts.push(Fact::new("smallest tp (estimate)", Cell::text(devices)));
        facts.push(Fact::new("largest batch", most(needs.largest_batch, MOST_BATCH)));
        let positions = document.model.positions.filter(|_| document.model.encoder.is_none());
        let tokens = match needs.largest_context {
            Some(tokens) if positions == Some(tokens) => {
                Cell::text(format!("{} (all of the model's positions)", format::count(tokens as i64)))
            }
            tokens => most(tokens, MOST_TOKENS),
        };
        facts.push(Fact::new(context, tokens));
    }
    facts
}

/// What a bound and an estimate say of a target.
pub(super) fn verdict(ruled_out: Option<bool>, met: Option<bool>) -> &'static str {
    match (ruled_out, met) {
        (Some(true), _) => "below the bound, or does not fit",
        (_, Some(true)) => "met",
        _ => "not ruled out",
    }
}

/// The largest number that meets a target: an answer, also where there is none.
fn most(value: Option<u64>, searched: u64) -> Cell {
    match value {
        None => Cell::text("none"),
        Some(value) if value >= searched => Cell::text(format!("{} or more", format::count(value as i64))),
        Some(value) => Cell::Count(value as i64),
    }
}
