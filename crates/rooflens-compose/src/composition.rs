//! A composed config, and the ways to look at it.

use indexmap::IndexMap;

use crate::defaults::{DefaultEntry, DefaultsTree};
use crate::error::{ComposeError, Fault};
use crate::making::{Parts, hydra_key};
use crate::request::AppliedOverrides;
use crate::resolve::{EvaluationSettings, Evaluator, Found, ResolveError};
use crate::sources::{SearchPath, Texts};
use crate::value::{Key, Map, Node, Value, python_str};
use crate::warning::ComposeWarning;
use crate::yaml;

/// Which part of a composition is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompositionView {
    /// The config of the job.
    #[default]
    Job,
    /// The `hydra` node, without its help texts.
    Hydra,
    /// Everything.
    All,
}

/// A composed config. Its interpolations are still to be resolved.
#[derive(Debug, Clone)]
pub struct Composition {
    /// The config of the job.
    pub config: Node,
    /// The `hydra` node.
    pub hydra: Node,
    /// The configs it was made of, in the order of merging, Hydra's own first.
    pub defaults: Vec<DefaultEntry>,
    /// How the defaults lists named them.
    pub tree: DefaultsTree,
    /// What was chosen for each group, by the key that overrides it. Null is none.
    pub choices: IndexMap<String, Option<String>>,
    /// The overrides, as they were typed.
    pub overrides: AppliedOverrides,
    /// What was odd.
    pub warnings: Vec<ComposeWarning>,
    /// Where configs were looked for.
    pub search_path: SearchPath,
    pub(crate) settings: EvaluationSettings,
    texts: Texts,
}

impl Composition {
    pub(crate) fn new(
        parts: Parts,
        search_path: SearchPath,
        texts: Texts,
        settings: EvaluationSettings,
    ) -> Self {
        let Parts { mut root, defaults, overrides, warnings } = parts;
        let hydra = root.shift_remove(&hydra_key());
        Self {
            config: Node::new(Value::Map(root)),
            hydra: hydra.unwrap_or(Node::new(Value::Null)),
            defaults: defaults.entries,
            tree: defaults.tree,
            choices: defaults.choices,
            overrides,
            warnings,
            search_path,
            settings,
            texts,
        }
    }

    /// The config of the job as YAML, as `--cfg job` prints it and `.hydra/config.yaml` holds it.
    #[must_use]
    pub fn job_yaml(&self) -> String {
        yaml::dump(&self.config)
    }

    /// A part of the composition as one config.
    #[must_use]
    pub fn view(&self, view: CompositionView) -> Node {
        let mut map = Map::new();
        if view != CompositionView::Job {
            let mut hydra = self.hydra.clone();
            if view == CompositionView::Hydra
                && let Some(fields) = hydra.as_map_mut()
            {
                fields.shift_remove(&Key::from("help"));
                fields.shift_remove(&Key::from("hydra_help"));
            }
            map.insert(hydra_key(), hydra);
        }
        if view != CompositionView::Hydra
            && let Some(config) = self.config.as_map()
        {
            map.extend(config.iter().map(|(key, node)| (key.clone(), node.clone())));
        }
        Node::new(Value::Map(map))
    }

    /// The `hydra` node as a config of its own, help texts and all.
    pub(crate) fn hydra_node(&self) -> Node {
        let mut map = Map::new();
        map.insert(hydra_key(), self.hydra.clone());
        Node::new(Value::Map(map))
    }

    /// The config of the job with every interpolation resolved, as `--cfg job --resolve` has it.
    ///
    /// # Errors
    /// Where an interpolation has no answer.
    pub fn resolved(&self) -> Result<Node, ComposeError> {
        self.resolved_view(CompositionView::Job)
    }

    /// A part of the composition with every interpolation resolved.
    ///
    /// # Errors
    /// Where an interpolation has no answer.
    pub fn resolved_view(&self, view: CompositionView) -> Result<Node, ComposeError> {
        let (asked, whole) = (self.view(view), self.view(CompositionView::All));
        let resolved = Evaluator::new(&asked, Some(&whole), &self.settings).resolve_all();
        resolved.map_err(|error| self.located(error, &asked))
    }

    /// The value at a path of the whole config, resolved, for whoever needs one value:
    /// `hydra.run.dir`. Nothing if it is missing or left open.
    ///
    /// # Errors
    /// Where an interpolation has no answer.
    pub fn value_at(&self, path: &str) -> Result<Option<Node>, ComposeError> {
        let whole = self.view(CompositionView::All);
        let found = Evaluator::new(&whole, Some(&whole), &self.settings).resolve_at(path);
        found.map_err(|error| self.located(error, &whole))
    }

    /// What `oc.deprecated` warns of while the job's config is resolved.
    ///
    /// # Errors
    /// Where an interpolation has no answer.
    pub fn deprecations(&self) -> Result<Vec<ComposeWarning>, ComposeError> {
        let whole = self.view(CompositionView::All);
        let evaluator = Evaluator::new(&self.config, Some(&whole), &self.settings);
        evaluator.resolve_all()?;
        Ok(evaluator.into_warnings())
    }

    /// The text `--cfg` prints: YAML, or the bare value where a package is one.
    ///
    /// # Errors
    /// Where the package is not there, or an interpolation has no answer.
    pub fn show(
        &self,
        view: CompositionView,
        package: Option<&str>,
        resolve: bool,
    ) -> Result<String, ComposeError> {
        let (asked, whole) = (self.view(view), self.view(CompositionView::All));
        let evaluator = Evaluator::new(&asked, Some(&whole), &self.settings);
        let Some(package) = package.filter(|package| *package != "_global_") else {
            let node = match resolve {
                true => evaluator.resolve_all().map_err(|error| self.located(error, &asked))?,
                false => asked.clone(),
            };
            return Ok(yaml::dump(&node));
        };
        let found = evaluator.look_up(package)?;
        let found = found.filter(|found| evaluator.value_of(found) != Value::Null);
        let Some(found) = found else {
            return Err(Fault::NoPackage { package: package.to_owned() }.into());
        };
        match evaluator.node_of(&found).filter(|_| matches!(found, Found::At(_))) {
            Some(node) if node.is_container() => {
                let node = if resolve { evaluator.resolve_at(package)?.unwrap_or(node) } else { node };
                Ok(format!("# @package {package}\n{}", yaml::dump(&node)))
            }
            _ => Ok(format!("{}\n", python_str(&evaluator.value_of(&found)))),
        }
    }

    /// The error of an interpolation, with the place it is written in.
    fn located(&self, error: ResolveError, asked: &Node) -> ComposeError {
        let keys: Vec<&str> = error.key.split('.').collect();
        let origin = asked.get(&keys).map(|node| node.origin.clone());
        match origin {
            None => error.into(),
            Some(origin) => self.texts.show_place(ComposeError::at(error.into(), &origin)),
        }
    }
}
