//! The configs of a search path, each read once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::{GroupContent, SearchEntry, SearchPath};
use crate::defaults::{Item, read_items};
use crate::error::{ComposeError, check_interpolations};
use crate::resolve::{EvaluationSettings, Evaluator};
use crate::value::{Key, Map, Node, Value, ValueSource, is_interpolation};
use crate::yaml;

pub(crate) struct Repository<'a> {
    settings: &'a EvaluationSettings,
    path: RefCell<SearchPath>,
    cache: RefCell<HashMap<String, Option<Rc<Loaded>>>>,
    texts: RefCell<Texts>,
}

impl<'a> Repository<'a> {
    pub(crate) fn new(path: SearchPath, settings: &'a EvaluationSettings) -> Self {
        Self { settings, path: RefCell::new(path), cache: RefCell::default(), texts: RefCell::default() }
    }

    /// Replaces the search path. What was read stays: it is the primary config, which named the
    /// new path.
    pub(crate) fn search(&self, path: SearchPath) {
        *self.path.borrow_mut() = path;
    }

    pub(crate) fn search_path(&self) -> SearchPath {
        self.path.borrow().clone()
    }

    pub(crate) fn group_exists(&self, group: &str) -> bool {
        self.path.borrow().group_exists(group)
    }

    pub(crate) fn config_exists(&self, path: &str) -> bool {
        self.path.borrow().config_exists(path)
    }

    pub(crate) fn list(&self, group: &str, listing: GroupContent) -> Vec<String> {
        self.path.borrow().list(group, listing)
    }

    pub(crate) fn searched(&self) -> Vec<String> {
        self.path.borrow().entries().iter().map(ToString::to_string).collect()
    }

    /// A config; nothing where no place of the search path has it.
    pub fn load(&self, path: &str) -> Result<Option<Rc<Loaded>>, ComposeError> {
        if let Some(known) = self.cache.borrow().get(path) {
            return Ok(known.clone());
        }
        let holder = self.path.borrow().entries().iter().find(|e| e.source.is_config(path)).cloned();
        let loaded = match holder {
            Some(entry) => Some(Rc::new(self.read(path, &entry)?)),
            None => None,
        };
        self.cache.borrow_mut().insert(path.to_owned(), loaded.clone());
        Ok(loaded)
    }

    fn read(&self, path: &str, entry: &SearchEntry) -> Result<Loaded, ComposeError> {
        let (file, text) = entry
            .source
            .read(path)
            .map_err(|(file, error)| ComposeError::new(format!("'{file}' cannot be read: {error}")))?;
        let built_in = entry.source.is_built_in();
        let name: Arc<str> = Arc::from(file.as_str());
        if !built_in {
            self.texts.borrow_mut().keep(&name, &text);
        }
        let header = yaml::header(&text).map_err(|line| {
            ComposeError::new(format!("'{file}': a header is a key and a value, but this is '{line}'"))
        })?;
        let mut config = yaml::load(&text, name)?;
        if config.value == Value::Null {
            config.value = Value::Map(Map::new());
        }
        if built_in {
            // The user cannot open a file with Hydra's own values.
            config.forget_origins();
        } else {
            check_interpolations(&config)?;
        }
        let defaults = self.take_defaults(path, &mut config)?;
        Ok(Loaded {
            header,
            defaults: read_items(path, defaults.as_ref())?,
            config,
            from_classes: entry.source.is_of_classes(),
        })
    }

    /// Takes the defaults list out of a config. It may be an interpolation, or left open.
    fn take_defaults(&self, path: &str, config: &mut Node) -> Result<Option<Node>, ComposeError> {
        let key = Key::from("defaults");
        let Value::Map(map) = &config.value else {
            return Ok(None);
        };
        let Some(defaults) = map.get(&key) else {
            return Ok(None);
        };
        let found = match &defaults.value {
            _ if defaults.is_missing() => None,
            Value::Str(text) if is_interpolation(text) => {
                Some(Evaluator::new(config, None, self.settings).raw_at("defaults")?)
            }
            _ => Some(defaults.clone()),
        };
        if let Value::Map(map) = &mut config.value {
            map.shift_remove(&key);
        }
        match found {
            None => Ok(None),
            Some(node) if matches!(node.value, Value::List(_)) => Ok(Some(node)),
            Some(node) => {
                let found = node.value.kind();
                let message = format!("in '{path}': the defaults list must be a list, but is {found}");
                Err(ComposeError::at(message, &node.origin))
            }
        }
    }

    pub(crate) fn texts(&self) -> Texts {
        self.texts.borrow().clone()
    }
}

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) header: Option<String>,
    pub(crate) config: Node,
    pub(crate) defaults: Vec<Item>,
    pub(crate) from_classes: bool,
}

impl Loaded {
    pub(crate) fn has_content(&self) -> bool {
        match &self.config.value {
            Value::Map(map) => map.values().any(|node| !node.is_missing()),
            _ => false,
        }
    }
}

const EXCERPT_CHARS: usize = 160;

#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    by_name: HashMap<Arc<str>, Arc<str>>,
}

impl Texts {
    fn keep(&mut self, name: &Arc<str>, text: &str) {
        self.by_name.insert(Arc::clone(name), Arc::from(text));
    }

    pub(crate) fn show_place(&self, mut error: ComposeError) -> ComposeError {
        if let Some(place) = &mut error.place
            && let ValueSource::File(file) = &place.origin.source
            && place.excerpt.is_empty()
            && let Some(index) = usize::try_from(place.origin.line).ok().and_then(|line| line.checked_sub(1))
            && let Some(text) = self.by_name.get(file)
        {
            let line = text.lines().nth(index).unwrap_or("");
            place.excerpt = line.chars().take(EXCERPT_CHARS).collect();
        }
        error
    }
}
