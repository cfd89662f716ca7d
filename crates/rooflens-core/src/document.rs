//! The JSON document: one for programs, the same on standard output and in a run directory.

use rooflens_analyze::{Finding, Findings, analyses};
use rooflens_schema::SCHEMA_VERSION;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Every finding of a job under its analysis' name, in the order of the analyses. Numbers that were
/// not computed are `null` (`[]` for lists), with the reason in `not_computed`.
pub struct Document<'a>(pub &'a Findings);

/// One finding, as a file of its own.
pub struct FindingDocument<'a> {
    /// The analysis.
    pub name: &'static str,
    /// What it found.
    pub finding: &'a dyn Finding,
}

/// What a document is and which version of it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct SchemaTag {
    name: String,
    version: &'static str,
}

/// The first entry of every document.
pub fn schema(what: &str) -> SchemaTag {
    SchemaTag { name: format!("rooflens.{what}"), version: SCHEMA_VERSION }
}

/// Analyses whose finding is a list.
const LISTS: &[&str] = &[
    "devices",
    "kernels",
    "operators",
    "phases",
    "gaps",
    "late_host",
    "parts",
    "products",
    "frames",
    "memory",
    "health",
];

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let findings = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &schema("analysis"))?;
        for analysis in analyses::ALL {
            let name = analysis.name();
            match findings.iter().find(|(found, _)| *found == name) {
                Some((_, finding)) => map.serialize_entry(name, &finding.to_json())?,
                None if LISTS.contains(&name) => map.serialize_entry(name, &[(); 0])?,
                None => map.serialize_entry(name, &())?,
            }
        }
        map.serialize_entry("not_computed", &findings.not_computed)?;
        map.serialize_entry("notes", &findings.notes)?;
        map.end()
    }
}

impl Serialize for FindingDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("schema", &schema(self.name))?;
        map.serialize_entry(self.name, &self.finding.to_json())?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_findings_every_key_is_there() {
        let json = serde_json::to_value(Document(&Findings::default())).expect("plain data");
        let keys: Vec<&String> = json.as_object().expect("a map").keys().collect();
        let names = analyses::ALL.iter().map(|analysis| analysis.name());
        let expected: Vec<&str> =
            std::iter::once("schema").chain(names).chain(["not_computed", "notes"]).collect();
        assert_eq!(keys, expected);
        assert_eq!(json["schema"]["version"], SCHEMA_VERSION);
        for name in LISTS {
            assert_eq!(json[name], serde_json::json!([]), "{name} is no analysis");
        }
    }
}
