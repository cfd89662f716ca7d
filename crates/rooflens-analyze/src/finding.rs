//! What an analysis found: a typed value that can be written as JSON and read back.

use std::any::Any;

use rooflens_schema::{Note, RankTables};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::timeline::DrawnTimeline;

/// A question and how to answer it.
pub struct Analysis {
    /// Key in JSON, file name under `findings/`, word for `list` and `explain`.
    pub name: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// What the trace lacks if there is nothing to fold over, such as "device activity".
    pub needs: &'static str,
    /// Whether only some inputs are about it at all, so that its absence is no news on a screen.
    pub is_special: bool,
    pub(crate) finding: FindingType,
    /// Starts a fold over the ranks.
    pub start: fn() -> Box<dyn Fold>,
    /// How each number is made: the text of `rooflens explain`.
    pub explain: &'static str,
}

/// Sees each rank once, then answers.
pub trait Fold: Send {
    /// Takes in one rank.
    fn rank(&mut self, tables: &RankTables);
    /// The answer, or `None` if no rank had the rows it needs. `earlier` holds the findings of the analyses before it.
    fn finish(self: Box<Self>, earlier: &Findings) -> Option<Box<dyn Finding>>;
}

/// A fold that looks at earlier findings only.
pub(crate) struct Derived(pub(crate) fn(&Findings) -> Option<Box<dyn Finding>>);

impl Fold for Derived {
    fn rank(&mut self, _tables: &RankTables) {}

    fn finish(self: Box<Self>, earlier: &Findings) -> Option<Box<dyn Finding>> {
        (self.0)(earlier)
    }
}

/// The result of one analysis. Implemented for everything that serialises.
pub trait Finding: Any + Send + Sync {
    /// The finding as JSON text, with its keys in the order in which the type declares them. Text and
    /// not a `Value`, whose order of keys depends on the features that other crates enable.
    fn to_json(&self) -> Box<RawValue>;
    /// For [`Findings::get`].
    fn as_any(&self) -> &dyn Any;
    /// For [`Findings::get_mut`].
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Serialize + Any + Send + Sync> Finding for T {
    fn to_json(&self) -> Box<RawValue> {
        // Findings are plain structs with string keys: serialising them cannot fail.
        serde_json::value::to_raw_value(self).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// The type of an analysis' finding: how it is read back, and its JSON Schema.
#[derive(Clone, Copy)]
pub struct FindingType {
    read: fn(&str) -> serde_json::Result<Box<dyn Finding>>,
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) is_list: bool,
}

impl FindingType {
    /// A finding that is an object.
    pub const fn object<T: Finding + DeserializeOwned + JsonSchema>() -> Self {
        FindingType {
            read: |json| Ok(Box::new(serde_json::from_str::<T>(json)?)),
            schema: |generator| generator.subschema_for::<T>(),
            is_list: false,
        }
    }

    /// A finding that is a list: in a document it is `[]` and not `null` where it was not computed.
    pub(crate) const fn list<T: Finding + DeserializeOwned + JsonSchema>() -> Self {
        FindingType { is_list: true, ..Self::object::<T>() }
    }

    /// Reads a finding from its JSON text.
    pub fn read(&self, json: &str) -> serde_json::Result<Box<dyn Finding>> {
        (self.read)(json)
    }
}

/// An analysis that could not run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotComputed {
    /// Name of the analysis.
    pub analysis: String,
    /// What is missing, in a sentence.
    pub reason: String,
}

/// A finding of a document that this version has no type for: of an analysis that it does not know, or
/// with values that only a newer version writes. Kept as it was written.
#[derive(Debug, Clone)]
pub struct UnreadFinding {
    /// Name of the analysis.
    pub analysis: String,
    /// Why it could not be read into a type.
    pub reason: String,
    pub(crate) json: Box<RawValue>,
}

/// Everything found about a job, in the order of [`crate::analyses::ALL`].
#[derive(Default)]
pub struct Findings {
    items: Vec<(&'static str, Box<dyn Finding>)>,
    /// Analyses whose tables are empty, with the reason.
    pub not_computed: Vec<NotComputed>,
    /// Problems met on the way, worst first.
    pub notes: Vec<Note>,
    /// What was read from a document and has no type here.
    pub unread: Vec<UnreadFinding>,
    /// What a page draws in time. No document has it: the tables have all of it.
    pub timeline: Option<DrawnTimeline>,
}

impl Findings {
    /// Adds the finding of an analysis.
    pub fn insert(&mut self, name: &'static str, finding: Box<dyn Finding>) {
        self.items.push((name, finding));
    }

    /// Puts a finding in the place of the one of that name, or behind all where there is none.
    pub fn replace(&mut self, name: &'static str, finding: Box<dyn Finding>) {
        match self.items.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = finding,
            None => self.insert(name, finding),
        }
    }

    /// The finding of type `T`, if it was computed.
    pub fn get<T: Any>(&self) -> Option<&T> {
        // `&**`: the box itself is `Any` too, so the trait object must be reached explicitly.
        self.items.iter().find_map(|(_, finding)| (**finding).as_any().downcast_ref::<T>())
    }

    /// The same, to be completed with what the trace does not tell.
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.items.iter_mut().find_map(|(_, finding)| (**finding).as_any_mut().downcast_mut::<T>())
    }

    /// Name and finding, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &dyn Finding)> {
        self.items.iter().map(|(name, finding)| (*name, &**finding))
    }
}
