//! A mapping of the config, read key by key. What nobody asked for is an error at the end.

use std::collections::BTreeMap;

use rooflens_compose::nearest;
use rooflens_compose::value::{Int, Key, Map, Node, Value, python_str};

use crate::error::{SettingsError, SettingsProblem as Problem};

type Read<T> = Result<T, SettingsError>;

/// A mapping that remembers what was asked for.
pub struct ConfigSection<'a> {
    path: String,
    node: &'a Node,
    map: &'a Map,
    asked: Vec<String>,
}

impl<'a> ConfigSection<'a> {
    /// The whole config.
    pub(crate) fn root(node: &'a Node) -> Read<Self> {
        Self::of(String::new(), node)
    }

    fn of(path: String, node: &'a Node) -> Read<Self> {
        let Some(map) = node.as_map() else {
            return Err(wrong(&path, node, "a mapping"));
        };
        Ok(Self { path, node, map, asked: Vec::new() })
    }

    /// A mapping within.
    pub(crate) fn section(&mut self, key: &str) -> Read<ConfigSection<'a>> {
        let node = self.required(key)?;
        ConfigSection::of(self.key(key), node)
    }

    /// A mapping within, where there is one.
    pub(crate) fn optional_section(&mut self, key: &str) -> Read<Option<ConfigSection<'a>>> {
        let path = self.key(key);
        self.optional(key)?.map(|node| ConfigSection::of(path, node)).transpose()
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &str) -> Read<String> {
        let node = self.required(key)?;
        node.as_str().map(str::to_owned).ok_or_else(|| wrong(&self.key(key), node, "a string"))
    }

    /// A text with something in it.
    pub fn name(&mut self, key: &str) -> Read<String> {
        let text = self.text(key)?;
        if text.trim().is_empty() {
            return Err(wrong(&self.key(key), self.required(key)?, "a non-empty string"));
        }
        Ok(text)
    }

    /// A text, where there is one.
    pub(crate) fn optional_text(&mut self, key: &str) -> Read<Option<String>> {
        if self.optional(key)?.is_none() { Ok(None) } else { self.text(key).map(Some) }
    }

    /// True or false.
    pub(crate) fn flag(&mut self, key: &str) -> Read<bool> {
        let node = self.required(key)?;
        match node.value {
            Value::Bool(flag) => Ok(flag),
            _ => Err(wrong(&self.key(key), node, "true or false")),
        }
    }

    /// True or false, where it is said.
    pub(crate) fn optional_flag(&mut self, key: &str) -> Read<Option<bool>> {
        if self.optional(key)?.is_none() { Ok(None) } else { self.flag(key).map(Some) }
    }

    /// A whole number from 0 up.
    pub fn count(&mut self, key: &str) -> Read<u64> {
        let node = self.required(key)?;
        count(node).ok_or_else(|| wrong(&self.key(key), node, "a whole number of at least 0"))
    }

    /// A whole number from 1 up.
    pub(crate) fn positive(&mut self, key: &str) -> Read<u64> {
        let node = self.required(key)?;
        count(node)
            .filter(|count| *count > 0)
            .ok_or_else(|| wrong(&self.key(key), node, "a whole number of at least 1"))
    }

    /// A whole number from 1 up, where there is one.
    pub(crate) fn optional_positive(&mut self, key: &str) -> Read<Option<u64>> {
        if self.optional(key)?.is_none() { Ok(None) } else { self.positive(key).map(Some) }
    }

    /// A number of any kind.
    pub(crate) fn optional_number(&mut self, key: &str) -> Read<Option<f64>> {
        let path = self.key(key);
        let Some(node) = self.optional(key)? else { return Ok(None) };
        match &node.value {
            Value::Int(Int::Small(small)) => Ok(Some(*small as f64)),
            Value::Float(float) if float.is_finite() => Ok(Some(*float)),
            _ => Err(wrong(&path, node, "a number")),
        }
    }

    /// A number above 0, where there is one.
    pub(crate) fn optional_positive_number(&mut self, key: &str) -> Read<Option<f64>> {
        match self.optional_number(key)? {
            Some(number) if number <= 0.0 => {
                Err(wrong(&self.key(key), self.required(key)?, "a number above 0"))
            }
            number => Ok(number),
        }
    }

    /// One of some words.
    pub(crate) fn choice(&mut self, key: &str, known: &[&'static str]) -> Read<String> {
        let node = self.required(key)?;
        let text = self.text(key)?;
        if known.contains(&text.as_str()) {
            return Ok(text);
        }
        let problem = Problem::NotOneOf { key: self.key(key), is: text.clone(), known: known.to_vec() };
        let suggestion = nearest(&text, known.iter().copied()).map(str::to_owned);
        Err(SettingsError { suggestion, ..SettingsError::at(problem, &node.origin) })
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, key: &str) -> Read<Vec<String>> {
        let node = self.required(key)?;
        let text = |item: &Node| item.as_str().map(str::to_owned);
        let texts = match &node.value {
            Value::List(items) => items.iter().map(text).collect::<Option<Vec<String>>>(),
            _ => None,
        };
        texts.ok_or_else(|| wrong(&self.key(key), node, "a list of strings"))
    }

    /// The words of a command: numbers are taken as they are written.
    pub fn words(&mut self, key: &str) -> Read<Vec<String>> {
        let node = self.required(key)?;
        let word = |item: &Node| match &item.value {
            Value::Str(text) => Some(text.clone()),
            Value::Int(_) | Value::Float(_) => Some(python_str(&item.value)),
            _ => None,
        };
        let words = match &node.value {
            Value::List(items) => items.iter().map(word).collect::<Option<Vec<String>>>(),
            _ => None,
        };
        words.ok_or_else(|| wrong(&self.key(key), node, "a list of strings and numbers"))
    }

    /// A list of texts; empty where there is none.
    pub(crate) fn optional_texts(&mut self, key: &str) -> Read<Vec<String>> {
        if self.optional(key)?.is_none() { Ok(Vec::new()) } else { self.texts(key) }
    }

    /// A text of a list that cannot be taken.
    pub(crate) fn refused(&self, key: &str, is: &str, why: String) -> SettingsError {
        let problem = Problem::Refused { key: self.key(key), is: is.to_owned(), why };
        SettingsError::at(problem, &self.node(key).unwrap_or(self.node).origin)
    }

    /// A list of some words.
    pub(crate) fn choices(&mut self, key: &str, known: &[&'static str]) -> Read<Vec<String>> {
        let node = self.required(key)?;
        let texts = self.texts(key)?;
        match texts.iter().find(|text| !known.contains(&text.as_str())) {
            None => Ok(texts),
            Some(is) => {
                let problem = Problem::NotOneOf { key: self.key(key), is: is.clone(), known: known.to_vec() };
                let suggestion = nearest(is, known.iter().copied()).map(str::to_owned);
                Err(SettingsError { suggestion, ..SettingsError::at(problem, &node.origin) })
            }
        }
    }

    /// Whole numbers from 1 up; none where it is null.
    pub(crate) fn optional_positives(&mut self, key: &str) -> Read<Vec<u64>> {
        let path = self.key(key);
        let Some(node) = self.optional(key)? else { return Ok(Vec::new()) };
        let numbers = match &node.value {
            Value::List(items) => items.iter().map(|item| count(item).filter(|count| *count > 0)).collect(),
            _ => None,
        };
        numbers.ok_or_else(|| wrong(&path, node, "a list of whole numbers of at least 1"))
    }

    /// Environment variables.
    pub(crate) fn variables(&mut self, key: &str) -> Read<BTreeMap<String, String>> {
        let path = self.key(key);
        let Some(node) = self.optional(key)? else { return Ok(BTreeMap::new()) };
        let Some(map) = node.as_map() else { return Err(wrong(&path, node, "a mapping")) };
        let mut variables = BTreeMap::new();
        for (name, value) in map {
            let name = python_str(&name.to_value());
            let path = format!("{path}.{name}");
            let text = match &value.value {
                Value::Str(text) => text.clone(),
                Value::Int(_) | Value::Float(_) => python_str(&value.value),
                _ => return Err(wrong(&path, value, "a string or a number")),
            };
            if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
                return Err(wrong(&path, value, "an environment variable"));
            }
            variables.insert(name, text);
        }
        Ok(variables)
    }

    /// The error of two keys that exclude each other, at the place of the first.
    pub(crate) fn conflict(&self, key: &str, other: &str) -> SettingsError {
        let problem = Problem::Conflict { key: self.key(key), other: self.key(other) };
        SettingsError::at(problem, &self.node(key).unwrap_or(self.node).origin)
    }

    /// The node of a key, where somebody wants to name its place.
    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
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
            let suggestion = nearest(&name, self.asked.iter().map(String::as_str)).map(|near| self.key(near));
            let error = SettingsError::at(Problem::Unknown { key: self.key(&name) }, &node.origin);
            return Err(SettingsError { suggestion, ..error });
        }
        Ok(())
    }

    fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn required(&mut self, key: &str) -> Read<&'a Node> {
        match self.look(key)? {
            Some(node) => Ok(node),
            None => Err(SettingsError::at(Problem::Missing { key: self.key(key) }, &self.node.origin)),
        }
    }

    /// The value, unless it is missing or null.
    fn optional(&mut self, key: &str) -> Read<Option<&'a Node>> {
        Ok(self.look(key)?.filter(|node| node.value != Value::Null))
    }

    fn look(&mut self, key: &str) -> Read<Option<&'a Node>> {
        if !self.asked.iter().any(|asked| asked == key) {
            self.asked.push(key.to_owned());
        }
        match self.node(key) {
            Some(node) if node.is_missing() => {
                Err(SettingsError::at(Problem::Open { key: self.key(key) }, &node.origin))
            }
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

fn wrong(key: &str, node: &Node, wanted: &'static str) -> SettingsError {
    let is = match &node.value {
        Value::Str(text) => format!("'{text}'"),
        value if node.is_container() => value.kind().to_owned(),
        value => python_str(value),
    };
    SettingsError::at(Problem::Wrong { key: key.to_owned(), is, wanted }, &node.origin)
}
