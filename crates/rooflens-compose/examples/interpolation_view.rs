//! Resolves texts with interpolations, one JSON object per line, with a few made-up values: the other half of
//! `oracles/compose/grammar_diff.py`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

#[path = "shared/typed.rs"]
mod typed;

use std::io::BufRead;
use std::sync::Arc;

use rooflens_compose::clock::LocalTime;
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::value::{Value, python_repr};
use rooflens_compose::{ComposeError, ComposeRequest, Composer, Host};
use serde_json::json;

fn main() {
    for line in std::io::stdin().lock().lines() {
        let case: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        // JSON, which is YAML.
        let config = case["config"].as_str().unwrap().to_owned();
        println!("{}", resolved(config).unwrap_or_else(|error| json!({ "err": error.to_string() })));
    }
}

fn resolved(config: String) -> Result<serde_json::Value, ComposeError> {
    let show =
        |arguments: &[Value]| Ok(Value::Str(arguments.iter().map(python_repr).collect::<Vec<_>>().join("|")));
    let source = ConfigSource::memory([("config.yaml", config)]);
    let composer = Composer::new(SearchPath::new(source))
        .with_host(Host::fixed(LocalTime::from_unix(0, 0, 0)))
        .with_resolver("show", Arc::new(show));
    let made = composer.compose(&ComposeRequest::new("config", [""; 0]))?;
    let node = made.resolved()?;
    Ok(json!({ "ok": node.get(&["x"]).map(|node| typed::typed(&node.value)) }))
}
