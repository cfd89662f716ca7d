//! The built-in resolvers.

use super::evaluator::Evaluator;
use super::{Address, Found, PathSegment, ResolveFault, Root};
use crate::interpolation::decode as read_element;
use crate::value::{Key, Node, Value, python_str};
use crate::yaml;

pub(super) struct Call<'c, 'e> {
    pub(super) evaluator: &'c Evaluator<'e>,
    pub(super) name: &'c str,
    pub(super) arguments: Vec<Found>,
    pub(super) parent: &'c Address,
}

type BuiltIn = fn(&Call<'_, '_>) -> Result<Found, ResolveFault>;

pub(super) const ALL: &[(&str, BuiltIn)] = &[
    ("hydra", hydra),
    ("now", now),
    ("oc.create", create),
    ("oc.decode", decode),
    ("oc.deprecated", deprecated),
    ("oc.dict.keys", dict_keys),
    ("oc.dict.values", dict_values),
    ("oc.env", env),
    ("oc.select", select),
];

impl Call<'_, '_> {
    fn wrong(&self, message: impl Into<String>) -> ResolveFault {
        ResolveFault::Other(format!("{}: {}", self.name, message.into()))
    }

    fn takes(&self, least: usize, most: usize) -> Result<(), ResolveFault> {
        let count = self.arguments.len();
        if (least..=most).contains(&count) {
            return Ok(());
        }
        let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Err(self.wrong(format!("takes {wanted} arguments, not {count}")))
    }

    fn value(&self, index: usize) -> Value {
        self.arguments.get(index).map_or(Value::Null, |found| self.evaluator.value_of(found))
    }

    fn text(&self, index: usize) -> Result<String, ResolveFault> {
        match self.value(index) {
            Value::Str(text) => Ok(text),
            other => {
                Err(self.wrong(format!("argument {} must be a string, not {}", index + 1, other.kind())))
            }
        }
    }

    /// What a key leads to, absolute or relative to the container the call stands in. Nothing
    /// where it leads nowhere, or below something without keys.
    fn find(&self, key: &str) -> Result<Option<Found>, ResolveFault> {
        let (from, key) = Evaluator::start(self.parent, key)?;
        match self.evaluator.select(&from, key, false, None) {
            Err(ResolveFault::NotContainer { .. }) => Ok(None),
            other => other,
        }
    }

    fn is_missing(&self, found: &Found) -> bool {
        matches!(found, Found::At(address)
            if self.evaluator.with(address, |node| node.is_some_and(Node::is_missing)))
    }

    fn mapping(&self) -> Result<(String, Address), ResolveFault> {
        self.takes(1, 1)?;
        let key = self.text(0)?;
        match self.find(&key)? {
            None => Err(self.wrong(format!("there is no key '{key}'"))),
            // What is left open is an error here: a list of its keys cannot be left open with it.
            Some(found) if self.is_missing(&found) => Err(self.wrong(format!("'{key}' is left open (???)"))),
            Some(Found::At(address))
                if self.evaluator.with(&address, |it| it.is_some_and(|it| it.as_map().is_some())) =>
            {
                Ok((key, address))
            }
            Some(found) => {
                let kind = self.evaluator.value_of(&found).kind();
                Err(self.wrong(format!("'{key}' must be a mapping, not {kind}")))
            }
        }
    }

    fn make_list(&self, items: Vec<Value>) -> Found {
        let nodes = items.into_iter().map(Node::new).collect();
        Found::At(self.evaluator.make(self.parent, Node::new(Value::List(nodes))))
    }
}

/// `${oc.env:NAME,default}`: always text, or null where the default is.
fn env(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    call.takes(1, 2)?;
    let name = call.text(0)?;
    let value = match (call.evaluator.settings.host.environment)(&name) {
        Some(value) => Value::Str(value),
        None if call.arguments.len() == 1 => {
            return Err(call.wrong(format!("the environment variable '{name}' is not set")));
        }
        None => match call.value(1) {
            Value::Null => Value::Null,
            default => Value::Str(python_str(&default)),
        },
    };
    Ok(Found::Raw(value))
}

/// `${oc.select:key,default}`: the default, or null, for what is not there or left open.
fn select(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    call.takes(1, 2)?;
    let key = call.text(0)?;
    match call.find(&key)? {
        Some(found) if !call.is_missing(&found) => Ok(found),
        _ => Ok(call.arguments.get(1).cloned().unwrap_or(Found::Raw(Value::Null))),
    }
}

/// `${oc.decode:text}`: the text read as an argument would be.
fn decode(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    call.takes(1, 1)?;
    match call.value(0) {
        Value::Null => Ok(Found::Raw(Value::Null)),
        Value::Str(text) => {
            let _level = call.evaluator.budget.enter()?;
            let element = read_element(&text)?;
            call.evaluator.element(&element, call.parent, &mut Vec::new())
        }
        other => Err(call.wrong(format!("takes a string or null, not {}", other.kind()))),
    }
}

/// `${oc.create:value}`: a list or mapping that is part of the config; text is read as YAML.
fn create(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    call.takes(1, 1)?;
    let value = match call.value(0) {
        Value::Str(text) => {
            let node = yaml::load(&text, "oc.create".into());
            let mut node = node.map_err(|error| call.wrong(error.to_string()))?;
            if node.value == Value::Null {
                node.value = Value::Map(crate::value::Map::new());
            }
            node.value
        }
        value @ (Value::List(_) | Value::Map(_)) => value,
        other => {
            return Err(call.wrong(format!("takes a list, a mapping or a string, not {}", other.kind())));
        }
    };
    let mut node = Node::new(value);
    // The text is written where the resolver was called, not in a separate file.
    node.forget_origins();
    crate::error::check_interpolations(&node).map_err(|error| call.wrong(error.to_string()))?;
    Ok(Found::At(call.evaluator.make(call.parent, node)))
}

/// `${oc.dict.keys:key}`: the keys of a mapping.
fn dict_keys(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    let (_, address) = call.mapping()?;
    let keys = call.evaluator.with(&address, |node| {
        node.and_then(Node::as_map).map(|map| map.keys().map(Key::to_value).collect())
    });
    Ok(call.make_list(keys.unwrap_or_default()))
}

/// `${oc.dict.values:key}`: the values of a mapping, each still an interpolation.
fn dict_values(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    let (key, address) = call.mapping()?;
    // The list is a level of its own, which a relative key has to go up again.
    let key = if key.starts_with('.') { format!(".{key}") } else { key };
    let references = call.evaluator.with(&address, |node| {
        let keys = node.and_then(Node::as_map).map(|map| map.keys());
        let texts = keys.into_iter().flatten().map(|it| python_str(&it.to_value()));
        texts.map(|name| format!("${{{key}.{name}}}")).collect::<Vec<_>>()
    });
    for reference in &references {
        crate::interpolation::parse(reference)?;
    }
    Ok(call.make_list(references.into_iter().map(Value::Str).collect()))
}

/// `${oc.deprecated:new_key,message}`: the value of the new key. `OmegaConf` also warns.
fn deprecated(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    call.takes(1, 2)?;
    let key = call.text(0)?;
    if call.arguments.len() > 1 {
        call.text(1)?;
    }
    call.find(&key)?.ok_or_else(|| call.wrong(format!("there is no key '{key}'")))
}

/// `${now:%Y-%m-%d}`: the time, the same in a whole run.
fn now(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    call.takes(1, 1)?;
    let pattern = call.text(0)?;
    Ok(Found::Raw(Value::Str(call.evaluator.settings.now().format(&pattern))))
}

/// `${hydra:job.name}`: a value of the `hydra` node.
fn hydra(call: &Call<'_, '_>) -> Result<Found, ResolveFault> {
    call.takes(1, 1)?;
    let key = call.text(0)?;
    if !call.evaluator.has_whole() {
        return Err(call.wrong("the config has no hydra node yet"));
    }
    let top = Address::root(Root::Whole).below(PathSegment::Key(Key::from("hydra")));
    let relative = if key.starts_with('.') { key } else { format!(".{key}") };
    let (from, key) = Evaluator::start(&top, &relative)?;
    let found = match call.evaluator.select(&from, key, false, None) {
        Err(ResolveFault::NotContainer { .. }) => None,
        other => other?,
    };
    match found {
        Some(found) if !call.is_missing(&found) => Ok(found),
        _ => Ok(Found::Raw(Value::Null)),
    }
}
