//! JSON Schemas of the documents, from their types.

use anyhow::Result;

/// Each schema's file and text.
pub fn pages() -> Result<Vec<(String, String)>> {
    rooflens_core::document::all()
        .map(|document| {
            let mut schema = document.schema();
            schema.insert("title".to_owned(), format!("{}: {}", document.name, document.found).into());
            let text = serde_json::to_string_pretty(&schema)?;
            Ok((format!("docs/reference/schemas/{}.schema.json", document.name), text + "\n"))
        })
        .collect()
}
