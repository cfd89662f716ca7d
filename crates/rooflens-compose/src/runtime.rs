//! What the `hydra` node says about the composition itself.

use indexmap::IndexMap;

use crate::error::{ComposeError, Fault};
use crate::hydra_tree::{VERSION, VERSION_BASE};
use crate::overrides::Override;
use crate::request::AppliedOverrides;
use crate::resolve::{EvaluationSettings, Evaluator};
use crate::sources::{SearchPath, check_interpolations};
use crate::value::{Key, Map, Node, Value, python_repr};

/// What is known about a composition.
pub(crate) struct Facts<'a> {
    pub(crate) settings: &'a EvaluationSettings,
    pub(crate) config_name: Option<&'a str>,
    pub(crate) overrides: &'a [Override],
    pub(crate) applied: &'a AppliedOverrides,
    pub(crate) choices: &'a IndexMap<String, Option<String>>,
    pub(crate) search_path: &'a SearchPath,
}

/// Fills in the parts of the `hydra` node that only a composition knows.
pub(crate) fn fill_in(root: &mut Node, facts: &Facts<'_>) -> Result<(), ComposeError> {
    append(root, &["hydra", "overrides", "hydra"], &facts.applied.hydra)?;
    append(root, &["hydra", "overrides", "task"], &facts.applied.task)?;
    if let Some(Value::Map(choices)) =
        root.get_mut(&["hydra", "runtime", "choices"]).map(|node| &mut node.value)
    {
        for (key, choice) in facts.choices {
            let value = choice.as_ref().map_or(Value::Null, |name| Value::Str(name.clone()));
            choices.insert(Key::Str(key.clone()), Node::new(value));
        }
    }
    copy_environment(root, facts.settings)?;
    set_text(root, &["hydra", "runtime", "version"], VERSION);
    set_text(root, &["hydra", "runtime", "version_base"], VERSION_BASE);
    let folder = facts.settings.host.working_folder.to_string_lossy();
    set_text(root, &["hydra", "runtime", "cwd"], &folder);
    set(root, &["hydra", "runtime", "config_sources"], sources(facts.search_path));
    if root.get(&["hydra", "job", "name"]).is_none_or(Node::is_missing) {
        set_text(root, &["hydra", "job", "name"], &facts.settings.host.job_name);
    }
    let directory = override_directory(root, facts)?;
    set(root, &["hydra", "job", "override_dirname"], Value::Str(directory));
    if let Some(node) = root.get(&["hydra", "job", "override_dirname"]) {
        check_interpolations(node)?;
    }
    let name = facts.config_name.map_or(Value::Null, |name| Value::Str(name.to_owned()));
    set(root, &["hydra", "job", "config_name"], name);
    Ok(())
}

fn append(root: &mut Node, path: &[&str], lines: &[String]) -> Result<(), ComposeError> {
    let Some(Value::List(items)) = root.get_mut(path).map(|node| &mut node.value) else {
        let key = path.join(".");
        let found = "something else".to_owned();
        return Err(Fault::FieldKind { key, expected: "a list of strings", found }.into());
    };
    for line in lines {
        let node = Node::new(Value::Str(line.clone()));
        // OmegaConf reads these lines as values, so what is no interpolation is an error here.
        check_interpolations(&node)?;
        items.push(node);
    }
    Ok(())
}

/// `hydra.job.env_copy` names variables that `hydra.job.env_set` then holds.
fn copy_environment(root: &mut Node, settings: &EvaluationSettings) -> Result<(), ComposeError> {
    let wanted = Evaluator::new(root, None, settings).resolve_at("hydra.job.env_copy")?;
    for node in environment_names(wanted)? {
        let name = node.as_str().unwrap_or("").to_owned();
        let Some(value) = (settings.host.environment)(&name) else {
            return Err(ComposeError::at(Fault::NoVariable { name }, &node.origin));
        };
        if let Some(map) = root.get_mut(&["hydra", "job", "env_set"]).and_then(Node::as_map_mut) {
            map.insert(Key::Str(name), Node::new(Value::Str(value)));
        }
    }
    Ok(())
}

/// What a loop over the value would give in Python: an interpolation may lead anywhere.
fn environment_names(wanted: Option<Node>) -> Result<Vec<Node>, ComposeError> {
    let (value, origin) = wanted.map_or((Value::Null, None), |node| (node.value, Some(node.origin)));
    let texts = |texts: Vec<Value>| Ok(texts.into_iter().map(Node::new).collect());
    match value {
        Value::List(names) => Ok(names),
        Value::Map(map) => texts(map.keys().map(Key::to_value).collect()),
        Value::Str(text) => texts(text.chars().map(|char| Value::Str(char.into())).collect()),
        other => {
            let (key, found) = ("hydra.job.env_copy".to_owned(), python_repr(&other));
            let fault = Fault::FieldKind { key, expected: "a list of strings", found };
            Err(origin.map_or_else(
                || ComposeError::from(fault.clone()),
                |origin| ComposeError::at(fault.clone(), &origin),
            ))
        }
    }
}

fn sources(path: &SearchPath) -> Value {
    let describe = |(name, text): (&str, &str)| (Key::from(name), Node::new(Value::Str(text.to_owned())));
    let entries = path.entries().iter().map(|entry| {
        let fields: Map = [
            ("path", &*entry.source.path()),
            ("schema", entry.source.scheme()),
            ("provider", &entry.provider),
        ]
        .into_iter()
        .map(describe)
        .collect();
        Node::new(Value::Map(fields))
    });
    Value::List(entries.collect())
}

/// The overrides of the job in one line, sorted, for the name of a folder.
fn override_directory(root: &Node, facts: &Facts<'_>) -> Result<String, ComposeError> {
    let evaluator = Evaluator::new(root, None, facts.settings);
    let setting = |name: &str| evaluator.resolve_at(&format!("hydra.job.config.override_dirname.{name}"));
    let text = |name: &str, usual: &str| -> Result<String, ComposeError> {
        let node = setting(name)?;
        Ok(node.as_ref().and_then(Node::as_str).unwrap_or(usual).to_owned())
    };
    let (between, joint) = (text("item_sep", ",")?, text("kv_sep", "=")?);
    let excluded: Vec<String> = match setting("exclude_keys")? {
        Some(Node { value: Value::List(items), .. }) => {
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    let mut lines: Vec<&str> = facts
        .overrides
        .iter()
        .filter(|it| !it.is_hydra() && !excluded.contains(&it.key))
        .map(|it| it.text.as_str())
        .collect();
    lines.sort_unstable();
    Ok(lines.join(&between).replace('=', &joint))
}

fn set_text(root: &mut Node, path: &[&str], text: &str) {
    set(root, path, Value::Str(text.to_owned()));
}

pub(crate) fn set(root: &mut Node, path: &[&str], value: Value) {
    if let Some((last, above)) = path.split_last()
        && let Some(map) = root.get_mut(above).and_then(Node::as_map_mut)
    {
        map.insert(Key::from(*last), Node::new(value));
    }
}
