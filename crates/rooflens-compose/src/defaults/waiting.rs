//! Items whose option is an interpolation: they wait until the choices beside them are made.

use super::item::{Choice, Item, Named};
use super::tree::{Builder, DefaultsTree, Standing};
use crate::error::{ComposeError, Fault};
use crate::resolve::Evaluator;
use crate::value::{Key, Map, Node, Value};

impl Builder<'_> {
    /// Expands the items that had to wait until all choices beside them were made.
    pub(super) fn expand_waiting(
        &mut self,
        children: &mut [DefaultsTree],
        listed: Vec<Node>,
        config: &str,
        below: Standing,
    ) -> Result<(), ComposeError> {
        let known = self.known_choices(listed);
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

    fn known_choices(&self, listed: Vec<Node>) -> Map {
        let text = |choice: &Option<String>| match choice {
            None => Node::new(Value::Null),
            Some(name) => Node::new(Value::Str(name.clone())),
        };
        let mut known: Map =
            self.book.choices().iter().map(|(key, it)| (Key::Str(key.clone()), text(it))).collect();
        known.insert(Key::from("defaults"), Node::new(Value::List(listed)));
        known
    }

    fn resolve_option(&self, text: &str, known: &Map, item: &Item) -> Result<String, ComposeError> {
        let wrong = |cause: String| {
            let keys = known.keys().filter_map(|key| match key {
                Key::Str(key) if key != "defaults" => Some(key.clone()),
                _ => None,
            });
            let fault = Fault::OptionInterpolation { text: text.to_owned(), keys: keys.collect(), cause };
            ComposeError::at(fault, &item.origin)
        };
        // `${defaults.0.group}` was the form of Hydra 1.0.
        let legacy = text.strip_prefix("${defaults.").is_some_and(|rest| {
            rest.starts_with(|char: char| char.is_ascii_digit()) && rest[1..].starts_with('.')
        });
        if legacy && item.is_group() {
            return Err(wrong("items of the defaults list can no longer be referred to".to_owned()));
        }
        let root = Node::new(Value::Map(known.clone()));
        let found = Evaluator::new(&root, None, self.settings).text_below_root(text);
        match found.map_err(|error| wrong(error.to_string()))? {
            Value::Str(name) => Ok(name),
            other => Err(wrong(format!("it resolves to {}, not a string", other.kind()))),
        }
    }
}

/// An item as an interpolation sees it.
pub(super) fn as_listed(item: &Item) -> Node {
    match &item.named {
        Named::Config { .. } => Node::new(Value::Str(item.config_path())),
        Named::Group { choice, .. } => {
            let value = match choice {
                Choice::None => Value::Null,
                Choice::One(name) => Value::Str(name.clone()),
                Choice::Many(names) => {
                    Value::List(names.iter().map(|it| Node::new(Value::Str(it.clone()))).collect())
                }
            };
            let mut map = Map::new();
            map.insert(Key::Str(item.override_key()), Node::new(value));
            Node::new(Value::Map(map))
        }
    }
}
