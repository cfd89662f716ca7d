//! Half of the experts, with as many parameters that a token meets.

use super::Change;
use crate::model::ResolvedModel;

/// Names of the number of experts. Where a config has several, all say the same.
const COUNT: &[&str] = &["num_experts", "n_routed_experts", "num_local_experts"];
const TOP_K: &str = "num_experts_per_tok";
/// Active parameters that are the same: routers are smaller, nothing else may be.
const ALIKE: f64 = 0.01;

/// Coarser ones first: these keep all parameters.
pub(crate) fn fewer(known: &ResolvedModel) -> Vec<Change> {
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
