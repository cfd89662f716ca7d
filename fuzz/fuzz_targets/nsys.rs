//! Any bytes as a SQLite file, of Nsight Systems or of rocpd: reading and analysing them ends, without a
//! panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_analyze::by_range::ByRange;
use rooflens_ingest::{ALL, Artefact};
use rooflens_schema::Notes;

fuzz_target!(|bytes: &[u8]| {
    // Not by what they look like: each reader gets all.
    for format in ALL.iter().filter(|format| ["nsys", "rocpd"].contains(&format.name())) {
        let notes = Notes::default();
        let Ok(artefact) = Artefact::from_bytes("fuzzed.sqlite", bytes) else { return };
        let Ok(tables) = format.read(artefact, &notes) else { continue };
        assert!(tables.meta.events > 0, "tables without an event");
        let mut ranks = [tables];
        let findings = rooflens_analyze::analyze(&mut ranks, notes.rows());
        for (name, finding) in findings.iter() {
            assert!(finding.to_json().get() != "null", "{name} is no JSON");
        }
        let mut by_range = ByRange::default();
        by_range.rank(&ranks[0], None);
        by_range.finish();
    }
});
