//! `analyze`: every kind of input, every form of output.

use super::*;

#[test]
fn one_screen() {
    insta::assert_snapshot!(text(&["analyze", &fixture("kineto/decode.json")]));
}

#[test]
fn one_screen_of_two_ranks() {
    insta::assert_snapshot!(text(&["analyze", &fixture("kineto/two_ranks"), "--limit", "2"]));
}

#[test]
fn the_json_document_has_its_keys_in_order() {
    let text = text(&["analyze", &fixture("kineto/decode.json"), "--format", "json"]);
    assert_eq!(text.lines().count(), 1, "one line for programs");
    let json: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], serde_json::json!({"name": "rooflens.analysis", "version": "1.0"}));
    // A map would sort its keys: look at the text.
    let keys = "schema trace devices kernels classes operators phases launches gaps late_host communication ledger stragglers modules \
        parts products shape_rates frames memory comm_calls gemms engine_layers inferences server_metrics health verdict advice not_computed notes";
    let keys: Vec<&str> = keys.split_whitespace().collect();
    assert_eq!(json.as_object().unwrap().len(), keys.len());
    let mut at = 0;
    for key in keys {
        assert!(json.get(key).is_some(), "{key} is missing");
        let found = text[at..].find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} out of order"));
        at += found;
    }
    assert_eq!(json["trace"]["events"], 143);
    assert_eq!(json["devices"][0]["device"], 0);
    assert_eq!(json["kernels"].as_array().unwrap().len(), 8);
    // By hand: two copies, an embedding, four kernels in each of two layers and an arg-max; two steps.
    assert_eq!(json["devices"][0]["activities"], 24);
}

#[test]
fn lists_that_were_not_computed_are_empty() {
    let trace = br#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1,
        "ts": 1.0, "dur": 2.0}]}"#;
    let json = run_with_input(&["analyze", "-", "--format", "json"], trace).json();
    for name in ["devices", "kernels", "phases", "gaps"] {
        assert_eq!(json[name], serde_json::json!([]), "{name}");
        let reasons = json["not_computed"].as_array().unwrap();
        assert!(reasons.iter().any(|reason| reason["analysis"] == name), "{name} has a reason");
    }
    assert_eq!(json["operators"][0]["name"], "aten::mm");
}

#[test]
fn standard_input_and_gzip_give_the_same_numbers() {
    let path = fixture("kineto/decode.json");
    let bytes = std::fs::read(&path).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    let gzip = gzip.finish().unwrap();
    let folder = Folder::new();
    let plain = json(&["analyze", &path]);
    for other in [
        run_with_input(&["analyze", "-", "--format", "json"], &bytes),
        run_with_input(&["analyze", "-", "--format", "json"], &gzip),
        // Recognised by content, not by name.
        run(&["analyze", &folder.write("trace", &gzip), "--format", "json"]),
    ] {
        let mut other = other.json();
        other["trace"]["sources"] = plain["trace"]["sources"].clone();
        other["notes"] = plain["notes"].clone();
        assert_eq!(other, plain);
    }
}

#[test]
fn ranks_share_a_clock() {
    let folder = json(&["analyze", &fixture("kineto/two_ranks")]);
    assert_eq!(folder["trace"]["ranks"], 2);
    assert_eq!(folder["devices"].as_array().unwrap().len(), 2);
    // By hand: rank 0 begins at 1,000.000 µs, rank 1 at 1,015.000 µs of a clock 12.345 µs ahead, and
    // both last 1,950.000 µs: from 0 to 27.345 + 1,950.000 µs.
    assert_eq!(folder["trace"]["span_ns"], 1_977_345);
    let (first, second) = (fixture("kineto/two_ranks/rank-0.json"), fixture("kineto/two_ranks/rank-1.json"));
    let files = json(&["analyze", &first, &second]);
    assert_eq!(files, folder);
}

#[test]
fn two_files_of_one_rank_are_kept_apart() {
    let path = fixture("kineto/decode.json");
    let json = json(&["analyze", &path, &path]);
    let ranks: Vec<_> = json["devices"].as_array().unwrap().iter().map(|row| &row["rank"]).collect();
    assert_eq!(ranks, [0, 1]);
    let codes: Vec<_> = json["notes"].as_array().unwrap().iter().map(|note| &note["code"]).collect();
    assert!(codes.iter().any(|code| *code == "duplicate_rank"), "{codes:?}");
}

#[test]
fn a_damaged_rank_does_not_hide_the_others() {
    let folder = Folder::new();
    folder.write("rank-0.json", &std::fs::read(fixture("kineto/two_ranks/rank-0.json")).unwrap());
    folder.write("rank-1.json", br#"{"schemaVersion": 1, "traceEvents": ["#);
    folder.write("README.md", b"not a trace");
    let answer = run(&["analyze", &folder.text("."), "--format", "json"]);
    assert!(answer.stderr.contains("unreadable_rank"), "{}", answer.stderr);
    let json = answer.json();
    assert_eq!(json["trace"]["ranks"], 1);
    let codes: Vec<_> = json["notes"].as_array().unwrap().iter().map(|note| &note["code"]).collect();
    assert!(codes.iter().any(|code| *code == "file_passed_over"), "{codes:?}");
}

#[test]
fn csv_and_markdown() {
    let path = fixture("kineto/decode.json");
    let kernels = text(&["analyze", &path, "--format", "csv"]);
    assert_eq!(kernels.lines().count(), 1 + 8);
    assert!(kernels.lines().next().unwrap().contains("total_ns"), "{kernels}");
    for table in ["operators", "phases", "gaps", "devices"] {
        let text = text(&["analyze", &path, "--format", "csv", "--table", table]);
        assert!(text.lines().count() > 1, "{table}");
    }
    let page = run(&["analyze", &path, "--format", "md"]).fine();
    assert!(page.starts_with("# "), "{page}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (trace, model) = (fixture("kineto/decode.json"), fixture("configs/tiny-moe.json"));
    for args in [["analyze", &trace], ["cost", &model]] {
        for format in ["text", "json", "csv", "md"] {
            let mut command = rooflens(&args);
            command.args(["--format", format]).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            drop(child.stdout.take());
            let answer = Answer::of(child.wait_with_output().unwrap());
            assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{args:?} {format}");
        }
    }
}

#[test]
fn colours_and_talk_as_asked() {
    let path = fixture("kineto/decode.json");
    let folder = Folder::new();
    assert!(!text(&["analyze", &path]).contains('\u{1b}'), "no colours in a pipe");
    assert!(text(&["analyze", &path, "--color", "always"]).contains('\u{1b}'));
    let ascii = Answer::of(rooflens(&["analyze", &path]).env("LC_ALL", "C").output().unwrap()).fine();
    assert!(ascii.is_ascii(), "{ascii}");
    let narrow = Answer::of(rooflens(&["analyze", &path]).env("COLUMNS", "60").output().unwrap()).fine();
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");

    let normal = run(&["analyze", &path, "-o", &folder.text("a")]);
    assert!(normal.stderr.contains("index.html"), "{}", normal.stderr);
    saved_are_read_back(&folder.path("a"));
    let quiet = run(&["analyze", &path, "-o", &folder.text("b"), "--quiet"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
    assert_eq!(quiet.stdout, normal.stdout);
    let verbose = run(&["analyze", &path, "--verbose"]);
    assert!(verbose.stderr.contains("reading decode.json"), "{}", verbose.stderr);
    assert_eq!(verbose.stdout, normal.stdout);
}
