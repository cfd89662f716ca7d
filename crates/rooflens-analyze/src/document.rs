//! Findings as JSON documents: written, read back into their types, and described by a JSON Schema.
//!
//! The analysis document holds every finding of a job; `rooflens analyze --format json` prints it. A
//! finding document holds one finding: a file of `findings/` in a saved run. Both are read through
//! [`ALL`], so a new analysis can be read back without being listed anywhere else.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_schema::document::DocumentSchema;
use rooflens_schema::{Note, SCHEMA_VERSION, SchemaTag};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::analyses::ALL;
use crate::finding::{Analysis, Finding, FindingType, Findings, NotComputed, UnreadFinding};

/// The documents whose types this crate defines.
pub const DOCUMENTS: &[DocumentSchema] = &[
    DocumentSchema::read_by::<AnalysisDocument<'_>>(
        "analysis",
        "`rooflens analyze --format json`, `report/metrics.json` of an analyzed trace",
        rewrite_analysis,
    ),
    DocumentSchema::read_by::<FindingDocument<'_>>(
        "finding",
        "`findings/<analysis>.json` of a run",
        rewrite_finding,
    ),
];

fn rewrite_analysis(json: &str) -> Result<String, serde_json::Error> {
    let findings = Findings::from_document(json).map_err(serde::de::Error::custom)?;
    is_read(&findings)?;
    serde_json::to_string(&AnalysisDocument(&findings))
}

fn rewrite_finding(json: &str) -> Result<String, serde_json::Error> {
    let mut findings = Findings::default();
    findings.add_document(json).map_err(serde::de::Error::custom)?;
    is_read(&findings)?;
    let Some((name, finding)) = findings.iter().next() else {
        return Err(serde::de::Error::custom("the document has no finding"));
    };
    serde_json::to_string(&FindingDocument { name, finding })
}

fn is_read(findings: &Findings) -> Result<(), serde_json::Error> {
    match findings.unread.first() {
        Some(unread) => Err(serde::de::Error::custom(format!("{}: {}", unread.analysis, unread.reason))),
        None => Ok(()),
    }
}

/// Name of the analysis document.
const ANALYSIS: &str = "analysis";

/// Every finding of a job under its analysis' name, in the order of the analyses. A finding that was
/// not computed is `null` (`[]` for lists), with the reason in `not_computed`.
pub struct AnalysisDocument<'a>(pub &'a Findings);

/// One finding, as a file of its own.
pub struct FindingDocument<'a> {
    /// The analysis.
    pub name: &'static str,
    /// What it found.
    pub finding: &'a dyn Finding,
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is not JSON, or not an object with the entries that every document has.
    #[error("not a Rooflens document: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is another document.
    #[error("expected a document `{expected}`, found `{found}`")]
    Other {
        /// The name that was looked for.
        expected: String,
        /// The name in the document.
        found: String,
    },
    /// It was written by a version whose documents this one does not know.
    #[error("the document has schema version {found}, this build reads {SCHEMA_VERSION}")]
    Version {
        /// The version in the document.
        found: String,
    },
}

impl Serialize for AnalysisDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let findings = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &SchemaTag::new(ANALYSIS))?;
        let unread = |name: &str| findings.unread.iter().find(|unread| unread.analysis == name);
        for analysis in ALL {
            let name = analysis.name;
            match findings.iter().find(|(found, _)| *found == name) {
                Some((_, finding)) => map.serialize_entry(name, &finding.to_json())?,
                None => match unread(name) {
                    Some(unread) => map.serialize_entry(name, &unread.json)?,
                    None if analysis.finding.is_list => map.serialize_entry(name, &[(); 0])?,
                    None => map.serialize_entry(name, &())?,
                },
            }
        }
        for unread in findings.unread.iter().filter(|unread| named(&unread.analysis).is_none()) {
            map.serialize_entry(&unread.analysis, &unread.json)?;
        }
        map.serialize_entry("not_computed", &findings.not_computed)?;
        map.serialize_entry("notes", &findings.notes)?;
        map.end()
    }
}

impl Serialize for FindingDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("schema", &SchemaTag::new(self.name))?;
        map.serialize_entry(self.name, &self.finding.to_json())?;
        map.end()
    }
}

impl Findings {
    /// Reads an analysis document: what `rooflens analyze --format json` prints and
    /// `report/metrics.json` of an analyzed trace holds.
    ///
    /// What an analysis keeps for later ones and never writes is not restored: a finding that was read
    /// back shows the same numbers, but is no input for computing others.
    pub fn from_document(json: &str) -> Result<Findings, DocumentError> {
        let mut entries = entries(json, ANALYSIS)?;
        let mut findings = Findings::default();
        if let Some(not_computed) = entries.remove("not_computed") {
            findings.not_computed = serde_json::from_str::<Vec<NotComputed>>(not_computed.get())?;
        }
        if let Some(notes) = entries.remove("notes") {
            findings.notes = serde_json::from_str::<Vec<Note>>(notes.get())?;
        }
        for analysis in ALL {
            let name = analysis.name;
            let is_absent = findings.not_computed.iter().any(|absent| absent.analysis == name);
            match entries.remove(name) {
                Some(json) if !is_absent && json.get() != "null" => {
                    findings.add(name, analysis.finding, json);
                }
                _ => {}
            }
        }
        for (analysis, json) in entries {
            findings.unread.push(UnreadFinding {
                analysis,
                reason: "this version has no such analysis".to_owned(),
                json: json.to_owned(),
            });
        }
        Ok(findings)
    }

    /// Reads the document of one analysis' finding, as `findings/kernels.json` of a saved run, and adds
    /// the finding.
    pub fn add_document(&mut self, json: &str) -> Result<(), DocumentError> {
        let tag = tag(json)?;
        let name = tag.name.strip_prefix("rooflens.").unwrap_or_default();
        match named(name) {
            Some(analysis) => self.add_document_of(analysis.name, analysis.finding, json),
            None => Err(DocumentError::Other { expected: "rooflens.<analysis>".to_owned(), found: tag.name }),
        }
    }

    pub(crate) fn add_document_of(
        &mut self,
        name: &'static str,
        kind: FindingType,
        json: &str,
    ) -> Result<(), DocumentError> {
        if let Some(finding) = entries(json, name)?.remove(name) {
            self.add(name, kind, finding);
        }
        Ok(())
    }

    fn add(&mut self, name: &'static str, kind: FindingType, json: &RawValue) {
        match kind.read(json.get()) {
            Ok(finding) => self.insert(name, finding),
            Err(error) => self.unread.push(UnreadFinding {
                analysis: name.to_owned(),
                reason: error.to_string(),
                json: json.to_owned(),
            }),
        }
    }
}

fn named(name: &str) -> Option<&'static Analysis> {
    ALL.iter().find(|analysis| analysis.name == name)
}

fn tag(json: &str) -> Result<SchemaTag, DocumentError> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: SchemaTag,
    }
    let tag = serde_json::from_str::<Head>(json)?.schema;
    match tag.is_readable() {
        true => Ok(tag),
        false => Err(DocumentError::Version { found: tag.version.into_owned() }),
    }
}

fn entries<'a>(json: &'a str, what: &str) -> Result<BTreeMap<String, &'a RawValue>, DocumentError> {
    let tag = tag(json)?;
    let expected = format!("rooflens.{what}");
    if tag.name != expected {
        return Err(DocumentError::Other { expected, found: tag.name });
    }
    let mut entries: BTreeMap<String, &RawValue> = serde_json::from_str(json)?;
    entries.remove("schema");
    Ok(entries)
}

/// The schema tag and every finding; an object that was not computed `may_lack` its value.
fn properties(generator: &mut SchemaGenerator, may_lack: bool) -> serde_json::Map<String, serde_json::Value> {
    let mut properties = serde_json::Map::new();
    properties.insert("schema".to_owned(), generator.subschema_for::<SchemaTag>().into());
    for Analysis { name, question, finding, .. } in ALL {
        let mut schema = (finding.schema)(generator);
        if may_lack && !finding.is_list {
            schema = json_schema!({ "anyOf": [schema, { "type": "null" }] });
        }
        schema.insert("description".to_owned(), (*question).into());
        properties.insert((*name).to_owned(), schema.into());
    }
    properties
}

impl JsonSchema for FindingDocument<'_> {
    fn schema_name() -> Cow<'static, str> {
        "FindingDocument".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let properties = properties(generator, false);
        json_schema!({
            "description": "One finding under its analysis' name.",
            "type": "object",
            "required": ["schema"],
            "minProperties": 2,
            "maxProperties": 2,
            "properties": properties,
        })
    }
}

impl JsonSchema for AnalysisDocument<'_> {
    fn schema_name() -> Cow<'static, str> {
        "AnalysisDocument".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = properties(generator, true);
        properties.insert("not_computed".to_owned(), generator.subschema_for::<Vec<NotComputed>>().into());
        properties.insert("notes".to_owned(), generator.subschema_for::<Vec<Note>>().into());
        let required: Vec<&String> = properties.keys().collect();
        json_schema!({
            "description": "Every finding of a job under its analysis' name. A finding that was not computed is null ([] for lists), with the reason in not_computed.",
            "type": "object",
            "required": required,
            "properties": properties,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::{Gaps, Kernels, Ledger, Phases};
    use crate::sample::{findings, some_of_everything};

    fn written(findings: &Findings) -> String {
        serde_json::to_string(&AnalysisDocument(findings)).expect("plain data")
    }

    #[test]
    fn findings_can_be_shared_between_threads() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Findings>();
        is_shared::<Box<dyn Finding>>();
    }

    #[test]
    fn without_findings_every_key_is_there() {
        let names = ALL.iter().map(|analysis| match analysis.finding.is_list {
            true => format!("\"{}\":[],", analysis.name),
            false => format!("\"{}\":null,", analysis.name),
        });
        let expected = format!(
            "{{\"schema\":{{\"name\":\"rooflens.analysis\",\"version\":\"{SCHEMA_VERSION}\"}},{}\"not_computed\":[],\"notes\":[]}}",
            names.collect::<String>()
        );
        assert_eq!(written(&Findings::default()), expected);
    }

    #[test]
    fn a_document_is_read_back_into_the_same_bytes() {
        let found = findings(&[0, 1, 2].map(|rank| some_of_everything(rank, 0)));
        let json = written(&found);
        let read = Findings::from_document(&json).expect("its own document");
        assert_eq!(read.unread.iter().map(|unread| &unread.reason).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(read.iter().count(), ALL.len());
        assert_eq!(written(&read), json);
        assert_eq!(
            read.get::<Kernels>().expect("kernels").0.len(),
            found.get::<Kernels>().expect("kernels").0.len()
        );

        let empty = written(&findings(&[]));
        assert_eq!(written(&Findings::from_document(&empty).expect("its own document")), empty);
    }

    #[test]
    fn each_finding_is_read_back_from_its_own_file() {
        let found = findings(&[some_of_everything(0, 0)]);
        let mut read = Findings::default();
        for (name, finding) in found.iter() {
            let json = serde_json::to_string(&FindingDocument { name, finding }).expect("plain data");
            read.add_document(&json).expect("its own document");
            let (_, last) = read.iter().last().expect("the one that was added");
            let again = serde_json::to_string(&FindingDocument { name, finding: last }).expect("plain data");
            assert_eq!(again, json);
        }
    }

    /// Not by way of a `Value`: its order depends on the features of whoever builds.
    #[test]
    fn keys_are_in_the_order_of_the_types() {
        let found = findings(&[some_of_everything(0, 0)]);
        let (_, kernels) = found.iter().find(|(name, _)| *name == "kernels").expect("kernels");
        assert!(kernels.to_json().get().starts_with("[{\"name\":"), "{}", kernels.to_json());
        let (_, ledger) = found.iter().find(|(name, _)| *name == "ledger").expect("a ledger");
        assert!(ledger.to_json().get().starts_with("{\"timeline\":\"device\",\"timelines\":1,\"wall_ns\":"));
    }

    #[test]
    fn what_newer_versions_write_is_kept() {
        let json = format!(
            r#"{{"schema":{{"name":"rooflens.analysis","version":"1.9"}},"ledger":{LEDGER},"gaps":{GAPS},"dreams":{{"b":1,"a":2}},"not_computed":[],"notes":[]}}"#
        );
        let read = Findings::from_document(&json).expect("a document");
        // An unknown word of a registry is text; unknown fields are no reason to fail.
        assert_eq!(read.get::<Ledger>().expect("a ledger").timeline, "satellite");
        // An unknown word of a closed set leaves the finding unread, and as it was.
        assert!(read.get::<Gaps>().is_none());
        let unread: Vec<&str> = read.unread.iter().map(|unread| &*unread.analysis).collect();
        assert_eq!(unread, ["gaps", "dreams"]);
        let again = written(&read);
        assert!(again.contains(&format!("\"gaps\":{GAPS}")));
        assert!(again.contains(r#""dreams":{"b":1,"a":2}"#));
    }
    const LEDGER: &str = r#"{"timeline":"satellite","timelines":1,"wall_ns":5,"lines":[],"phases":[],"floor_of":null,"moons":2,"not_computed":{}}"#;
    const GAPS: &str = r#"[{"cause":"moonlight","meaning":"","count":1,"total_ns":1,"share_of_idle":null,"p50_ns":1,"max_ns":1,"examples":[]}]"#;

    #[test]
    fn what_older_versions_did_not_write_has_a_default() {
        let json = r#"{"schema":{"name":"rooflens.phases","version":"1.0"},"phases":[{"name":"step","kind":"decode","source":"annotation","count":1,"total_ns":5,"p50_ns":5,"drift":null,"device_busy_share":null,"confidence":null,"slowest":[],"durations_ns":[5]}]}"#;
        let mut read = Findings::default();
        read.add_document(json).expect("a document of 1.0");
        assert_eq!(read.unread.iter().map(|unread| &unread.reason).collect::<Vec<_>>(), [""; 0]);
        let Phases(phases) = read.get::<Phases>().expect("phases");
        assert_eq!((phases[0].host.is_none(), phases[0].flawed.len()), (true, 0));
    }

    #[test]
    fn other_documents_are_refused() {
        let refused = |json: &str| Findings::from_document(json).err().expect("no such document").to_string();
        assert_eq!(
            refused(r#"{"schema":{"name":"rooflens.cost","version":"1.0"}}"#),
            "expected a document `rooflens.analysis`, found `rooflens.cost`"
        );
        assert_eq!(
            refused(r#"{"schema":{"name":"rooflens.analysis","version":"2.0"}}"#),
            "the document has schema version 2.0, this build reads 1.0"
        );
        assert!(refused("[]").starts_with("not a Rooflens document"));
        assert!(refused("{").starts_with("not a Rooflens document"));
    }

    #[test]
    fn the_schema_has_every_key_of_the_document() {
        let keys = |name: &str| {
            let document = DOCUMENTS.iter().find(|document| document.name == name).expect("a document");
            let schema = document.schema();
            schema.get("properties").and_then(|found| found.as_object()).expect("properties").len()
        };
        assert_eq!((keys("analysis"), keys("finding")), (ALL.len() + 3, ALL.len() + 1));
    }
}
