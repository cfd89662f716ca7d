//! The lock as YAML. Every problem names its line.

use std::collections::BTreeMap;
use std::sync::Arc;

use rooflens_compose::value::{Int, Key, Map, Node, Value, python_str};
use rooflens_compose::yaml;

use super::identifiers::{InnerPath, ObjectId, Revision, SourceName};
use super::lock::{LOCK_FILE, Lock, LockedSource, Pin};
use super::{ExternalsError, SourceKind};

const HEAD: &str = "\
# Reference sources, pinned. `rooflens externals add` writes this file, `rooflens externals sync` makes
# third_party equal to it. `commit` is what is fetched, `tree` the git tree of the content.
";
const VERSION: i64 = 1;
const KEYS: &[&str] = &["kind", "url", "revision", "commit", "tree", "paths", "licences", "previous"];

/// The text of a lock.
pub(super) fn to_text(lock: &Lock) -> String {
    let sources: Map =
        lock.sources.iter().map(|(name, source)| (Key::from(name.as_str()), source_node(source))).collect();
    let mut root = Map::new();
    root.insert(Key::from("version"), Node::new(Value::Int(Int::Small(VERSION))));
    root.insert(Key::from("sources"), Node::new(Value::Map(sources)));
    format!("{HEAD}{}", yaml::dump(&Node::new(Value::Map(root))))
}

fn source_node(source: &LockedSource) -> Node {
    let pin = &source.pin;
    let mut map = Map::new();
    map.insert(Key::from("kind"), text(pin.kind.name()));
    map.insert(Key::from("url"), text(pin.url.as_str()));
    map.insert(Key::from("revision"), text(pin.revision.as_str()));
    map.insert(Key::from("commit"), text(pin.commit.as_str()));
    map.insert(Key::from("tree"), text(source.tree.as_str()));
    if !pin.paths.is_empty() {
        map.insert(Key::from("paths"), texts(pin.paths.iter().map(InnerPath::as_str)));
    }
    map.insert(Key::from("licences"), texts(source.licences.iter().map(String::as_str)));
    if let Some(previous) = &source.previous {
        map.insert(Key::from("previous"), text(previous.as_str()));
    }
    Node::new(Value::Map(map))
}

fn text(text: &str) -> Node {
    Node::new(Value::Str(text.to_owned()))
}

fn texts<'a>(items: impl Iterator<Item = &'a str>) -> Node {
    Node::new(Value::List(items.map(text).collect()))
}

/// Reads the text of a lock.
pub(super) fn parse(text: &str) -> Result<Lock, ExternalsError> {
    let root = yaml::load(text, Arc::from(LOCK_FILE))
        .map_err(|error| ExternalsError::LockYaml { error: Box::new(error) })?;
    if root.value == Value::Null {
        return Ok(Lock::default());
    }
    let mut version = None;
    let mut sources = BTreeMap::new();
    for (key, node) in map_of(&root, "the lock")? {
        match name_of(key, node)? {
            "version" => version = Some(version_of(node)?),
            "sources" if node.value == Value::Null => {}
            "sources" => {
                for (key, node) in map_of(node, "`sources`")? {
                    let source = source_of(name_of(key, node)?, node)?;
                    refuse_clash(&sources, &source, node)?;
                    sources.insert(source.pin.name.clone(), source);
                }
            }
            other => {
                return Err(shape(node, format!("unknown key {other:?}: a lock has version and sources")));
            }
        }
    }
    if version.is_none() {
        return Err(shape(&root, "the lock has no version".to_owned()));
    }
    Ok(Lock { sources })
}

fn version_of(node: &Node) -> Result<(), ExternalsError> {
    if node.value == Value::Int(Int::Small(VERSION)) {
        return Ok(());
    }
    let found = python_str(&node.value);
    Err(shape(node, format!("version {found} of the lock is not known here, only {VERSION}")))
}

fn refuse_clash(
    sources: &BTreeMap<SourceName, LockedSource>,
    source: &LockedSource,
    node: &Node,
) -> Result<(), ExternalsError> {
    match sources.keys().find(|name| name.clashes_with(&source.pin.name)) {
        Some(other) => Err(shape(
            node,
            format!("{:?} and {:?} differ by case only", other.as_str(), source.pin.name.as_str()),
        )),
        None => Ok(()),
    }
}

fn source_of(name: &str, node: &Node) -> Result<LockedSource, ExternalsError> {
    for (key, value) in map_of(node, &format!("the source {name:?}"))? {
        let key = name_of(key, value)?;
        if !KEYS.contains(&key) {
            return Err(shape(value, format!("unknown key {key:?}: a source has {}", KEYS.join(", "))));
        }
    }
    let (kind_name, kind_node) = text_of(node, "kind")?;
    let no_kind =
        || format!("{kind_name:?} is not a kind; expected one of {}", SourceKind::names().join(", "));
    let kind = SourceKind::from_name(kind_name).ok_or_else(|| shape(kind_node, no_kind()))?;
    let previous = match map_of(node, "a source")?.contains_key(&Key::from("previous")) {
        true => Some(field(node, "previous", ObjectId::parse)?),
        false => None,
    };
    let paths = list(node, "paths", InnerPath::parse)?;
    kind.check_paths(&paths).map_err(|error| shape(node, error.to_string()))?;
    Ok(LockedSource {
        pin: Pin {
            name: SourceName::parse(name).map_err(|error| shape(node, error.to_string()))?,
            kind,
            url: field(node, "url", |url| kind.keeper().url(url))?,
            revision: field(node, "revision", Revision::parse)?,
            commit: field(node, "commit", ObjectId::parse)?,
            paths,
        },
        tree: field(node, "tree", ObjectId::parse)?,
        licences: list(node, "licences", |path| InnerPath::parse(path).map(|path| path.as_str().to_owned()))?,
        previous,
    })
}

/// A field, checked; what is wrong with it is told with its line.
fn field<T>(
    node: &Node,
    key: &str,
    parse: impl Fn(&str) -> Result<T, ExternalsError>,
) -> Result<T, ExternalsError> {
    let (text, place) = text_of(node, key)?;
    parse(text).map_err(|error| shape(place, error.to_string()))
}

/// A list, each item checked. A list that is not there is empty.
fn list<T>(
    node: &Node,
    key: &str,
    parse: impl Fn(&str) -> Result<T, ExternalsError>,
) -> Result<Vec<T>, ExternalsError> {
    let Some(list) = map_of(node, "a source")?.get(&Key::from(key)) else { return Ok(Vec::new()) };
    let Value::List(items) = &list.value else {
        return Err(shape(list, format!("{key} must be a list, but is {}", list.value.kind())));
    };
    let item = |item: &Node| match &item.value {
        Value::Str(text) => parse(text).map_err(|error| shape(item, error.to_string())),
        other => Err(shape(item, format!("{key} must be a list of strings, but has {}", other.kind()))),
    };
    items.iter().map(item).collect()
}

fn map_of<'a>(node: &'a Node, what: &str) -> Result<&'a Map, ExternalsError> {
    match &node.value {
        Value::Map(map) => Ok(map),
        other => Err(shape(node, format!("{what} must be a mapping, but is {}", other.kind()))),
    }
}

fn name_of<'a>(key: &'a Key, node: &Node) -> Result<&'a str, ExternalsError> {
    match key {
        Key::Str(name) => Ok(name),
        other => Err(shape(node, format!("a key must be a string, but is {}", other.to_value().kind()))),
    }
}

fn text_of<'a>(node: &'a Node, key: &str) -> Result<(&'a str, &'a Node), ExternalsError> {
    match map_of(node, "a source")?.get(&Key::from(key)) {
        Some(place @ Node { value: Value::Str(text), .. }) => Ok((text, place)),
        Some(other) => Err(shape(
            other,
            format!("{key} must be a string, but is {}: put it in quotes", other.value.kind()),
        )),
        None => Err(shape(node, format!("a source must have {key}"))),
    }
}

fn shape(node: &Node, problem: String) -> ExternalsError {
    ExternalsError::LockShape { file: LOCK_FILE.to_owned(), line: node.origin.line, problem }
}
