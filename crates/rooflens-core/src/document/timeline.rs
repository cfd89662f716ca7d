//! What the timeline of a report is drawn from, beside the page that draws it.

use std::borrow::Cow;
use std::path::Path;

use rooflens_analyze::timeline::DrawnTimeline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SchemaTag;
use crate::disk;
use crate::error::Error;

const FILE: &str = "timeline.json";

/// The steps of a run that its report draws.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TimelineDocument<'a> {
    /// `rooflens.timeline`.
    pub(crate) schema: SchemaTag,
    /// What is drawn.
    pub(crate) timeline: Cow<'a, DrawnTimeline>,
}

/// Writes it beside a report; where there is none, that of an older report goes.
pub(crate) fn write(report: &Path, timeline: Option<&DrawnTimeline>) -> Result<(), Error> {
    let path = report.join(FILE);
    match timeline {
        Some(timeline) => {
            let document =
                TimelineDocument { schema: SchemaTag::new("timeline"), timeline: Cow::Borrowed(timeline) };
            disk::write_json(path, &document)
        }
        None => disk::remove(&path),
    }
}

/// The one beside a report; nothing where there is none, or it cannot be read.
pub(crate) fn read(report: &Path) -> Option<DrawnTimeline> {
    let text = std::fs::read_to_string(report.join(FILE)).ok()?;
    let document: TimelineDocument<'static> = serde_json::from_str(&text).ok()?;
    document.timeline.is_sound().then(|| document.timeline.into_owned())
}
