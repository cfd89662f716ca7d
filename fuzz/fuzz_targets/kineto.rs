//! Any bytes: reading and analysing them ends, without a panic, and loses nothing in silence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_ingest::{Artefact, read};
use rooflens_schema::Notes;

fuzz_target!(|bytes: &[u8]| {
    let notes = Notes::default();
    let Ok(tables) = Artefact::from_bytes("trace.json", bytes).and_then(|artefact| read(artefact, &notes)) else {
        return;
    };
    let events = tables.meta.events;
    assert!(events > 0, "tables without an event");
    let findings = rooflens_analyze::analyze(&mut [tables], notes.rows());
    for (name, finding) in findings.iter() {
        assert!(finding.to_json().get() != "null", "{name} is no JSON");
    }
});
