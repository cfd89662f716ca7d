//! Names that settings have in llm-perf-opt, as data (`old_names.yaml`), and their translation.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rooflens_compose::overrides::{Override, OverrideKind};
use serde::Deserialize;

use super::yaml_data::from_yaml;

/// A setting that has another name here.
#[derive(Debug, Clone, Deserialize)]
pub struct OldName {
    /// Its old path; `*` is any one name.
    pub old: String,
    /// Its path here; `None` if there is no such setting.
    pub new: Option<String>,
    group: Option<String>,
    /// Whether it yields to the new name in a tree that has both.
    #[serde(default)]
    pub(crate) unless_set: bool,
    /// More than the new name says.
    pub why: Option<String>,
    /// The version of Rooflens that has the new name.
    pub since: String,
    /// A value to test it with; `None` if a mapping is moved.
    pub test: Option<String>,
    #[serde(default)]
    change: Change,
}

/// A group that is chosen by another name here.
#[derive(Debug, Clone, Deserialize)]
pub struct OldGroup {
    /// The old name, such as `profiling/torch@pipeline.torch_profiler`.
    pub old: String,
    /// Its name here.
    pub new: String,
}

/// All old names.
#[derive(Debug, Default, Deserialize)]
pub struct OldNames {
    /// Settings.
    pub keys: Vec<OldName>,
    /// Groups.
    pub groups: Vec<OldGroup>,
}

/// The table.
pub fn table() -> &'static OldNames {
    static READ: OnceLock<OldNames> = OnceLock::new();
    // A test reads it, too: a faulty table never ships.
    READ.get_or_init(|| from_yaml(include_str!("old_names.yaml"), "old_names.yaml").unwrap_or_default())
}

impl OldNames {
    pub(crate) fn renames(&self) -> impl Iterator<Item = (&str, &str)> {
        let renames = self.keys.iter().filter(|row| row.test.is_some() && row.change == Change::Same);
        renames.filter_map(|row| Some((row.old.as_str(), row.new.as_deref()?)))
    }

    /// The row of a path, with the path's new name.
    pub fn find(&self, path: &str) -> Option<MatchedName<'_>> {
        self.keys.iter().find_map(|row| {
            let caught = caught(&row.old, path)?;
            let fill = |new: &String| {
                let numbered = caught.iter().enumerate();
                numbered.fold(new.clone(), |text, (at, part)| text.replace(&format!("{{{}}}", at + 1), part))
            };
            Some(MatchedName { row, new: row.new.as_ref().map(fill) })
        })
    }
}

/// What the stars of a pattern stand for in a path; `None` if it does not match.
fn caught<'a>(pattern: &str, path: &'a str) -> Option<Vec<&'a str>> {
    let (wanted, parts): (Vec<&str>, Vec<&str>) = (pattern.split('.').collect(), path.split('.').collect());
    let fits = |(name, part): (&&str, &&str)| *name == "*" || name == part;
    let matches = wanted.len() == parts.len() && wanted.iter().zip(&parts).all(fits);
    let stars = wanted.iter().zip(parts).filter(|(name, _)| **name == "*");
    matches.then(|| stars.map(|(_, part)| part).collect())
}

/// A row that a path matches.
#[derive(Debug)]
pub struct MatchedName<'a> {
    pub(crate) row: &'a OldName,
    /// The new path, with what `*` stood for.
    pub(crate) new: Option<String>,
}

impl MatchedName<'_> {
    /// The new settings for a value, as paths with values: usually one, none if the setting is dropped. The error says
    /// why the value has no counterpart.
    pub fn change(&self, value: &str) -> Result<Vec<(String, String)>, String> {
        self.new.as_ref().map_or(Ok(Vec::new()), |new| self.row.change.apply(new, value))
    }

    /// Whether only the value changes.
    pub(crate) fn keeps_name(&self) -> bool {
        self.new.as_ref() == Some(&self.row.old)
    }

    /// Whether only the name changes.
    pub(crate) fn is_rename(&self) -> bool {
        self.new.is_some() && self.row.change == Change::Same
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    #[default]
    Same,
    Prefix(String),
    Times(f64),
    /// One value for another; an empty one removes the setting.
    Values(BTreeMap<String, String>),
    List(String),
    NsysArguments,
}

impl Change {
    fn apply(&self, key: &str, value: &str) -> Result<Vec<(String, String)>, String> {
        let one = |value: String| Ok(vec![(key.to_owned(), value)]);
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
            Change::Values(pairs) => match pairs.get(plain) {
                Some(new) if new.is_empty() => Ok(Vec::new()),
                Some(new) => one(new.clone()),
                None if is_open => Err("an interpolation cannot be translated".to_owned()),
                None => one(value.to_owned()),
            },
            Change::List(_) | Change::NsysArguments if is_open => {
                Err("an interpolation cannot be translated".to_owned())
            }
            Change::List(separator) => one(list(plain.split(separator.as_str()))),
            Change::NsysArguments => Ok(nsys_arguments(key, plain)),
        }
    }
}

fn nsys_arguments(key: &str, line: &str) -> Vec<(String, String)> {
    let section = key.rsplit_once('.').map_or("", |(section, _)| section);
    let setting = |name: &str, value: String| (format!("{section}.{name}"), value);
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

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(value)
}

/// An override in today's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    /// The overrides that replace it; none if the setting has no counterpart.
    pub overrides: Vec<String>,
    /// A note for the user, on one line.
    pub note: String,
}

/// An override in today's words; `None` if it has no old name in it. `has_option` says whether the config tree has an
/// option of a group, and `has_group` whether its defaults lists name a group by this key.
pub fn translate(
    text: &str,
    has_option: impl Fn(&str, &str) -> bool,
    has_group: impl Fn(&str) -> bool,
) -> Result<Option<Translated>, String> {
    // What cannot be read is reported by the composition, with its place.
    let Ok(parsed) = text.parse::<Override>() else { return Ok(None) };
    let written = parsed.key_text();
    let key = written.trim_start_matches(['+', '~']);
    if let Some(group) = table().groups.iter().find(|group| group.old == key && !has_group(key)) {
        let value = parsed.value_text().map(|value| format!("={value}")).unwrap_or_default();
        let new = format!("{}{}{value}", parsed.kind.prefix(), group.new);
        let note = format!("{key} is called {} in Rooflens: {new}", group.new);
        return Ok(Some(Translated { overrides: vec![new], note }));
    }
    let found = table().find(key).filter(|found| parsed.package.is_none() && !found.keeps_name());
    let Some(found) = found else { return Ok(None) };
    let value = parsed.value_text().unwrap_or_default();
    // A group of this name may have options of these values, or one that was meant.
    if key == "experiment" && (value == "null" || value.split(',').any(|value| has_option(key, value.trim())))
    {
        return Ok(None);
    }
    if let Some(group) = found.row.group.as_ref().filter(|group| has_option(group, value)) {
        let note = format!("{key} is chosen by {group} in Rooflens: {group}={value}");
        return Ok(Some(Translated { overrides: vec![format!("{group}={value}")], note }));
    }
    let prefix = match parsed.kind {
        // What was to be added is there already, under its new name.
        OverrideKind::Add => OverrideKind::ForceAdd.prefix(),
        kind => kind.prefix(),
    };
    let Some(new) = &found.new else {
        let why = found.row.why.as_deref().unwrap_or_default();
        return Ok(Some(Translated { overrides: Vec::new(), note: format!("{key} is not needed: {why}") }));
    };
    if parsed.kind == OverrideKind::Delete {
        let note = format!("{key} is called {new} in Rooflens: ~{new}");
        return Ok(Some(Translated { overrides: vec![format!("~{new}")], note }));
    }
    let problem = |problem: String| format!("{key} is called {new} in Rooflens, and {problem}: set {new}");
    let changed = match parsed.is_sweep() && !found.is_rename() {
        true => return Err(problem("several values cannot be translated".to_owned())),
        false => found.change(value).map_err(problem)?,
    };
    let overrides: Vec<String> =
        changed.iter().map(|(key, value)| format!("{prefix}{key}={value}")).collect();
    let note = match (overrides.is_empty(), &found.row.why) {
        (true, Some(why)) => format!("{key}={value} is not needed: {why}"),
        (true, None) => format!("{key}={value} is the default behaviour"),
        (false, _) => format!("{key} is called {new} in Rooflens: {}", overrides.join(" ")),
    };
    Ok(Some(Translated { overrides, note }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let table: OldNames = from_yaml(include_str!("old_names.yaml"), "old_names.yaml").unwrap();
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

    fn only(change: &Change, value: &str) -> String {
        change.apply("a.b", value).unwrap().remove(0).1
    }

    #[test]
    fn values_change_with_their_names() {
        assert_eq!(only(&Change::Prefix("cuda:".to_owned()), "1"), "cuda:1");
        assert_eq!(only(&Change::Times(1000.0), "0.2"), "200");
        assert!(Change::Times(1000.0).apply("a.b", "often").is_err());
        assert_eq!(only(&Change::List(",".to_owned()), "'a.sum, b.sum ,'"), "[a.sum,b.sum]");
        let values = Change::Values([("true".to_owned(), "decode".to_owned())].into());
        assert_eq!(only(&values, "true"), "decode");
    }

    #[test]
    fn a_command_line_of_nsys_is_taken_apart() {
        let line = "\"--trace=cuda,nvtx,osrt --capture-range=nvtx --capture-range-end=nvtx --stats=true\"";
        let changed = Change::NsysArguments.apply("pipeline.nsys.args", line).unwrap();
        let pairs: Vec<(&str, &str)> = changed.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect();
        assert_eq!(
            pairs,
            [
                ("pipeline.nsys.trace", "[cuda,nvtx,osrt]"),
                ("pipeline.nsys.capture", "decode"),
                ("pipeline.nsys.args", "['--stats=true']"),
            ]
        );
    }

    fn translated(text: &str) -> Option<Vec<String>> {
        translate(text, |_, option| option == "long-decode", |_| false).unwrap().map(|it| it.overrides)
    }

    #[test]
    fn old_words_become_new_ones() {
        for (old, new) in [
            ("device=cuda:0", "hardware.device=cuda:0"),
            ("+device=cpu", "++hardware.device=cpu"),
            ("device=cuda:0,cuda:1", "hardware.device=cuda:0,cuda:1"),
            ("hardware.device_index=1", "hardware.device=cuda:1"),
            ("profiling.nvml.interval_s=0.2", "sampler.interval_ms=200"),
            ("experiment=baseline", "experiment_name=baseline"),
            ("pipeline.nsys.gating_nvtx=true", "pipeline.nsys.capture=decode"),
            ("~dataset.subset_filelist", "~dataset.filelist"),
            ("profiling/torch@pipeline.torch_profiler=detailed", "pipeline/torch_profiler=detailed"),
        ] {
            assert_eq!(translated(old), Some(vec![new.to_owned()]), "{old}");
        }
        assert_eq!(translated("runtime.impl=vanilla"), Some(Vec::new()));
        for today in ["hardware.device=cpu", "experiment=long-decode", "experiment=null", "a=[", "x=1"] {
            assert_eq!(translated(today), None, "{today}");
        }
        let several = translate("profiling.nvml.interval_s=0.1,0.2", |_, _| false, |_| false);
        assert!(several.unwrap_err().contains("sampler.interval_ms"));
    }
}
