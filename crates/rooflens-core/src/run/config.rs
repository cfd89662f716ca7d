//! The plan and the config that a run directory of `rooflens run` keeps.

use std::sync::Arc;

use rooflens_collect::RunSettings;
use rooflens_compose::value::{Key, Node, Value};
use rooflens_compose::yaml;
use rooflens_schema::RunDir;

use crate::config::folders::OWN_FOLDER;

/// The plan of a run: only runs that `rooflens run` made have one.
pub const PLAN: &str = "plan.json";

/// Whether a run was made by `rooflens run`: then it knows its model.
pub(crate) fn is_own(run: &RunDir) -> bool {
    run.root().join(PLAN).is_file()
}

pub(crate) fn settings(run: &RunDir) -> Option<RunSettings> {
    RunSettings::read(&config(run)?).ok()
}

pub(crate) fn config(run: &RunDir) -> Option<Node> {
    let path = run.root().join(OWN_FOLDER).join("config.yaml");
    yaml::load(&std::fs::read_to_string(&path).ok()?, Arc::from("config.yaml")).ok()
}

/// A switch in the config of a run; none where it has no such key.
pub(crate) fn flag(run: &RunDir, key: &str) -> Option<bool> {
    match at(&config(run)?, key)?.value {
        Value::Bool(is_on) => Some(is_on),
        _ => None,
    }
}

/// A word in the config of a run; none where it has no such key.
pub(crate) fn word(run: &RunDir, key: &str) -> Option<String> {
    match &at(&config(run)?, key)?.value {
        Value::Str(word) => Some(word.clone()),
        _ => None,
    }
}

pub(crate) fn at<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    key.split('.').try_fold(node, |node, part| match &node.value {
        Value::Map(map) => map.get(&Key::from(part)),
        _ => None,
    })
}
