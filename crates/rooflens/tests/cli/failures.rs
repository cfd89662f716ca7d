//! Each failure has its code, its fact and its hint, and no other output.

use super::*;

#[test]
fn every_failure_has_its_code_and_hint() {
    let folder = Folder::new();
    let trace = fixture("kineto/decode.json");
    folder.write("llama_decode.json.gz", b"x");
    folder.write("empty/nothing.txt", b"nothing");
    folder.write("outer/inner/trace.json", &std::fs::read(&trace).unwrap());
    let run_dir = folder.text("run");
    text(&["import", &trace, "-o", &run_dir]);
    let path = |name: &str| folder.text(name);
    let near = format!("did you mean {0}? rooflens analyze {0}", path("llama_decode.json.gz"));
    let inner = format!("name that folder instead: {}", path("outer/inner"));
    let only_run = format!("rooflens analyze {run_dir}");
    let that_run = format!("name that folder instead: {run_dir}");
    for (args, code, fact, hint) in [
        (vec!["analyze", &path("lama_decode.json.gz")], 5, "does not exist", near.as_str()),
        (vec!["analyze", &path("quux")], 5, "does not exist", "find . -name '*.json*'"),
        (
            vec!["analyze", &folder.write("a.txt", b"hello, world")],
            5,
            "begins with \"hello, world\"",
            "rooflens list formats",
        ),
        (
            vec!["analyze", &trace, &path("a.txt")],
            5,
            "not in a format that Rooflens reads",
            "rooflens list formats",
        ),
        (vec!["analyze", &folder.write("empty.json", b"")], 5, "is empty", "rooflens list formats"),
        (
            vec!["analyze", &folder.write("no.json", br#"{"traceEvents": []}"#)],
            5,
            "no record",
            "rooflens explain no_records",
        ),
        (vec!["analyze", &path("empty")], 5, "no trace in folder", "rooflens list formats"),
        (vec!["analyze", &path("outer")], 5, "no trace in folder", inner.as_str()),
        (vec!["analyze", &path("run/tables")], 5, "no trace in folder", that_run.as_str()),
        (vec!["analyze", &run_dir, &trace], 2, "is a run directory", only_run.as_str()),
        (vec!["analyze", "-", "-"], 2, "more than once", "rooflens analyze -"),
        (vec!["analyze", &trace, "--table", "gaps"], 2, "--format csv", "--format csv --table gaps"),
        (vec!["analyze", &trace, "-o", "/proc/rooflens"], 3, "/proc/rooflens", "rooflens doctor"),
        (
            vec!["report", &path("empty")],
            5,
            "is not a Rooflens run directory",
            "rooflens import TRACE -o RUN",
        ),
        (vec!["explain", "launch_bond"], 2, "\"launch_bond\"", "rooflens explain launch_bound"),
        (vec!["explain", "xyzzy"], 2, "\"xyzzy\"", "rooflens list"),
    ] {
        let answer = run(&args);
        assert_eq!(answer.code, code, "{args:?}: {}", answer.stderr);
        assert_eq!(answer.stdout, "", "{args:?}");
        assert!(answer.stderr.starts_with("error: "), "{args:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(fact), "{args:?}: {}", answer.stderr);
        assert!(answer.hint().contains(hint), "{args:?}: {}", answer.stderr);
        assert_eq!(answer.stderr.lines().count(), 2, "{args:?}: {}", answer.stderr);
    }
}

#[test]
fn a_damaged_run_says_so() {
    let folder = Folder::new();
    let run_dir = folder.text("run");
    text(&["import", &fixture("kineto/decode.json"), "-o", &run_dir]);
    folder.write("run/tables/kernels.parquet", b"PAR1 this is not Parquet PAR1");
    run(&["analyze", &run_dir]).fails(5, "kernels.parquet").hints("rooflens import");
}

#[test]
fn a_cut_off_trace_is_reported_as_far_as_it_goes() {
    let folder = Folder::new();
    let bytes = std::fs::read(fixture("kineto/decode.json")).unwrap();
    let cut = folder.write("cut.json", &bytes[..bytes.len() / 2]);
    let answer = run(&["analyze", &cut, "--format", "json"]);
    assert!(answer.stderr.starts_with("warning: cut.json: "), "{}", answer.stderr);
    let json = answer.json();
    assert!(json["notes"].as_array().unwrap().iter().any(|note| note["code"] == "truncated"));
    assert_eq!(run(&["analyze", &cut, "--format", "json", "--quiet"]).stderr, "");
    let screen = text(&["analyze", &cut]);
    assert!(screen.contains("truncated"), "{screen}");
}

#[test]
fn wrong_usage_is_2() {
    for args in [
        &["analyse"][..],
        &["analyze"],
        &["analyze", "x", "--format", "xml"],
        &["-q", "-v", "doctor"],
        &["import", "x"],
    ] {
        let answer = run(args);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{args:?}");
        assert!(answer.stderr.starts_with("error: "), "{}", answer.stderr);
    }
}
