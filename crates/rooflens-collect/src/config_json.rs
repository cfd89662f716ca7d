//! A resolved config as JSON, for the process that reads it.

use rooflens_compose::value::{Int, Node, Value, python_str};
use serde_json::{Map, Number, Value as Json};

use crate::error::PlanError;

/// The same values in the same order. What JSON cannot hold is an error: a workload must not see
/// another config than the one that is saved.
pub(crate) fn json(node: &Node, path: &str) -> Result<Json, PlanError> {
    let refused = |why| PlanError::of_key(path, format!("cannot be passed on: {why}")).at(&node.origin);
    Ok(match &node.value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(Int::Small(small)) => Json::Number((*small).into()),
        Value::Int(Int::Big(_)) => return Err(refused("a number of more than 64 bits")),
        Value::Float(float) => {
            Json::Number(Number::from_f64(*float).ok_or_else(|| refused("JSON has no such number"))?)
        }
        Value::Str(text) => Json::String(text.clone()),
        Value::List(items) => {
            let items = items.iter().enumerate().map(|(index, item)| json(item, &format!("{path}[{index}]")));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Map(map) => {
            let mut object = Map::new();
            for (key, item) in map {
                let key = python_str(&key.to_value());
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                object.insert(key, json(item, &path)?);
            }
            Json::Object(object)
        }
    })
}
