//! Reads overrides, one JSON object a line, and prints what they mean: the other half of
//! `oracles/compose/override_diff.py`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

use std::io::BufRead;

use rooflens_compose::overrides::{
    Number, Override, OverrideElement, OverrideValue, Spacing, SweepContext, SweepError, SweepExpression,
    parse,
};
use rooflens_compose::value::{Int, float_repr};
use serde_json::{Value, json};

/// As many values of a sweep as the oracle looks at.
const SHOWN: usize = 60;

fn main() {
    for line in std::io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let seed = case["seed"].as_u64().unwrap_or(0);
        let options: Vec<String> = case["options"]
            .as_array()
            .map(|names| names.iter().map(|name| name.as_str().unwrap().to_owned()).collect())
            .unwrap_or_default();
        let view = match parse(case["in"].as_str().unwrap(), seed) {
            Ok(parsed) => view(&parsed, &options, seed),
            Err(error) => json!({ "err": error.to_string() }),
        };
        println!("{view}");
    }
}

fn view(parsed: &Override, options: &[String], seed: u64) -> Value {
    let kind = parsed.kind.hydra_name();
    let value_type = parsed.value.as_ref().map(|value| value.kind().hydra_name());
    let mut view = json!({
        "type": kind, "key": parsed.key, "package": parsed.package, "value_type": value_type,
        "key_text": parsed.key_text(),
    });
    match &parsed.value {
        None => {}
        Some(OverrideValue::Element(element)) => {
            view["raw"] = raw(element);
            view["value_str"] = element.to_text(Spacing::Tight).ok().into();
            view["value_spaced"] = element.to_text(Spacing::Spaced).ok().into();
        }
        Some(OverrideValue::Sweep(sweep)) => {
            view["raw"] = raw_sweep(sweep);
            view["sweep"] = swept(parsed, options, seed);
        }
    }
    view
}

fn swept(parsed: &Override, options: &[String], seed: u64) -> Value {
    let context = SweepContext { group_options: options, shuffle_seed: seed };
    let error = |error: SweepError| match error {
        SweepError::Endless => json!("endless"),
        _ => json!("error"),
    };
    let values = match parsed.sweep_values(context) {
        Ok(values) => values,
        Err(problem) => return error(problem),
    };
    let texts: Result<Vec<_>, _> = values.take(SHOWN).map(|value| Ok(value?.text)).collect();
    texts.map_or_else(error, |texts| json!(texts))
}

fn raw(element: &OverrideElement) -> Value {
    match element {
        OverrideElement::Null => Value::Null,
        OverrideElement::Bool(flag) => json!(flag),
        OverrideElement::Int(int) => raw_int(int),
        OverrideElement::Float(float) => json!({ "$float": float_repr(*float) }),
        OverrideElement::Str(text) => json!(text),
        OverrideElement::Quoted(quoted) => json!({ "$q": [quoted.quote.character(), quoted.text] }),
        OverrideElement::List(items) => items.iter().map(raw).collect(),
        OverrideElement::Map(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| [raw(key), raw(value)]).collect();
            json!({ "$map": pairs })
        }
        OverrideElement::Sweep(sweep) => raw_sweep(sweep),
    }
}

fn raw_int(int: &Int) -> Value {
    match int {
        Int::Small(small) => json!({ "$int": small.to_string() }),
        Int::Big(digits) => json!({ "$int": digits }),
    }
}

fn raw_number(number: &Number) -> Value {
    match number {
        Number::Int(int) => raw_int(int),
        Number::Float(float) => json!({ "$float": float_repr(*float) }),
    }
}

fn raw_sweep(sweep: &SweepExpression) -> Value {
    match sweep {
        SweepExpression::Choice(choice) => json!({ "$choice": {
            "items": choice.items.iter().map(raw).collect::<Vec<_>>(),
            "simple": choice.simple, "shuffle": choice.shuffle, "tags": choice.tags,
        }}),
        SweepExpression::Range(range) => json!({ "$range": {
            "start": raw_number(&range.start), "stop": raw_number(&range.stop),
            "step": raw_number(&range.step), "shuffle": range.shuffle, "tags": range.tags,
        }}),
        SweepExpression::Interval(interval) => json!({ "$interval": {
            "start": raw_number(&interval.start), "end": raw_number(&interval.end),
            "tags": interval.tags,
        }}),
        SweepExpression::Glob(glob) => json!({ "$glob": {
            "include": glob.include.iter().map(raw).collect::<Vec<_>>(),
            "exclude": glob.exclude.iter().map(raw).collect::<Vec<_>>(),
        }}),
    }
}
