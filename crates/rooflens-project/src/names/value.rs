//! How the value of a setting changes with its name.

use rooflens_compose::value::{Node, Value, python_str};

/// A setting of today, with its value as YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its path.
    pub key: String,
    /// Its value, on one line.
    pub value: String,
}

/// What happens to a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// Nothing.
    Same,
    /// Something is put before it.
    Prefix(String),
    /// It is multiplied.
    Times(f64),
    /// One value for another; none removes the setting.
    Values(Vec<(String, Option<String>)>),
    /// A text is cut into a list.
    List(String),
    /// A command line of nsys.
    NsysArguments,
}

impl Change {
    /// As the table has it; nothing where that is not understood.
    pub(super) fn read(node: Option<&Node>) -> Option<Self> {
        let Some(node) = node else { return Some(Change::Same) };
        if node.as_str() == Some("nsys_arguments") {
            return Some(Change::NsysArguments);
        }
        let (kind, value) = node.as_map()?.first()?;
        match python_str(&kind.to_value()).as_str() {
            "prefix" => Some(Change::Prefix(python_str(&value.value))),
            "times" => Some(Change::Times(python_str(&value.value).parse().ok()?)),
            "list" => Some(Change::List(python_str(&value.value))),
            "values" => {
                let pair = |(old, new): (&rooflens_compose::value::Key, &Node)| {
                    let new = (new.value != Value::Null).then(|| python_str(&new.value));
                    (python_str(&old.to_value()), new)
                };
                Some(Change::Values(value.as_map()?.iter().map(pair).collect()))
            }
            _ => None,
        }
    }

    pub(super) fn apply(&self, key: &str, value: &str) -> Result<Vec<Changed>, String> {
        let one = |value: String| Ok(vec![Changed { key: key.to_owned(), value }]);
        let plain = unquoted(value);
        let is_open = plain.contains("${");
        match self {
            Change::Same => one(value.to_owned()),
            Change::Prefix(prefix) if plain != "null" => one(format!("{prefix}{plain}")),
            Change::Prefix(_) => one(value.to_owned()),
            Change::Times(factor) => match plain.parse::<f64>() {
                Ok(number) if (number * factor).is_finite() => one(format!("{:.0}", number * factor)),
                _ => Err(format!("'{plain}' is not a number")),
            },
            Change::Values(pairs) => match pairs.iter().find(|(old, _)| *old == plain) {
                Some((_, Some(new))) => one(new.clone()),
                Some((_, None)) => Ok(Vec::new()),
                None if is_open => Err("an interpolation cannot be translated".to_owned()),
                None => one(value.to_owned()),
            },
            Change::List(_) if is_open => Err("an interpolation cannot be translated".to_owned()),
            Change::List(separator) => one(list(plain.split(separator.as_str()))),
            Change::NsysArguments if is_open => Err("an interpolation cannot be translated".to_owned()),
            Change::NsysArguments => Ok(nsys_arguments(key, plain)),
        }
    }
}

/// What nsys was told, in settings of their own where there are some.
fn nsys_arguments(key: &str, line: &str) -> Vec<Changed> {
    let section = key.rsplit_once('.').map_or("", |(section, _)| section);
    let setting = |name: &str, value: String| Changed { key: format!("{section}.{name}"), value };
    let (mut changed, mut others, mut gated) = (Vec::new(), Vec::new(), false);
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let (flag, inline) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
        let name = match flag {
            "-t" | "--trace" => Some("trace"),
            "-s" | "--sample" => Some("sample"),
            "--cuda-graph-trace" => Some("cuda_graph_trace"),
            _ => None,
        };
        match name {
            Some(name) => {
                let value = inline.or_else(|| words.next()).unwrap_or_default();
                let value = if name == "trace" { list(value.split(',')) } else { value.to_owned() };
                changed.push(setting(name, value));
            }
            None if flag.starts_with("--capture-range") || flag.starts_with("--nvtx-capture") => gated = true,
            None => others.push(word),
        }
    }
    if gated {
        changed.push(setting("capture", "decode".to_owned()));
    }
    if !others.is_empty() {
        changed.push(setting("args", list(others)));
    }
    changed
}

/// A list in YAML and in overrides alike.
fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items = items.into_iter().map(str::trim).filter(|item| !item.is_empty());
    let quoted = items.map(|item| {
        let is_plain = item.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/'));
        match is_plain && !item.starts_with('-') {
            true => item.to_owned(),
            false => format!("'{item}'"),
        }
    });
    format!("[{}]", quoted.collect::<Vec<_>>().join(","))
}

/// A value without the quotes around it.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(change: &Change, value: &str) -> String {
        change.apply("a.b", value).unwrap().remove(0).value
    }

    #[test]
    fn values_change_with_their_names() {
        assert_eq!(only(&Change::Prefix("cuda:".to_owned()), "1"), "cuda:1");
        assert_eq!(only(&Change::Times(1000.0), "0.2"), "200");
        assert!(Change::Times(1000.0).apply("a.b", "often").is_err());
        assert_eq!(only(&Change::List(",".to_owned()), "'a.sum, b.sum ,'"), "[a.sum,b.sum]");
        let values = Change::Values(vec![("true".to_owned(), Some("decode".to_owned()))]);
        assert_eq!(only(&values, "true"), "decode");
    }

    #[test]
    fn a_command_line_of_nsys_is_taken_apart() {
        let line = "\"--trace=cuda,nvtx,osrt --capture-range=nvtx --capture-range-end=nvtx --stats=true\"";
        let changed = Change::NsysArguments.apply("pipeline.nsys.args", line).unwrap();
        let pairs: Vec<(&str, &str)> =
            changed.iter().map(|it| (it.key.as_str(), it.value.as_str())).collect();
        assert_eq!(
            pairs,
            [
                ("pipeline.nsys.trace", "[cuda,nvtx,osrt]"),
                ("pipeline.nsys.capture", "decode"),
                ("pipeline.nsys.args", "['--stats=true']"),
            ]
        );
    }
}
