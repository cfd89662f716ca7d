//! The tree of defaults lists, and the final list that it is written out as.

use std::collections::BTreeSet;

use super::book::ChoiceBook;
use super::item::{Choice, Item, Named};
use crate::error::{ComposeError, listed, options_of};
use crate::hydra_tree::{EMPTY_CONFIG, ROOT_CONFIG};
use crate::request::ComposeWarning;
use crate::resolve::{EvaluationSettings, Evaluator};
use crate::sources::{GroupContent, Repository};
use crate::value::{Key, Map, Node, Origin, Value, is_interpolation};

/// How deep defaults lists may name each other.
const MAX_DEPTH: usize = 100;
const MAX_ITEMS: usize = 100_000;

/// A config, and the configs of its defaults list.
#[derive(Debug, Clone)]
pub struct DefaultsTree {
    /// None at the root, which holds Hydra's own config and the primary one.
    item: Option<Item>,
    /// None where the config has no defaults list.
    children: Option<Vec<DefaultsTree>>,
}

impl DefaultsTree {
    fn leaf(item: Item) -> Self {
        Self { item: Some(item), children: None }
    }

    pub(crate) fn label(&self) -> String {
        match &self.item {
            None => "<root>".to_owned(),
            Some(item) if item.is_group() => {
                format!("{}: {}", item.override_key(), item.name().unwrap_or("null"))
            }
            Some(item) => item.config_path(),
        }
    }

    pub(crate) fn children(&self) -> &[DefaultsTree] {
        self.children.as_deref().unwrap_or_default()
    }
}

#[derive(Clone, Copy)]
struct Standing {
    depth: usize,
    interpolated: bool,
}

pub(super) struct Builder<'a> {
    repository: &'a Repository<'a>,
    settings: &'a EvaluationSettings,
    book: ChoiceBook,
    /// Whether `???` is left alone: a sweep has yet to choose.
    skip_missing: bool,
    warnings: Vec<ComposeWarning>,
    items: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        repository: &'a Repository<'a>,
        settings: &'a EvaluationSettings,
        book: ChoiceBook,
        skip_missing: bool,
    ) -> Self {
        Self { repository, settings, book, skip_missing, warnings: Vec::new(), items: 0 }
    }

    pub(super) fn finish(self) -> (ChoiceBook, Vec<ComposeWarning>) {
        (self.book, self.warnings)
    }

    pub(super) fn build(&mut self, config_name: Option<&str>) -> Result<DefaultsTree, ComposeError> {
        let mut primary = Item::config(config_name.unwrap_or(EMPTY_CONFIG), Origin::default());
        primary.primary = true;
        if !self.repository.config_exists(&primary.config_path()) {
            return Err(self.no_primary(&primary));
        }
        let standing = Standing { depth: 0, interpolated: false };
        // Last to first, as in every list.
        let primary = self.expand(primary, "<root>", standing)?;
        let hydra = self.expand(Item::config(ROOT_CONFIG, Origin::default()), "<root>", standing)?;
        Ok(DefaultsTree { item: None, children: Some(vec![hydra, primary]) })
    }

    fn expand(
        &mut self,
        mut item: Item,
        parent: &str,
        standing: Standing,
    ) -> Result<DefaultsTree, ComposeError> {
        self.items += 1;
        if self.items > MAX_ITEMS {
            return Err(ComposeError::new(format!("the defaults lists name more than {MAX_ITEMS} configs")));
        }
        if standing.depth > MAX_DEPTH {
            let message = format!(
                "in '{parent}': defaults lists nested deeper than {MAX_DEPTH} levels; do they name each other?"
            );
            return Err(ComposeError::at(message, &item.origin));
        }
        let path = item.config_path();
        if !item.is_missing()
            && let Some(loaded) = self.repository.load(&path)?
        {
            item.set_header(loaded.header.as_deref());
        }
        if self.book.deletes(&item) {
            item.deleted = true;
            return Ok(DefaultsTree::leaf(item));
        }
        self.book.choose(&item)?;
        if item.name().is_none() || self.is_left_open(&item, &path)? {
            return Ok(DefaultsTree::leaf(item));
        }
        let Some(loaded) = self.repository.load(&path)? else {
            if item.optional {
                item.deleted = true;
                return Ok(DefaultsTree::leaf(item));
            }
            return Err(self.no_config(&item, parent));
        };
        let mut list = loaded.defaults.clone();
        let appends = item.primary && !self.book.appended.is_empty();
        if !list.is_empty() || appends {
            self.complete(&mut list, &item, loaded.has_content())?;
        }
        if item.primary {
            list.extend(self.book.appended.iter().cloned());
        }
        self.note_overrides(&mut list, &item, standing)?;
        let children = self.expand_list(list, &item, standing)?;
        let children = (!children.is_empty()).then_some(children);
        Ok(DefaultsTree { item: Some(item), children })
    }

    /// Puts `_self_` at the end of a list that has none; a list of nothing but overrides does not
    /// need it.
    fn complete(&mut self, list: &mut Vec<Item>, item: &Item, has_content: bool) -> Result<(), ComposeError> {
        let mut selves = list.iter().filter(|it| it.is_self());
        let has_self = selves.next().is_some();
        if let Some(second) = selves.next() {
            let config = item.config_path();
            let fault = format!("in '{config}': _self_ is listed twice in the defaults list");
            return Err(ComposeError::at(fault, &second.origin));
        }
        let has_other = list.iter().any(|it| !it.is_override());
        if (!has_self && has_other) || list.is_empty() {
            if item.primary && has_content && has_other {
                self.warnings.push(ComposeWarning::NoSelf { config: item.config_path() });
            }
            list.push(Item::config("_self_", item.origin.clone()));
        }
        Ok(())
    }

    /// Notes the `override` items of a list, which must stand at its end.
    fn note_overrides(
        &mut self,
        list: &mut [Item],
        parent: &Item,
        standing: Standing,
    ) -> Result<(), ComposeError> {
        let (group, package) = (parent.group_path(), parent.final_package());
        let config = parent.config_path();
        let mut last: Option<String> = None;
        for item in list.iter_mut().filter(|item| !item.is_self()) {
            item.adopt(&group, &package);
            if let Some(key) = &last
                && !item.is_override()
                && !item.is_appended()
            {
                let message = format!(
                    "in '{config}': the override of '{key}' must come after all items that are not overrides"
                );
                return Err(ComposeError::at(message, &item.origin));
            }
            if item.is_override() {
                let key = item.override_key();
                if standing.interpolated {
                    let message = format!(
                        "in '{config}': the override of '{key}' comes too late: this config was chosen by an interpolation"
                    );
                    return Err(ComposeError::at(message, &item.origin));
                }
                self.book.wish(&config, item);
                last = Some(key);
            }
        }
        Ok(())
    }

    fn expand_list(
        &mut self,
        list: Vec<Item>,
        parent: &Item,
        standing: Standing,
    ) -> Result<Vec<DefaultsTree>, ComposeError> {
        let config = parent.config_path();
        let below = Standing { depth: standing.depth + 1, ..standing };
        let mut children: Vec<DefaultsTree> = Vec::new();
        let mut any_waiting = false;
        for mut item in list.into_iter().rev() {
            if !item.is_self() && !item.is_override() {
                self.book.grant(&mut item);
            }
            if item.is_self() {
                // Hydra shows it beside the config it stands for, not beside its siblings.
                item.adopt(&parent.parent_group, &parent.parent_package);
                children.push(DefaultsTree::leaf(item));
            } else if item.is_override() {
            } else if let Named::Group { group, choice: Choice::Many(names), .. } = &item.named {
                for name in names.iter().rev() {
                    if is_interpolation(name) {
                        let message =
                            format!("in '{config}': an option in a list cannot be an interpolation");
                        return Err(ComposeError::at(message, &item.origin));
                    }
                    let mut option = item.clone();
                    option.named = Named::Config { path: format!("{group}/{name}") };
                    children.push(self.expand(option, &config, below)?);
                }
            } else if item.interpolated().is_some() {
                any_waiting = true;
                children.push(DefaultsTree::leaf(item));
            } else {
                children.push(self.expand(item, &config, below)?);
            }
        }
        if any_waiting {
            self.expand_waiting(&mut children, &config, below)?;
        }
        children.reverse();
        Ok(children)
    }

    fn is_left_open(&self, item: &Item, path: &str) -> Result<bool, ComposeError> {
        if !path.ends_with("???") {
            return Ok(false);
        }
        if self.skip_missing {
            return Ok(true);
        }
        let error = if item.is_group() {
            let (group, key) = (item.group_path(), item.override_key());
            let options = self.repository.list(&group, GroupContent::Options);
            let options = options_of(&key, &options);
            ComposeError::new(format!("'{key}' must be chosen{options}"))
                .with_hint(format!("choose with {key}=OPTION"))
        } else {
            ComposeError::new(format!("'{path}': a config without a group cannot be left open with ???"))
        };
        Err(error.placed(&item.origin))
    }

    fn no_primary(&self, item: &Item) -> ComposeError {
        let name = item.config_path();
        let (group, wanted) = name.rsplit_once('/').unwrap_or(("", &name));
        let known = self.repository.list(group, GroupContent::Options);
        let searched = listed(&self.repository.searched());
        ComposeError::new(format!("there is no primary config '{name}'\nsearched:{searched}"))
            .with_hint("name it: --config-dir DIR --config-name NAME")
            .suggest(wanted, known.iter().map(String::as_str))
    }

    fn no_config(&self, item: &Item, parent: &str) -> ComposeError {
        let group = item.group_path();
        let options = self.repository.list(&group, GroupContent::Options);
        let shown = if item.is_group() { options_of(&group, &options) } else { String::new() };
        let (config, searched) = (item.config_path(), listed(&self.repository.searched()));
        let message = format!("in '{parent}': there is no config '{config}'{shown}\nsearched:{searched}");
        ComposeError::at(message, &item.origin)
            .suggest(item.name().unwrap_or(""), options.iter().map(String::as_str))
    }

    fn expand_waiting(
        &mut self,
        children: &mut [DefaultsTree],
        config: &str,
        below: Standing,
    ) -> Result<(), ComposeError> {
        let known = self.known_choices();
        for child in children.iter_mut().filter(|child| child.children.is_none()) {
            let Some(item) = &child.item else { continue };
            let Some(text) = item.interpolated() else { continue };
            let mut item = item.clone();
            let name = self.resolve_option(&text, &known, &item)?;
            match &mut item.named {
                Named::Config { path } => *path = name,
                Named::Group { choice, .. } => *choice = Choice::One(name),
            }
            *child = self.expand(item, config, Standing { interpolated: true, ..below })?;
        }
        Ok(())
    }

    fn known_choices(&self) -> Map {
        let text = |choice: &Option<String>| match choice {
            None => Node::new(Value::Null),
            Some(name) => Node::new(Value::Str(name.clone())),
        };
        self.book.choices().iter().map(|(key, it)| (Key::Str(key.clone()), text(it))).collect()
    }

    fn resolve_option(&self, text: &str, known: &Map, item: &Item) -> Result<String, ComposeError> {
        let wrong = |cause: String| {
            let keys = known.keys().filter_map(|key| match key {
                Key::Str(key) => Some(key.clone()),
                _ => None,
            });
            let keys = listed(&keys.collect::<Vec<_>>());
            let message = format!("the option '{text}' cannot be resolved: {cause}\nit may refer to:{keys}");
            ComposeError::at(message, &item.origin)
        };
        let root = Node::new(Value::Map(known.clone()));
        let found = Evaluator::new(&root, None, self.settings).text_below_root(text);
        match found.map_err(|error| wrong(error.to_string()))? {
            Value::Str(name) => Ok(name),
            other => Err(wrong(format!("it resolves to {}, not a string", other.kind()))),
        }
    }
}

/// A config of the final defaults list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultEntry {
    /// Its path.
    pub config_path: String,
    /// Where it is mounted; empty is the top.
    pub package: String,
    /// Whether it stands for itself in its own defaults list.
    pub is_self: bool,
    /// The config whose defaults list names it; `<root>` for the first ones.
    pub parent: String,
    /// Whether it is the config the composition was asked for.
    pub primary: bool,
    pub(crate) origin: Origin,
}

pub(super) fn flatten(root: &DefaultsTree) -> Result<Vec<DefaultEntry>, ComposeError> {
    let mut entries = Vec::new();
    let mut keys = BTreeSet::new();
    for child in root.children() {
        walk(child, root, "<root>", &mut entries, &mut keys)?;
    }
    Ok(entries)
}

fn walk(
    tree: &DefaultsTree,
    parent: &DefaultsTree,
    grandparent: &str,
    entries: &mut Vec<DefaultEntry>,
    keys: &mut BTreeSet<String>,
) -> Result<(), ComposeError> {
    let parent_path = path_of(parent);
    if !tree.children().is_empty() {
        for child in tree.children() {
            walk(child, tree, &parent_path, entries, keys)?;
        }
        return Ok(());
    }
    let Some(item) = &tree.item else { return Ok(()) };
    if item.deleted || item.is_missing() || item.name().is_none() {
        return Ok(());
    }
    if item.is_group() && !item.is_self() {
        let key = item.override_key();
        if !keys.insert(key.clone()) {
            let fault = format!("'{key}' is listed more than once in the final defaults list");
            return Err(ComposeError::at(fault, &item.origin));
        }
    }
    let entry = match &parent.item {
        Some(owner) if item.is_self() => DefaultEntry {
            config_path: parent_path,
            package: owner.final_package(),
            is_self: true,
            parent: grandparent.to_owned(),
            primary: owner.primary,
            origin: owner.origin.clone(),
        },
        _ => DefaultEntry {
            config_path: item.config_path(),
            package: item.final_package(),
            is_self: false,
            parent: parent_path,
            primary: item.primary,
            origin: item.origin.clone(),
        },
    };
    if entry.config_path != EMPTY_CONFIG {
        entries.push(entry);
    }
    Ok(())
}

fn path_of(tree: &DefaultsTree) -> String {
    tree.item.as_ref().map_or_else(|| "<root>".to_owned(), Item::config_path)
}
