//! Any bytes as a log of a library, an export of trtexec, metrics of a server or counters of rocprof-compute: reading and analysing them ends, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_ingest::rocprof_compute::{self, RocprofFiles};
use rooflens_ingest::{Artefact, read};
use rooflens_analyze::kernels::{ProfiledLaunch, ProfilerTool, profile};
use rooflens_schema::Notes;

fuzz_target!(|bytes: &[u8]| {
    counters(bytes);
    let notes = Notes::default();
    let Ok(tables) = Artefact::from_bytes("fuzzed.log", bytes).and_then(|artefact| read(artefact, &notes)) else {
        return;
    };
    assert!(tables.meta.events > 0, "tables without an event");
    let findings = rooflens_analyze::analyze(&mut [tables], notes.rows());
    for (name, finding) in findings.iter() {
        assert!(finding.to_json().get() != "null", "{name} is no JSON");
    }
});

/// The parts of a folder, with a NUL between them.
fn counters(bytes: &[u8]) {
    let mut parts = bytes.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let mut next = || parts.next().unwrap_or_default();
    let files = RocprofFiles { counters: next(), system: next(), roofline: next(), level_waves: next() };
    let launches = rocprof_compute::launches(&files, "fuzzed", &Notes::default()).into_iter();
    let launches: Vec<ProfiledLaunch> = launches
        .map(|launch| ProfiledLaunch {
            profiler: ProfilerTool::RocprofCompute,
            name: launch.name,
            numbers: launch.numbers,
            device: launch.device,
            ..ProfiledLaunch::default()
        })
        .collect();
    let profile = profile(&launches, None, None);
    assert_eq!(profile.kernels.len(), launches.len());
    assert!(serde_json::to_string(&profile).is_ok(), "no JSON");
}
