//! The report of a sweep.

use super::run::{OUT, ROWS, project, run_in};
use super::*;

/// Passes that need no trace.
const ONLY: [&str; 2] = ["pipeline.torch_profiler.enable=false", "pipeline.direct_inference.enable=true"];
const ANSWERS: &str = r#"case $out in *direct_inference) touch "$out/predictions.jsonl";; esac"#;

/// The folder of the only sweep.
fn only_sweep(folder: &Folder) -> PathBuf {
    let sweeps: Vec<_> = std::fs::read_dir(folder.path("p/runs/first/sweeps")).unwrap().collect();
    assert_eq!(sweeps.len(), 1);
    sweeps[0].as_ref().unwrap().path()
}

#[test]
fn jobs_side_by_side() {
    // The jobs of batch 2 fail while they measure, though they have left rows by then.
    let fails = "case $(cat $3) in *'\"batch_size\": 2'*) exit 5;; esac";
    let folder = project(&format!("{OUT}{ROWS}{ANSWERS}\n{fails}\n"));
    let sweep = ["-m", "runtime.batch_size=1,2,4", "infer.max_new_tokens=8,16"];
    run_in(&folder, &[sweep.as_slice(), &ONLY].concat()).fails(4, "report: runs/first/sweeps/");
    let place = only_sweep(&folder);
    saved_are_read_back(&place);
    let read = |name: &str| std::fs::read_to_string(place.join(name)).unwrap();
    let json: Json = serde_json::from_str(&read("sweep.json")).unwrap();
    let keys: Vec<_> =
        json["axes"].as_array().unwrap().iter().map(|axis| axis["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["runtime.batch_size", "infer.max_new_tokens"]);
    let statuses: Vec<_> =
        json["jobs"].as_array().unwrap().iter().map(|job| job["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["complete", "complete", "failed", "failed", "complete", "complete"]);
    let table = read("sweep.md");
    assert!(table.contains("| 2 | 8 | failed: measure failed, exit code 5 | – |"), "{table}");
    assert!(table.contains("| [0](0/report/index.html) | 1 | 8 | complete | 100 ns | 55 ns |"), "{table}");
    let page = read("index.html");
    assert!(page.contains("<a href=\"2/report/index.html\">2</a>") && page.contains("<svg "));
    assert!(place.join("figures/tpot-by-runtime-batch_size.svg").is_file());

    std::fs::remove_file(place.join("index.html")).unwrap();
    text(&["report", place.to_str().unwrap()]);
    assert!((read("index.html"), read("sweep.md")) == (page, table), "a new report differs");
}

#[test]
fn words_are_swept_as_bars() {
    let folder = project(&format!("{OUT}{ROWS}{ANSWERS}\n"));
    let sweep = ["-m", "model.dtype=fp32,bf16", "--format", "json"];
    let json = run_in(&folder, &[sweep.as_slice(), &ONLY].concat()).json();
    let place = only_sweep(&folder);
    assert_eq!(
        json,
        serde_json::from_slice::<Json>(&std::fs::read(place.join("sweep.json")).unwrap()).unwrap()
    );
    assert_eq!(json["axes"][0]["is_number"], false);
    assert!(files(&place.join("figures")).contains(&"tpot-by-job.svg".to_owned()));
}
