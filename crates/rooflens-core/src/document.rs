//! JSON documents: one for programs, the same on standard output and in a run directory.

pub use rooflens_analyze::document::{AnalysisDocument, FindingDocument};
pub use rooflens_schema::SchemaTag;

/// The first entry of a document.
pub fn schema(what: &str) -> SchemaTag {
    SchemaTag::new(what)
}
