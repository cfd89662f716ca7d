//! `rooflens compare` and `rooflens trend`: on runs and traces made here.

use super::*;

/// Measured rounds of one request in a run: its time per token in each, µs.
pub(super) fn requests(folder: &Folder, name: &str, tpot_us: &[u64]) {
    let line = |(round, us): (usize, &u64)| {
        let tokens: Vec<u64> = (1..=5).map(|token| token * us * 1000).collect();
        format!(
            "{{\"round\":{round},\"kind\":\"measured\",\"prompt_tokens\":7,\"output_tokens\":5,\"start_ns\":0,\"token_ns\":{tokens:?}}}\n"
        )
    };
    let text: String = tpot_us.iter().enumerate().map(line).collect();
    folder.write(&format!("{name}/raw/measure/requests.jsonl"), text.as_bytes());
}

/// A run that measured on a device.
fn rounds(folder: &Folder, name: &str, tpot_us: &[u64], device: &str) -> String {
    requests(folder, name, tpot_us);
    let events = format!("{{\"event\":\"model\",\"device_name\":\"{device}\",\"dtype\":\"bfloat16\"}}\n");
    folder.write(&format!("{name}/raw/measure/events.jsonl"), events.as_bytes());
    folder.text(name)
}

/// A trace of ten decode steps with a wait before its last operator, µs.
fn trace(folder: &Folder, name: &str, wait: u64) -> String {
    let mut events = Vec::new();
    for step in 0..10 {
        let begin = step * 20_000 + step;
        let mut event = |cat: &str, name: &str, at: u64, dur: u64| {
            events.push(format!(
                "{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":\"{name}\",\"pid\":1,\"tid\":1,\"ts\":{},\"dur\":{dur}}}",
                begin + at
            ));
        };
        event("user_annotation", &format!("rooflens.decode[{}]", step + 1), 0, 400 + wait + step);
        event("cpu_op", "aten::mm", 10, 200 + step);
        event("cpu_op", "aten::argmax", 250 + wait, 100);
    }
    folder.write(name, format!("{{\"traceEvents\":[{}]}}", events.join(",")).as_bytes());
    folder.text(name)
}

const BEFORE: &[u64] = &[1000, 1003, 997, 1005, 1001, 999, 1002, 998];
const AFTER: &[u64] = &[1050, 1053, 1047, 1055, 1051, 1049, 1052, 1048];

#[test]
fn a_slower_run_fails_its_gate_and_the_same_does_not() {
    let folder = Folder::new();
    let (a, b) = (rounds(&folder, "a", BEFORE, "X"), rounds(&folder, "b", AFTER, "X"));
    let answer = json(&["compare", &a, &b]);
    let tpot = &answer["pairs"][0]["headline"][0];
    assert_eq!((tpot["metric"].as_str(), tpot["is_change"].as_bool()), (Some("tpot_p50_ns"), Some(true)));
    // Medians 1000.5 and 1050.5 µs.
    assert!((tpot["ratio"]["ratio"].as_f64().unwrap() - 1050.5 / 1000.5).abs() < 1e-12);
    assert_eq!(run(&["compare", &a, &b, "--fail-on", "tpot_p50>+3%"]).code, 1);
    assert_eq!(run(&["compare", &a, &b, "--fail-on", "tpot_p50>+6%"]).code, 0);
    assert_eq!(run(&["compare", &b, "--baseline", &a, "--fail-on", "tpot_p50>1.05ms"]).code, 1);
    assert_eq!(run(&["compare", &a, &a, "--fail-on", "tpot_p50>+0%"]).code, 0);
    run(&["compare", &a, &b, "--fail-on", "tpt_p50>+3%"]).fails(2, "tpot_p50");
    assert_eq!(run(&["compare", &a]).code, 2);
}

#[test]
fn what_is_not_like_for_like_passes_no_gate() {
    let folder = Folder::new();
    let (a, other) = (rounds(&folder, "a", BEFORE, "X"), rounds(&folder, "other", BEFORE, "Y"));
    let answer = json(&["compare", &a, &other]);
    // Another device is compared and said so, and is no regression test.
    let pair = &answer["pairs"][0];
    assert_eq!((pair["is_valid"].as_bool(), pair["is_like_for_like"].as_bool()), (Some(true), Some(false)));
    let told = text(&["compare", &a, &other]);
    assert!(told.starts_with("Different setup: device X → Y."), "{told}");
    assert_eq!(run(&["compare", &a, &other, "--fail-on", "tpot_p50>+3%"]).code, 1);
    let few = rounds(&folder, "few", &BEFORE[..3], "X");
    run(&["compare", &a, &few, "--fail-on", "tpot_p50>+3%"]).fails(5, "repeats");
}

#[test]
fn a_sleep_between_operators_is_the_first_line() {
    let folder = Folder::new();
    let (a, b) = (trace(&folder, "a.json", 0), trace(&folder, "b.json", 5000));
    let told = text(&["compare", &a, &b]);
    let first = told.lines().next().unwrap();
    assert!(first.contains("host code before aten::argmax +5.00 ms per step"), "{told}");
    let same = text(&["compare", &a, &a, "--format", "md"]);
    assert!(same.contains("No significant change: decode"), "{same}");
}

#[test]
fn several_inputs_are_columns_and_gates_hold_for_each() {
    let folder = Folder::new();
    let a = rounds(&folder, "a", BEFORE, "X");
    let (same, slow) = (rounds(&folder, "same", BEFORE, "X"), rounds(&folder, "slow", AFTER, "X"));
    let answer = run(&["compare", &a, &same, &slow, "--format", "json", "--fail-on", "tpot_p50>+3%"]);
    assert_eq!(answer.code, 1);
    let answer: Json = serde_json::from_str(&answer.stdout).unwrap();
    let changed = |at: usize| answer["pairs"][at]["headline"][0]["is_change"].as_bool();
    assert_eq!((changed(0), changed(1)), (Some(false), Some(true)));
    let failed = |at: usize| answer["gates"][at]["failed"].as_bool();
    assert_eq!(
        (failed(0), failed(1), answer["gates"][0]["could_tell"].as_bool()),
        (Some(false), Some(true), Some(true))
    );
    let told = text(&["compare", &a, &same, &slow]);
    assert!(told.starts_with("same: No significant change: tpot_p50 1.00 ms → 1.00 ms"), "{told}");
    assert!(told.contains("slow: tpot_p50 1.00 ms → 1.05 ms (+5.0%)."), "{told}");
    assert!(told.contains("A is a, B is same, C is slow."), "{told}");
}

#[test]
fn noise_is_no_change_and_a_gate_below_it_warns() {
    let folder = Folder::new();
    let noisy: Vec<u64> =
        BEFORE.iter().zip([0, 200, 0, 0, 300, 100, 0, 250]).map(|(us, more)| us + more).collect();
    let (a, b) = (rounds(&folder, "a", BEFORE, "X"), rounds(&folder, "b", &noisy, "X"));
    let answer = run(&["compare", &a, &b, "--fail-on", "tpot_p50>+3%"]);
    answer.fails(0, "could not have been detected");
    assert!(answer.stdout.contains("may be chance"), "{}", answer.stdout);
}

#[test]
fn nothing_in_common_is_told() {
    let folder = Folder::new();
    let (rounds, trace) = (rounds(&folder, "a", BEFORE, "X"), trace(&folder, "b.json", 0));
    let told = text(&["compare", &rounds, &trace]);
    assert!(told.contains("Nothing to compare") || told.contains("Not enough data"), "{told}");
}

#[test]
fn exports_have_the_form_of_their_service() {
    let folder = Folder::new();
    let (a, b) = (rounds(&folder, "a", BEFORE, "X"), rounds(&folder, "b", AFTER, "X"));
    let (github, bencher) = (folder.text("github.json"), folder.text("bencher.json"));
    let exports = ["--export", "github-action-benchmark", &github, "--export", "bencher", &bencher];
    text(&[&["compare", &a, &b], &exports[..]].concat());
    let read = |path: &str| serde_json::from_slice::<Json>(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(
        (&read(&github)[0]["name"], &read(&github)[0]["value"]),
        (&"tpot_p50".into(), &1_050_500.0.into())
    );
    assert_eq!(read(&bencher)["tpot_p50"]["latency"]["value"], 1_050_500.0);
    assert_eq!(run(&["compare", &a, &b, "--export", "other", "x"]).code, 2);
}

#[test]
fn a_trend_over_runs_and_over_a_column() {
    let folder = Folder::new();
    let level = |i: usize| if i < 12 { 1000 } else { 1020 } + [3, 0, 5, 1][i % 4];
    let runs: Vec<String> = (0..24).map(|i| rounds(&folder, &format!("run{i}"), &[level(i)], "X")).collect();
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let answer = json(&[&["trend"], &runs[..]].concat());
    assert_eq!(answer["change_points"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["change_points"][0]["index"], 12);
    let values: Vec<String> = (0..24).map(|i| format!("{i},{}", level(i))).collect();
    folder.write("values.csv", format!("at,us\n{}\n", values.join("\n")).as_bytes());
    let told = text(&["trend", "--csv", &folder.text("values.csv"), "--key", "us"]);
    assert!(told.contains("changed once in 24 values, at index 12"), "{told}");
    assert_eq!(run(&["trend", "--csv", &folder.text("values.csv"), "--key", "ms"]).code, 2);
    assert_eq!(run(&["trend", &folder.text("nothing")]).code, 5);
}
