//! A composition in the making, and what its `hydra` node says about it.

use crate::compose::ComposeWarning;
use crate::compose::{AppliedOverrides, ComposeRequest, Mode};
use indexmap::IndexMap;

use crate::defaults::{self, Defaults};
use crate::error::{ComposeError, Fault};
use crate::hydra_tree::{ROOT_CONFIG, VERSION, VERSION_BASE};
use crate::merge::{Merger, Sharing, apply_overrides, mounted};
use crate::overrides::{Override, OverrideValue, Sweep};
use crate::resolve::{EvaluationSettings, Evaluator};
use crate::sources::{ConfigSource, Repository, SearchPath, check_interpolations};
use crate::value::{Key, Map, Node, Value, python_repr, python_str};

pub(crate) struct Making<'a> {
    settings: &'a EvaluationSettings,
    repository: &'a Repository<'a>,
    request: &'a ComposeRequest,
    warnings: Vec<ComposeWarning>,
}

pub struct Parts {
    pub(crate) root: Map,
    pub(crate) defaults: Defaults,
    pub(crate) overrides: AppliedOverrides,
    pub(crate) warnings: Vec<ComposeWarning>,
}

impl<'a> Making<'a> {
    pub(crate) fn new(
        settings: &'a EvaluationSettings,
        repository: &'a Repository<'a>,
        request: &'a ComposeRequest,
    ) -> Self {
        Self { settings, repository, request, warnings: Vec::new() }
    }

    /// Goes the whole way: search path, defaults list, merging, command line.
    pub(crate) fn compose(mut self) -> Result<Parts, ComposeError> {
        self.check_main_folder()?;
        let parsed: Vec<Override> =
            self.request.overrides.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        self.extend_search_path(&parsed)?;
        self.check_sweeps(&parsed)?;
        let skip_missing = self.request.mode == Mode::Multirun;
        let name = self.request.config_name.as_deref();
        let defaults = defaults::expand(self.repository, self.settings, name, &parsed, skip_missing)?;
        let mut root = Node::new(Value::Map(Map::new()));
        let mounts = defaults.entries.iter().map(|it| (it.config_path.as_str(), it.package.as_str()));
        let mut merger = Merger::new(self.settings, Sharing::new(mounts));
        for entry in &defaults.entries {
            self.merge_entry(&mut merger, &mut root, entry)?;
        }
        if root.get(&["hydra"]).is_none_or(|node| node.as_map().is_none()) {
            return Err(no_hydra());
        }
        let groups: Vec<String> = defaults.choices.keys().cloned().collect();
        apply_overrides(&mut merger, &mut root, &defaults.config_overrides, &groups)?;
        let applied = AppliedOverrides::of(&parsed);
        let facts = Facts {
            settings: self.settings,
            config_name: name,
            overrides: &parsed,
            applied: &applied,
            choices: &defaults.choices,
            search_path: &self.repository.search_path(),
        };
        fill_in(&mut root, &facts)?;
        let Value::Map(root) = root.value else { return Err(no_hydra()) };
        self.warnings.extend(defaults.warnings.iter().cloned());
        Ok(Parts { root, defaults, overrides: applied, warnings: self.warnings })
    }

    fn check_main_folder(&self) -> Result<(), ComposeError> {
        let path = self.repository.search_path();
        match path.entries().iter().find(|entry| entry.provider == "main") {
            Some(entry) if !entry.source.is_available() => Err(Fault::Other(format!(
                "the config folder '{}' does not exist or cannot be read",
                entry.source.path()
            ))
            .into()),
            _ => Ok(()),
        }
    }

    /// Adds what `hydra.searchpath` names. Only the primary config and the command line are asked.
    fn extend_search_path(&mut self, parsed: &[Override]) -> Result<(), ComposeError> {
        let mut wanted = self.primary_search_path()?;
        let mut provider = "hydra.searchpath in main";
        if let Some(given) = parsed.iter().find(|it| it.key_text() == "hydra.searchpath") {
            // A sweep is no list either.
            let given = given.node().unwrap_or(Node::new(Value::Bool(false)));
            if given.value != Value::Null {
                wanted = Some(given);
                provider = "hydra.searchpath in command-line";
            }
        }
        let Some(wanted) = wanted else { return Ok(()) };
        let wrong = || {
            let found = python_str(&wanted.value);
            ComposeError::at(
                Fault::Other(format!("hydra.searchpath must be a list of strings, but is {found}")),
                &wanted.origin,
            )
        };
        let Value::List(items) = &wanted.value else { return Err(wrong()) };
        let mut path = self.repository.search_path();
        for item in items {
            let text = item.as_str().ok_or_else(wrong)?;
            let source = ConfigSource::parse(text, &self.settings.host.working_folder).map_err(|scheme| {
                let message = format!("'{text}': only folders can be searched, '{scheme}://' cannot");
                let fault = Fault::Other(message);
                ComposeError::at(fault, &item.origin)
            })?;
            path = path.with(provider, source);
        }
        for entry in path.entries().iter().filter(|entry| !entry.source.is_available()) {
            self.warnings.push(ComposeWarning::SourceUnavailable {
                provider: entry.provider.clone(),
                path: entry.source.path().into_owned(),
            });
        }
        self.repository.search(path);
        Ok(())
    }

    fn primary_search_path(&self) -> Result<Option<Node>, ComposeError> {
        let Some(name) = self.request.config_name.as_deref() else { return Ok(None) };
        let Some(primary) = self.repository.load(name)? else { return Ok(None) };
        if primary.config.as_map().is_none() {
            let fault = Fault::Other(format!("the primary config '{name}' must be a mapping, but is a list"));
            return Err(ComposeError::at(fault, &primary.config.origin));
        }
        let evaluator = Evaluator::new(&primary.config, None, self.settings);
        let found = evaluator.resolve_at("hydra.searchpath")?;
        Ok(found.filter(|node| node.value != Value::Null))
    }

    fn check_sweeps(&self, parsed: &[Override]) -> Result<(), ComposeError> {
        for sweep in parsed.iter().filter(|it| it.is_sweep()) {
            let input = sweep.text.clone();
            let simple =
                matches!(sweep.value, Some(OverrideValue::Sweep(Sweep::Choice { simple: true, .. })));
            let fault = match self.request.mode {
                Mode::Run => Fault::SweepInRun { input, simple },
                Mode::Multirun if sweep.is_hydra() => {
                    Fault::Other(format!("'{input}': the hydra node cannot be swept over"))
                }
                Mode::Multirun => continue,
            };
            return Err(ComposeError::at(fault, &sweep.origin()));
        }
        Ok(())
    }

    fn merge_entry(
        &mut self,
        merger: &mut Merger<'_>,
        root: &mut Node,
        entry: &defaults::DefaultEntry,
    ) -> Result<(), ComposeError> {
        let path = entry.config_path.as_str();
        let Some(loaded) = self.repository.load(path)? else { return Ok(()) };
        let became = merger.sharing.as_it_became(path, &loaded.config, root);
        let config = mounted(became.as_ref().unwrap_or(&loaded.config), &entry.package)?;
        if path == ROOT_CONFIG && !loaded.from_classes {
            return Err(Fault::Other("Hydra's own root config cannot be replaced".to_owned()).into());
        }
        if !entry.primary && path != ROOT_CONFIG && config.as_map().is_some() {
            let evaluator = Evaluator::new(&config, None, self.settings);
            if config.get(&["hydra"]).is_some() && evaluator.value_at("hydra.searchpath")?.is_some() {
                let message = format!("in '{path}': only the primary config may set hydra.searchpath");
                let fault = Fault::Other(message);
                return Err(ComposeError::at(fault, &loaded.config.origin));
            }
        }
        let merged = merger.merge_config(root, &config, (path, &entry.package));
        if loaded.from_classes && entry.package == "hydra.launcher" {
            merger.schema.has_launcher = true;
        }
        if loaded.from_classes && entry.package == "hydra.sweeper" {
            merger.schema.has_sweeper = true;
        }
        merged.map_err(|mut error| {
            if let Fault::MergeKinds { config, .. } = &mut *error.fault {
                *config = Some(path.to_owned());
            }
            error
        })
    }
}

fn no_hydra() -> ComposeError {
    let (key, found) = ("hydra".to_owned(), "something else".to_owned());
    Fault::FieldKind { key, expected: "a mapping", found }.into()
}

pub(crate) fn hydra_key() -> Key {
    Key::from("hydra")
}

struct Facts<'a> {
    settings: &'a EvaluationSettings,
    config_name: Option<&'a str>,
    overrides: &'a [Override],
    applied: &'a AppliedOverrides,
    choices: &'a IndexMap<String, Option<String>>,
    search_path: &'a SearchPath,
}

/// Fills in the parts of the `hydra` node that only a composition knows.
fn fill_in(root: &mut Node, facts: &Facts<'_>) -> Result<(), ComposeError> {
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
            let message = format!("hydra.job.env_copy: the environment variable '{name}' is not set");
            return Err(ComposeError::at(Fault::Other(message), &node.origin));
        };
        if let Some(map) = root.get_mut(&["hydra", "job", "env_set"]).and_then(Node::as_map_mut) {
            map.insert(Key::Str(name), Node::new(Value::Str(value)));
        }
    }
    Ok(())
}

fn environment_names(wanted: Option<Node>) -> Result<Vec<Node>, ComposeError> {
    match wanted {
        Some(Node { value: Value::List(names), .. }) => Ok(names),
        other => {
            let node = other.unwrap_or(Node::new(Value::Null));
            let (key, found) = ("hydra.job.env_copy".to_owned(), python_repr(&node.value));
            let fault = Fault::FieldKind { key, expected: "a list of strings", found };
            Err(ComposeError::at(fault, &node.origin))
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

pub fn set(root: &mut Node, path: &[&str], value: Value) {
    if let Some((last, above)) = path.split_last()
        && let Some(map) = root.get_mut(above).and_then(Node::as_map_mut)
    {
        map.insert(Key::from(*last), Node::new(value));
    }
}
