//! Every composition of the oracle, made by hydra-core 1.3.8: the same YAML, the same defaults
//! list, the same choices, an error where it errs.

use std::collections::BTreeMap;

use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::{ComposeRequest, ComposeWarning, Composer, Composition};
use serde_json::Value as Json;

fn cases() -> Vec<Json> {
    let text = super::corpus("hydra-oracle/compose_cases.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn files(case: &Json) -> BTreeMap<String, String> {
    serde_json::from_value(case["files"].clone()).unwrap()
}

fn request(case: &Json) -> ComposeRequest {
    let overrides: Vec<String> = serde_json::from_value(case["overrides"].clone()).unwrap();
    ComposeRequest::new(case["config"].as_str().unwrap(), overrides)
}

/// The defaults list and choices as the oracle has them: without Hydra's own.
fn defaults(made: &Composition) -> Json {
    let own = |path: &str| path.starts_with("hydra/");
    let entries = made.defaults.iter().filter(|entry| !own(&entry.config_path));
    entries.map(|it| serde_json::json!([it.config_path, it.package, it.is_self, it.parent])).collect()
}

fn choices(made: &Composition) -> Json {
    let entries = made.choices.iter().filter(|(key, _)| !key.starts_with("hydra/"));
    Json::Object(entries.map(|(key, it)| (key.clone(), serde_json::json!(it))).collect())
}

fn difference(case: &Json, composer: &Composer) -> Option<String> {
    let made = match (composer.compose(&request(case)), case.get("err")) {
        (Err(_), Some(_)) => return None,
        (Err(error), None) => return Some(format!("only we err: {error}")),
        (Ok(made), Some(expected)) => {
            return Some(format!("only Hydra errs: {expected}\nours:\n{}", made.job_yaml()));
        }
        (Ok(made), None) => made,
    };
    let expected = case["ok"].as_str().unwrap();
    if made.job_yaml() != expected {
        return Some(format!("YAML\nHydra:\n{expected}\nours:\n{}", made.job_yaml()));
    }
    if defaults(&made) != case["defaults"] {
        return Some(format!("defaults\nHydra: {}\nours:  {}", case["defaults"], defaults(&made)));
    }
    let order = |json: &Json| -> Vec<String> { json.as_object().unwrap().keys().cloned().collect() };
    if choices(&made) != case["choices"] || order(&choices(&made)) != order(&case["choices"]) {
        return Some(format!("choices\nHydra: {}\nours:  {}", case["choices"], choices(&made)));
    }
    let warned = case.get("warnings").and_then(Json::as_array).map_or(0, Vec::len) > 0;
    let warns = made.warnings.iter().any(|it| matches!(it, ComposeWarning::NoSelf { .. }));
    (warned != warns).then(|| format!("warnings\nHydra: {}\nours: {:?}", case["warnings"], made.warnings))
}

#[test]
#[ignore = "needs the corpus"]
fn composes_as_hydra_does() {
    let cases = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        let composer = Composer::new(SearchPath::new(ConfigSource::memory(files(case))));
        if let Some(difference) = difference(case, &composer) {
            wrong.push(format!("{}\n{difference}", case["name"]));
        }
    }
    println!("{} of {} compositions as in Hydra", cases.len() - wrong.len(), cases.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n\n"));
    assert_eq!(cases.len(), 110);
}
