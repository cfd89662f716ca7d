//! JSON Schemas of the documents, from their types.

use anyhow::Result;
use rooflens_schema::DocumentSchema;

/// The documents of every crate that defines some.
fn documents() -> impl Iterator<Item = &'static DocumentSchema> {
    rooflens_analyze::document::DOCUMENTS.iter().chain(rooflens_report::block::DOCUMENTS)
}

/// Each schema's file and text.
pub fn pages() -> Result<Vec<(String, String)>> {
    documents()
        .map(|document| {
            let mut schema = document.schema();
            schema.insert("title".to_owned(), format!("{}: {}", document.name, document.found).into());
            let text = serde_json::to_string_pretty(&schema)?;
            Ok((format!("docs/reference/schemas/{}.schema.json", document.name), text + "\n"))
        })
        .collect()
}
