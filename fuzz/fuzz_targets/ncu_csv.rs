//! Any bytes as what `ncu --csv` printed, of any page: reading and analysing them ends, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_ingest::ncu::{self, csv};
use rooflens_analyze::kernels::{ProfiledLaunch, name_key, name_pattern, profile};
use rooflens_schema::Notes;

fuzz_target!(|bytes: &[u8]| {
    let _ = csv::is_csv(bytes);
    let launches: Vec<ProfiledLaunch> =
        csv::read(bytes, "fuzzed.csv", &Notes::default()).into_iter().map(|(_, from)| launch(from)).collect();
    for launch in &launches {
        assert!(!name_pattern(&launch.name).contains(':'), "{}", launch.name);
        assert_eq!(name_key(&launch.name), name_key(&launch.name));
    }
    let found = profile(&launches, None, None);
    assert_eq!(found.kernels.len(), launches.len());
    assert!(serde_json::to_string(&found).is_ok(), "no JSON");
});

fn launch(from: ncu::NcuLaunch) -> ProfiledLaunch {
    let numbers = from.metrics.keys().filter_map(|name| Some((name.clone(), from.number(name)?))).collect();
    ProfiledLaunch { name: from.name, grid: from.grid, block: from.block, numbers, ..ProfiledLaunch::default() }
}
