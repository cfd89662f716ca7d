//! What `rooflens config` prints as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use rooflens_collect::project::migrate::Renamed;
use rooflens_compose::value::{Int, Key, Node, Value, float_repr, python_str};
use rooflens_compose::{ComposeError, Composition, CompositionView, Job};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::folders::Prepared;
use super::origins;
use crate::document::SchemaTag;

/// A composed config.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigDocument {
    /// `rooflens.config`.
    pub(crate) schema: SchemaTag,
    /// The config, and how it was composed.
    #[serde(flatten)]
    pub(crate) composed: ComposedConfig,
}

/// The configs of a sweep's jobs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigSweepDocument {
    /// `rooflens.config-sweep`.
    pub(crate) schema: SchemaTag,
    /// The jobs, in order.
    pub(crate) jobs: Vec<ComposedJob>,
}

/// A job of a sweep.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ComposedJob {
    /// Its number.
    pub(crate) number: usize,
    /// Its overrides.
    pub(crate) overrides: Vec<String>,
    /// The config, and how it was composed.
    #[serde(flatten)]
    pub(crate) composed: ComposedConfig,
}

/// A config, and how it was composed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ComposedConfig {
    /// The config, or the requested part. Whole numbers beyond 64 bits and infinities are text.
    pub(crate) config: Json,
    /// The option that was chosen of each group; null for none.
    #[schemars(with = "BTreeMap<String, Option<String>>")]
    pub(crate) choices: Map<String, Json>,
    /// The configs that were merged, in order.
    pub(crate) defaults: Vec<MergedConfig>,
    /// Where each value comes from, by its path; left out where that was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) origins: Option<Map<String, Json>>,
    /// What was odd.
    pub(crate) warnings: Vec<String>,
}

/// An entry of the defaults list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MergedConfig {
    /// The config, as `model/llama`.
    pub(crate) config: String,
    /// The place in the whole config that it was merged into.
    pub(crate) package: String,
    /// Whether it is a config's own content among its defaults.
    pub(crate) is_self: bool,
    /// The config that lists it.
    pub(crate) parent: String,
}

/// The folders of jobs that were made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigWrittenDocument {
    /// `rooflens.config-written`.
    pub(crate) schema: SchemaTag,
    /// The jobs, in order.
    pub(crate) jobs: Vec<Prepared>,
}

impl ConfigWrittenDocument {
    /// Of these jobs.
    pub fn new(jobs: Vec<Prepared>) -> Self {
        ConfigWrittenDocument { schema: SchemaTag::new("config-written"), jobs }
    }
}

/// The groups of configs, with their options.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigGroupsDocument<'a> {
    /// `rooflens.config-groups`.
    pub(crate) schema: SchemaTag,
    /// The groups, by name.
    pub(crate) groups: Cow<'a, [ConfigGroup]>,
}

impl<'a> ConfigGroupsDocument<'a> {
    /// Of these groups.
    pub fn new(groups: &'a [ConfigGroup]) -> Self {
        ConfigGroupsDocument { schema: SchemaTag::new("config-groups"), groups: groups.into() }
    }
}

/// A group of configs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigGroup {
    /// Its name.
    pub name: String,
    /// Its options.
    pub options: Vec<String>,
}

/// A tree of configs whose old names were replaced.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMigratedDocument<'a> {
    /// `rooflens.config-migrated`.
    pub(crate) schema: SchemaTag,
    /// Old names, with their places.
    pub(crate) renamed: Cow<'a, [Renamed]>,
    /// What could not be translated.
    pub(crate) problems: Cow<'a, [Renamed]>,
    /// Files that were written.
    pub(crate) written: Vec<String>,
    /// Where the files are that were there before; null where nothing was overwritten.
    pub(crate) kept: Option<PathBuf>,
}

impl<'a> ConfigMigratedDocument<'a> {
    /// Of what was replaced, and what was written.
    pub fn new(
        renamed: &'a [Renamed],
        problems: &'a [Renamed],
        written: Vec<String>,
        kept: Option<PathBuf>,
    ) -> Self {
        let schema = SchemaTag::new("config-migrated");
        ConfigMigratedDocument { schema, renamed: renamed.into(), problems: problems.into(), written, kept }
    }
}

/// What of a composition a document holds.
#[derive(Debug, Clone, Copy)]
pub struct ComposedPart<'a> {
    /// Which part of the whole.
    pub view: CompositionView,
    /// Only what is at this path.
    pub package: Option<&'a str>,
    /// Whether interpolations are replaced.
    pub resolve: bool,
    /// Whether it tells where each value comes from.
    pub with_origins: bool,
}

impl ConfigDocument {
    /// Of a composition.
    pub fn new(composition: &Composition, part: ComposedPart<'_>) -> Result<Self, ComposeError> {
        let composed = ComposedConfig::new(composition, part)?;
        Ok(ConfigDocument { schema: SchemaTag::new("config"), composed })
    }
}

impl ConfigSweepDocument {
    /// Of these jobs.
    pub fn new(jobs: Vec<ComposedJob>) -> Self {
        ConfigSweepDocument { schema: SchemaTag::new("config-sweep"), jobs }
    }
}

impl ComposedJob {
    /// Of a job and its composition.
    pub fn new(job: &Job, composition: &Composition, part: ComposedPart<'_>) -> Result<Self, ComposeError> {
        let composed = ComposedConfig::new(composition, part)?;
        Ok(ComposedJob { number: job.number, overrides: job.overrides.clone(), composed })
    }
}

impl ComposedConfig {
    fn new(composition: &Composition, part: ComposedPart<'_>) -> Result<Self, ComposeError> {
        let node = match part.resolve {
            true => composition.resolved_view(part.view)?,
            false => composition.view(part.view),
        };
        let asked = match part.package {
            Some(package) => composition.value_at(package)?,
            None => None,
        };
        let place = |leaf: origins::Leaf<'_>| (leaf.path, Json::String(origins::place(&leaf.node.origin)));
        Ok(ComposedConfig {
            config: value(asked.as_ref().unwrap_or(&node)),
            choices: composition
                .choices
                .iter()
                .map(|(group, option)| (group.clone(), option.clone().map_or(Json::Null, Json::String)))
                .collect(),
            defaults: composition
                .defaults
                .iter()
                .map(|entry| MergedConfig {
                    config: entry.config_path.clone(),
                    package: entry.package.clone(),
                    is_self: entry.is_self,
                    parent: entry.parent.clone(),
                })
                .collect(),
            origins: part.with_origins.then(|| origins::leaves(&node).into_iter().map(place).collect()),
            warnings: composition.warnings.iter().map(ToString::to_string).collect(),
        })
    }
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
            .map_or_else(|| Json::String(float_repr(*number)), Json::Number),
        Value::Str(text) => Json::String(text.clone()),
        Value::List(list) => Json::Array(list.iter().map(value).collect()),
        Value::Map(map) => {
            let entry = |(key, node)| (python_str(&Key::to_value(key)), value(node));
            Json::Object(map.iter().map(entry).collect())
        }
    }
}
