//! One item of a defaults list: what it names, and where that is mounted.

use crate::error::ComposeError;
use crate::value::{Key, Map, Node, Origin, Value, python_str};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Nothing.
    None,
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    Config {
        path: String,
    },
    Group {
        group: String,
        choice: Choice,
        /// Whether it changes an earlier choice and is none itself.
        is_override: bool,
        appended: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) named: Named,
    /// Whether its config may be absent.
    pub(crate) optional: bool,
    pub(crate) package: Option<String>,
    pub(crate) header: Option<String>,
    pub(crate) parent_group: String,
    pub(crate) parent_package: String,
    pub(crate) primary: bool,
    pub(crate) deleted: bool,
    pub(crate) origin: Origin,
}

impl Item {
    pub(crate) fn config(path: &str, origin: Origin) -> Self {
        Self::new(Named::Config { path: path.to_owned() }, None, origin)
    }

    pub(crate) fn new(named: Named, package: Option<String>, origin: Origin) -> Self {
        Self {
            named,
            optional: false,
            // `_here_` is the package of the containing config, whatever the group.
            package: package.map(|it| if it == "_here_" { String::new() } else { it }),
            header: None,
            parent_group: String::new(),
            parent_package: String::new(),
            primary: false,
            deleted: false,
            origin,
        }
    }

    /// Says whose list it stands in. Only now is it known what `_group_` means.
    pub(crate) fn adopt(&mut self, parent_group: &str, parent_package: &str) {
        parent_group.clone_into(&mut self.parent_group);
        parent_package.clone_into(&mut self.parent_package);
        if let Some(package) = &self.package
            && package.contains("_group_")
        {
            let meant = package.replace("_group_", &self.default_package());
            self.package = Some(format!("_global_.{meant}"));
        }
    }

    pub(crate) fn is_self(&self) -> bool {
        match &self.named {
            Named::Config { path } => path == "_self_",
            Named::Group { choice, .. } => *choice == Choice::One("_self_".to_owned()),
        }
    }

    pub(crate) fn is_override(&self) -> bool {
        matches!(self.named, Named::Group { is_override: true, .. })
    }

    pub(crate) fn is_appended(&self) -> bool {
        matches!(self.named, Named::Group { appended: true, .. })
    }

    pub(crate) fn is_group(&self) -> bool {
        matches!(self.named, Named::Group { .. })
    }

    /// The text that may be an interpolation: the option, or the path of a config.
    pub fn interpolated(&self) -> Option<String> {
        let text = match &self.named {
            Named::Config { .. } => self.config_path(),
            Named::Group { choice: Choice::One(name), .. } => name.clone(),
            Named::Group { .. } => return None,
        };
        text.contains("${").then_some(text)
    }

    /// The name of its config: the option, or the last step of a path.
    pub fn name(&self) -> Option<&str> {
        match &self.named {
            Named::Config { path } => Some(path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name)),
            Named::Group { choice: Choice::One(name), .. } => Some(name),
            Named::Group { .. } => None,
        }
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.name() == Some("???")
    }

    /// The group as written, without the slash that makes it absolute.
    fn relative_group(&self) -> &str {
        match &self.named {
            Named::Config { path } => {
                let path = path.strip_prefix('/').unwrap_or(path);
                path.rsplit_once('/').map_or("", |(group, _)| group)
            }
            Named::Group { group, .. } => group.strip_prefix('/').unwrap_or(group),
        }
    }

    fn is_absolute(&self) -> bool {
        match &self.named {
            Named::Config { path } => path.starts_with('/'),
            Named::Group { group, .. } => group.starts_with('/'),
        }
    }

    pub(crate) fn group_path(&self) -> String {
        let group = self.relative_group();
        if self.is_absolute() || self.parent_group.is_empty() {
            group.to_owned()
        } else if group.is_empty() {
            self.parent_group.clone()
        } else {
            format!("{}/{group}", self.parent_group)
        }
    }

    pub(crate) fn config_path(&self) -> String {
        match &self.named {
            Named::Group { .. } => {
                // Hydra writes Python's `None` here, and would even load a file of that name.
                format!("{}/{}", self.group_path(), self.name().unwrap_or("None"))
            }
            Named::Config { path } => match path.strip_prefix('/') {
                Some(absolute) => absolute.to_owned(),
                None if self.parent_group.is_empty() => path.clone(),
                None => format!("{}/{path}", self.parent_group),
            },
        }
    }

    fn default_package(&self) -> String {
        self.group_path().replace('/', ".")
    }

    pub(crate) fn set_header(&mut self, header: Option<&str>) {
        self.header = header.map(|package| match package {
            "" => "_global_".to_owned(),
            package if package == "_global_" || package.starts_with("_global_.") => package.to_owned(),
            package => format!("_global_.{package}"),
        });
    }

    pub(crate) fn final_package(&self) -> String {
        self.mounted_at(self.package.as_deref().or(self.header.as_deref()))
    }

    fn mounted_at(&self, package: Option<&str>) -> String {
        let package = match package {
            Some(package) => package.to_owned(),
            None => self.relative_group().replace('/', "."),
        };
        let whole = match (self.parent_package.as_str(), package.as_str()) {
            ("", package) => package.to_owned(),
            (parent, "") => parent.to_owned(),
            (parent, package) => format!("{parent}.{package}"),
        };
        match whole.rfind("_global_") {
            None => whole,
            // Everything left of it is dropped, and the dot behind it.
            Some(at) => whole[at + "_global_".len()..].chars().skip(1).collect(),
        }
    }

    /// The key its choice is overridden by: the group, and the package where that is not the usual
    /// one. The header does not count here.
    pub(crate) fn override_key(&self) -> String {
        let group = self.group_path();
        let package = self.mounted_at(self.package.as_deref());
        if package == self.default_package() {
            group
        } else if package.is_empty() {
            format!("{group}@_global_")
        } else {
            format!("{group}@{package}")
        }
    }
}

pub(crate) fn read_items(config: &str, list: Option<&Node>) -> Result<Vec<Item>, ComposeError> {
    let Some(Node { value: Value::List(nodes), .. }) = list else {
        return Ok(Vec::new());
    };
    nodes.iter().map(|node| read_item(config, node)).collect()
}

fn read_item(config: &str, node: &Node) -> Result<Item, ComposeError> {
    let wrong = |problem: String| {
        let fault = format!("in '{config}': {problem}");
        ComposeError::at(fault, &node.origin)
    };
    match &node.value {
        Value::Map(map) => {
            let (group_text, value) = only_pair(map).map_err(wrong)?;
            let (group_text, package) = split_package(group_text);
            let mut words: Vec<&str> = group_text.split(' ').collect();
            let group = words.pop().unwrap_or("");
            if group.is_empty() {
                return Err(wrong("an item without the name of a group".to_owned()));
            }
            // A word that is no keyword ends the keywords, and Hydra says nothing of it.
            let keywords: Vec<&str> =
                words.into_iter().take_while(|word| matches!(*word, "optional" | "override")).collect();
            let named = Named::Group {
                group: group.to_owned(),
                choice: read_choice(value).map_err(wrong)?,
                is_override: keywords.contains(&"override"),
                appended: false,
            };
            let mut item = Item::new(named, package, node.origin.clone());
            item.optional = keywords.contains(&"optional");
            Ok(item)
        }
        Value::Str(text) => {
            let (path, package) = split_package(text);
            if path == "_self_" && package.is_some() {
                return Err(wrong("_self_ cannot have a package".to_owned()));
            }
            Ok(Item::new(Named::Config { path: path.to_owned() }, package, node.origin.clone()))
        }
        other => {
            Err(wrong(format!("an item must be 'group: option' or a config path, not {}", other.kind())))
        }
    }
}

fn only_pair(map: &Map) -> Result<(&str, &Node), String> {
    let mut pairs = map.iter();
    match (pairs.next(), pairs.next()) {
        (Some((Key::Str(key), value)), None) => Ok((key, value)),
        (Some((key, _)), None) => {
            Err(format!("the name of a group must be a string, not {}", key.to_value().kind()))
        }
        (None, _) => Err("an item without the name of a group".to_owned()),
        (Some(_), Some(_)) => {
            let keys: Vec<String> = map.keys().map(|key| python_str(&key.to_value())).collect();
            Err(format!("one item has several keys ({}); each group is an item", keys.join(", ")))
        }
    }
}

fn split_package(text: &str) -> (&str, Option<String>) {
    match text.split_once('@') {
        None => (text, None),
        Some((group, package)) => (group, Some(package.to_owned())),
    }
}

fn read_choice(node: &Node) -> Result<Choice, String> {
    match &node.value {
        Value::Null => Ok(Choice::None),
        Value::Str(name) => Ok(Choice::One(name.clone())),
        Value::List(items) => {
            let names = items.iter().map(|item| match &item.value {
                Value::Str(name) => Ok(name.clone()),
                other => Err(format!("an option in a list must be a string, not {}", other.kind())),
            });
            Ok(Choice::Many(names.collect::<Result<_, _>>()?))
        }
        other => Err(format!(
            "an option must be a string or a list of strings, not {} (quote a \
                         number)",
            other.kind()
        )),
    }
}
