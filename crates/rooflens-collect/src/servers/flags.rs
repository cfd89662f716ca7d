//! Flags of a server as words of a command line.

use serde_json::Value;

use super::{ServerPlanError, ServerSpec};

/// How a server spells its flags.
pub(super) struct Spelling {
    /// Between the words of a name.
    pub(crate) separator: char,
    /// What false is: `--no-NAME`, or nothing.
    pub(crate) has_no: bool,
    /// Flags that the plan sets, and what sets them.
    pub(crate) own: &'static [(&'static str, &'static str)],
}

/// The words of all flags, in the order of their names.
pub(super) fn words(spec: &ServerSpec, spelling: &Spelling) -> Result<Vec<String>, ServerPlanError> {
    let mut words = Vec::new();
    for (flag, value) in &spec.flags {
        let bare = flag.trim_start_matches('-').replace(['-', '_'], "_");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if bare.is_empty() || !bare.chars().all(is_name) {
            return Err(ServerPlanError::NoFlag { flag: flag.clone() });
        }
        if let Some((_, instead)) = spelling.own.iter().find(|(own, _)| *own == bare) {
            return Err(ServerPlanError::OwnFlag { flag: flag.clone(), instead });
        }
        let name = bare.replace('_', &spelling.separator.to_string());
        // A flag of one dash is taken as it is.
        let is_short = flag.starts_with('-') && !flag.starts_with("--");
        let option = if is_short { flag.clone() } else { format!("--{name}") };
        match value {
            Value::Null => {}
            Value::Bool(true) => words.push(option),
            Value::Bool(false) if spelling.has_no => words.push(format!("--no-{name}")),
            Value::Bool(false) => {}
            Value::Array(values) => {
                words.push(option);
                for value in values {
                    words.push(word(flag, value)?);
                }
            }
            Value::Object(_) => words.extend([option, value.to_string()]),
            Value::Number(_) | Value::String(_) => words.extend([option, word(flag, value)?]),
        }
    }
    Ok(words)
}

fn word(flag: &str, value: &Value) -> Result<String, ServerPlanError> {
    match value {
        Value::String(text) if !text.contains('\0') => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(_) | Value::Object(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::String(_) => {
            Err(ServerPlanError::NoWord { flag: flag.to_owned(), value: value.to_string() })
        }
    }
}
