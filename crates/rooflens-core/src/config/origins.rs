//! Each value of a config with the place it comes from.

use std::path::Path;

use rooflens_compose::value::{Key, Node, Origin, Value, ValueSource, python_str};

use crate::project::from_here;

pub(crate) struct Leaf<'a> {
    /// Its path, as `model.layers`.
    pub(crate) path: String,
    pub(crate) node: &'a Node,
}

/// Every value that is no mapping or list with something in it, in order.
pub(crate) fn leaves(node: &Node) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    // A stack of its own: configs may be nested deeply.
    let mut rest = vec![Leaf { path: String::new(), node }];
    while let Some(Leaf { path, node }) = rest.pop() {
        let below = |name: String| if path.is_empty() { name } else { format!("{path}.{name}") };
        match &node.value {
            Value::Map(map) if !map.is_empty() => {
                let inner = map.iter().map(|(key, node)| Leaf { path: below(name(key)), node });
                rest.extend(inner.collect::<Vec<_>>().into_iter().rev());
            }
            Value::List(list) if !list.is_empty() => {
                let inner =
                    list.iter().enumerate().map(|(i, node)| Leaf { path: below(i.to_string()), node });
                rest.extend(inner.collect::<Vec<_>>().into_iter().rev());
            }
            _ => found.push(Leaf { path, node }),
        }
    }
    found
}

/// A line for each value: path, value, place.
pub fn text(node: &Node) -> String {
    let leaves = leaves(node);
    let rows: Vec<(String, String)> = leaves
        .iter()
        .map(|leaf| (format!("{}: {}", leaf.path, python_str(&leaf.node.value)), place(&leaf.node.origin)))
        .collect();
    let width = rows.iter().map(|(left, _)| left.chars().count().min(60)).max().unwrap_or(0);
    rows.iter().map(|(left, right)| format!("{left:width$}  # {right}\n")).collect()
}

pub(crate) fn place(origin: &Origin) -> String {
    match (&origin.source, origin.line) {
        (ValueSource::BuiltIn, _) => "built in".to_owned(),
        (ValueSource::CommandLine(argument), _) => format!("command line: {argument}"),
        (ValueSource::File(file), 0) => shown(file),
        (ValueSource::File(file), line) => format!("{}:{line}:{}", shown(file), origin.column),
    }
}

fn shown(file: &str) -> String {
    from_here(Path::new(file)).display().to_string()
}

fn name(key: &Key) -> String {
    python_str(&key.to_value())
}
