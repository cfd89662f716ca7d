//! Any bytes as what `ncu --csv` printed, of any page: reading and analysing them ends, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_analyze::profiled::{Launch, name_key, name_pattern, profile};
use rooflens_ingest::ncu::{self, csv};
use rooflens_schema::Notes;

fuzz_target!(|bytes: &[u8]| {
    let _ = csv::is_csv(bytes);
    let launches: Vec<Launch> =
        csv::read(bytes, "fuzzed.csv", &Notes::default()).into_iter().map(|(_, from)| launch(from)).collect();
    for launch in &launches {
        assert!(!name_pattern(&launch.name).contains(':'), "{}", launch.name);
        assert_eq!(name_key(&launch.name), name_key(&launch.name));
    }
    let found = profile(&launches, None, None);
    assert_eq!(found.kernels.len(), launches.len());
    assert!(serde_json::to_string(&found).is_ok(), "no JSON");
});

fn launch(from: ncu::Launch) -> Launch {
    let numbers = from.metrics.keys().filter_map(|name| Some((name.clone(), from.number(name)?))).collect();
    Launch { name: from.name, grid: from.grid, block: from.block, numbers, ..Launch::default() }
}
