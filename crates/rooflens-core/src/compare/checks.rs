//! What differs between two sides besides what they are compared by, and does the comparison mean anything?

use rooflens_analyze::compare::{Check, CheckVerdict, ConfigDifference};

use super::facts::{LIBRARIES, OUTPUT_LENGTH};
use super::side::Side;

/// Outputs whose mean lengths are further apart are other work.
const LENGTHS: f64 = 0.02;
/// Clocks further apart than this make a comparison one of clocks.
const CLOCKS: f64 = 0.02;
/// Other programs may keep this much more of a processor busy on one side.
const LOAD: f64 = 0.25;

/// What a regression test needs to be the same: another machine, driver, model or workload has other times. Where
/// they differ, that is what is compared.
const LIKE: &[&str] = &[
    "device",
    "devices",
    "ranks",
    "driver",
    "cuda_driver",
    "hip_driver",
    "power_limit",
    "architecture",
    "parameters",
    "dataset",
    "load",
    "workload",
    "requests",
    "prompt_tokens",
    "output_tokens",
    "batch_size",
];
/// What is chosen on purpose, and may be what a regression test is about.
const CHOSEN: &[&str] = &["runtime", "model", "weights", "dtype", "attention", "compile"];
/// What must be the same where the host does the work, and is worth knowing where a device does.
const HOST: &[&str] = &["processor", "processors", "governor"];
const MAY: &[&str] = &[
    "prompts",
    "outputs",
    "threads",
    "cuda_runtime",
    "hip_runtime",
    "python",
    "rooflens",
    "runtime_version",
];

/// Whether device, model and workload are the same as far as is known.
pub(crate) fn is_like_for_like(checks: &[Check]) -> bool {
    let is_of_run = |check: &Check| {
        check.what == OUTPUT_LENGTH
            || LIKE.contains(&check.what.as_str())
            || HOST.contains(&check.what.as_str())
    };
    checks.iter().all(|check| check.verdict != CheckVerdict::DiffersOnPurpose || !is_of_run(check))
}

/// All checks of a pair: what a side knows, and always the clocks, throttling and load, since not to know them is
/// worth knowing.
pub(crate) fn checks(a: &Side, b: &Side) -> Vec<Check> {
    let of_facts = |names: &'static [&'static str], if_not: CheckVerdict| {
        names.iter().filter_map(move |name| {
            let (in_a, in_b) = (a.facts.get(name).cloned(), b.facts.get(name).cloned());
            let verdict = match (&in_a, &in_b) {
                (None, None) => return None,
                (Some(a), Some(b)) if a == b => CheckVerdict::Same,
                (Some(_), Some(_)) => if_not,
                _ => CheckVerdict::Unknown,
            };
            Some(Check { what: (*name).to_owned(), a: in_a, b: in_b, verdict })
        })
    };
    let on_device = |side: &Side| {
        !side.devices.sm_clocks_mhz.is_empty() || side.places.values().any(|timeline| timeline.on_device)
    };
    // Where a device does the work, the host and others on it need not matter.
    let [of_host, of_load] = if on_device(a) {
        [CheckVerdict::Differs; 2]
    } else {
        [CheckVerdict::DiffersOnPurpose, CheckVerdict::Invalid]
    };
    let mut all: Vec<Check> = of_facts(LIKE, CheckVerdict::DiffersOnPurpose)
        .chain(of_facts(CHOSEN, CheckVerdict::DiffersOnPurpose))
        .chain(of_facts(HOST, of_host))
        .chain(of_facts(MAY, CheckVerdict::Differs))
        .chain(of_facts(LIBRARIES, CheckVerdict::Differs))
        .collect();
    all.extend(output_length(a, b));
    let [sm, memory] = [
        |side: &Side| mean(&side.devices.sm_clocks_mhz),
        |side: &Side| mean(&side.devices.memory_clocks_mhz),
    ];
    // Another device has other clocks.
    let device = |side: &'_ Side| side.facts.get("device").cloned();
    let of_clock =
        if device(a) == device(b) { CheckVerdict::Invalid } else { CheckVerdict::DiffersOnPurpose };
    all.push(clock("sm_clock", sm(a), sm(b), of_clock));
    all.push(clock("memory_clock", memory(a), memory(b), of_clock));
    all.push(throttled(a, b));
    for (at, what) in ["other_load", "other_load_of_the_trace"].into_iter().enumerate() {
        let (in_a, in_b) = (a.other_load[at], b.other_load[at]);
        let words = |cores: Option<f64>| cores.map(|cores| format!("{cores:.2} processors"));
        let verdict = match (in_a, in_b) {
            (Some(a), Some(b)) if (a - b).abs() <= LOAD => CheckVerdict::Same,
            (Some(_), Some(_)) => of_load,
            _ => CheckVerdict::Unknown,
        };
        all.push(Check { what: what.to_owned(), a: words(in_a), b: words(in_b), verdict });
    }
    all
}

/// Whether requests of two load tests had outputs of the same length. Those that end by themselves vary a little.
fn output_length(a: &Side, b: &Side) -> Option<Check> {
    let (in_a, in_b) = (a.facts.get(OUTPUT_LENGTH)?, b.facts.get(OUTPUT_LENGTH)?);
    let (tokens_a, tokens_b): (f64, f64) = (in_a.parse().ok()?, in_b.parse().ok()?);
    let verdict = match (tokens_b - tokens_a).abs() <= LENGTHS * tokens_a {
        true => CheckVerdict::Same,
        false => CheckVerdict::DiffersOnPurpose,
    };
    Some(Check { what: OUTPUT_LENGTH.to_owned(), a: Some(in_a.clone()), b: Some(in_b.clone()), verdict })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn clock(what: &str, a: Option<f64>, b: Option<f64>, if_not: CheckVerdict) -> Check {
    let words = |mhz: Option<f64>| mhz.map(|mhz| format!("{mhz:.0} MHz"));
    let verdict = match (a, b) {
        (Some(a), Some(b)) if (b - a).abs() <= CLOCKS * a => CheckVerdict::Same,
        (Some(_), Some(_)) => if_not,
        _ => CheckVerdict::Unknown,
    };
    Check { what: what.to_owned(), a: words(a), b: words(b), verdict }
}

/// A side that was slowed down makes the comparison meaningless.
fn throttled(a: &Side, b: &Side) -> Check {
    let words = |side: &Side| {
        let reasons = side.devices.throttled.as_ref()?;
        let words: Vec<String> =
            reasons.iter().map(|(reason, share)| format!("{reason} {:.0} %", share * 100.0)).collect();
        Some(if words.is_empty() { "no".to_owned() } else { words.join(", ") })
    };
    let is = |side: &Side| side.devices.throttled.as_ref().map(|reasons| !reasons.is_empty());
    let verdict = match (is(a), is(b)) {
        (Some(true), _) | (_, Some(true)) => CheckVerdict::Invalid,
        (Some(false), Some(false)) => CheckVerdict::Same,
        _ => CheckVerdict::Unknown,
    };
    Check { what: "throttled".to_owned(), a: words(a), b: words(b), verdict }
}

pub(crate) fn differences(a: &Side, b: &Side) -> Vec<ConfigDifference> {
    let keys: std::collections::BTreeSet<&String> = a.config.keys().chain(b.config.keys()).collect();
    let of = |side: &Side, key: &String| side.config.get(key).cloned();
    keys.into_iter()
        .map(|key| ConfigDifference { key: key.clone(), a: of(a, key), b: of(b, key) })
        .filter(|difference| difference.a != difference.b)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::side::DeviceSamples;

    fn verdict(edit: impl Fn(&mut Side), what: &str) -> CheckVerdict {
        let side = || {
            let facts = LIKE
                .iter()
                .chain(CHOSEN)
                .chain(MAY)
                .chain(HOST)
                .map(|name| (*name, "x".to_owned()))
                .collect();
            let devices = DeviceSamples {
                sm_clocks_mhz: vec![1500.0, 1600.0],
                memory_clocks_mhz: vec![2600.0],
                throttled: Some(Default::default()),
            };
            Side { facts, devices, other_load: [Some(0.1); 2], ..Side::default() }
        };
        let mut other = side();
        edit(&mut other);
        let all = checks(&side(), &other);
        assert!(
            all.iter().all(|check| check.what == what || check.verdict == CheckVerdict::Same),
            "{all:#?}"
        );
        all.into_iter().find(|check| check.what == what).unwrap().verdict
    }

    #[test]
    fn each_has_its_verdict() {
        use CheckVerdict::*;
        for name in LIKE.iter().chain(CHOSEN) {
            assert_eq!(verdict(|side| _ = side.facts.insert(name, "y".into()), name), DiffersOnPurpose);
            assert_eq!(verdict(|side| _ = side.facts.remove(name), name), Unknown);
        }
        for name in MAY.iter().chain(HOST) {
            assert_eq!(verdict(|side| _ = side.facts.insert(name, "y".into()), name), Differs);
        }
        let like = |what: &str, verdict| {
            is_like_for_like(&[Check { what: what.to_owned(), a: None, b: None, verdict }])
        };
        assert!(
            !like("device", DiffersOnPurpose) && like("runtime", DiffersOnPurpose) && like("device", Unknown)
        );
        // 1 % of 1550 is within, 3 % is not.
        assert_eq!(verdict(|side| side.devices.sm_clocks_mhz = vec![1565.5], "sm_clock"), Same);
        assert_eq!(verdict(|side| side.devices.sm_clocks_mhz = vec![1500.0], "sm_clock"), Invalid);
        assert_eq!(verdict(|side| side.devices.memory_clocks_mhz = vec![1300.0], "memory_clock"), Invalid);
        assert_eq!(verdict(|side| side.devices.memory_clocks_mhz.clear(), "memory_clock"), Unknown);
        let slowed = |side: &mut Side| side.devices.throttled = Some([("heat".to_owned(), 0.1)].into());
        assert_eq!(verdict(slowed, "throttled"), Invalid);
        assert_eq!(verdict(|side| side.devices.throttled = None, "throttled"), Unknown);
        assert_eq!(verdict(|side| side.other_load[0] = Some(0.5), "other_load"), Differs);
    }
}
