//! Reads interpolation texts, one JSON object a line, and prints what they ask for, answered from a
//! made-up config: the other half of `oracles/compose/interpolation_diff.py`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

use std::io::BufRead;

use rooflens_compose::interpolation::{
    Interpolation, InterpolationElement, TextPart, decode, is_interpolation, parse, split_key,
};
use rooflens_compose::value::{Int, Key, Node, Value, float_repr, python_str};
use serde_json::json;

/// A resolved element: a value, but with mappings that may have `null` as a key.
#[derive(Clone)]
enum Answer {
    Value(Value),
    List(Vec<Answer>),
    Map(Vec<(Option<Key>, Answer)>),
}

/// A name that is not text: OmegaConf refuses it.
struct NotText;

struct Resolver<'a> {
    text: &'a str,
}

fn main() {
    for line in std::io::stdin().lock().lines() {
        let case: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = case["in"].as_str().unwrap();
        let resolver = Resolver { text };
        let config_value = parse(text).ok().map(|parts| {
            resolver.parts(&parts).map_or(json!("not text"), |answer| json!({ "ok": show(&answer) }))
        });
        let decoded = decode(text).ok().map(|element| {
            let answer = resolver.element(&element);
            answer.map_or(json!("not text"), |answer| json!({ "ok": show(&answer) }))
        });
        let is_interpolation = is_interpolation(text);
        let view = json!({
            "parse": config_value, "decode": decoded, "is": is_interpolation, "keys": split_key(text),
        });
        println!("{view}");
    }
}

impl Resolver<'_> {
    fn parts(&self, parts: &[TextPart]) -> Result<Answer, NotText> {
        if let [TextPart::Interpolation(lone)] = parts {
            return self.interpolation(lone);
        }
        let mut joined = String::new();
        for part in parts {
            match part {
                TextPart::Text { text, .. } => joined.push_str(text),
                TextPart::Interpolation(inner) => joined.push_str(&text_of(&self.interpolation(inner)?)),
            }
        }
        Ok(Answer::Value(Value::Str(joined)))
    }

    fn interpolation(&self, interpolation: &Interpolation) -> Result<Answer, NotText> {
        let name = |nested: &Interpolation| match self.interpolation(nested)? {
            Answer::Value(Value::Str(text)) => Ok(text),
            _ => Err(NotText),
        };
        match interpolation {
            Interpolation::Node(node) => {
                let key = node.path(name)?;
                let text = Value::Str(format!("<{key}>"));
                Ok(Answer::Value(if key.contains('n') {
                    Value::Int(Int::Small(i64::try_from(key.chars().count()).unwrap()))
                } else if key.contains('l') {
                    Value::List(vec![Node::new(text)])
                } else {
                    text
                }))
            }
            Interpolation::Resolver(call) => {
                let name = call.full_name(name)?;
                let mut shown = format!("<{name}");
                for argument in &call.arguments {
                    let answer = show(&self.element(&argument.element)?);
                    shown.push_str(&format!("|{answer}|{}", argument.span.of(self.text)));
                }
                Ok(Answer::Value(Value::Str(shown + ">")))
            }
        }
    }

    fn element(&self, element: &InterpolationElement) -> Result<Answer, NotText> {
        Ok(Answer::Value(match element {
            InterpolationElement::Null => Value::Null,
            InterpolationElement::Bool(flag) => Value::Bool(*flag),
            InterpolationElement::Int(int) => Value::Int(int.clone()),
            InterpolationElement::Float(float) => Value::Float(*float),
            InterpolationElement::Text(text) => Value::Str(text.clone()),
            InterpolationElement::Quoted(parts) => Value::Str(text_of(&self.parts(parts)?)),
            InterpolationElement::Joined(parts) => return self.parts(parts),
            InterpolationElement::Interpolation(lone) => return self.interpolation(lone),
            InterpolationElement::List(items) => {
                let items = items.iter().map(|item| self.element(item));
                return Ok(Answer::List(items.collect::<Result<_, _>>()?));
            }
            InterpolationElement::Map(pairs) => {
                let mut map: Vec<(Option<Key>, Answer)> = Vec::new();
                for (key, value) in pairs {
                    let key = match self.element(key)? {
                        Answer::Value(Value::Str(text)) => Some(Key::Str(text)),
                        Answer::Value(Value::Int(int)) => Some(Key::Int(int)),
                        Answer::Value(Value::Float(float)) => Some(Key::Float(float.to_bits())),
                        Answer::Value(Value::Bool(flag)) => Some(Key::Bool(flag)),
                        _ => None,
                    };
                    let value = self.element(value)?;
                    let nan = matches!(key, Some(Key::Float(bits)) if f64::from_bits(bits).is_nan());
                    match map.iter_mut().find(|(known, _)| *known == key && !nan) {
                        Some(pair) => pair.1 = value,
                        None => map.push((key, value)),
                    }
                }
                return Ok(Answer::Map(map));
            }
        }))
    }
}

/// What Python's `str()` gives of an interpolation's answer.
fn text_of(answer: &Answer) -> String {
    match answer {
        Answer::Value(value) => python_str(value),
        Answer::List(_) | Answer::Map(_) => String::new(),
    }
}

/// A form both sides can write.
fn show(answer: &Answer) -> String {
    match answer {
        Answer::Value(value) => show_value(value),
        Answer::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" ")),
        Answer::Map(pairs) => {
            let pair = |(key, value): &(Option<Key>, Answer)| {
                let key = key.as_ref().map_or(Value::Null, Key::to_value);
                format!("{}:{}", show_value(&key), show(value))
            };
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(" "))
        }
    }
}

fn show_value(value: &Value) -> String {
    match value {
        Value::Str(text) => format!("s{}`{text}`", text.chars().count()),
        Value::Int(_) => format!("i{}", python_str(value)),
        Value::Float(float) => format!("f{}", float_repr(*float)),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| show_value(&item.value)).collect();
            format!("[{}]", items.join(" "))
        }
        other => python_str(other),
    }
}
