//! JSON as configs have it: with bare `Infinity` and `NaN`, which Python writes and JSON forbids.

use serde_json::{Map, Value};

use super::ConfigError;

/// Reads a config; bare `Infinity`, `-Infinity` and `NaN` become null.
///
/// ```
/// let config = rooflens_cost::config::parse(br#"{"time_step_limit": [0.0, Infinity]}"#)?;
/// assert!(config["time_step_limit"][1].is_null());
/// # Ok::<(), rooflens_cost::ConfigError>(())
/// ```
pub fn parse(text: &[u8]) -> Result<Map<String, Value>, ConfigError> {
    let read = |text: &[u8]| serde_json::from_slice::<Value>(text);
    let value = match read(text) {
        Ok(value) => value,
        Err(strict) => {
            read(&without_bare_words(text)).map_err(|_| ConfigError::NotJson(strict.to_string()))?
        }
    };
    match value {
        Value::Object(map) => Ok(map),
        other => Err(ConfigError::NotAnObject(kind(&other))),
    }
}

/// The text with bare words outside strings replaced by null.
fn without_bare_words(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some(&byte) = rest.first() {
        if in_string {
            let taken = if byte == b'\\' { rest.len().min(2) } else { 1 };
            in_string = byte != b'"';
            out.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
            continue;
        }
        let word = [&b"-Infinity"[..], b"Infinity", b"NaN"].into_iter().find(|word| rest.starts_with(word));
        match word {
            Some(word) => {
                out.extend_from_slice(b"null");
                rest = &rest[word.len()..];
            }
            None => {
                in_string = byte == b'"';
                out.push(byte);
                rest = &rest[1..];
            }
        }
    }
    out
}

/// Sets the key `path` (dots lead into nested objects) to `text`, read as JSON where it is JSON and as a
/// word else. A key that stands in `text_config` or `language_config` only is set there.
pub fn set(config: &mut Map<String, Value>, path: &str, text: &str) -> Result<(), ConfigError> {
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    if !path.contains('.') && !config.contains_key(path) {
        let nested = ["text_config", "language_config", "llm_config"];
        for inner in nested {
            if let Some(Value::Object(inner)) = config.get_mut(inner) {
                inner.insert(path.to_owned(), value);
                return Ok(());
            }
        }
    }
    let mut place = config;
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        if name.is_empty() {
            return Err(ConfigError::BadPath(path.to_owned()));
        }
        if names.peek().is_none() {
            place.insert(name.to_owned(), value);
            return Ok(());
        }
        let inner = place.entry(name.to_owned()).or_insert_with(|| Value::Object(Map::new()));
        match inner {
            Value::Object(inner) => place = inner,
            _ => return Err(ConfigError::BadPath(path.to_owned())),
        }
    }
    Err(ConfigError::BadPath(path.to_owned()))
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
