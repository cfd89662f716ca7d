//! Any bytes as a CSV of rocprofv3: reading and analysing them ends, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_ingest::{Artefact, read};
use rooflens_schema::Notes;

fuzz_target!(|bytes: &[u8]| {
    let notes = Notes::default();
    let Ok(tables) = Artefact::from_bytes("fuzzed.csv", bytes).and_then(|artefact| read(artefact, &notes)) else {
        return;
    };
    assert!(tables.meta.events > 0, "tables without an event");
    let findings = rooflens_analyze::analyze(&mut [tables], notes.rows());
    for (name, finding) in findings.iter() {
        assert!(finding.to_json().get() != "null", "{name} is no JSON");
    }
});
