//! Values as JSON with their types: the form in which the views and the oracles compare them.

use rooflens_compose::value::{Key, Node, Value, float_repr};
use serde_json::{Value as Json, json};

pub fn typed(value: &Value) -> Json {
    match value {
        Value::Null => json!(["null"]),
        Value::Bool(flag) => json!(["bool", flag]),
        Value::Int(int) => json!(["int", int.to_string()]),
        Value::Float(float) => json!(["float", float_repr(*float)]),
        Value::Str(text) => json!(["str", text]),
        Value::List(items) => {
            json!(["list", items.iter().map(|item| typed(&item.value)).collect::<Vec<_>>()])
        }
        Value::Map(map) => {
            let pair = |(key, node): (&Key, &Node)| json!([typed(&key.to_value()), typed(&node.value)]);
            json!(["map", map.iter().map(pair).collect::<Vec<_>>()])
        }
    }
}
