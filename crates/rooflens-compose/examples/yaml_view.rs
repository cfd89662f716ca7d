//! Shows what the crate reads and writes, for `oracles/compose/yaml_diff.py`: one JSON object per line in,
//! `{"text": …}` to read or `{"data": …}` to write, one per line out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test tool")]

#[path = "shared/typed.rs"]
mod typed;

use std::io::{BufRead, BufWriter, Write};
use std::sync::Arc;

use rooflens_compose::value::{Int, Key, Map, Node, Value, python_repr};
use rooflens_compose::yaml;
use serde_json::{Value as Json, json};

fn main() {
    let source: Arc<str> = "in".into();
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let case: Json = serde_json::from_str(&line.unwrap()).unwrap();
        let view = match case.get("text") {
            Some(text) => {
                let text = text.as_str().unwrap();
                let mut view = load_view(yaml::load(text, Arc::clone(&source)));
                view["header"] = match yaml::header(text) {
                    Ok(package) => json!({ "package": package }),
                    Err(line) => json!({ "error": line }),
                };
                view
            }
            None => {
                let node = untyped(&case["data"]);
                let dump = yaml::dump(&node);
                let again = load_view(yaml::load(&dump, Arc::clone(&source)));
                json!({ "dump": dump, "repr": python_repr(&node.value), "again": again })
            }
        };
        writeln!(out, "{view}").unwrap();
    }
}

fn load_view(loaded: Result<Node, yaml::YamlError>) -> Json {
    match loaded {
        Ok(node) => json!({
            "data": typed::typed(&node.value),
            "dump": yaml::dump(&node),
            "repr": python_repr(&node.value),
            "places": places(&node),
        }),
        Err(error) => json!({ "error": error.to_string(), "place": [error.line, error.column] }),
    }
}

/// Line and column of a node, and the same of the nodes below it.
fn places(node: &Node) -> Json {
    let below = match &node.value {
        Value::List(items) => items.iter().map(places).collect(),
        Value::Map(map) => map.values().map(places).collect(),
        _ => Vec::new(),
    };
    json!([node.origin.line, node.origin.column, below])
}

fn untyped(json: &Json) -> Node {
    let content = &json[1];
    let value = match json[0].as_str().unwrap() {
        "null" => Value::Null,
        "bool" => Value::Bool(content.as_bool().unwrap()),
        "int" => Value::Int(Int::parse(content.as_str().unwrap()).unwrap()),
        "float" => Value::Float(content.as_str().unwrap().parse().unwrap()),
        "str" => Value::Str(content.as_str().unwrap().to_owned()),
        "list" => Value::List(content.as_array().unwrap().iter().map(untyped).collect()),
        "map" => {
            let mut map = Map::new();
            for pair in content.as_array().unwrap() {
                let key = match untyped(&pair[0]).value {
                    Value::Bool(flag) => Key::Bool(flag),
                    Value::Int(int) => Key::Int(int),
                    Value::Float(float) => Key::Float(float.to_bits()),
                    Value::Str(text) => Key::Str(text),
                    other => panic!("no key: {other:?}"),
                };
                map.insert(key, untyped(&pair[1]));
            }
            Value::Map(map)
        }
        other => panic!("no type: {other}"),
    };
    Node::new(value)
}
