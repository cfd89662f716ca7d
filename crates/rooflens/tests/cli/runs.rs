//! Run directories: written, read again, replaced, and never mistaken for something else.

use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::{Columnar, read_table};
use rooflens_schema::tables::Runs;

use super::*;

const REPORT: &[&str] = &[
    "report/index.html",
    "report/kernels.md",
    "report/metrics.json",
    "report/operators.md",
    "report/report.md",
    "report/timeline.json",
];

#[test]
fn a_saved_run_is_whole() {
    let folder = Folder::new();
    let run_dir = folder.text("run");
    let printed = text(&["analyze", &fixture("kineto/decode.json"), "-o", &run_dir, "--format", "json"]);
    let found = files(&folder.path("run"));
    for name in [
        "runs",
        "ranks",
        "devices",
        "kernels",
        "kernel_dim",
        "ops",
        "api",
        "frames",
        "phases",
        "memory",
        "collectives",
        "name_dim",
        "notes",
    ] {
        assert!(found.contains(&format!("tables/{name}.parquet")), "{name}: {found:?}");
    }
    for name in ["trace", "devices", "kernels", "operators", "verdict"] {
        assert!(found.contains(&format!("findings/{name}.json")), "{name}: {found:?}");
    }
    for name in REPORT {
        assert!(found.contains(&(*name).to_owned()), "{name}: {found:?}");
    }
    let metrics = std::fs::read_to_string(folder.path("run/report/metrics.json")).unwrap();
    assert_eq!(metrics, printed, "the same document on standard output and on disk");
    let kernels = std::fs::read_to_string(folder.path("run/findings/kernels.json")).unwrap();
    let kernels: Json = serde_json::from_str(&kernels).unwrap();
    assert_eq!(kernels["schema"], serde_json::json!({"name": "rooflens.kernels", "version": "1.0"}));
    let printed: Json = serde_json::from_str(&printed).unwrap();
    assert_eq!(kernels["kernels"], printed["kernels"]);
    let page = std::fs::read_to_string(folder.path("run/report/index.html")).unwrap();
    assert!(page.contains("decode.json"));
}

#[test]
fn a_run_gives_the_same_answers_as_its_trace() {
    for input in ["kineto/decode.json", "kineto/two_ranks"] {
        let folder = Folder::new();
        let run_dir = folder.text("run");
        let imported = run(&["import", &fixture(input), "-o", &run_dir]);
        assert_eq!((imported.code, imported.stdout.as_str()), (0, ""), "{}", imported.stderr);
        assert!(
            imported.stderr.contains(&format!("next: rooflens analyze {run_dir}")),
            "{}",
            imported.stderr
        );
        assert!(files(&folder.path("run")).iter().all(|file| file.starts_with("tables/")), "tables only");
        for format in [["--format", "json"], ["--format", "text"], ["--format", "csv"], ["--format", "md"]] {
            let of_trace = run(&[&["analyze", &fixture(input)], &format[..]].concat()).fine();
            let of_run = run(&[&["analyze", run_dir.as_str()], &format[..]].concat()).fine();
            assert_eq!(of_run, of_trace, "{input} {format:?}");
        }
    }
}

#[test]
fn many_ranks_in_any_order_are_read_again() {
    let folder = Folder::new();
    let trace = std::fs::read_to_string(fixture("kineto/two_ranks/rank-1.json")).unwrap();
    for i in 0..24 {
        let rank = (i * 7 + 5) % 24;
        let claim = format!("\"rank\": {rank}, \"world_size\": 24");
        let of_rank = trace.replacen("\"rank\": 1, \"world_size\": 2", &claim, 1);
        assert_ne!(of_rank, trace);
        // Two of the same number, and one that cannot be read.
        let of_rank =
            if i == 11 { of_rank.replace(&claim, "\"rank\": 5, \"world_size\": 24") } else { of_rank };
        let bytes = if i == 17 { &of_rank.as_bytes()[..900] } else { of_rank.as_bytes() };
        folder.write(&format!("traces/{i:02}.json"), bytes);
    }
    let (traces, run_dir) = (folder.text("traces"), folder.text("run"));
    let of_traces = run(&["analyze", &traces, "-o", &run_dir, "--format", "json"]).stdout;
    let json: Json = serde_json::from_str(&of_traces).unwrap();
    assert_eq!(json["trace"]["ranks"], 23);
    let codes: Vec<_> = json["notes"].as_array().unwrap().iter().map(|note| &note["code"]).collect();
    assert!(codes.iter().any(|code| *code == "duplicate_rank"), "{codes:?}");
    assert!(codes.iter().any(|code| *code == "unreadable_rank"), "{codes:?}");
    assert_eq!(run(&["analyze", &run_dir, "--format", "json"]).stdout, of_traces);
    assert_eq!(run(&["analyze", &traces, "--format", "json"]).stdout, of_traces, "it is always the same");
}

#[test]
fn a_run_can_be_copied_and_analysed_into_itself() {
    let folder = Folder::new();
    let (first, second) = (folder.text("first"), folder.text("second"));
    let json = text(&["analyze", &fixture("kineto/two_ranks"), "-o", &first, "--format", "json"]);
    let copied = text(&["analyze", &first, "-o", &second, "--format", "json"]);
    assert_eq!(copied, json);
    assert_eq!(files(&folder.path("second")), files(&folder.path("first")));
    let again = text(&["analyze", &second, "-o", &second, "--format", "json"]);
    assert_eq!(again, json);
    assert_eq!(text(&["analyze", &second, "--format", "json"]), json, "its tables are still there");
}

#[test]
fn a_report_is_written_again() {
    let folder = Folder::new();
    let run_dir = folder.text("run");
    text(&["import", &fixture("kineto/decode.json"), "-o", &run_dir]);
    let answer = run(&["report", &run_dir]);
    assert!(answer.stderr.contains("run/report/index.html"), "{}", answer.stderr);
    answer.fine();
    let found = files(&folder.path("run"));
    assert!(REPORT.iter().all(|name| found.contains(&(*name).to_owned())), "{found:?}");

    let elsewhere = folder.text("public");
    text(&["report", &run_dir, "-o", &elsewhere]);
    text(&["report", &run_dir, "-o", &elsewhere]);
    assert_eq!(files(&folder.path("public")).len(), REPORT.len());
    assert_eq!(
        std::fs::read(folder.path("public/index.html")).unwrap(),
        std::fs::read(folder.path("run/report/index.html")).unwrap()
    );
}

#[test]
fn a_run_keeps_the_model_that_it_was_compared_with() {
    let folder = Folder::new();
    let (run_dir, config) = (folder.text("run"), folder.text("model.json"));
    std::fs::copy(fixture("configs/tiny-moe.json"), &config).unwrap();
    // Two decode steps of one sequence, as vLLM names them.
    let text = std::fs::read_to_string(fixture("kineto/decode.json")).unwrap();
    let named = ["ProfilerStep#1", "ProfilerStep#2"]
        .iter()
        .fold(text, |text, name| text.replace(name, "execute_context_0(0)_generation_1(1)"));
    let trace = folder.text("decode.json");
    std::fs::write(&trace, named).unwrap();
    let asked = ["--model", &config, "--hardware", "h100", "--context", "512", "--force"];
    let words = [&["analyze", trace.as_str(), "-o", &run_dir, "--format", "json"][..], &asked].concat();
    let printed = run(&words).fine();
    let found: Json = serde_json::from_str(&printed).unwrap();
    assert!(found["ledger"]["floor_of"]["model"].is_string(), "{}", found["ledger"]["floor_of"]);
    let row = read_table::<Runs>(&RunDir::new(&run_dir).table(Runs::NAME)).unwrap().row(0).unwrap();
    assert_eq!(row.model.as_deref(), Some("model"));
    assert_eq!(row.parallelism.as_deref(), Some(r#"{"tp":2}"#), "the ranks of its collectives");
    assert!(row.dtype.is_some());

    // The config may be gone, and the run elsewhere.
    std::fs::remove_file(&config).unwrap();
    let moved = folder.text("moved");
    std::fs::rename(&run_dir, &moved).unwrap();
    run(&["report", &moved]).fine();
    let metrics = || std::fs::read_to_string(folder.path("moved/report/metrics.json")).unwrap();
    assert_eq!(metrics(), printed, "the report has the same lower bounds");
    let again = run(&["analyze", &moved, "--format", "json"]).fine();
    assert_eq!(again, printed);
    // What is asked for now counts.
    let other: Json =
        serde_json::from_str(&run(&["analyze", &moved, "--hardware", "a100", "--format", "json"]).fine())
            .unwrap();
    let device = |found: &Json| found["ledger"]["floor_of"]["device"].clone();
    assert_ne!(device(&other), device(&found));
    // Another trace in the same folder has nothing to do with that model.
    let bare = run(&["analyze", &trace, "-o", &moved, "--format", "json"]).fine();
    assert_ne!(bare, printed);
    run(&["report", &moved]).fine();
    assert_eq!(metrics(), bare);
}

#[test]
fn an_older_run_is_replaced() {
    let folder = Folder::new();
    let run_dir = folder.text("run");
    text(&["analyze", &fixture("kineto/two_ranks"), "-o", &run_dir]);
    folder.write("run/findings/of_another_version.json", b"{}");
    let cpu_only =
        br#"[{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2.0}]"#;
    text(&["analyze", &folder.write("cpu.json", cpu_only), "-o", &run_dir]);
    let found = files(&folder.path("run"));
    for gone in ["tables/kernels.parquet", "findings/kernels.json", "findings/of_another_version.json"] {
        assert!(!found.contains(&gone.to_owned()), "{gone}: {found:?}");
    }
    let json = json(&["analyze", &run_dir]);
    assert_eq!(json["trace"]["ranks"], 1);
}

#[test]
fn other_folders_are_left_alone() {
    let folder = Folder::new();
    folder.write("mine/index.html", b"mine");
    let mine = folder.text("mine");
    let trace = fixture("kineto/decode.json");
    let run_dir = folder.text("run");
    text(&["import", &trace, "-o", &run_dir]);
    for args in
        [["analyze", &trace, "-o", &mine], ["import", &trace, "-o", &mine], ["report", &run_dir, "-o", &mine]]
    {
        let answer = run(&args);
        assert_eq!(answer.code, 2, "{args:?}");
        assert!(answer.hint().contains("-o "), "{}", answer.stderr);
    }
    assert_eq!(files(&folder.path("mine")), ["index.html"]);
    assert_eq!(std::fs::read(folder.path("mine/index.html")).unwrap(), b"mine");

    let answer = run(&["analyze", &trace, "-o", &folder.text("mine/index.html")]);
    assert_eq!((answer.code, answer.stdout.as_str()), (2, ""));
    let answer = run(&["import", &run_dir, "-o", &run_dir]);
    assert_eq!(answer.code, 2);
    assert!(answer.hint().starts_with("to write its report again: rooflens report "), "{}", answer.stderr);
}

#[test]
fn what_cannot_be_read_leaves_no_folder() {
    let folder = Folder::new();
    let answer = run(&["analyze", &folder.write("text.json", b"hello"), "-o", &folder.text("run")]);
    assert_eq!(answer.code, 5);
    assert!(!folder.path("run").exists());
}
