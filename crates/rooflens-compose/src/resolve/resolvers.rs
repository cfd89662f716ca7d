//! The resolvers a config may call: those of a project, and those that are built in.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::ResolveFault;
use super::evaluator::{Asking, Evaluator};
use super::select::Found;
use super::{Address, PathSegment, Root};
use crate::clock::Host;
use crate::clock::LocalTime;
use crate::compose::ComposeWarning;
use crate::interpolation::decode as read_element;
use crate::value::{Key, Node, Value, python_str};
use crate::yaml;

/// Answers `${name:argument,…}`. The arguments are already resolved; an error is a message.
pub type Resolver = Arc<dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync>;

/// The resolvers of a project, besides those that are built in: `oc.env`, `oc.select`,
/// `oc.decode`, `oc.create`, `oc.deprecated`, `oc.dict.keys`, `oc.dict.values`, `now`, `hydra`.
///
/// `python_version` is not built in, since no Python is run: a project that needs it registers it.
///
/// ```
/// use std::sync::Arc;
/// use rooflens_compose::resolve::Resolvers;
/// use rooflens_compose::value::Value;
///
/// let mut resolvers = Resolvers::default();
/// resolvers.register("answer", Arc::new(|_| Ok(Value::Str("42".into()))));
/// ```
#[derive(Clone, Default)]
pub struct Resolvers {
    custom: BTreeMap<String, Resolver>,
}

impl Resolvers {
    /// Adds a resolver, or replaces one, a built-in one too. A list or mapping it returns is part
    /// of the config, as if `oc.create` had made it.
    pub fn register(&mut self, name: &str, resolver: Resolver) {
        self.custom.insert(name.to_owned(), resolver);
    }

    /// The names of all resolvers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let built_in = ALL.iter().map(|(name, _)| *name);
        built_in.chain(self.custom.keys().map(String::as_str))
    }

    pub(super) fn custom(&self, name: &str) -> Option<&Resolver> {
        self.custom.get(name)
    }
}

impl std::fmt::Debug for Resolvers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.names()).finish()
    }
}

/// What an evaluation may use.
#[derive(Debug, Clone)]
pub struct EvaluationSettings {
    /// The machine.
    pub(crate) host: Host,
    /// The resolvers.
    pub(crate) resolvers: Resolvers,
    /// The time of a run, once it was asked for. A run has one, and so have all its jobs.
    time: Arc<OnceLock<LocalTime>>,
}

impl EvaluationSettings {
    /// A machine and some resolvers.
    #[must_use]
    pub(crate) fn new(host: Host, resolvers: Resolvers) -> Self {
        Self { host, resolvers, time: Arc::default() }
    }

    /// The same resolvers for another run, which reads the clock again.
    #[must_use]
    pub(crate) fn renewed(&self) -> Self {
        Self { time: Arc::default(), ..self.clone() }
    }

    pub(super) fn now(&self) -> LocalTime {
        *self.time.get_or_init(|| (self.host.clock)())
    }
}

pub(super) struct Call<'c> {
    pub(super) evaluator: &'c Evaluator<'c>,
    pub(super) name: &'c str,
    pub(super) arguments: Vec<Found>,
    pub(super) asking: &'c Asking<'c>,
}

type BuiltIn = fn(&Call<'_>) -> Result<Found, ResolveFault>;

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

impl Call<'_> {
    fn wrong(&self, message: impl Into<String>) -> ResolveFault {
        ResolveFault::Resolver { name: self.name.to_owned(), message: message.into() }
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
        let (from, key) = Evaluator::start(self.asking.parent, key)?;
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
        Found::At(self.evaluator.make(self.asking.parent, Node::new(Value::List(nodes))))
    }
}

/// `${oc.env:NAME,default}`: always text, or null where the default is.
fn env(call: &Call<'_>) -> Result<Found, ResolveFault> {
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
fn select(call: &Call<'_>) -> Result<Found, ResolveFault> {
    call.takes(1, 2)?;
    let key = call.text(0)?;
    match call.find(&key)? {
        Some(found) if !call.is_missing(&found) => Ok(found),
        _ => Ok(call.arguments.get(1).cloned().unwrap_or(Found::Raw(Value::Null))),
    }
}

/// `${oc.decode:text}`: the text read as an argument would be.
fn decode(call: &Call<'_>) -> Result<Found, ResolveFault> {
    call.takes(1, 1)?;
    match call.value(0) {
        Value::Null => Ok(Found::Raw(Value::Null)),
        Value::Str(text) => {
            let _level = call.evaluator.budget.enter()?;
            let element = read_element(&text)?;
            call.evaluator.element(&element, call.asking, &mut Vec::new())
        }
        other => Err(call.wrong(format!("takes a string or null, not {}", other.kind()))),
    }
}

/// `${oc.create:value}`: a list or mapping that is part of the config; text is read as YAML.
fn create(call: &Call<'_>) -> Result<Found, ResolveFault> {
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
    crate::sources::check_interpolations(&node).map_err(|error| call.wrong(error.to_string()))?;
    Ok(Found::At(call.evaluator.make(call.asking.parent, node)))
}

/// `${oc.dict.keys:key}`: the keys of a mapping.
fn dict_keys(call: &Call<'_>) -> Result<Found, ResolveFault> {
    let (_, address) = call.mapping()?;
    let keys = call.evaluator.with(&address, |node| {
        node.and_then(Node::as_map).map(|map| map.keys().map(Key::to_value).collect())
    });
    Ok(call.make_list(keys.unwrap_or_default()))
}

/// `${oc.dict.values:key}`: the values of a mapping, each still an interpolation.
fn dict_values(call: &Call<'_>) -> Result<Found, ResolveFault> {
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

/// `${oc.deprecated:new_key,message}`: the value of the new key, and a warning.
fn deprecated(call: &Call<'_>) -> Result<Found, ResolveFault> {
    call.takes(1, 2)?;
    let key = call.text(0)?;
    let message = match call.arguments.get(1) {
        None => "'$OLD_KEY' is deprecated; use '$NEW_KEY' instead".to_owned(),
        Some(_) => call.text(1)?,
    };
    let Some(found) = call.find(&key)? else {
        return Err(call.wrong(format!("there is no key '{key}'")));
    };
    let new_key = match &found {
        Found::At(address) => address.text(),
        Found::Raw(_) => key,
    };
    let old_key = call.asking.node.text();
    let message = message
        .replace("${OLD_KEY}", &old_key)
        .replace("${NEW_KEY}", &new_key)
        .replace("$OLD_KEY", &old_key)
        .replace("$NEW_KEY", &new_key);
    call.evaluator.warn(ComposeWarning::Deprecated { message });
    Ok(found)
}

/// `${now:%Y-%m-%d}`: the time, the same in a whole run.
fn now(call: &Call<'_>) -> Result<Found, ResolveFault> {
    call.takes(1, 1)?;
    let pattern = call.text(0)?;
    Ok(Found::Raw(Value::Str(call.evaluator.settings.now().format(&pattern))))
}

/// `${hydra:job.name}`: a value of the `hydra` node.
fn hydra(call: &Call<'_>) -> Result<Found, ResolveFault> {
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
