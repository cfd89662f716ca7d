//! Events: what a workload tells while it runs. `python/README.md` has their form.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

/// Something that was told.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadEvent {
    /// What happened: `hello`, `round_begin`, …
    pub name: String,
    /// Its fields.
    pub(crate) fields: Map<String, Json>,
}

impl WorkloadEvent {
    /// The event of a line; nothing where the line is none.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let Json::Object(fields) = serde_json::from_slice(line).ok()? else { return None };
        let name = fields.get("event")?.as_str()?.to_owned();
        Some(Self { name, fields })
    }

    /// A field that is text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }

    /// A field that is a whole number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        self.fields.get(key)?.as_u64()
    }
}

/// All that was told in a step, as far as it matters later.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventSummary {
    /// Versions of Python and its packages.
    pub(crate) versions: BTreeMap<String, String>,
    /// The last `error`.
    pub(crate) error: Option<WorkloadEvent>,
    /// Every `note`.
    pub notes: Vec<WorkloadEvent>,
    /// Lines that are no events.
    pub garbage_lines: u64,
    /// The beginning of the first of them.
    pub garbage: Option<String>,
}

/// Characters of a line that is no event.
const GARBAGE_CHARS: usize = 120;

impl EventSummary {
    /// Takes in an event.
    pub(super) fn add(&mut self, event: &WorkloadEvent) {
        match event.name.as_str() {
            "hello" => self.versions = versions(event),
            "error" => self.error = Some(event.clone()),
            "note" => self.notes.push(event.clone()),
            _ => {}
        }
    }

    /// Takes in a line that is none.
    pub(super) fn add_garbage(&mut self, line: &[u8]) {
        self.garbage_lines += 1;
        self.garbage.get_or_insert_with(|| {
            String::from_utf8_lossy(line).chars().take(GARBAGE_CHARS).map(visible).collect()
        });
    }
}

/// Packages that are not there have no version.
fn versions(hello: &WorkloadEvent) -> BTreeMap<String, String> {
    let told = hello.fields.get("versions").and_then(Json::as_object).into_iter().flatten();
    let mut versions: BTreeMap<String, String> =
        told.filter_map(|(name, version)| Some((name.clone(), version.as_str()?.to_owned()))).collect();
    for (name, key) in [("python", "python"), ("rooflens", "rooflens")] {
        if let Some(version) = hello.text(key) {
            versions.insert(name.to_owned(), version.to_owned());
        }
    }
    versions
}

/// What a workload prints may hold what a terminal would obey.
pub(super) fn visible(char: char) -> char {
    if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }
}
