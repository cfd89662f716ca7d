//! A composition for programs.

use rooflens_compose::value::{Int, Node, Value};
use rooflens_compose::{ComposeError, Composition, View};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{Shown, origins};
use crate::document::{SchemaTag, schema};

/// A composition.
#[derive(Serialize)]
pub struct Document {
    schema: SchemaTag,
    /// The config, or the part that was asked for.
    config: Json,
    /// What was chosen of each group; null for nothing.
    choices: Map<String, Json>,
    /// The configs that were merged, in order.
    defaults: Vec<Entry>,
    /// Where each value comes from, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    origins: Option<Map<String, Json>>,
    /// What was odd.
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Entry {
    config: String,
    package: String,
    is_self: bool,
    parent: String,
}

/// The document of a composition.
pub fn document(composition: &Composition, shown: &Shown) -> Result<Document, ComposeError> {
    let (view, resolve) = match shown {
        Shown::Config { view, resolve, .. } | Shown::Origins { view, resolve } => (*view, *resolve),
        _ => (View::Job, false),
    };
    let node = if resolve { composition.resolved_view(view)? } else { composition.view(view) };
    let asked = match shown {
        Shown::Config { package: Some(package), .. } => composition.value_at(package)?,
        _ => None,
    };
    let place = |leaf: origins::Leaf<'_>| (leaf.path, Json::String(origins::place(&leaf.node.origin)));
    Ok(Document {
        schema: schema("config"),
        config: value(asked.as_ref().unwrap_or(&node)),
        choices: composition
            .choices
            .iter()
            .map(|(group, option)| (group.clone(), option.clone().map_or(Json::Null, Json::String)))
            .collect(),
        defaults: composition
            .defaults
            .iter()
            .map(|entry| Entry {
                config: entry.config_path.clone(),
                package: entry.package.clone(),
                is_self: entry.is_self,
                parent: entry.parent.clone(),
            })
            .collect(),
        origins: matches!(shown, Shown::Origins { .. })
            .then(|| origins::leaves(&node).into_iter().map(place).collect()),
        warnings: composition.warnings.iter().map(ToString::to_string).collect(),
    })
}

fn value(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(Int::Small(number)) => (*number).into(),
        // Beyond what JSON's readers keep: digits as text.
        Value::Int(Int::Big(digits)) => Json::String(digits.clone()),
        // Infinities have no number in JSON.
        Value::Float(number) => serde_json::Number::from_f64(*number)
            .map_or_else(|| Json::String(rooflens_compose::value::float_repr(*number)), Json::Number),
        Value::Str(text) => Json::String(text.clone()),
        Value::Bytes(bytes) => Json::String(String::from_utf8_lossy(bytes).into_owned()),
        Value::List(list) => Json::Array(list.iter().map(value).collect()),
        Value::Map(map) => {
            let entry = |(key, node)| {
                (
                    rooflens_compose::value::python_str(&rooflens_compose::value::Key::to_value(key)),
                    value(node),
                )
            };
            Json::Object(map.iter().map(entry).collect())
        }
    }
}
