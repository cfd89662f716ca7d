//! Values of the environment, and keys.

use super::{begins, replace, run};

/// How keys of the usual services begin, and how long they are at least.
const KEYS: [(&str, usize); 12] = [
    ("hf_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("sk-", 20),
    ("nvapi-", 20),
    ("xoxb-", 20),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("eyJ", 30),
];

/// A name with one of these in it holds a secret, however it is spelled.
const SECRET_NAMES: [&str; 7] = ["token", "password", "passwd", "secret", "api_key", "apikey", "credential"];

/// Values that tell nothing about anybody.
const PLAIN: [&str; 16] = [
    "true", "false", "on", "off", "yes", "no", "none", "null", "fp32", "fp16", "bf16", "fp8", "int8", "int4",
    "float", "half",
];

/// The text without the values of `NAME=value` and `--password value`.
pub(crate) fn assignments(text: &str) -> Option<String> {
    // Environments stand in reports as one text, their entries ended by zeros.
    if text.contains('\0') {
        return Some("<environment>".to_owned());
    }
    if !text.contains('=') && !text.contains("--") {
        return None;
    }
    replace(text, |text, at| {
        if !begins(text, at, "") {
            return None;
        }
        let rest = &text[at..];
        let name = &rest[..run(rest, |letter| letter.is_ascii_alphanumeric() || "_-".contains(letter))];
        let value_at = name.len() + 1;
        let is_option = text[..at].ends_with("--") || name.starts_with("--");
        let sign = rest[name.len()..].chars().next()?;
        if !(sign == '=' || (sign == ' ' && is_option && is_secret(name))) {
            return None;
        }
        if !is_secret(name) && !is_environment(name) {
            return None;
        }
        let value = &rest[value_at..];
        let value = &value[..run(value, |letter| !letter.is_whitespace() && !"\"',;)]}>".contains(letter))];
        let plain = value.is_empty() || value == "<removed>" || (!is_secret(name) && tells_nothing(value));
        (!plain).then(|| (value_at + value.len(), format!("{name}{sign}<removed>")))
    })
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_NAMES.iter().any(|secret| name.contains(secret))
}

/// Whether it is written as variables of the environment are.
fn is_environment(name: &str) -> bool {
    name.len() >= 3
        && name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn tells_nothing(value: &str) -> bool {
    value.parse::<f64>().is_ok() || PLAIN.contains(&value.to_ascii_lowercase().as_str())
}

/// The text without keys that can be told by how they begin.
pub(crate) fn keys(text: &str) -> Option<String> {
    if !KEYS.iter().any(|(beginning, _)| text.contains(beginning)) {
        return None;
    }
    replace(text, |text, at| {
        if !begins(text, at, "-") {
            return None;
        }
        let rest = &text[at..];
        let (beginning, least) = KEYS.iter().find(|(beginning, _)| rest.starts_with(beginning))?;
        let word = &rest[..run(rest, |letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))];
        // A name of words is no key: keys have digits and capitals, or many digits.
        let random = word[beginning.len()..].bytes().filter(u8::is_ascii_digit).count() >= 2;
        (word.len() >= *least && random).then(|| (word.len(), "<key>".to_owned()))
    })
}
