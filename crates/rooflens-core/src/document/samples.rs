//! What `rooflens monitor` prints as JSON.

use std::borrow::Cow;

use rooflens_collect::sample::clock::Anchor;
use rooflens_collect::sample::field::{CounterValue, SampleValues};
use rooflens_collect::sample::latest::{Latest, LatestValues};
use rooflens_collect::sample::source::{DeviceProcess, Reason, SampleClock, Subject};
use rooflens_collect::sample::{Missing, Opened, Source, throttle};
use rooflens_schema::Note;
use rooflens_schema::tables::CounterRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SchemaTag;

/// Status of a source of samples.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SourceState {
    /// The source, as `nvml`.
    pub name: Cow<'static, str>,
    /// `ready` or `missing`.
    pub(crate) state: Cow<'static, str>,
    /// What it is, with versions; null where it is missing.
    pub(crate) about: Option<String>,
    /// The machine or the devices that it samples.
    pub(crate) subjects: Vec<Subject>,
    /// Why it cannot be sampled; null where it can.
    pub missing: Option<Missing>,
}

impl SourceState {
    /// Of a source that was opened, or could not be.
    pub fn of(opened: &Opened) -> Self {
        let source = opened.source.as_ref();
        SourceState {
            name: opened.name.into(),
            state: if source.is_ok() { "ready" } else { "missing" }.into(),
            about: source.ok().map(|source| source.about()),
            subjects: source.map(|source| source.subjects()).unwrap_or_default(),
            missing: source.err().cloned(),
        }
    }
}

/// A sample of the machine or of a device, with its throttle reasons by name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SampleRow {
    /// The columns of the table `counters`.
    #[serde(flatten)]
    pub(crate) values: SampleValues,
    /// The names of `throttle_reasons`; null where these are not known.
    pub(crate) throttle: Option<Vec<String>>,
}

impl From<&CounterRow> for SampleRow {
    fn from(row: &CounterRow) -> Self {
        SampleRow { values: row.into(), throttle: row.throttle_reasons.get().map(throttle::names) }
    }
}

impl SampleRow {
    /// The newest value of every column, some of which are asked seldom.
    fn newest(known: &LatestValues) -> Self {
        let throttle = match known.value("throttle_reasons") {
            CounterValue::Whole(bits) => Some(throttle::names(bits)),
            _ => None,
        };
        SampleRow { values: SampleValues::of(|field| known.value(field.name)), throttle }
    }
}

/// The first line of a stream of samples: each further line is a [`SampleRow`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SamplesHead<'a> {
    /// `rooflens.samples`.
    pub(crate) schema: SchemaTag,
    /// What is sampled, and what cannot be.
    pub(crate) sources: Cow<'a, [SourceState]>,
}

impl<'a> SamplesHead<'a> {
    /// Of these sources.
    pub fn new(sources: &'a [SourceState]) -> Self {
        SamplesHead { schema: SchemaTag::new("samples"), sources: sources.into() }
    }
}

/// One sample of everything, and why something is missing from it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SampleDocument {
    /// `rooflens.sample`.
    pub(crate) schema: SchemaTag,
    /// One moment on the clock of the samples and since 1970.
    pub(crate) clock: Anchor,
    /// What is sampled, and what cannot be.
    pub(crate) sources: Vec<SourceState>,
    /// The machine, then its devices.
    pub(crate) samples: Vec<SampleRow>,
    /// Columns that stay null, and why.
    pub(crate) reasons: Vec<Reason>,
    /// Processes that compute on the devices.
    pub(crate) processes: Vec<DeviceProcess>,
    /// What could not be read, or looks wrong.
    pub(crate) notes: Vec<Note>,
}

impl SampleDocument {
    /// Of the newest samples of these sources.
    pub fn new(
        timeline: SampleClock,
        states: Vec<SourceState>,
        latest: &Latest,
        sources: &mut [Box<dyn Source>],
        notes: Vec<Note>,
    ) -> Self {
        let rows = latest.0.iter().filter(|known| known.row.is_some());
        SampleDocument {
            schema: SchemaTag::new("sample"),
            clock: timeline.anchor,
            sources: states,
            samples: rows.map(SampleRow::newest).collect(),
            reasons: sources.iter().flat_map(|source| source.reasons()).collect(),
            processes: sources.iter_mut().flat_map(|source| source.processes()).collect(),
            notes,
        }
    }
}
