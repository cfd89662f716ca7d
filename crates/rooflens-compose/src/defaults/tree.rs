//! The tree of defaults lists.

use super::book::ChoiceBook;
use super::item::{Choice, Item, Named};
use super::waiting::as_listed;
use crate::error::{ComposeError, Fault};
use crate::hydra_tree::{EMPTY_CONFIG, ROOT_CONFIG};
use crate::interpolation::is_interpolation;
use crate::resolve::EvaluationSettings;
use crate::sources::{GroupContent, Repository};
use crate::value::{Node, Origin};
use crate::warning::ComposeWarning;

/// How deep defaults lists may name each other.
const MAX_DEPTH: usize = 100;
/// How many items all lists may have together.
const MAX_ITEMS: usize = 100_000;

/// A config, and the configs of its defaults list.
#[derive(Debug, Clone)]
pub struct DefaultsTree {
    /// None at the root, which holds Hydra's own config and the primary one.
    pub(super) item: Option<Item>,
    /// None where the config has no defaults list.
    pub(super) children: Option<Vec<DefaultsTree>>,
}

impl DefaultsTree {
    fn leaf(item: Item) -> Self {
        Self { item: Some(item), children: None }
    }

    /// What it is called: `group: option`, the path of a config, `_self_`, or `<root>`.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.item {
            None => "<root>".to_owned(),
            Some(item) if item.is_group() => {
                format!("{}: {}", item.override_key(), item.name().unwrap_or("null"))
            }
            Some(item) => item.config_path(),
        }
    }

    /// The configs of its defaults list, in order.
    #[must_use]
    pub fn children(&self) -> &[DefaultsTree] {
        self.children.as_deref().unwrap_or_default()
    }
}

/// Whether a config is part of something special.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    pub(super) depth: usize,
    /// Whether an interpolation chose it, or one of the configs it is in.
    pub(super) interpolated: bool,
}

/// Expands defaults lists.
pub(super) struct Builder<'a> {
    repository: &'a Repository<'a>,
    pub(super) settings: &'a EvaluationSettings,
    pub(super) book: ChoiceBook,
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

    /// The tree of a primary config, with Hydra's own config before it.
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

    pub(super) fn expand(
        &mut self,
        mut item: Item,
        parent: &str,
        standing: Standing,
    ) -> Result<DefaultsTree, ComposeError> {
        self.items += 1;
        if self.items > MAX_ITEMS {
            return Err(ComposeError::new(Fault::TooManyConfigs { limit: MAX_ITEMS }));
        }
        if standing.depth > MAX_DEPTH {
            let fault = Fault::DefaultsTooDeep { config: parent.to_owned(), limit: MAX_DEPTH };
            return Err(ComposeError::at(fault, &item.origin));
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
        let mut self_added = false;
        if !list.is_empty() || appends {
            self_added = self.complete(&mut list, &item, loaded.has_content())?;
        }
        if item.primary {
            list.extend(self.book.appended.iter().cloned());
        }
        self.note_overrides(&mut list, &item, standing)?;
        let children = self.expand_list(list, &item, self_added, standing)?;
        let children = (!children.is_empty()).then_some(children);
        Ok(DefaultsTree { item: Some(item), children })
    }

    /// Puts `_self_` at the end of a list that has none; a list of nothing but overrides does not
    /// need it. Returns whether the list had none.
    fn complete(
        &mut self,
        list: &mut Vec<Item>,
        item: &Item,
        has_content: bool,
    ) -> Result<bool, ComposeError> {
        let mut selves = list.iter().filter(|it| it.is_self());
        let has_self = selves.next().is_some();
        if let Some(second) = selves.next() {
            let fault = Fault::DuplicateSelf { config: item.config_path() };
            return Err(ComposeError::at(fault, &second.origin));
        }
        let has_other = list.iter().any(|it| !it.is_override());
        if (!has_self && has_other) || list.is_empty() {
            if item.primary && has_content && has_other {
                self.warnings.push(ComposeWarning::NoSelf { config: item.config_path() });
            }
            list.push(Item::config("_self_", item.origin.clone()));
        }
        Ok(!has_self)
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
                let fault = Fault::OverrideNotLast { config, key: key.clone() };
                return Err(ComposeError::at(fault, &item.origin));
            }
            if item.is_override() {
                let key = item.override_key();
                if standing.interpolated {
                    let fault = Fault::LateOverride { config, key };
                    return Err(ComposeError::at(fault, &item.origin));
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
        self_added: bool,
        standing: Standing,
    ) -> Result<Vec<DefaultsTree>, ComposeError> {
        let config = parent.config_path();
        let below = Standing { depth: standing.depth + 1, ..standing };
        // What interpolations may refer to besides choices: the list itself, as it became.
        let mut listed: Vec<Node> = Vec::new();
        let mut children: Vec<DefaultsTree> = Vec::new();
        let mut any_waiting = false;
        for mut item in list.into_iter().rev() {
            if !item.is_self() && !item.is_override() {
                self.book.grant(&mut item);
            }
            if !(self_added && item.is_self()) {
                listed.push(as_listed(&item));
            }
            if item.is_self() {
                // Hydra shows it beside the config it stands for, not beside its siblings.
                item.adopt(&parent.parent_group, &parent.parent_package);
                children.push(DefaultsTree::leaf(item));
            } else if item.is_override() {
            } else if let Named::Group { group, choice: Choice::Many(names), .. } = &item.named {
                for name in names.iter().rev() {
                    let fault = Fault::ListedInterpolation { config: config.clone() };
                    if is_interpolation(name) {
                        return Err(ComposeError::at(fault, &item.origin));
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
            listed.reverse();
            self.expand_waiting(&mut children, listed, &config, below)?;
        }
        children.reverse();
        Ok(children)
    }

    /// Whether its choice is `???` and that is allowed.
    fn is_left_open(&self, item: &Item, path: &str) -> Result<bool, ComposeError> {
        if !path.ends_with("???") {
            return Ok(false);
        }
        if self.skip_missing {
            return Ok(true);
        }
        let fault = if item.is_group() {
            let options = self.repository.list(&item.group_path(), GroupContent::Options);
            Fault::MustChoose { key: item.override_key(), options }
        } else {
            Fault::MissingConfig { config: path.to_owned() }
        };
        Err(ComposeError::at(fault, &item.origin))
    }

    fn no_primary(&self, item: &Item) -> ComposeError {
        let name = item.config_path();
        let (group, wanted) = name.rsplit_once('/').unwrap_or(("", &name));
        let known = self.repository.list(group, GroupContent::Options);
        let fault = Fault::NoPrimary { name: name.clone(), searched: self.repository.searched() };
        ComposeError::new(fault).suggest(wanted, known.iter().map(String::as_str))
    }

    fn no_config(&self, item: &Item, parent: &str) -> ComposeError {
        let group = item.group_path();
        let options = self.repository.list(&group, GroupContent::Options);
        let fault = Fault::NoConfig {
            config: item.config_path(),
            parent: parent.to_owned(),
            group: item.is_group().then_some(group),
            options: if item.is_group() { options.clone() } else { Vec::new() },
            searched: self.repository.searched(),
        };
        ComposeError::at(fault, &item.origin)
            .suggest(item.name().unwrap_or(""), options.iter().map(String::as_str))
    }
}
