//! A composition for programs.

use rooflens_compose::value::{Int, Node, Value};
use rooflens_compose::{ComposeError, Composition, Job, View};
use rooflens_core::config::origins;
use rooflens_core::document::{SchemaTag, schema};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::Shown;

/// A composition as a document.
#[derive(Serialize)]
pub struct Document {
    schema: SchemaTag,
    #[serde(flatten)]
    composed: Composed,
}

/// The jobs of a sweep as a document.
#[derive(Serialize)]
pub struct SweepDocument {
    schema: SchemaTag,
    jobs: Vec<SweepJob>,
}

/// A job of a sweep.
#[derive(Serialize)]
pub struct SweepJob {
    number: usize,
    overrides: Vec<String>,
    #[serde(flatten)]
    composed: Composed,
}

/// A composition.
#[derive(Serialize)]
pub struct Composed {
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
    Ok(Document { schema: schema("config"), composed: composed(composition, shown)? })
}

/// The document of a sweep.
pub fn sweep(jobs: Vec<SweepJob>) -> SweepDocument {
    SweepDocument { schema: schema("config-sweep"), jobs }
}

/// A job for the document of its sweep.
pub fn job(job: &Job, composition: &Composition, shown: &Shown) -> Result<SweepJob, ComposeError> {
    let composed = composed(composition, shown)?;
    Ok(SweepJob { number: job.number, overrides: job.overrides.clone(), composed })
}

fn composed(composition: &Composition, shown: &Shown) -> Result<Composed, ComposeError> {
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
    Ok(Composed {
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
