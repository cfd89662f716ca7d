//! YAML files of a project as Rust types, by way of serde.

use std::sync::Arc;

use rooflens_compose::value::{Int, Key, Map, Node, Value, python_str};
use rooflens_compose::yaml;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_path_to_error::Segment;

use crate::project::error::{ProjectError, Result};

/// Reads a file that is called `file` in messages. An error shows the line. A key whose value is null counts as
/// absent.
pub(crate) fn from_yaml<T: DeserializeOwned>(text: &str, file: &str) -> Result<T> {
    let node = yaml::load(text, Arc::from(file)).map_err(|error| ProjectError::yaml(&error, text))?;
    let root = if node.value == Value::Null { Json::Object(Default::default()) } else { json(&node) };
    serde_path_to_error::deserialize(root).map_err(|error| {
        // The innermost value that is in the file: serde names keys that are not, too.
        let (mut found, mut within) = (&node, String::new());
        for segment in error.path() {
            let inner = match (segment, &found.value) {
                (Segment::Seq { index }, Value::List(items)) => items.get(*index),
                (Segment::Map { key }, Value::Map(map)) => map.get(&Key::from(key.as_str())),
                _ => None,
            };
            let Some(inner) = inner else { break };
            found = inner;
            within = error.path().to_string();
        }
        let message = error.inner().to_string();
        // "unknown field `rot`, expected one of `root`, `path`"
        let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let message = message.replace('`', "'");
        if let (Some(wanted), Value::Map(map)) = (names.first(), &found.value) {
            // An unknown key is in the file, too.
            found = map.get(&Key::from(*wanted)).unwrap_or(found);
        }
        let within = if within.is_empty() { file.to_owned() } else { within };
        let error = ProjectError::usage(format!("{within}: {message}")).at(&found.origin, text);
        match (message.starts_with("unknown"), names.split_first()) {
            (true, Some((wanted, known))) => error.suggest(wanted, known.iter().copied()),
            _ => error,
        }
    })
}

fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(Int::Small(number)) => Json::from(*number),
        Value::Int(Int::Big(digits)) => {
            digits.parse::<u64>().map_or_else(|_| Json::from(digits.as_str()), Json::from)
        }
        Value::Float(number) => Json::from(*number),
        Value::Str(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(map) => {
            let set = map.iter().filter(|(_, value)| value.value != Value::Null);
            set.map(|(key, value)| (python_str(&key.to_value()), json(value))).collect()
        }
    }
}

pub(crate) fn to_yaml(value: &impl Serialize) -> String {
    // Only maps with odd keys cannot be JSON; this crate writes none.
    let json = serde_json::to_value(value).unwrap_or_default();
    yaml::dump(&node(&json))
}

fn node(json: &Json) -> Node {
    Node::new(match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(small), _) => Value::Int(Int::Small(small)),
            (None, _) if number.is_u64() => Value::Int(Int::Big(number.to_string())),
            (None, float) => Value::Float(float.unwrap_or_default()),
        },
        Json::String(text) => Value::Str(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(node).collect()),
        Json::Object(map) => {
            Value::Map(map.iter().map(|(key, value)| (Key::from(key.as_str()), node(value))).collect::<Map>())
        }
    })
}
