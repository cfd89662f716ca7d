//! Merging: configs into one, and the command line into that.
//!
//! Mappings merge key by key, everything else is replaced; `???` never replaces a value; a list and
//! a mapping do not go together. Every value keeps the place it was written in.

mod apply;
mod sharing;

use crate::error::ComposeError;
use crate::hydra_tree::{Kind, ROOT_CONFIG};
use crate::resolve::{EvaluationSettings, Evaluator, Found};
use crate::schema::{Schema, check_key, convert, element, fitted, misfit, no_field, path_text};
use crate::suggest::nearest;
use crate::value::{Key, MAX_DEPTH, Map, Node, Value};

pub(crate) use apply::apply_overrides;
pub(crate) use sharing::Sharing;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// New keys come in: configs, and the command line with `+`.
    Open,
    /// No new keys: the command line without `+`.
    Closed,
}

pub(crate) struct Merger<'a> {
    pub(crate) settings: &'a EvaluationSettings,
    pub(crate) schema: Schema,
    pub(crate) sharing: Sharing,
    pub(crate) admission: Admission,
    /// The config that is being merged; `None` on the command line.
    config: Option<String>,
}

impl<'a> Merger<'a> {
    pub(crate) fn new(settings: &'a EvaluationSettings, sharing: Sharing) -> Self {
        Self { settings, schema: Schema::default(), sharing, admission: Admission::Open, config: None }
    }

    pub(crate) fn merge_config(
        &mut self,
        root: &mut Node,
        config: &Node,
        (path, package): (&str, &str),
    ) -> Result<(), ComposeError> {
        if !matches!(config.value, Value::Map(_)) {
            return Err(kinds_clash(Some(path), &[], root, config));
        }
        self.config = Some(path.to_owned());
        self.sharing.begin(path, package);
        self.merge_map(root, &mut Vec::new(), config)?;
        if path == ROOT_CONFIG {
            self.schema.has_root = true;
            self.fit(root, &mut Vec::new())?;
        }
        Ok(())
    }

    fn fit(&self, node: &mut Node, path: &mut Vec<Key>) -> Result<(), ComposeError> {
        if let Value::Map(map) = &mut node.value {
            for (key, child) in map.iter_mut() {
                if path.is_empty() && *key != Key::from("hydra") {
                    continue;
                }
                path.push(key.clone());
                let kind = self.schema.kind(path);
                match convert(kind, &child.value) {
                    Ok(None) => {}
                    Ok(Some(value)) => child.value = value,
                    Err(expected) => return Err(misfit(path, expected, child)),
                }
                self.fit(child, path)?;
                path.pop();
            }
        }
        Ok(())
    }

    pub(crate) fn merge_map(
        &mut self,
        root: &mut Node,
        path: &mut Vec<Key>,
        from: &Node,
    ) -> Result<(), ComposeError> {
        let Some(from) = from.as_map() else { return Ok(()) };
        for (key, incoming) in from {
            path.push(key.clone());
            let merged = self.merge_key(root, path, incoming);
            path.pop();
            merged?;
        }
        Ok(())
    }

    fn merge_key(
        &mut self,
        root: &mut Node,
        path: &mut Vec<Key>,
        incoming: &Node,
    ) -> Result<(), ComposeError> {
        let kind = self.schema.kind(path);
        let existing = at(root, path).map(|node| (node.is_interpolation(), node.is_container()));
        let Some((is_interpolation, mut is_container)) = existing else {
            return self.add(root, path, incoming, kind);
        };
        if is_interpolation && let Some(target) = self.container_behind(root, path) {
            // What it refers to is copied here, to be merged with.
            check_depth(path.len(), &target, path)?;
            self.put(root, path, target);
            is_container = true;
        }
        if is_container && incoming.is_container() {
            if self.sharing.is_same(path) {
                return Ok(());
            }
            return self.merge_containers(root, path, incoming, kind);
        }
        if incoming.is_missing() {
            return Ok(());
        }
        let node = fitted(kind, incoming).map_err(|expected| misfit(path, expected, incoming))?;
        self.adopt(root, path, node);
        Ok(())
    }

    fn merge_containers(
        &mut self,
        root: &mut Node,
        path: &mut Vec<Key>,
        incoming: &Node,
        kind: Kind,
    ) -> Result<(), ComposeError> {
        let Some(existing) = at_mut(root, path) else { return Ok(()) };
        match (&existing.value, &incoming.value) {
            (Value::Map(_), Value::Map(_)) => self.merge_map(root, path, incoming),
            (Value::List(_), Value::List(_)) => {
                *existing = match kind {
                    Kind::TextList => {
                        fitted(kind, incoming).map_err(|expected| misfit(path, expected, incoming))?
                    }
                    _ => incoming.clone(),
                };
                Ok(())
            }
            _ => Err(kinds_clash(self.config.as_deref(), path, existing, incoming)),
        }
    }

    fn add(
        &mut self,
        root: &mut Node,
        path: &[Key],
        incoming: &Node,
        kind: Kind,
    ) -> Result<(), ComposeError> {
        let above = path.len().saturating_sub(1);
        let parent_kind = self.schema.kind(&path[..above]);
        let is_fixed = matches!(parent_kind, Kind::Record(_));
        if is_fixed {
            return Err(no_field(path, incoming, parent_kind));
        }
        if self.admission == Admission::Closed {
            return Err(no_key(path, incoming, at(root, &path[..above])));
        }
        let key = path.last().map_or(Ok(()), |key| check_key(parent_kind, key));
        let fitting = key.and_then(|()| match parent_kind {
            Kind::TextMap { .. } => element(kind, incoming),
            _ => fitted(kind, incoming),
        });
        let node = fitting.map_err(|expected| misfit(path, expected, incoming))?;
        self.adopt(root, path, node);
        Ok(())
    }

    fn adopt(&mut self, root: &mut Node, path: &[Key], node: Node) {
        self.sharing.adopted(path, &node, root);
        set(root, path, node);
    }

    fn put(&mut self, root: &mut Node, path: &[Key], node: Node) {
        self.sharing.replaced(path, root);
        set(root, path, node);
    }

    fn container_behind(&self, root: &Node, path: &[Key]) -> Option<Node> {
        // Text around an interpolation makes text of it.
        let text = at(root, path)?.as_str()?;
        if !(text.starts_with("${") && text.ends_with('}')) {
            return None;
        }
        let evaluator = Evaluator::new(root, None, self.settings);
        let found = evaluator.follow_keys(path).ok()?;
        evaluator.node_of(&found).filter(|node| matches!(found, Found::At(_)) && node.is_container())
    }
}

pub(crate) fn at<'n>(root: &'n Node, path: &[Key]) -> Option<&'n Node> {
    path.iter().try_fold(root, |node, key| node.as_map()?.get(key))
}

fn at_mut<'n>(root: &'n mut Node, path: &[Key]) -> Option<&'n mut Node> {
    path.iter().try_fold(root, |node, key| node.as_map_mut()?.get_mut(key))
}

/// Sets the value under a path whose parent is a mapping. A key that is there keeps its position.
fn set(root: &mut Node, path: &[Key], node: Node) {
    let Some((last, above)) = path.split_last() else { return };
    if let Some(map) = at_mut(root, above).and_then(Node::as_map_mut) {
        map.insert(last.clone(), node);
    }
}

pub(crate) fn mounted(config: &Node, package: &str) -> Result<Node, ComposeError> {
    let mut node = config.clone();
    if package.is_empty() {
        return Ok(node);
    }
    let keys = crate::interpolation::split_key(package);
    check_depth(keys.len(), config, &[Key::from(package)])?;
    for key in keys.into_iter().rev() {
        let origin = config.origin.clone();
        let mut map = Map::new();
        map.insert(Key::Str(key), node);
        node = Node::at(Value::Map(map), origin);
    }
    Ok(node)
}

fn check_depth(level: usize, node: &Node, path: &[Key]) -> Result<(), ComposeError> {
    if level + node.depth() <= MAX_DEPTH {
        return Ok(());
    }
    let key: String = path_text(path).chars().take(80).collect();
    let fault = format!("'{key}': the config is nested deeper than {MAX_DEPTH} levels");
    Err(ComposeError::at(fault, &node.origin))
}

/// `config` is the config that brings the value, if it is not the command line.
fn kinds_clash(config: Option<&str>, path: &[Key], existing: &Node, incoming: &Node) -> ComposeError {
    let within = config.map(|config| format!("in '{config}': ")).unwrap_or_default();
    let (key, existing, kind) = (path_text(path), existing.value.kind(), incoming.value.kind());
    let message = format!("{within}'{key}' is {existing} and cannot be merged with {kind}");
    ComposeError::at(message, &incoming.origin)
}

/// The error of a key that the command line wants to change and that is not there.
fn no_key(path: &[Key], incoming: &Node, parent: Option<&Node>) -> ComposeError {
    let input = match &incoming.origin.source {
        crate::value::ValueSource::CommandLine(text) => text.to_string(),
        _ => String::new(),
    };
    let error =
        ComposeError::at(format!("there is no key '{}' to change", path_text(path)), &incoming.origin)
            .with_hint(format!("to add it use +{input}"));
    let Some(Key::Str(wanted)) = path.last() else { return error };
    let names = parent.and_then(Node::as_map).into_iter().flat_map(|map| map.keys());
    let names = names.filter_map(|key| match key {
        Key::Str(name) => Some(name.as_str()),
        _ => None,
    });
    let below = one_level_down(wanted, parent);
    match nearest(wanted, names).map(str::to_owned).or(below) {
        Some(name) => error.with_hint(format!("did you mean '{name}'?")),
        None => error,
    }
}

/// The only key of this name one level down: `runtime.batch_size` where `batch_size` was meant to be.
fn one_level_down(wanted: &str, parent: Option<&Node>) -> Option<String> {
    let children = parent.and_then(Node::as_map)?.iter();
    let mut found = children.filter_map(|(key, child)| match key {
        Key::Str(name) => {
            child.as_map()?.contains_key(&Key::Str(wanted.into())).then(|| format!("{name}.{wanted}"))
        }
        _ => None,
    });
    found.next().filter(|_| found.next().is_none())
}
