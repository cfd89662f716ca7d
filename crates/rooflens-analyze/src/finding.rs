//! What an analysis found: a typed value that also is JSON.

use std::any::Any;

use rooflens_schema::Note;
use serde::Serialize;
use serde_json::Value;

/// The result of one analysis. Implemented for everything that serialises.
pub trait Finding: Any + Send {
    /// The finding as JSON.
    fn to_json(&self) -> Value;
    /// For [`Findings::get`].
    fn as_any(&self) -> &dyn Any;
    /// For [`Findings::get_mut`].
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Serialize + Any + Send> Finding for T {
    fn to_json(&self) -> Value {
        // Findings are plain structs with string keys: serialising them cannot fail.
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// An analysis that could not run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotComputed {
    /// Name of the analysis.
    pub analysis: String,
    /// What is missing, in a sentence.
    pub reason: String,
}

/// Everything found about a job, in the order of [`crate::analyses::ALL`].
#[derive(Default)]
pub struct Findings {
    items: Vec<(&'static str, Box<dyn Finding>)>,
    /// Analyses whose tables are empty, with the reason.
    pub not_computed: Vec<NotComputed>,
    /// Problems met on the way, worst first.
    pub notes: Vec<Note>,
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
