//! The book of choices: what was asked for, by whom, and what was chosen.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::item::{Choice, Item, Named};
use crate::error::ComposeError;
use crate::overrides::{Override, OverrideKind};
use crate::sources::Repository;
use crate::value::{Node, Origin, Value};

struct RequestedChoice {
    choice: Choice,
    /// The config whose list has it; none for the command line.
    config: Option<String>,
    origin: Origin,
    used: bool,
}

struct Deletion {
    name: Option<String>,
    origin: Origin,
    used: bool,
}

#[derive(Default)]
pub(super) struct ChoiceBook {
    wishes: IndexMap<String, RequestedChoice>,
    deletions: IndexMap<String, Deletion>,
    pub(super) appended: Vec<Item>,
    choices: IndexMap<String, Option<String>>,
    keys_of_group: BTreeMap<String, BTreeSet<String>>,
}

impl ChoiceBook {
    /// Sorts the overrides of the command line into wishes and the rest. A key that is a group is a
    /// wish, unless its value is a mapping.
    pub(super) fn open(
        repository: &Repository<'_>,
        overrides: &[Override],
    ) -> Result<(Self, Vec<Override>), ComposeError> {
        let mut book = Self::default();
        let mut rest = Vec::new();
        for wish in overrides {
            let Some(Node { value, origin }) = wish.node() else { continue };
            if matches!(value, Value::Map(_)) || !repository.group_exists(&wish.key) {
                rest.push(wish.clone());
                continue;
            }
            book.enter(wish, value).map_err(|message| ComposeError::at(message, &origin))?;
        }
        Ok((book, rest))
    }

    fn enter(&mut self, wish: &Override, value: Value) -> Result<(), String> {
        let origin = wish.origin();
        let key = match &wish.package {
            None => wish.key.clone(),
            Some(package) => format!("{}@{package}", wish.key),
        };
        let input = wish.text.clone();
        let found = value.kind();
        let wrong_kind = || {
            format!(
                "'{input}': the choice of a config group must be a string or a list of strings, not {found}"
            )
        };
        match (wish.kind, value) {
            (OverrideKind::ForceAdd, _) => {
                return Err(format!("'{input}': a config group cannot be added by force"));
            }
            (OverrideKind::Delete, Value::Null) => {
                self.deletions.insert(key, Deletion { name: None, origin, used: false });
            }
            (OverrideKind::Delete, Value::Str(name)) => {
                self.deletions.insert(key, Deletion { name: Some(name), origin, used: false });
            }
            (OverrideKind::Delete, _) => return Err(wrong_kind()),
            (kind, value) => {
                let choice = choice_of(value).ok_or_else(wrong_kind)?;
                if kind == OverrideKind::Add {
                    let named =
                        Named::Group { group: wish.key.clone(), choice, is_override: false, appended: true };
                    self.appended.push(Item::new(named, wish.package.clone(), origin));
                } else {
                    let wish = RequestedChoice { choice, config: None, origin, used: false };
                    self.wishes.insert(key, wish);
                }
            }
        }
        Ok(())
    }

    pub(super) fn wish(&mut self, config: &str, item: &Item) {
        if let Named::Group { choice, .. } = &item.named {
            self.wishes.entry(item.override_key()).or_insert_with(|| RequestedChoice {
                choice: choice.clone(),
                config: Some(config.to_owned()),
                origin: item.origin.clone(),
                used: false,
            });
        }
    }

    pub(super) fn grant(&mut self, item: &mut Item) {
        let key = item.override_key();
        if let Named::Group { choice, .. } = &mut item.named
            && let Some(wish) = self.wishes.get_mut(&key)
        {
            choice.clone_from(&wish.choice);
            wish.used = true;
            // What cannot be found is now the fault of who wished for it.
            item.origin = wish.origin.clone();
        }
    }

    /// Whether an item is to be taken out; a deletion that names an option takes out only that.
    pub(super) fn deletes(&mut self, item: &Item) -> bool {
        if !item.is_group() {
            return false;
        }
        match self.deletions.get_mut(&item.override_key()) {
            Some(deletion) if deletion.name.is_none() || deletion.name.as_deref() == item.name() => {
                deletion.used = true;
                true
            }
            _ => false,
        }
    }

    pub(super) fn choose(&mut self, item: &Item) -> Result<(), ComposeError> {
        if !item.is_group() {
            return Ok(());
        }
        let key = item.override_key();
        let name = item.name().map(str::to_owned);
        match self.choices.get(&key) {
            None => {
                self.choices.insert(key.clone(), name);
            }
            Some(first) if *first != name => {
                let text = |choice: &Option<String>| choice.clone().unwrap_or("null".to_owned());
                // Lists are expanded last to first: what was chosen before stands behind.
                let (first, second) = (text(&name), text(first));
                let message = format!("'{key}' is chosen twice: '{first}' and '{second}'");
                let hint = format!("to change an earlier choice write 'override {key}: {second}'");
                return Err(ComposeError::at(message, &item.origin).with_hint(hint));
            }
            Some(_) => {}
        }
        self.keys_of_group.entry(item.group_path()).or_default().insert(key);
        Ok(())
    }

    pub(super) fn choices(&self) -> &IndexMap<String, Option<String>> {
        &self.choices
    }

    pub(super) fn into_choices(self) -> IndexMap<String, Option<String>> {
        self.choices
    }

    /// A wish for what is in no list is an error.
    pub(super) fn check_all_used(&self) -> Result<(), ComposeError> {
        if let Some((key, wish)) = self.wishes.iter().find(|(_, wish)| !wish.used) {
            let group = key.split('@').next().unwrap_or(key);
            let known = self.keys_of_group.get(group).into_iter().flatten();
            let alternatives: Vec<String> = known.cloned().collect();
            let known = match alternatives.as_slice() {
                [] => String::new(),
                known => format!("; it has {}", known.join(", ")),
            };
            let within = wish.config.as_ref().map(|config| format!("in '{config}': ")).unwrap_or_default();
            let message = format!("{within}there is no '{key}' in the defaults list to override{known}");
            let mut error = ComposeError::at(message, &wish.origin);
            if wish.config.is_none() {
                let value = choice_text(&wish.choice);
                error = error.with_hint(format!("to add it to the defaults list use +{key}={value}"));
            }
            let nearest = match alternatives.as_slice() {
                [only] => return Err(error.suggest(only, [only.as_str()])),
                [] => self.choices.keys().map(String::as_str).collect(),
                several => several.iter().map(String::as_str).collect::<Vec<_>>(),
            };
            return Err(error.suggest(key, nearest));
        }
        if let Some((key, deletion)) = self.deletions.iter().find(|(_, it)| !it.used) {
            let what = match &deletion.name {
                None => key.clone(),
                Some(name) => format!("{key}={name}"),
            };
            let fault = format!("there is no '{what}' in the defaults list to delete");
            let error = ComposeError::at(fault, &deletion.origin);
            let known = self.choices.keys().map(String::as_str).filter(|other| other != key);
            return Err(error.suggest(key, known));
        }
        Ok(())
    }
}

fn choice_of(value: Value) -> Option<Choice> {
    match value {
        Value::Str(name) => Some(Choice::One(name)),
        Value::List(items) => {
            let names = items.into_iter().map(|item| match item.value {
                Value::Str(name) => Some(name),
                _ => None,
            });
            Some(Choice::Many(names.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

fn choice_text(choice: &Choice) -> String {
    match choice {
        Choice::None => "null".to_owned(),
        Choice::One(name) => name.clone(),
        Choice::Many(names) => format!("[{}]", names.join(",")),
    }
}
