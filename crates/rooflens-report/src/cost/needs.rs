//! Turning points and targets.

use rooflens_cost::crossover::Crossovers;
use rooflens_cost::document::Document;
use rooflens_cost::inverse::Needs;
use rooflens_cost::step::Phase;

use super::seconds;
use crate::block::{Cell, Fact};
use crate::format;

/// Where decoding changes its nature, in a sentence.
pub(super) fn crossover_sentence(crossovers: &Crossovers, document: &Document) -> String {
    let decode = document.workload.decode;
    let context = format::count(decode.map_or(0, |decode| decode.context) as i64);
    let batch = match crossovers.compute_bound_batch {
        Some(batch) => format!(
            "Decoding at context {context} is bound by compute from batch {}",
            format::count(batch as i64)
        ),
        None => format!("Decoding at context {context} is bound by memory at any batch up to 131,072"),
    };
    let experts = match crossovers.classes.get("moe.routed") {
        Some(Some(batch)) => format!("; its experts from {}", format::count(*batch as i64)),
        Some(None) => "; its experts at no batch".to_owned(),
        None => String::new(),
    };
    let kv = match crossovers.kv_bound_context {
        Some(0) => "the cache is read more than the weights at any context".to_owned(),
        Some(tokens) => {
            format!("the cache is read more than the weights from context {}", format::count(tokens as i64))
        }
        None => "the weights are read more than the cache at any context".to_owned(),
    };
    format!("{batch}{experts}. At batch {}, {kv}.", format::count(document.workload.batch as i64))
}

/// What it takes to meet a target.
pub(super) fn facts(needs: &Needs) -> Vec<Fact> {
    let (name, context) = match needs.target.phase {
        Phase::Decode => ("TPOT", "largest context"),
        _ => ("TTFT", "longest prompt"),
    };
    let number = |value: Option<u64>| Cell::or(value, |value| Cell::Count(value as i64), "none meets it");
    let mut facts = vec![Fact::new(name, seconds(needs.target.seconds))];
    if let (Some(now), Some(met)) = (needs.now_s, needs.met) {
        facts.push(Fact::new(if met { "met: at least" } else { "not met: at least" }, seconds(now)));
    }
    facts.push(Fact::new("takes", Cell::Amount(needs.flops_per_s, "FLOP/s")));
    facts.push(Fact::new("and", Cell::Amount(needs.bytes_per_s, "B/s")));
    if needs.now_s.is_some() {
        facts.push(Fact::new("fewest devices (tp)", number(needs.devices)));
        facts.push(Fact::new("largest batch", number(needs.largest_batch)));
        facts.push(Fact::new(context, number(needs.largest_context)));
    }
    facts
}
