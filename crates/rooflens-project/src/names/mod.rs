//! Old names of settings, as data (`old_names.yaml`), and what becomes of them.

mod overrides;
mod value;

use std::sync::OnceLock;

use rooflens_compose::value::{Key, Node, Value, python_str};
use rooflens_compose::yaml;

pub use self::overrides::{Translated, translate};
use self::value::Change;
pub use self::value::Changed;

const TABLE: &str = include_str!("old_names.yaml");

/// A setting that has another name here.
#[derive(Debug, Clone)]
pub struct OldName {
    /// Its old path; `*` is any one name.
    pub old: String,
    /// Its path here; nothing where there is no such setting.
    pub new: Option<String>,
    /// The group whose option the value is, on the command line.
    pub group: Option<String>,
    /// Whether it yields to the new name in a tree that has both.
    pub unless_set: bool,
    /// More than the new name says.
    pub why: Option<String>,
    /// The version of Rooflens that has the new name.
    pub since: String,
    /// A value to try it with; nothing where a mapping is moved.
    pub test: Option<String>,
    change: Change,
}

/// A group that is chosen by another name here.
#[derive(Debug, Clone)]
pub struct OldGroup {
    /// As `profiling/torch@pipeline.torch_profiler`.
    pub old: String,
    /// Its name here.
    pub new: String,
}

/// All old names.
#[derive(Debug, Default)]
pub struct OldNames {
    /// Settings.
    pub keys: Vec<OldName>,
    /// Groups.
    pub groups: Vec<OldGroup>,
}

/// The table, as it comes with the program.
#[must_use]
pub fn table() -> &'static OldNames {
    static READ: OnceLock<OldNames> = OnceLock::new();
    // A test reads it too: what is wrong there never ships.
    READ.get_or_init(|| read(TABLE).unwrap_or_default())
}

impl OldNames {
    /// Settings of which only the name changes: the old path and the new one.
    pub fn renames(&self) -> impl Iterator<Item = (&str, &str)> {
        let renames = self.keys.iter().filter(|row| row.test.is_some() && matches!(row.change, Change::Same));
        renames.filter_map(|row| Some((row.old.as_str(), row.new.as_deref()?)))
    }

    /// The row of a path, with the path's new name.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<MatchedName<'_>> {
        self.keys.iter().find_map(|row| {
            let caught = caught(&row.old, path)?;
            let new = row.new.as_ref().map(|new| filled(new, &caught));
            Some(MatchedName { row, new })
        })
    }
}

/// A row that a path matches.
#[derive(Debug)]
pub struct MatchedName<'a> {
    /// The row.
    pub row: &'a OldName,
    /// The new path, with what `*` stood for.
    pub new: Option<String>,
}

impl MatchedName<'_> {
    /// New settings for a value: usually one, none where the setting is dropped.
    ///
    /// # Errors
    /// Why the value has no counterpart.
    pub fn change(&self, value: &str) -> Result<Vec<Changed>, String> {
        match &self.new {
            None => Ok(Vec::new()),
            Some(new) => self.row.change.apply(new, value),
        }
    }

    /// Whether only the value changes.
    #[must_use]
    pub fn keeps_name(&self) -> bool {
        self.new.as_deref() == Some(self.row.old.as_str())
    }

    /// Whether only the name changes.
    #[must_use]
    pub fn is_rename(&self) -> bool {
        self.new.is_some() && matches!(self.row.change, Change::Same)
    }
}

/// What the stars of a pattern stand for in a path; nothing where it does not match.
fn caught<'a>(pattern: &str, path: &'a str) -> Option<Vec<&'a str>> {
    let (mut wanted, mut parts, mut caught) = (pattern.split('.'), path.split('.'), Vec::new());
    loop {
        match (wanted.next(), parts.next()) {
            (None, None) => return Some(caught),
            (Some("*"), Some(part)) => caught.push(part),
            (Some(name), Some(part)) if name == part => {}
            _ => return None,
        }
    }
}

fn filled(new: &str, caught: &[&str]) -> String {
    let numbered = caught.iter().enumerate();
    numbered.fold(new.to_owned(), |text, (at, part)| text.replace(&format!("{{{}}}", at + 1), part))
}

fn read(text: &str) -> Option<OldNames> {
    let whole = yaml::load(text, "old_names.yaml".into()).ok()?;
    let rows = |name: &str| match &whole.get(&[name])?.value {
        Value::List(rows) => Some(rows.clone()),
        _ => None,
    };
    Some(OldNames {
        keys: rows("keys")?.iter().map(key).collect::<Option<_>>()?,
        groups: rows("groups")?.iter().map(group).collect::<Option<_>>()?,
    })
}

fn key(row: &Node) -> Option<OldName> {
    let text = |name: &str| {
        row.get(&[name]).filter(|node| node.value != Value::Null).map(|node| python_str(&node.value))
    };
    let known = ["old", "new", "change", "group", "unless_set", "why", "since", "test"];
    let keys = row.as_map()?.keys();
    let mut unknown = keys.filter(|key| !known.iter().any(|name| **key == Key::from(*name)));
    if unknown.next().is_some() {
        return None;
    }
    Some(OldName {
        old: text("old")?,
        new: text("new"),
        group: text("group"),
        unless_set: text("unless_set").is_some(),
        why: text("why"),
        since: text("since")?,
        test: text("test"),
        change: Change::read(row.get(&["change"]))?,
    })
}

fn group(row: &Node) -> Option<OldGroup> {
    let text = |name: &str| row.get(&[name])?.as_str().map(str::to_owned);
    Some(OldGroup { old: text("old")?, new: text("new")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let table = read(TABLE).unwrap();
        assert!(table.keys.len() > 30 && table.groups.len() == 3);
        for row in &table.keys {
            assert!(row.new.is_some() || row.why.is_some(), "{} is dropped without a reason", row.old);
        }
    }

    #[test]
    fn stars_stand_for_one_name() {
        let found = table().find("pipeline.direct_inference.output.prediction.enable").unwrap();
        assert_eq!(found.new.as_deref(), Some("pipeline.direct_inference.output.predictions"));
        assert!(table().find("pipeline.output.prediction.enable").is_none());
        assert!(table().find("hardware.device").is_none());
    }
}
