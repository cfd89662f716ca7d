//! Reads overrides, one JSON object a line, and prints what they mean: the other half of
//! `oracles/compose/grammar_diff.py`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

#[path = "shared/typed.rs"]
mod typed;

use std::io::BufRead;

use rooflens_compose::overrides::Override;
use serde_json::{Value, json};

/// As many values of a sweep as the oracle looks at.
const SHOWN: usize = 60;

fn main() {
    for line in std::io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let options: Vec<String> = serde_json::from_value(case["options"].clone()).unwrap();
        let view = match case["in"].as_str().unwrap().parse::<Override>() {
            Ok(parsed) => view(&parsed, &options),
            Err(error) => json!({ "err": error.to_string() }),
        };
        println!("{view}");
    }
}

fn view(parsed: &Override, options: &[String]) -> Value {
    let mut view =
        json!({ "key": parsed.key, "package": parsed.package, "key_text": parsed.key_text(), "sweep": null });
    match parsed.node() {
        Some(node) => {
            view["value"] = typed::typed(&node.value);
            view["text"] = json!(parsed.job_text());
        }
        None => {
            view["sweep"] = match parsed.sweep_texts(options) {
                Ok(texts) => texts.take(SHOWN).collect(),
                Err(_) => json!("error"),
            };
        }
    }
    view
}
