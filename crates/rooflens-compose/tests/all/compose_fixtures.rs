//! Two whole config trees in the style of real projects, composed as hydra-core 1.3.8 composes them
//! (`oracles/compose/compose_diff.py --goldens` asked it).

use std::fs;
use std::path::{Path, PathBuf};

use rooflens_compose::clock::LocalTime;
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::{ComposeRequest, Composer, Composition, Host, yaml};
use serde_json::{Value as Json, json};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn composer(name: &str) -> Composer {
    let host = Host::fixed(LocalTime::from_unix(0, 0, 0));
    Composer::new(SearchPath::new(ConfigSource::folder(fixtures().join(name)))).with_host(host)
}

fn seen(made: &Composition) -> Json {
    let entry = |it: &rooflens_compose::defaults::DefaultEntry| {
        json!([it.config_path, it.package, it.is_self, it.parent])
    };
    let part = |keys: &[&str]| made.hydra.get(keys).map(yaml::dump);
    let params = made.hydra.get(&["sweeper", "params"]).and_then(|node| node.as_map()).map(|map| {
        let pairs = map.iter().map(|(key, it)| {
            let text = |value| rooflens_compose::value::python_str(value);
            (text(&key.to_value()), json!(text(&it.value)))
        });
        Json::Object(pairs.collect())
    });
    let choices = made.choices.iter().map(|(key, it)| (key.clone(), json!(it)));
    let choices = Json::Object(choices.collect());
    json!({
        "job": made.job_yaml(),
        "defaults": made.defaults.iter().map(entry).collect::<Vec<_>>(),
        "choices": choices,
        "run": part(&["run"]),
        "job_logging": part(&["job_logging"]),
        "params": params,
        "resolved": made.resolved().map(|node| yaml::dump(&node)).ok(),
    })
}

fn check(name: &str) {
    let composer = composer(name);
    let goldens = fs::read_to_string(fixtures().join(format!("{name}.jsonl"))).unwrap();
    for line in goldens.lines() {
        let golden: Json = serde_json::from_str(line).unwrap();
        let overrides: Vec<String> = serde_json::from_value(golden["overrides"].clone()).unwrap();
        let request = ComposeRequest::new(golden["config"].as_str().unwrap(), overrides);
        match composer.compose(&request) {
            Err(error) => assert!(golden.get("err").is_some(), "{:?}: {error}", request.overrides),
            Ok(made) => {
                assert!(golden.get("err").is_none(), "{:?} should fail", request.overrides);
                for (field, value) in seen(&made).as_object().unwrap() {
                    assert_eq!(*value, golden[field], "{field} of {:?}", request.overrides);
                }
            }
        }
    }
}

#[test]
fn a_training_project_composes_as_in_hydra() {
    check("training");
}

#[test]
fn ten_groups_mounted_under_a_pipeline_compose_as_in_hydra() {
    check("pipeline");
}
