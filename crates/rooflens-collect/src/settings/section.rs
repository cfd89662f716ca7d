//! A mapping of the config, read key by key. What nobody asked for is an error at the end.

use std::collections::BTreeMap;

use rooflens_compose::nearest;
use rooflens_compose::value::{Int, Key, Map, Node, Value, python_str};

use crate::error::PlanError;

type Read<T> = Result<T, PlanError>;

/// A mapping that remembers what was asked for.
pub struct ConfigSection<'a> {
    path: String,
    node: &'a Node,
    map: &'a Map,
    asked: Vec<String>,
}

impl<'a> ConfigSection<'a> {
    pub(crate) fn root(node: &'a Node) -> Read<Self> {
        Self::of(String::new(), node)
    }

    fn of(path: String, node: &'a Node) -> Read<Self> {
        let Some(map) = node.as_map() else {
            return Err(wrong(&path, node, "a mapping"));
        };
        Ok(Self { path, node, map, asked: Vec::new() })
    }

    pub(crate) fn section(&mut self, key: &str) -> Read<ConfigSection<'a>> {
        let node = self.required(key)?;
        ConfigSection::of(self.key(key), node)
    }

    pub(crate) fn optional_section(&mut self, key: &str) -> Read<Option<ConfigSection<'a>>> {
        let path = self.key(key);
        self.optional(key)?.map(|node| ConfigSection::of(path, node)).transpose()
    }

    pub(crate) fn text(&mut self, key: &str) -> Read<String> {
        self.read(key, "a string", |node| node.as_str().map(str::to_owned))
    }

    pub(crate) fn name(&mut self, key: &str) -> Read<String> {
        let text = self.text(key)?;
        self.read(key, "a non-empty string", |_| Some(text).filter(|text| !text.trim().is_empty()))
    }

    pub(crate) fn optional_text(&mut self, key: &str) -> Read<Option<String>> {
        self.if_set(key, Self::text)
    }

    pub(crate) fn flag(&mut self, key: &str) -> Read<bool> {
        self.read(key, "true or false", |node| match node.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        })
    }

    pub(crate) fn optional_flag(&mut self, key: &str) -> Read<Option<bool>> {
        self.if_set(key, Self::flag)
    }

    pub(crate) fn count(&mut self, key: &str) -> Read<u64> {
        self.read(key, "a whole number of at least 0", count)
    }

    pub(crate) fn positive(&mut self, key: &str) -> Read<u64> {
        self.read(key, "a whole number of at least 1", positive)
    }

    pub(crate) fn optional_positive(&mut self, key: &str) -> Read<Option<u64>> {
        self.if_set(key, Self::positive)
    }

    pub(crate) fn optional_number(&mut self, key: &str) -> Read<Option<f64>> {
        let number = |node: &Node| match &node.value {
            Value::Int(Int::Small(small)) => Some(*small as f64),
            Value::Float(float) if float.is_finite() => Some(*float),
            _ => None,
        };
        self.if_set(key, |keys, key| keys.read(key, "a number", number))
    }

    pub(crate) fn optional_positive_number(&mut self, key: &str) -> Read<Option<f64>> {
        match self.optional_number(key)? {
            Some(number) if number <= 0.0 => self.read(key, "a number above 0", |_| None),
            number => Ok(number),
        }
    }

    pub(crate) fn choice(&mut self, key: &str, known: &[&'static str]) -> Read<String> {
        let text = self.text(key)?;
        self.check_known(key, &text, known).map(|()| text)
    }

    pub(crate) fn choices(&mut self, key: &str, known: &[&'static str]) -> Read<Vec<String>> {
        let texts = self.texts(key)?;
        texts.iter().try_for_each(|text| self.check_known(key, text, known)).map(|()| texts)
    }

    fn check_known(&self, key: &str, is: &str, known: &[&'static str]) -> Read<()> {
        if known.contains(&is) {
            return Ok(());
        }
        let nearest = nearest(is, known.iter().copied()).map(str::to_owned);
        Err(self.at(key, PlanError::not_one_of(&self.key(key), is, known)).meant(nearest))
    }

    pub(crate) fn texts(&mut self, key: &str) -> Read<Vec<String>> {
        self.list(key, "a list of strings", |item| item.as_str().map(str::to_owned))
    }

    /// The words of a command: numbers are taken as they are written.
    pub(crate) fn words(&mut self, key: &str) -> Read<Vec<String>> {
        self.list(key, "a list of strings and numbers", word)
    }

    pub(crate) fn optional_texts(&mut self, key: &str) -> Read<Vec<String>> {
        self.if_set(key, Self::texts).map(Option::unwrap_or_default)
    }

    pub(crate) fn optional_positives(&mut self, key: &str) -> Read<Vec<u64>> {
        let wanted = "a list of whole numbers of at least 1";
        self.if_set(key, |keys, key| keys.list(key, wanted, positive)).map(Option::unwrap_or_default)
    }

    pub(crate) fn variables(&mut self, key: &str) -> Read<BTreeMap<String, String>> {
        let path = self.key(key);
        let Some(node) = self.optional(key)? else { return Ok(BTreeMap::new()) };
        let Some(map) = node.as_map() else { return Err(wrong(&path, node, "a mapping")) };
        let mut variables = BTreeMap::new();
        for (name, value) in map {
            let name = python_str(&name.to_value());
            let path = format!("{path}.{name}");
            let text = word(value).ok_or_else(|| wrong(&path, value, "a string or a number"))?;
            if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
                return Err(wrong(&path, value, "an environment variable"));
            }
            variables.insert(name, text);
        }
        Ok(variables)
    }

    pub(crate) fn refused(&self, key: &str, is: &str, why: String) -> PlanError {
        self.at(key, PlanError::of_key(&self.key(key), format!("has '{is}': {why}")))
    }

    /// The error of two keys that exclude each other, at the place of the first.
    pub(crate) fn conflict(&self, key: &str, other: &str) -> PlanError {
        let (one, two) = (self.key(key), self.key(other));
        let hint = format!("keep one: {one}=null or {two}=null");
        self.at(key, PlanError::new(format!("{one} and {two} cannot both be set"), hint))
    }

    fn at(&self, key: &str, error: PlanError) -> PlanError {
        error.at(&self.node(key).unwrap_or(self.node).origin)
    }

    fn node(&self, key: &str) -> Option<&'a Node> {
        self.map.get(&Key::from(key))
    }

    /// Everything was read: what is left nobody knows. Keys that begin with an underscore are the
    /// user's own, for interpolations to share.
    pub fn finish(self) -> Read<()> {
        for (key, node) in self.map {
            let name = python_str(&key.to_value());
            if name.starts_with('_') || self.asked.contains(&name) {
                continue;
            }
            let nearest = nearest(&name, self.asked.iter().map(String::as_str)).map(|near| self.key(near));
            let key = self.key(&name);
            let hint = format!("your own keys must begin with an underscore; to remove it: ~{key}");
            return Err(PlanError::new(format!("unknown setting {key}"), hint)
                .at(&node.origin)
                .meant(nearest));
        }
        Ok(())
    }

    fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Reads a value. `wanted` says in errors what it should be.
    fn read<T>(&mut self, key: &str, wanted: &'static str, of: impl FnOnce(&Node) -> Option<T>) -> Read<T> {
        let node = self.required(key)?;
        of(node).ok_or_else(|| wrong(&self.key(key), node, wanted))
    }

    fn list<T>(&mut self, key: &str, wanted: &'static str, of: impl Fn(&Node) -> Option<T>) -> Read<Vec<T>> {
        self.read(key, wanted, |node| match &node.value {
            Value::List(items) => items.iter().map(of).collect(),
            _ => None,
        })
    }

    /// Reads a value unless it is missing or null.
    fn if_set<T>(&mut self, key: &str, read: impl FnOnce(&mut Self, &str) -> Read<T>) -> Read<Option<T>> {
        if self.optional(key)?.is_none() { Ok(None) } else { read(self, key).map(Some) }
    }

    fn required(&mut self, key: &str) -> Read<&'a Node> {
        self.look(key)?.ok_or_else(|| PlanError::missing(&self.key(key)).at(&self.node.origin))
    }

    fn optional(&mut self, key: &str) -> Read<Option<&'a Node>> {
        Ok(self.look(key)?.filter(|node| node.value != Value::Null))
    }

    fn look(&mut self, key: &str) -> Read<Option<&'a Node>> {
        if !self.asked.iter().any(|asked| asked == key) {
            self.asked.push(key.to_owned());
        }
        match self.node(key) {
            Some(node) if node.is_missing() => Err(PlanError::open(&self.key(key)).at(&node.origin)),
            found => Ok(found),
        }
    }
}

fn count(node: &Node) -> Option<u64> {
    match &node.value {
        Value::Int(Int::Small(small)) => u64::try_from(*small).ok(),
        _ => None,
    }
}

fn positive(node: &Node) -> Option<u64> {
    count(node).filter(|count| *count > 0)
}

fn word(node: &Node) -> Option<String> {
    match &node.value {
        Value::Str(text) => Some(text.clone()),
        Value::Int(_) | Value::Float(_) => Some(python_str(&node.value)),
        _ => None,
    }
}

fn wrong(key: &str, node: &Node, wanted: &'static str) -> PlanError {
    let is = match &node.value {
        Value::Str(text) => format!("'{text}'"),
        value if node.is_container() => value.kind().to_owned(),
        value => python_str(value),
    };
    PlanError::of_key(key, format!("is {is}, not {wanted}")).at(&node.origin)
}
