//! The items of a defaults list, as a file writes them.

use super::item::{Choice, Item, Named};
use crate::error::{ComposeError, Fault};
use crate::value::{Key, Map, Node, Value, python_str};

/// Reads the items of the defaults list of a config.
pub(crate) fn read_items(config: &str, list: Option<&Node>) -> Result<Vec<Item>, ComposeError> {
    let Some(Node { value: Value::List(nodes), .. }) = list else {
        return Ok(Vec::new());
    };
    nodes.iter().map(|node| read_item(config, node)).collect()
}

fn read_item(config: &str, node: &Node) -> Result<Item, ComposeError> {
    let wrong = |problem: String| {
        let fault = Fault::DefaultsItem { config: config.to_owned(), problem };
        ComposeError::at(fault, &node.origin)
    };
    match &node.value {
        Value::Map(map) => {
            let (group_text, value) = only_pair(map).map_err(wrong)?;
            let (group_text, package) = split_package(group_text);
            let mut words: Vec<&str> = group_text.split(' ').collect();
            let group = words.pop().unwrap_or("");
            if group.is_empty() {
                return Err(wrong("an item without the name of a group".to_owned()));
            }
            // A word that is no keyword ends the keywords, and Hydra says nothing of it.
            let keywords: Vec<&str> =
                words.into_iter().take_while(|word| matches!(*word, "optional" | "override")).collect();
            let named = Named::Group {
                group: group.to_owned(),
                choice: read_choice(value).map_err(wrong)?,
                is_override: keywords.contains(&"override"),
                appended: false,
            };
            let mut item = Item::new(named, package, node.origin.clone());
            item.optional = keywords.contains(&"optional");
            Ok(item)
        }
        Value::Str(text) => {
            let (path, package) = split_package(text);
            if path == "_self_" && package.is_some() {
                return Err(wrong("_self_ cannot have a package".to_owned()));
            }
            Ok(Item::new(Named::Config { path: path.to_owned() }, package, node.origin.clone()))
        }
        other => {
            Err(wrong(format!("an item must be 'group: option' or a config path, not {}", other.kind())))
        }
    }
}

fn only_pair(map: &Map) -> Result<(&str, &Node), String> {
    let mut pairs = map.iter();
    match (pairs.next(), pairs.next()) {
        (Some((Key::Str(key), value)), None) => Ok((key, value)),
        (Some((key, _)), None) => {
            Err(format!("the name of a group must be a string, not {}", key.to_value().kind()))
        }
        (None, _) => Err("an item without the name of a group".to_owned()),
        (Some(_), Some(_)) => {
            let keys: Vec<String> = map.keys().map(|key| python_str(&key.to_value())).collect();
            Err(format!("one item has several keys ({}); each group is an item", keys.join(", ")))
        }
    }
}

/// `group@package`; what follows a colon in the package is of Hydra 1.0 and no longer counts.
fn split_package(text: &str) -> (&str, Option<String>) {
    match text.split_once('@') {
        None => (text, None),
        Some((group, package)) => {
            let package = package.split_once(':').map_or(package, |(package, _)| package);
            (group, Some(package.to_owned()))
        }
    }
}

fn read_choice(node: &Node) -> Result<Choice, String> {
    match &node.value {
        Value::Null => Ok(Choice::None),
        Value::Str(name) => Ok(Choice::One(name.clone())),
        Value::List(items) => {
            let names = items.iter().map(|item| match &item.value {
                Value::Str(name) => Ok(name.clone()),
                other => Err(format!("an option in a list must be a string, not {}", other.kind())),
            });
            Ok(Choice::Many(names.collect::<Result<_, _>>()?))
        }
        other => Err(format!(
            "an option must be a string or a list of strings, not {} (quote a \
                         number)",
            other.kind()
        )),
    }
}
