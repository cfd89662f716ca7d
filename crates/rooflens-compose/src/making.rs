//! A composition in the making.

use crate::defaults::{self, Defaults};
use crate::error::{ComposeError, Fault};
use crate::hydra_tree::ROOT_CONFIG;
use crate::merge::{Merger, Sharing, apply_overrides, mounted};
use crate::overrides::{Override, OverrideValue, Sweep};
use crate::request::{AppliedOverrides, ComposeRequest, Mode};
use crate::resolve::{EvaluationSettings, Evaluator};
use crate::runtime;
use crate::sources::{ConfigSource, Repository};
use crate::value::{Key, Map, Node, Value, python_str};
use crate::warning::ComposeWarning;

/// A composition in the making.
pub(crate) struct Making<'a> {
    settings: &'a EvaluationSettings,
    repository: &'a Repository<'a>,
    request: &'a ComposeRequest,
    warnings: Vec<ComposeWarning>,
}

/// What a composition is made of.
pub(crate) struct Parts {
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
        let facts = runtime::Facts {
            settings: self.settings,
            config_name: name,
            overrides: &parsed,
            applied: &applied,
            choices: &defaults.choices,
            search_path: &self.repository.search_path(),
        };
        runtime::fill_in(&mut root, &facts)?;
        let Value::Map(root) = root.value else { return Err(no_hydra()) };
        self.warnings.extend(defaults.warnings.iter().cloned());
        Ok(Parts { root, defaults, overrides: applied, warnings: self.warnings })
    }

    fn check_main_folder(&self) -> Result<(), ComposeError> {
        let path = self.repository.search_path();
        match path.entries().iter().find(|entry| entry.provider == "main") {
            Some(entry) if !entry.source.is_available() => {
                Err(Fault::NoMainFolder { path: entry.source.path().into_owned() }.into())
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
            ComposeError::at(Fault::SearchPathKind { found }, &wanted.origin)
        };
        let Value::List(items) = &wanted.value else { return Err(wrong()) };
        let mut path = self.repository.search_path();
        for item in items {
            let text = item.as_str().ok_or_else(wrong)?;
            let source = ConfigSource::parse(text, &self.settings.host.working_folder).map_err(|scheme| {
                let fault = Fault::SourceScheme { path: text.to_owned(), scheme };
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
            let fault = Fault::PrimaryKind { name: name.to_owned() };
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
                Mode::Multirun if sweep.is_hydra() => Fault::SweepOfHydra { input },
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
        let mut config = mounted(became.as_ref().unwrap_or(&loaded.config), &entry.package)?;
        if !loaded.from_classes {
            self.check_shadow(path, &mut config, entry)?;
        }
        if !entry.primary && path != ROOT_CONFIG && config.as_map().is_some() {
            let evaluator = Evaluator::new(&config, None, self.settings);
            if config.get(&["hydra"]).is_some() && evaluator.value_at("hydra.searchpath")?.is_some() {
                let fault = Fault::SearchPathElsewhere { config: path.to_owned() };
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

    /// A config of the user that has the name of one of Hydra's classes is laid over it.
    fn check_shadow(
        &mut self,
        path: &str,
        config: &mut Node,
        entry: &defaults::DefaultEntry,
    ) -> Result<(), ComposeError> {
        let Some(class) = self.repository.load_class(path)? else { return Ok(()) };
        if path == ROOT_CONFIG {
            let problem = "Hydra's own root config cannot be replaced".to_owned();
            return Err(Fault::DefaultsItem { config: path.to_owned(), problem }.into());
        }
        self.warnings.push(ComposeWarning::ShadowsBuiltIn { config: path.to_owned() });
        let mut whole = mounted(&class.config, &entry.package)?;
        let mut merger = Merger::new(self.settings, Sharing::default());
        merger.schema.has_launcher = entry.package == "hydra.launcher";
        merger.schema.has_sweeper = entry.package == "hydra.sweeper";
        merger.merge_config(&mut whole, config, (path, &entry.package))?;
        *config = whole;
        Ok(())
    }
}

fn no_hydra() -> ComposeError {
    let (key, found) = ("hydra".to_owned(), "something else".to_owned());
    Fault::FieldKind { key, expected: "a mapping", found }.into()
}

/// The key of the `hydra` node.
pub(crate) fn hydra_key() -> Key {
    Key::from("hydra")
}
