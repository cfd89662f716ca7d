//! The command line, merged into the composed config.

use super::{Admission, Merger, at, at_mut, check_depth, kinds_clash, no_key, set};
use crate::error::{ComposeError, check_interpolations};
use crate::hydra_tree::Kind;
use crate::interpolation::split_key;
use crate::overrides::{Override, OverrideKind};
use crate::resolve::{Evaluator, Found, PathSegment, python_int, walk, walk_mut};
use crate::schema::{convert, fitted, misfit};
use crate::value::{Int, Key, Map, Node, Value, python_str};

/// Applies overrides of values, in order. The config is closed: only `+` adds keys.
pub(crate) fn apply_overrides(
    merger: &mut Merger<'_>,
    root: &mut Node,
    overrides: &[Override],
    groups: &[String],
) -> Result<(), ComposeError> {
    merger.config = None;
    for change in overrides {
        let origin = change.origin();
        if change.package.is_some() {
            let error = ComposeError::new(format!(
                "'{}' looks like the choice of a config group, but there is no group '{}'",
                change.text, change.key
            ));
            let error = error.placed(&origin);
            return Err(error.suggest(&change.key, groups.iter().map(String::as_str)));
        }
        let Some(node) = change.node() else { continue };
        let place = |error: ComposeError| error.placed(&origin);
        let key = &change.key;
        match change.kind {
            OverrideKind::Delete => delete(merger, root, key, &node).map_err(place)?,
            OverrideKind::Change => {
                merger.admission = Admission::Closed;
                update(merger, root, key, node).map_err(place)?;
            }
            OverrideKind::ForceAdd => {
                merger.admission = Admission::Open;
                update(merger, root, key, node).map_err(place)?;
            }
            OverrideKind::Add => {
                merger.admission = Admission::Open;
                let found = Evaluator::new(root, None, merger.settings).value_at(key);
                let is_free = found.map_err(|error| place(error.into()))?.is_none();
                if !is_free && !node.is_container() {
                    let message = format!("'{key}' already exists and cannot be added");
                    let input = &change.text;
                    let hint = format!(
                        "to change it use {}; to add or change it use +{input}",
                        input.strip_prefix('+').unwrap_or(input)
                    );
                    return Err(ComposeError::at(message, &origin).with_hint(hint));
                }
                update(merger, root, key, node).map_err(place)?;
            }
        }
    }
    Ok(())
}

/// Sets a value by its path. On the way, what is no list or mapping becomes one.
fn update(merger: &mut Merger<'_>, root: &mut Node, key: &str, value: Node) -> Result<(), ComposeError> {
    check_interpolations(&value)?;
    let keys = split_key(key);
    check_depth(keys.len(), &value, &[Key::from(key)])?;
    let Some((last, above)) = keys.split_last() else { return Ok(()) };
    let mut path: Vec<Key> = Vec::new();
    for (index, key) in above.iter().enumerate() {
        let here = at(root, &path);
        if let Some(Node { value: Value::List(_), .. }) = here {
            return update_below_list(merger, root, &path, &keys[index..], value);
        }
        path.push(Key::from(key.as_str()));
        check_not_none(merger, root, &path, &value)?;
        if !at(root, &path).is_some_and(Node::is_container) {
            let empty = Node::at(Value::Map(Map::new()), value.origin.clone());
            assign(merger, root, &path, empty)?;
        }
    }
    if let Some(Node { value: Value::List(_), .. }) = at(root, &path) {
        return update_below_list(merger, root, &path, &keys[above.len()..], value);
    }
    path.push(Key::from(last.as_str()));
    let existing = at(root, &path);
    if value.is_container() {
        check_not_none(merger, root, &path, &value)?;
        if existing.is_none() && merger.admission == Admission::Closed {
            return Err(no_key(&path, &value, at(root, &path[..path.len() - 1])));
        }
        if let Some(existing) = existing.filter(|node| node.is_container()) {
            return match (&existing.value, &value.value) {
                (Value::Map(_), Value::Map(_)) => merger.merge_map(root, &mut path, &value),
                (Value::List(_), Value::List(_)) => assign(merger, root, &path, value),
                _ => Err(kinds_clash(None, &path, existing, &value)),
            };
        }
    }
    assign(merger, root, &path, value)
}

/// OmegaConf cannot merge into a typed mapping that is null (`hydra.sweeper.params`); a config file
/// can set it.
fn check_not_none(merger: &Merger<'_>, root: &Node, path: &[Key], value: &Node) -> Result<(), ComposeError> {
    let is_none = at(root, path).is_some_and(|node| node.value == Value::Null);
    if is_none && matches!(merger.schema.kind(path), Kind::TextMap { .. }) {
        return Err(misfit(path, "set in a config before the command line can add to it", value));
    }
    Ok(())
}

fn assign(merger: &Merger<'_>, root: &mut Node, path: &[Key], value: Node) -> Result<(), ComposeError> {
    if at(root, path).is_none() && merger.admission == Admission::Closed {
        return Err(no_key(path, &value, at(root, &path[..path.len() - 1])));
    }
    let kind = merger.schema.kind(path);
    match convert(kind, &value.value) {
        Ok(None) => set(root, path, value),
        Ok(Some(fitting)) => set(root, path, Node::at(fitting, value.origin)),
        Err(expected) => return Err(misfit(path, expected, &value)),
    }
    Ok(())
}

fn update_below_list(
    merger: &Merger<'_>,
    root: &mut Node,
    path: &[Key],
    keys: &[String],
    mut value: Node,
) -> Result<(), ComposeError> {
    let kind = merger.schema.kind(path);
    if keys.len() == 1 && kind == Kind::TextList {
        let text = Kind::Text { optional: false };
        value = fitted(text, &value).map_err(|expected| misfit(path, expected, &value))?;
    }
    let shown = crate::schema::path_text(path);
    let Some((first, rest)) = keys.split_first() else { return Ok(()) };
    let no_item = || {
        let fault = format!("'{shown}': the list has no item '{first}'");
        ComposeError::at(fault, &value.origin)
    };
    let Some(Node { value: Value::List(items), .. }) = at_mut(root, path) else { return Ok(()) };
    let index = python_int(first).flatten().ok_or_else(no_item)?;
    let item = items.get_mut(index).ok_or_else(no_item)?;
    set_inside(item, rest, value, merger.admission)
}

fn set_inside(
    node: &mut Node,
    keys: &[String],
    value: Node,
    admission: Admission,
) -> Result<(), ComposeError> {
    let Some((first, rest)) = keys.split_first() else {
        return match (&mut node.value, &value.value) {
            (Value::Map(map), Value::Map(new)) => merge_inside(map, new, admission),
            (Value::List(_), Value::Map(_)) | (Value::Map(_), Value::List(_)) => {
                Err(kinds_clash(None, &[], node, &value))
            }
            _ => {
                *node = value;
                Ok(())
            }
        };
    };
    if !node.is_container() {
        node.value = Value::Map(Map::new());
        node.origin = value.origin.clone();
    }
    match &mut node.value {
        Value::List(items) => {
            let fault = format!("'{}': the list has no item '{first}'", keys.join("."));
            let index = python_int(first).flatten();
            let item = index.and_then(|index| items.get_mut(index));
            let item = item.ok_or_else(|| ComposeError::at(fault, &value.origin))?;
            set_inside(item, rest, value, admission)
        }
        Value::Map(map) => {
            let key = Key::from(first.as_str());
            if !map.contains_key(&key) && admission == Admission::Closed {
                return Err(no_key(&[key], &value, Some(&Node::new(Value::Map(map.clone())))));
            }
            let empty = Node::at(Value::Null, value.origin.clone());
            set_inside(map.entry(key).or_insert(empty), rest, value, admission)
        }
        _ => Ok(()),
    }
}

fn merge_inside(map: &mut Map, new: &Map, admission: Admission) -> Result<(), ComposeError> {
    for (key, value) in new {
        match map.get_mut(key) {
            None if admission == Admission::Closed => {
                return Err(no_key(std::slice::from_ref(key), value, None));
            }
            None => {
                map.insert(key.clone(), value.clone());
            }
            Some(_) if value.is_missing() => {}
            Some(existing) => set_inside(existing, &[], value.clone(), admission)?,
        }
    }
    Ok(())
}

/// Removes a value by its path; where a value is named, only if it is that one.
fn delete(merger: &Merger<'_>, root: &mut Node, key: &str, expected: &Node) -> Result<(), ComposeError> {
    let evaluator = Evaluator::new(root, None, merger.settings);
    let Some(actual) = evaluator.value_at(key)? else {
        return Err(ComposeError::new(format!("there is no '{key}' to delete")));
    };
    if expected.value != Value::Null && !python_equal(&expected.value, &actual) {
        let (actual, expected) = (python_str(&actual), python_str(&expected.value));
        let message = format!("'{key}' is {actual} and not {expected}, so it is not deleted");
        return Err(ComposeError::new(message));
    }
    let undeletable = |reason: &str| ComposeError::new(format!("'{key}' cannot be deleted: {reason}"));
    let (above, last) = key.rsplit_once('.').unwrap_or(("", key));
    // The way may lead through an interpolation: then what it refers to loses the key.
    let Some(Found::At(address)) = evaluator.look_up(above)? else {
        return Err(undeletable("it is not a value of the config"));
    };
    let steps = address.steps;
    if matches!(walk(root, &steps), Some(Node { value: Value::List(_), .. })) {
        return Err(undeletable("an item cannot be removed from a list"));
    }
    let keys: Vec<Key> = steps
        .iter()
        .filter_map(|step| match step {
            PathSegment::Key(key) => Some(key.clone()),
            _ => None,
        })
        .collect();
    if matches!(merger.schema.kind(&keys), Kind::Record(_)) {
        return Err(undeletable("the fields of Hydra's own config are fixed"));
    }
    let container = walk_mut(root, &steps).and_then(Node::as_map_mut);
    match container.and_then(|map| map.shift_remove(&Key::from(last))) {
        Some(_) => Ok(()),
        None => Err(undeletable("it is not a value of the config")),
    }
}

fn python_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| python_equal(&l.value, &r.value))
        }
        (Value::Map(left), Value::Map(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| {
                    right.get(key).is_some_and(|other| python_equal(&value.value, &other.value))
                })
        }
        (Value::Null, Value::Null) => true,
        (Value::Str(left), Value::Str(right)) => left == right,
        // Keys already compare as Python's numbers do; NaN, though, is not equal to itself.
        _ => match (number(left), number(right)) {
            (Some(left), Some(right)) => left == right,
            _ => false,
        },
    }
}

fn number(value: &Value) -> Option<Key> {
    match value {
        Value::Bool(flag) => Some(Key::Int(Int::Small(i64::from(*flag)))),
        Value::Int(int) => Some(Key::Int(int.clone())),
        Value::Float(float) if !float.is_nan() => Some(Key::Float(float.to_bits())),
        _ => None,
    }
}
