//! Any bytes as a report of Nsight Compute: reading and analysing them ends, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_ingest::ncu;
use rooflens_analyze::kernels::{ProfiledLaunch, profile};
use rooflens_schema::Notes;

fuzz_target!(|bytes: &[u8]| {
    let Ok(launches) = ncu::read(bytes, "fuzzed.ncu-rep", &Notes::default()) else { return };
    assert!(!launches.is_empty(), "a report without a launch");
    let launches: Vec<ProfiledLaunch> = launches.into_iter().map(launch).collect();
    let found = profile(&launches, None, None);
    assert_eq!(found.kernels.len(), launches.len());
    assert!(serde_json::to_string(&found).is_ok(), "no JSON");
});

fn launch(from: ncu::NcuLaunch) -> ProfiledLaunch {
    let numbers = from.metrics.keys().filter_map(|name| Some((name.clone(), from.number(name)?))).collect();
    ProfiledLaunch { name: from.name, grid: from.grid, block: from.block, numbers, ..ProfiledLaunch::default() }
}
