//! The config of a run, as its values by their whole key.

use std::collections::BTreeMap;
use std::path::Path;

use rooflens_compose::value::{Int, Value};
use rooflens_compose::yaml;

/// Reads a config as it is composed; nothing where there is none.
pub fn read(path: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    flat(&text)
}

/// What names the run itself is left out.
fn flat(text: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    if let Ok(node) = yaml::load(text, "config.yaml".into()) {
        add(&node.value, String::new(), &mut out);
    }
    out.retain(|key, _| !key.starts_with("hydra.") && !key.starts_with("runtime.python"));
    out
}

fn add(value: &Value, key: String, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Map(map) => {
            for (name, node) in map {
                let name = words(&name.to_value());
                let below = if key.is_empty() { name } else { format!("{key}.{name}") };
                add(&node.value, below, out);
            }
        }
        Value::List(nodes) if nodes.is_empty() => {}
        other => {
            out.insert(key, words(other));
        }
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(is) => is.to_string(),
        Value::Int(Int::Small(number)) => number.to_string(),
        Value::Int(Int::Big(digits)) => digits.clone(),
        Value::Float(number) => number.to_string(),
        Value::Str(text) => text.clone(),
        Value::List(nodes) => nodes.iter().map(|node| words(&node.value)).collect::<Vec<_>>().join(", "),
        // Within a list: its keys would be lost in one line.
        Value::Map(map) => {
            let pairs =
                map.iter().map(|(key, node)| format!("{}: {}", words(&key.to_value()), words(&node.value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_their_whole_key() {
        let found = flat("a: 1\nb:\n  c: x\n  list:\n  - p\n  - {q: 2}\nhydra:\n  run: 7\n");
        let pairs: Vec<(&str, &str)> =
            found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("b.c", "x"), ("b.list", "p, {q: 2}")]);
        assert!(flat("a: [").is_empty());
    }

    #[test]
    fn house_01_prompts_that_differ_in_a_folded_line_differ() {
        // As a dumper writes a text that is longer than 80 columns.
        let config = |end: &str| {
            format!("dataset:\n  prompt: {}\n    and at the end {end}\nseed: 1\n", "word ".repeat(15))
        };
        let (a, b) = (flat(&config("this")), flat(&config("that")));
        assert_eq!(a.len(), 2);
        assert_ne!(a["dataset.prompt"], b["dataset.prompt"]);
        assert!(a["dataset.prompt"].ends_with("word and at the end this"), "{a:?}");
    }
}
