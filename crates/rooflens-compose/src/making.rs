//! A composition in the making, and what its `hydra` node says about it.

use crate::request::{AppliedOverrides, ComposeRequest, ComposeWarning, Mode};
use indexmap::IndexMap;

use crate::defaults::{self, Defaults};
use crate::error::{ComposeError, check_interpolations};
use crate::hydra_tree::{ROOT_CONFIG, VERSION, VERSION_BASE};
use crate::merge::{Merger, Sharing, apply_overrides, mounted};
use crate::overrides::{Override, OverrideValue, Sweep};
use crate::resolve::{EvaluationSettings, Evaluator};
use crate::sources::{ConfigSource, Repository, SearchPath};
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
        self.fill_in(&mut root, &parsed, &applied, &defaults.choices)?;
        let Value::Map(root) = root.value else { return Err(no_hydra()) };
        self.warnings.extend(defaults.warnings.iter().cloned());
        Ok(Parts { root, defaults, overrides: applied, warnings: self.warnings })
    }

    fn check_main_folder(&self) -> Result<(), ComposeError> {
        let path = self.repository.search_path();
        match path.entries().iter().find(|entry| entry.provider == "main") {
            Some(entry) if !entry.source.is_available() => {
                let folder = entry.source.path();
                Err(ComposeError::new(format!(
                    "the config folder '{folder}' does not exist or cannot be read"
                )))
            }
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
                format!("hydra.searchpath must be a list of strings, but is {found}"),
                &wanted.origin,
            )
        };
        let Value::List(items) = &wanted.value else { return Err(wrong()) };
        let mut path = self.repository.search_path();
        for item in items {
            let text = item.as_str().ok_or_else(wrong)?;
            let source = ConfigSource::parse(text, &self.settings.host.working_folder).map_err(|scheme| {
                let message = format!("'{text}': only folders can be searched, '{scheme}://' cannot");
                ComposeError::at(message, &item.origin)
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
            let fault = format!("the primary config '{name}' must be a mapping, but is a list");
            return Err(ComposeError::at(fault, &primary.config.origin));
        }
        let evaluator = Evaluator::new(&primary.config, None, self.settings);
        let found = evaluator.resolve_at("hydra.searchpath")?;
        Ok(found.filter(|node| node.value != Value::Null))
    }

    fn check_sweeps(&self, parsed: &[Override]) -> Result<(), ComposeError> {
        for sweep in parsed.iter().filter(|it| it.is_sweep()) {
            let input = &sweep.text;
            let error = match self.request.mode {
                Mode::Run => {
                    let is_simple =
                        matches!(sweep.value, Some(OverrideValue::Sweep(Sweep::Choice { simple: true, .. })));
                    ComposeError::new(format!("'{input}' has several values")).with_hint(match is_simple {
                        true => {
                            "for a list write key=[a,b]; for a string quote it: key='a,b'; to run all of them add \
                             --multirun"
                        }
                        false => "to run all of them add --multirun",
                    })
                }
                Mode::Multirun if sweep.is_hydra() => {
                    ComposeError::new(format!("'{input}': the hydra node cannot be swept over"))
                }
                Mode::Multirun => continue,
            };
            return Err(error.placed(&sweep.origin()));
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
            return Err(ComposeError::new("Hydra's own root config cannot be replaced"));
        }
        if !entry.primary && path != ROOT_CONFIG && config.as_map().is_some() {
            let evaluator = Evaluator::new(&config, None, self.settings);
            if config.get(&["hydra"]).is_some() && evaluator.value_at("hydra.searchpath")?.is_some() {
                let message = format!("in '{path}': only the primary config may set hydra.searchpath");
                return Err(ComposeError::at(message, &loaded.config.origin));
            }
        }
        let merged = merger.merge_config(root, &config, (path, &entry.package));
        if loaded.from_classes && entry.package == "hydra.launcher" {
            merger.schema.has_launcher = true;
        }
        if loaded.from_classes && entry.package == "hydra.sweeper" {
            merger.schema.has_sweeper = true;
        }
        merged
    }
}

fn no_hydra() -> ComposeError {
    ComposeError::of_key("hydra", "a mapping", "something else")
}

pub(crate) fn hydra_key() -> Key {
    Key::from("hydra")
}

impl Making<'_> {
    fn fill_in(
        &self,
        root: &mut Node,
        parsed: &[Override],
        applied: &AppliedOverrides,
        choices: &IndexMap<String, Option<String>>,
    ) -> Result<(), ComposeError> {
        append(root, &["hydra", "overrides", "hydra"], &applied.hydra)?;
        append(root, &["hydra", "overrides", "task"], &applied.task)?;
        let text_or_null = |text: Option<&str>| text.map_or(Value::Null, |text| Value::Str(text.to_owned()));
        if let Some(map) = root.get_mut(&["hydra", "runtime", "choices"]).and_then(Node::as_map_mut) {
            let chosen = choices.iter();
            map.extend(
                chosen.map(|(key, name)| (Key::Str(key.clone()), Node::new(text_or_null(name.as_deref())))),
            );
        }
        copy_environment(root, self.settings)?;
        set_text(root, &["hydra", "runtime", "version"], VERSION);
        set_text(root, &["hydra", "runtime", "version_base"], VERSION_BASE);
        let folder = self.settings.host.working_folder.to_string_lossy();
        set_text(root, &["hydra", "runtime", "cwd"], &folder);
        set(root, &["hydra", "runtime", "config_sources"], sources(&self.repository.search_path()));
        if root.get(&["hydra", "job", "name"]).is_none_or(Node::is_missing) {
            set_text(root, &["hydra", "job", "name"], &self.settings.host.job_name);
        }
        let directory = override_directory(root, parsed, self.settings)?;
        set(root, &["hydra", "job", "override_dirname"], Value::Str(directory));
        if let Some(node) = root.get(&["hydra", "job", "override_dirname"]) {
            check_interpolations(node)?;
        }
        let name = text_or_null(self.request.config_name.as_deref());
        set(root, &["hydra", "job", "config_name"], name);
        Ok(())
    }
}

fn append(root: &mut Node, path: &[&str], lines: &[String]) -> Result<(), ComposeError> {
    let Some(Value::List(items)) = root.get_mut(path).map(|node| &mut node.value) else {
        return Err(ComposeError::of_key(&path.join("."), "a list of strings", "something else"));
    };
    for line in lines {
        let node = Node::new(Value::Str(line.clone()));
        // OmegaConf reads these lines as values, so what is no interpolation is an error here.
        check_interpolations(&node)?;
        items.push(node);
    }
    Ok(())
}

fn copy_environment(root: &mut Node, settings: &EvaluationSettings) -> Result<(), ComposeError> {
    let wanted = Evaluator::new(root, None, settings).resolve_at("hydra.job.env_copy")?;
    for node in environment_names(wanted)? {
        let name = node.as_str().unwrap_or("").to_owned();
        let Some(value) = (settings.host.environment)(&name) else {
            let message = format!("hydra.job.env_copy: the environment variable '{name}' is not set");
            return Err(ComposeError::at(message, &node.origin));
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
            let found = python_repr(&node.value);
            let error = ComposeError::of_key("hydra.job.env_copy", "a list of strings", &found);
            Err(error.placed(&node.origin))
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

fn override_directory(
    root: &Node,
    overrides: &[Override],
    settings: &EvaluationSettings,
) -> Result<String, ComposeError> {
    let evaluator = Evaluator::new(root, None, settings);
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
    let mut lines: Vec<&str> = overrides
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
