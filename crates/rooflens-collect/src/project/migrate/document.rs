//! A config file as its lines: mappings can be taken apart and put together again, comments stay where they are.

use std::sync::Arc;

use rooflens_compose::value::{Map, Node, Value, python_str};
use rooflens_compose::yaml;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Document {
    pub(crate) entries: Vec<YamlEntry>,
    pub(crate) tail: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct YamlEntry {
    pub(crate) before: Vec<String>,
    pub(crate) key: String,
    pub(crate) value: WrittenValue,
    /// Its line in the file, from 1; 0 where it was put there later.
    pub(crate) line: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WrittenValue {
    Map(Document, String),
    /// Anything else: what stands behind the colon, and the lines below, without the margin of the key.
    Text(Vec<String>),
}

impl Document {
    /// The mapping of a file; nothing where it is none. Comments are lost only where the lines cannot be followed.
    pub fn read(text: &str) -> Option<Self> {
        let node = yaml::load(text, Arc::from("")).ok()?;
        let map = match &node.value {
            Value::Null => return Some(Self { entries: Vec::new(), tail: lines_of(text) }),
            Value::Map(map) => map,
            _ => return None,
        };
        let lines: Vec<(usize, &str)> = text.lines().enumerate().map(|(at, line)| (at + 1, line)).collect();
        // The lines are followed by their margins; whether that was right is asked of the YAML reader.
        block(&lines, 0).filter(|document| document.means(&node)).or_else(|| Some(of_map(map)))
    }

    fn means(&self, node: &Node) -> bool {
        yaml::load(&self.text(), Arc::from("")).is_ok_and(|again| same(&again, node))
    }

    pub(crate) fn text(&self) -> String {
        let mut lines = Vec::new();
        self.write(0, &mut lines);
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn write(&self, margin: usize, lines: &mut Vec<String>) {
        let pad = " ".repeat(margin);
        let put = |line: &str| if line.is_empty() { String::new() } else { format!("{pad}{line}") };
        for entry in &self.entries {
            lines.extend(entry.before.iter().map(|line| put(line)));
            let key = if is_plain(&entry.key) { entry.key.clone() } else { format!("'{}'", entry.key) };
            match &entry.value {
                WrittenValue::Map(inner, comment) => {
                    lines.push(put(format!("{key}: {comment}").trim_end()));
                    inner.write(margin + 2, lines);
                }
                WrittenValue::Text(text) => {
                    let (first, rest) =
                        text.split_first().map_or(("", &[][..]), |(one, rest)| (one.as_str(), rest));
                    lines.push(put(format!("{key}: {first}").trim_end()));
                    lines.extend(rest.iter().map(|line| put(line)));
                }
            }
        }
        lines.extend(self.tail.iter().map(|line| put(line)));
    }

    fn stand_in(&mut self, line: usize) {
        for entry in &mut self.entries {
            entry.line = line;
            if let WrittenValue::Map(inner, _) = &mut entry.value {
                inner.stand_in(line);
            }
        }
    }

    pub(crate) fn get(&self, path: &[&str]) -> Option<&YamlEntry> {
        let (first, rest) = path.split_first()?;
        let entry = self.entries.iter().find(|entry| entry.key == *first)?;
        match (rest.is_empty(), &entry.value) {
            (true, _) => Some(entry),
            (false, WrittenValue::Map(inner, _)) => inner.get(rest),
            _ => None,
        }
    }

    /// Puts an entry at a path of mappings; one that is there is merged with, or replaced.
    pub(crate) fn put(&mut self, path: &[&str], entry: YamlEntry) {
        let Some((first, rest)) = path.split_first() else { return self.put_here(entry) };
        let at = self.entries.iter().position(|entry| entry.key == *first).unwrap_or_else(|| {
            self.entries.push(YamlEntry::map(first, Document::default()));
            self.entries.len() - 1
        });
        if let WrittenValue::Text(_) = self.entries[at].value {
            self.entries[at].value = WrittenValue::Map(Document::default(), String::new());
        }
        if let WrittenValue::Map(inner, _) = &mut self.entries[at].value {
            inner.put(rest, entry);
        }
    }

    fn put_here(&mut self, entry: YamlEntry) {
        match self.entries.iter_mut().find(|there| there.key == entry.key) {
            None => self.entries.push(entry),
            Some(there) => match (&mut there.value, entry.value) {
                (WrittenValue::Map(inner, _), WrittenValue::Map(more, _)) => {
                    more.entries.into_iter().for_each(|entry| inner.put_here(entry));
                }
                (value, new) => *value = new,
            },
        }
    }

    pub(crate) fn complete(&mut self, other: &Document) {
        for entry in &other.entries {
            match self.entries.iter_mut().find(|there| there.key == entry.key) {
                None => self.entries.push(entry.clone()),
                Some(there) => {
                    if let (WrittenValue::Map(inner, _), WrittenValue::Map(more, _)) =
                        (&mut there.value, &entry.value)
                    {
                        inner.complete(more);
                    }
                }
            }
        }
    }
}

impl YamlEntry {
    pub(crate) fn new(key: &str, value: &str) -> Self {
        Self {
            before: Vec::new(),
            key: key.to_owned(),
            value: WrittenValue::Text(vec![value.to_owned()]),
            line: 0,
        }
    }

    pub(crate) fn map(key: &str, inner: Document) -> Self {
        Self {
            before: Vec::new(),
            key: key.to_owned(),
            value: WrittenValue::Map(inner, String::new()),
            line: 0,
        }
    }

    /// The value on one line, without a comment; nothing for mappings and lists over several lines.
    pub(crate) fn scalar(&self) -> Option<String> {
        let WrittenValue::Text(lines) = &self.value else { return None };
        let text = format!("k: {}", lines.join("\n"));
        let node = yaml::load(&text, Arc::from("")).ok()?;
        let value = node.get(&["k"])?;
        match &value.value {
            Value::Map(_) | Value::List(_) => None,
            Value::Null => Some("null".to_owned()),
            Value::Bool(flag) => Some(flag.to_string()),
            other => Some(python_str(other)),
        }
    }
}

/// A mapping at a margin. What is not one gives nothing.
fn block(lines: &[(usize, &str)], margin: usize) -> Option<Document> {
    let mut document = Document::default();
    let mut before = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (number, line) = lines[at];
        at += 1;
        if is_comment(line) {
            before.push(line.trim().to_owned());
            continue;
        }
        let text = line.get(margin..).filter(|_| margin_of(line) == margin)?;
        let (key, rest) = key_of(text)?;
        let end = lines[at..]
            .iter()
            .position(|(_, line)| belongs_above(line, margin))
            .map_or(lines.len(), |it| at + it);
        let end = end - lines[at..end].iter().rev().take_while(|(_, line)| is_comment(line)).count();
        let value = value(rest, &lines[at..end], margin, number)?;
        at = end;
        document.entries.push(YamlEntry { before: std::mem::take(&mut before), key, value, line: number });
    }
    document.tail = before;
    Some(document)
}

/// Whether a line is no longer part of the value of a key at a margin. A list may stand at the key's own margin.
fn belongs_above(line: &str, margin: usize) -> bool {
    !is_comment(line) && margin_of(line) <= margin && !(margin_of(line) == margin && is_item(line))
}

fn value(rest: &str, below: &[(usize, &str)], margin: usize, line: usize) -> Option<WrittenValue> {
    let text = rest.trim();
    let first = below.iter().map(|(_, line)| *line).find(|line| !is_comment(line));
    match first {
        Some(first)
            if (text.is_empty() || text.starts_with('#'))
                && !is_item(first)
                && key_of(first.trim()).is_some() =>
        {
            Some(WrittenValue::Map(block(below, margin_of(first))?, text.to_owned()))
        }
        None if text.starts_with('{') => {
            Some(flow(text, line).unwrap_or_else(|| WrittenValue::Text(vec![text.to_owned()])))
        }
        _ => {
            let inner =
                below.iter().map(|(_, line)| line.get(margin..).unwrap_or(line.trim_start()).to_owned());
            Some(WrittenValue::Text(std::iter::once(text.to_owned()).chain(inner).collect()))
        }
    }
}

fn flow(text: &str, line: usize) -> Option<WrittenValue> {
    let node = yaml::load(&format!("k: {text}"), Arc::from("")).ok()?;
    let comment = text.rsplit_once(" #").map(|(_, comment)| format!("#{comment}")).unwrap_or_default();
    let mut inner = of_map(node.get(&["k"])?.as_map()?);
    inner.stand_in(line);
    Some(WrittenValue::Map(inner, comment))
}

fn of_map(map: &Map) -> Document {
    let entries = map.iter().map(|(key, node)| {
        let key = python_str(&key.to_value());
        match &node.value {
            Value::Map(inner) if !inner.is_empty() => YamlEntry::map(&key, of_map(inner)),
            _ => {
                let mut one = Map::new();
                one.insert("k".into(), node.clone());
                let text = yaml::dump(&Node::new(Value::Map(one)));
                let lines = text.strip_prefix("k:").unwrap_or(&text).trim_end().lines().map(str::to_owned);
                let mut lines: Vec<String> = lines.collect();
                if let Some(first) = lines.first_mut() {
                    *first = first.trim().to_owned();
                }
                YamlEntry { value: WrittenValue::Text(lines), ..YamlEntry::new(&key, "") }
            }
        }
    });
    Document { entries: entries.collect(), tail: Vec::new() }
}

fn key_of(text: &str) -> Option<(String, &str)> {
    let quoted = |quote: char| {
        let (key, rest) = text.strip_prefix(quote)?.split_once(quote)?;
        Some((key.to_owned(), rest.trim_start().strip_prefix(':')?))
    };
    if let Some(found) = quoted('\'').or_else(|| quoted('"')) {
        return Some(found);
    }
    let at = text
        .match_indices(':')
        .map(|(at, _)| at)
        .find(|at| matches!(text.as_bytes().get(at + 1), None | Some(b' ' | b'\t')))?;
    let key = text[..at].trim_end();
    is_plain(key).then(|| (key.to_owned(), &text[at + 1..]))
}

fn is_plain(key: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '@');
    !key.is_empty() && key.chars().all(plain) && !key.starts_with(['-', '@'])
}

fn is_comment(line: &str) -> bool {
    let text = line.trim_start();
    text.is_empty() || text.starts_with('#')
}

fn is_item(line: &str) -> bool {
    let text = line.trim_start();
    text == "-" || text.starts_with("- ")
}

fn margin_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn same(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Map(one), Value::Map(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, value), (other_key, other))| key == other_key && same(value, other))
        }
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Head.\n\n# What it is.\nname: x   # its name\nnested:  # all of it\n  # inner\n  a: 1\n\n  b: >\n    long\n    text\nlist:\n- 1\n- 2\nflow: { enable: true, args: \"a b\" }\n# End.\n";

    #[test]
    fn comments_and_order_stay() {
        let text = Document::read(TEXT).unwrap().text();
        assert_eq!(
            text,
            "# Head.\n\n# What it is.\nname: x   # its name\nnested: # all of it\n  # inner\n  a: 1\n\n  b: >\n    long\n    text\nlist:\n- 1\n- 2\nflow:\n  enable: true\n  args: a b\n# End.\n"
        );
    }

    #[test]
    fn what_cannot_be_followed_is_written_anew() {
        for text in [
            "? a\n: 1\n",
            "a: {b: 1,\n  c: 2}\n",
            "a: &x {b: 1}\nc: *x\n",
            "\"a b\": 1\n",
            "a:\n\n  b: 1\n  c:\n    - d: 1\n      e: 2\n",
        ] {
            let document = Document::read(text).unwrap();
            let node = yaml::load(text, Arc::from("")).unwrap();
            assert!(document.means(&node), "{text}\n{}", document.text());
        }
        assert!(Document::read("- 1\n").is_none());
        assert!(Document::read("a: [\n").is_none());
    }

    #[test]
    fn entries_are_put_in_place() {
        let mut document = Document::read("a:\n  b: 1\n").unwrap();
        document.put(&["a", "c"], YamlEntry::new("d", "2"));
        document.put(&["a"], YamlEntry::new("b", "3"));
        document.complete(&Document::read("a: {b: 9, e: 4}\nf: 5\n").unwrap());
        assert_eq!(document.text(), "a:\n  b: 3\n  c:\n    d: 2\n  e: 4\nf: 5\n");
        assert_eq!(document.get(&["a", "c", "d"]).unwrap().scalar().unwrap(), "2");
    }
}
