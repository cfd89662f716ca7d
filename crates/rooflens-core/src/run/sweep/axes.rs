//! What a sweep varied, from the overrides of its jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A key whose value differs between jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SweepAxis {
    /// The key, or the group of a choice.
    pub(crate) key: String,
    /// Whether all its values are numbers.
    pub(crate) is_number: bool,
    /// Its values, each once, in the order of the jobs; null where a job leaves it as it is.
    pub(crate) values: Vec<Option<String>>,
}

/// What stands for a key that a job takes away.
const TAKEN_AWAY: &str = "(none)";

/// The keys that differ, in the order they are met in.
pub(crate) fn axes(jobs: &[&[String]]) -> Vec<SweepAxis> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in jobs.iter().flat_map(|job| job.iter()).map(|text| pair(text)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let axis = |key: &str| {
        let mut values: Vec<Option<String>> = Vec::new();
        for value in jobs.iter().map(|job| at(job, key)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let number = |value: &Option<String>| {
            value.as_ref().and_then(|value| value.parse::<f64>().ok()).is_some_and(f64::is_finite)
        };
        SweepAxis { key: key.to_owned(), is_number: values.iter().all(number), values }
    };
    keys.into_iter().map(axis).filter(|axis| axis.values.len() > 1).collect()
}

/// The value of a key in a job; the last counts.
pub(crate) fn at(overrides: &[String], key: &str) -> Option<String> {
    overrides
        .iter()
        .rev()
        .map(|text| pair(text))
        .find(|(known, _)| *known == key)
        .map(|(_, value)| value.to_owned())
}

/// An override as key and value: `key=value`, `+key=value`, `++key=value`, `~key`.
fn pair(text: &str) -> (&str, &str) {
    if let Some(key) = text.strip_prefix('~') {
        return (key.split('=').next().unwrap_or(key), TAKEN_AWAY);
    }
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    (key.trim_start_matches('+'), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(jobs: &[&[&str]]) -> Vec<(String, bool, usize)> {
        let jobs: Vec<Vec<String>> =
            jobs.iter().map(|job| job.iter().map(|text| (*text).to_owned()).collect()).collect();
        let jobs: Vec<&[String]> = jobs.iter().map(Vec::as_slice).collect();
        axes(&jobs).into_iter().map(|axis| (axis.key, axis.is_number, axis.values.len())).collect()
    }

    #[test]
    fn only_what_differs_is_an_axis() {
        let jobs: &[&[&str]] = &[
            &["seed=3", "runtime.batch_size=1", "runtime=pytorch", "+x.y=1e3"],
            &["seed=3", "runtime.batch_size=2", "runtime=vllm", "++x.y=2.5"],
        ];
        let axes = [("runtime.batch_size", true, 2), ("runtime", false, 2), ("x.y", true, 2)];
        assert_eq!(found(jobs), axes.map(|(key, is, count)| (key.to_owned(), is, count)));
    }

    #[test]
    fn what_a_job_leaves_as_it_is_is_a_value_but_no_number() {
        assert_eq!(found(&[&["a=1"], &[]]), [("a".to_owned(), false, 2)]);
        assert_eq!(found(&[&["~a"], &["a=1"]]), [("a".to_owned(), false, 2)]);
        assert_eq!(found(&[&["a=1"]]), []);
        assert_eq!(found(&[&["a=nan"], &["a=1"]]), [("a".to_owned(), false, 2)]);
    }
}
