//! Inputs of other tools than `torch.profiler`, as a user gives them.

use super::*;

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&run(&[&["analyze", "--format", "json"], args].concat()).fine()).unwrap()
}

#[test]
fn files_of_one_process_are_one_rank() {
    let part = |name: &str| fixture(&format!("rocprofv3/42_{name}_trace.csv"));
    let of_folder = json(&[&fixture("rocprofv3")]);
    let of_files = json(&[&part("hip_api"), &part("kernel"), &part("marker_api"), &part("memory_copy")]);
    let of_one = json(&[&part("memory_copy")]);
    for found in [&of_folder, &of_files, &of_one] {
        assert_eq!(found["trace"]["ranks"], 1);
        assert_eq!(found["trace"]["rows"]["kernels"], 5);
        assert_eq!(found["kernels"], of_folder["kernels"]);
    }
    assert_eq!(of_folder["trace"]["hardware"], serde_json::json!(["AMD Instinct MI300X"]));
}

/// The numbers are those that `fixtures/torchmem/make.py` explains; a run directory keeps them.
#[test]
fn an_allocator_snapshot() {
    let folder = Folder::new();
    let screen = run(&["analyze", &fixture("torchmem/small.pickle")]).fine();
    for words in ["fragmentation 25.0%", "train.py(12): step", "(allocated before the first event)"] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    let found = json(&[&fixture("torchmem/small.pickle"), "-o", &folder.text("run")]);
    let device = &found["memory"][0];
    assert_eq!(device["peak_allocated_bytes"], 6000);
    assert_eq!(device["at_peak"][0]["bytes"], 3000);
    assert_eq!(device["at_end"]["scattered_free_bytes"], 3072);
    assert!(folder.path("run/tables/memory_blocks.parquet").is_file());
    assert_eq!(json(&[&folder.text("run")])["memory"], found["memory"]);
}

#[test]
fn a_pickle_that_runs_code_is_refused() {
    let folder = Folder::new();
    let path = folder.path("bad.pickle");
    std::fs::write(&path, b"\x80\x04\x8c\x08segmentscos\nsystem\n.").unwrap();
    let output = rooflens(&["analyze", path.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("GLOBAL") && said.contains("may run code"), "{said}");
}
