//! The types of the `hydra` node. All other values of a config are free.

use crate::error::ComposeError;
use crate::hydra_tree::{HYDRA_KIND, Kind, LAUNCHER_KIND, SWEEPER_KIND};
use crate::value::{Int, Key, Node, Value, is_interpolation, python_repr, python_str};

/// What is known of the types of the `hydra` node. Configs that are merged before Hydra's own root
/// config meet no types yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Schema {
    pub(crate) has_root: bool,
    pub(crate) has_launcher: bool,
    pub(crate) has_sweeper: bool,
}

impl Schema {
    pub(crate) fn kind(self, path: &[Key]) -> Kind {
        let texts: Option<Vec<&str>> = path
            .iter()
            .map(|key| match key {
                Key::Str(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let Some(["hydra", rest @ ..]) = texts.as_deref() else {
            return Kind::Any;
        };
        match rest {
            ["launcher", rest @ ..] if self.has_launcher => field(LAUNCHER_KIND, rest),
            ["sweeper", rest @ ..] if self.has_sweeper => field(SWEEPER_KIND, rest),
            rest if self.has_root => field(HYDRA_KIND, rest),
            _ => Kind::Any,
        }
    }
}

fn field(kind: Kind, path: &[&str]) -> Kind {
    let Some((first, rest)) = path.split_first() else {
        return kind;
    };
    match kind {
        Kind::Record(fields) => {
            let found = fields.iter().find(|(name, _)| name == first);
            found.map_or(Kind::Any, |(_, kind)| field(*kind, rest))
        }
        Kind::TextMap { .. } if rest.is_empty() => Kind::Text { optional: false },
        Kind::TextList if rest.is_empty() => Kind::Text { optional: false },
        _ => Kind::Any,
    }
}

/// Makes a value fit a kind: text of numbers, truth values of words. Nothing is returned where it
/// fits as it is; interpolations and `???` fit every kind.
pub(crate) fn convert(kind: Kind, value: &Value) -> Result<Option<Value>, &'static str> {
    const TEXT: Kind = Kind::Text { optional: false };
    if matches!(value, Value::Str(text) if text == "???" || is_interpolation(text)) {
        return Ok(None);
    }
    match kind {
        Kind::Any => Ok(None),
        Kind::Text { optional } => to_text(value, optional),
        Kind::OptionalFlag => to_flag(value).map(Some),
        Kind::Count { optional } => match value {
            Value::Null if optional => Ok(None),
            Value::Int(_) => Ok(None),
            Value::Str(text) => match Int::from_python(text) {
                Some(int) => Ok(Some(Value::Int(int))),
                None => Err("a whole number"),
            },
            _ => Err("a whole number"),
        },
        Kind::OptionalMode => to_mode(value).map(Some),
        Kind::TextList => match value {
            Value::List(items) => {
                let texts = items.iter().map(|item| element(TEXT, item)).collect::<Result<_, _>>();
                texts.map(|texts| Some(Value::List(texts))).map_err(|_| "a list of strings")
            }
            _ => Err("a list of strings"),
        },
        Kind::TextMap { optional } => match value {
            Value::Null if optional => Ok(None),
            Value::Map(map) => {
                check_keys(map.keys())?;
                let pairs = map.iter().map(|(key, it)| Ok((key.clone(), element(TEXT, it)?)));
                let texts = pairs.collect::<Result<_, &'static str>>();
                texts.map(|texts| Some(Value::Map(texts))).map_err(|_| "a mapping to strings")
            }
            _ => Err("a mapping to strings"),
        },
        Kind::AnyMap | Kind::Record(_) => match value {
            Value::Map(map) => check_keys(map.keys()).map(|()| None),
            _ => Err("a mapping"),
        },
    }
}

pub(crate) fn check_key(kind: Kind, key: &Key) -> Result<(), &'static str> {
    match kind {
        Kind::TextMap { .. } | Kind::AnyMap | Kind::Record(_) => check_keys(std::iter::once(key)),
        _ => Ok(()),
    }
}

fn check_keys<'k>(mut keys: impl Iterator<Item = &'k Key>) -> Result<(), &'static str> {
    if keys.all(|key| matches!(key, Key::Str(_))) { Ok(()) } else { Err("a mapping with text keys") }
}

/// An element of a list or mapping of texts. OmegaConf lets whole lists and mappings through here.
pub(crate) fn element(kind: Kind, node: &Node) -> Result<Node, &'static str> {
    if node.is_container() { Ok(node.clone()) } else { fitted(kind, node) }
}

pub(crate) fn fitted(kind: Kind, node: &Node) -> Result<Node, &'static str> {
    let value = convert(kind, &node.value)?.unwrap_or_else(|| node.value.clone());
    Ok(Node::at(value, node.origin.clone()))
}

fn to_text(value: &Value, optional: bool) -> Result<Option<Value>, &'static str> {
    match value {
        Value::Null if optional => Ok(None),
        Value::Str(_) => Ok(None),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(Some(Value::Str(python_str(value)))),
        _ if optional => Err("a string or null"),
        _ => Err("a string"),
    }
}

fn to_flag(value: &Value) -> Result<Value, &'static str> {
    const EXPECTED: &str = "true, false or null";
    let flag = match value {
        Value::Null => return Ok(Value::Null),
        Value::Bool(flag) => *flag,
        Value::Int(int) => *int != Int::Small(0),
        Value::Str(text) => match (Int::from_python(text), text.to_lowercase().as_str()) {
            (Some(int), _) => int != Int::Small(0),
            (None, "yes" | "y" | "on" | "true") => true,
            (None, "no" | "n" | "off" | "false") => false,
            _ => return Err(EXPECTED),
        },
        _ => return Err(EXPECTED),
    };
    Ok(Value::Bool(flag))
}

fn to_mode(value: &Value) -> Result<Value, &'static str> {
    let name = match value {
        Value::Null => return Ok(Value::Null),
        Value::Int(Int::Small(1)) => "RUN",
        Value::Int(Int::Small(2)) => "MULTIRUN",
        Value::Str(text) => text.strip_prefix("RunMode.").unwrap_or(text),
        _ => "",
    };
    match name {
        "RUN" | "MULTIRUN" => Ok(Value::Str(name.to_owned())),
        _ => Err("RUN, MULTIRUN or null"),
    }
}

pub(crate) fn misfit(path: &[Key], expected: &'static str, node: &Node) -> ComposeError {
    let found = match &node.value {
        Value::List(_) | Value::Map(_) => node.value.kind().to_owned(),
        value => python_repr(value),
    };
    ComposeError::of_key(&path_text(path), expected, &found).placed(&node.origin)
}

pub(crate) fn no_field(path: &[Key], node: &Node, kind: Kind) -> ComposeError {
    let (last, above) = path
        .split_last()
        .map_or((String::new(), &[][..]), |(last, above)| (python_str(&last.to_value()), above));
    let names: Vec<&str> = match kind {
        Kind::Record(fields) => fields.iter().map(|(name, _)| *name).collect(),
        _ => Vec::new(),
    };
    let fault = format!("'{}' has no field '{last}'", path_text(above));
    ComposeError::at(fault, &node.origin).suggest(&last, names)
}

pub(crate) fn path_text(path: &[Key]) -> String {
    path.iter().map(|key| python_str(&key.to_value())).collect::<Vec<_>>().join(".")
}
