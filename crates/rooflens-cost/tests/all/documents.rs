//! Cost documents are read back as they were written.

use std::path::Path;

use rooflens_cost::document::EstimateDocument;
use rooflens_cost::estimate::Estimate;
use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::parallel::Parallel;
use rooflens_cost::setup::Setup;
use rooflens_cost::workload::Workload;

use crate::common::read;

fn is_read_back(config: &Path, device: Option<&Device>, setup: &Setup, workload: &Workload) {
    let model = read(config).unwrap();
    let estimate = Estimate::new(&model, setup, workload, device).unwrap();
    let json =
        serde_json::to_string(&EstimateDocument::new(&model, setup, workload, device, &estimate)).unwrap();
    let read: EstimateDocument =
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{config:?}: {error}"));
    assert_eq!(serde_json::to_string(&read).unwrap(), json, "{config:?}");
}

#[test]
fn documents_are_read_back_as_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/config");
    let h100 = Catalog::embedded().find("h100").unwrap();
    let two = Setup { parallel: Parallel { tp: 2, ..Parallel::NONE }, ..Setup::default() };
    for name in ["llama", "deepseek_v3", "gemma3", "mamba2", "gpt_oss"] {
        let config = folder.join(name).with_extension("json");
        for workload in [Workload::prefill(1, 8192), Workload::decode(64, 4096)] {
            is_read_back(&config, Some(h100), &Setup::default(), &workload);
            is_read_back(&config, None, &two, &workload);
        }
    }
}

/// Work of 2^64 and more is written in full, which a 64-bit number or a float could not hold.
#[test]
fn large_numbers_keep_every_digit() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/config/llama.json");
    let workload = Workload::prefill(1 << 20, 1 << 20);
    let model = read(&config).unwrap();
    let setup = Setup::default();
    let estimate = Estimate::new(&model, &setup, &workload, None).unwrap();
    let document = EstimateDocument::new(&model, &setup, &workload, None, &estimate);
    assert!(document.phases[0].totals.flops.useful > u128::from(u64::MAX));
    let json = serde_json::to_string(&document).unwrap();
    let read: EstimateDocument = serde_json::from_str(&json).unwrap();
    assert_eq!(read.phases[0].totals.flops, document.phases[0].totals.flops);
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
}

/// Not by way of a `Value`: its order depends on the features of whoever builds.
#[test]
fn keys_are_in_the_order_of_the_types() {
    let h100 = serde_json::to_string(Catalog::embedded().find("h100").unwrap()).unwrap();
    assert!(
        h100.starts_with("{\"name\":") && h100.contains(",\"vendor\":\"NVIDIA\",\"kind\":\"gpu\",\"arch\":"),
        "{h100}"
    );
}
