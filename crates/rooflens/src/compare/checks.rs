//! May two sides be compared at all?

use rooflens_analyze::compare::{Check, CheckVerdict, Difference};

use super::side::Side;

/// Clocks further apart than this make a comparison one of clocks.
const CLOCKS: f64 = 0.02;
/// Other programs may keep this much more of a processor busy on one side.
const LOAD: f64 = 0.25;

/// What must be the same; and what may differ, since it may be what is compared.
const MUST: &[&str] =
    &["device", "architecture", "parameters", "dataset", "prompt_tokens", "output_tokens", "ranks"];
const MAY: &[&str] = &["model", "dtype", "batch_size", "runtime", "torch", "transformers", "vllm"];

/// All checks of a pair.
pub fn checks(a: &Side, b: &Side) -> Vec<Check> {
    let fact = |name: &&'static str, if_not: CheckVerdict| {
        let (in_a, in_b) = (a.facts.get(name).cloned(), b.facts.get(name).cloned());
        let verdict = match (&in_a, &in_b) {
            (Some(a), Some(b)) if a == b => CheckVerdict::Same,
            (Some(_), Some(_)) => if_not,
            _ => CheckVerdict::Unknown,
        };
        Check { what: (*name).to_owned(), a: in_a, b: in_b, verdict }
    };
    let mut all: Vec<Check> = MUST.iter().map(|name| fact(name, CheckVerdict::Invalid)).collect();
    all.extend(MAY.iter().map(|name| fact(name, CheckVerdict::Differs)));
    all.retain(|check| check.a.is_some() || check.b.is_some());
    let clock = |side: &Side| side.clock_mhz.map(|mhz| format!("{mhz:.0} MHz"));
    all.push(Check {
        what: "sm_clock".to_owned(),
        a: clock(a),
        b: clock(b),
        verdict: match (a.clock_mhz, b.clock_mhz) {
            (Some(a), Some(b)) if (b / a - 1.0).abs() <= CLOCKS => CheckVerdict::Same,
            (Some(_), Some(_)) => CheckVerdict::Invalid,
            _ => CheckVerdict::Unknown,
        },
    });
    let slowed = |side: &Side| {
        let words: Vec<String> =
            side.throttled.iter().map(|(reason, share)| format!("{reason} {:.0} %", share * 100.0)).collect();
        side.clock_mhz.map(|_| if words.is_empty() { "no".to_owned() } else { words.join(", ") })
    };
    let known = a.clock_mhz.and(b.clock_mhz).is_some();
    all.push(Check {
        what: "throttled".to_owned(),
        a: slowed(a),
        b: slowed(b),
        verdict: match a.throttled.is_empty() && b.throttled.is_empty() {
            false => CheckVerdict::Invalid,
            true if known => CheckVerdict::Same,
            true => CheckVerdict::Unknown,
        },
    });
    // Where a device does the work, others on the host need not matter.
    let if_not = if a.clock_mhz.is_some() { CheckVerdict::Differs } else { CheckVerdict::Invalid };
    for (at, what) in ["other_load", "other_load_of_the_trace"].into_iter().enumerate() {
        let (in_a, in_b) = (a.other_load[at], b.other_load[at]);
        let words = |cores: Option<f64>| cores.map(|cores| format!("{cores:.2} processors"));
        let verdict = match (in_a, in_b) {
            (Some(a), Some(b)) if (a - b).abs() <= LOAD => CheckVerdict::Same,
            (Some(_), Some(_)) => if_not,
            _ => CheckVerdict::Unknown,
        };
        all.push(Check { what: what.to_owned(), a: words(in_a), b: words(in_b), verdict });
    }
    all
}

/// Keys of the config that differ: what the user changed.
pub fn differences(a: &Side, b: &Side) -> Vec<Difference> {
    let keys: std::collections::BTreeSet<&String> = a.config.keys().chain(b.config.keys()).collect();
    let of = |side: &Side, key: &String| side.config.get(key).map(|value| value.trim().to_owned());
    keys.into_iter()
        .map(|key| Difference { key: key.clone(), a: of(a, key), b: of(b, key) })
        .filter(|difference| difference.a != difference.b)
        .collect()
}
