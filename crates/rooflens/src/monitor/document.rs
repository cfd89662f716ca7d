//! Samples as JSON.

use rooflens_core::document::{SchemaTag, schema};
use rooflens_sample::clock::Anchor;
use rooflens_sample::field::{self, Row};
use rooflens_sample::latest::{Known, Latest};
use rooflens_sample::source::{DeviceProcess, Reason, Subject, Timeline};
use rooflens_sample::{Missing, Opened, Source, throttle};
use rooflens_schema::Note;
use rooflens_schema::tables::CounterRow;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// How a source stands.
#[derive(Debug, Serialize)]
pub struct SourceState {
    name: &'static str,
    /// `ready` or `missing`.
    state: &'static str,
    about: Option<String>,
    subjects: Vec<Subject>,
    pub missing: Option<Missing>,
}

impl SourceState {
    pub fn of(opened: &Opened) -> Self {
        let source = opened.source.as_ref();
        SourceState {
            name: opened.name,
            state: if source.is_ok() { "ready" } else { "missing" },
            about: source.ok().map(|source| source.about()),
            subjects: source.map(|source| source.subjects()).unwrap_or_default(),
            missing: source.err().cloned(),
        }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// The head of a stream of samples.
#[derive(Serialize)]
pub struct Head<'a> {
    pub schema: SchemaTag,
    pub sources: &'a [SourceState],
}

/// A sample, with its throttle reasons by name.
#[derive(Serialize)]
pub struct Sample<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    throttle: Option<Vec<String>>,
}

impl<'a> Sample<'a> {
    pub fn of(row: &'a CounterRow) -> Self {
        Sample { row: Row(row), throttle: row.throttle_reasons.get().map(throttle::names) }
    }
}

/// The newest value of every column, some of which are asked seldom.
struct NewestSample<'a>(&'a Known);

impl Serialize for NewestSample<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(field::ALL.len() + 1))?;
        for field in field::ALL {
            map.serialize_entry(field.name, &self.0.value(field.name))?;
        }
        let bits = self.0.number("throttle_reasons");
        map.serialize_entry("throttle", &bits.map(|bits| throttle::names(bits as i64)))?;
        map.end()
    }
}

/// One sample of everything, and why something is missing from it.
#[derive(Serialize)]
pub struct Document<'a> {
    schema: SchemaTag,
    clock: Anchor,
    sources: Vec<SourceState>,
    samples: Vec<NewestSample<'a>>,
    /// Columns that stay null, and why.
    reasons: Vec<Reason>,
    processes: Vec<DeviceProcess>,
    notes: Vec<Note>,
}

impl<'a> Document<'a> {
    pub fn new(
        timeline: Timeline,
        states: Vec<SourceState>,
        latest: &'a Latest,
        sources: &mut [Box<dyn Source>],
        notes: Vec<Note>,
    ) -> Self {
        Document {
            schema: schema("sample"),
            clock: timeline.anchor,
            sources: states,
            samples: latest.0.iter().filter(|known| known.row.is_some()).map(NewestSample).collect(),
            reasons: sources.iter().flat_map(|source| source.reasons()).collect(),
            processes: sources.iter_mut().flat_map(|source| source.processes()).collect(),
            notes,
        }
    }
}
