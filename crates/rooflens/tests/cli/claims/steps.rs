//! A step is a step: counted once, its times on host and device apart, flawed ones left out.

use super::*;

const INFERENCE: &str = "kineto/tracelens/inference";

fn ms(value: &Json) -> f64 {
    value.as_f64().unwrap() / 1e6
}

/// The phase of a ledger, and the time on one of its lines in ms.
fn phase<'a>(answer: &'a Json, name: &str) -> &'a Json {
    let phases = answer["ledger"]["phases"].as_array().unwrap();
    phases.iter().find(|phase| phase["phase"] == name).unwrap()
}

fn line(phase: &Json, name: &str) -> f64 {
    let lines = phase["lines"].as_array().unwrap();
    lines.iter().find(|line| line["line"] == name).map_or(0.0, |line| ms(&line["ns"]))
}

#[test]
#[ignore = "needs the corpus"]
fn expert_01_and_newcomer_01_two_names_of_a_step_are_one_step_with_one_floor() {
    let model = config("Qwen--Qwen3-8B");
    let of = |trace: &str| {
        json(&[
            "analyze",
            &corpus(&format!("{INFERENCE}/{trace}")),
            "--model",
            &model,
            "--hardware",
            "mi300x",
        ])
    };
    let answer = of("sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz");
    let prefill = phase(&answer, "prefill");
    assert_eq!(prefill["steps"], 1);
    assert_near(line(prefill, "floor"), 174.0, 0.001);
    assert_near(line(prefill, "inefficiency"), 298.8, 0.001);
    let answer = of("sglang_decode/sglang_Qwen3-8B_decode.json.gz");
    let decode = phase(&answer, "decode");
    assert_eq!(decode["steps"], 1);
    // What is in the cache is told by the other name: sk32785.
    assert_eq!(decode["shapes"][0]["kv_tokens"], 32785);
    assert_near(line(decode, "floor"), 3.82, 0.002);
    assert_near(line(decode, "inefficiency"), 5.22, 0.002);
    let rows = answer["phases"].as_array().unwrap();
    assert_eq!(rows.iter().filter(|row| row["role"] == "step").count(), 1);
    assert_eq!(rows[0]["also_named"], serde_json::json!(["step[DECODE bs=*]"]));
}

#[test]
#[ignore = "needs the corpus"]
fn expert_04_times_on_host_and_device_are_told_apart() {
    for (trace, host, device) in
        [("vllm_decode_full", 2.41, 10.74), ("vllm_prefilldecode_piecewise", 26.35, 156.5)]
    {
        let trace = corpus(&format!("{INFERENCE}/{trace}/graph_execution.json.gz"));
        let answer = json(&["analyze", &trace]);
        let step = &answer["phases"][0];
        assert_near(ms(&step["host"]["p50_ns"]), host, 0.002);
        assert_near(ms(&step["device_span"]["p50_ns"]), device, 0.002);
        let screen = text(&["analyze", &trace]);
        let head = screen.lines().find(|line| line.starts_with("Steps and phases")).unwrap();
        assert!(head.contains("host p50") && head.contains("device p50"), "{head}");
    }
}

#[test]
fn expert_04_every_column_says_whose_time_it_is() {
    let trace = fixture("kineto/decode.json");
    let step = &json(&["analyze", &trace])["phases"][0];
    // Two annotations of 900 µs in the file; the host waits for the device inside them.
    assert_eq!((&step["name"], &step["host"]["p50_ns"]), (&"ProfilerStep#*".into(), &900_000.into()));
    assert!(ms(&step["device_busy"]["p50_ns"]) < ms(&step["device_span"]["p50_ns"]));
    let screen = text(&["analyze", &trace]);
    let head = screen.lines().find(|line| line.starts_with("Steps and phases")).unwrap();
    assert!(head.contains("host p50  device p50"), "{head}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_16_a_wait_for_unrecorded_work_is_no_time_of_a_step() {
    let trace = corpus(&format!("{INFERENCE}/sglang_decode/sglang_Qwen3-8B_decode.json.gz"));
    let model = config("Qwen--Qwen3-8B");
    let answer = json(&["analyze", &trace, "--model", &model, "--hardware", "mi300x"]);
    // 463 ms in hipMemcpyWithStream, for a step that was launched before the recording.
    let decode = phase(&answer, "decode");
    assert!(ms(&decode["wall_ns"]) < 11.0, "{}", decode["wall_ns"]);
    let outside = phase(&answer, "outside");
    assert_near(ms(&outside["wall_ns"]), 463.0, 0.001);
    assert_eq!(answer["phases"][0]["flawed"][0]["reason"], "unrecorded_work");
    let total: f64 =
        answer["ledger"]["phases"].as_array().unwrap().iter().map(|phase| ms(&phase["wall_ns"])).sum();
    assert_near(total, ms(&answer["ledger"]["wall_ns"]), 1e-12);
    let screen = text(&["advise", &trace, "--model", &model, "--hardware", "mi300x"]);
    assert!(!screen.contains("117.9 ms"), "{screen}");
}

#[test]
#[ignore = "needs the corpus"]
fn newcomer_19_a_range_recorded_on_host_and_device_is_one_row() {
    let trace = corpus("kineto/tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz");
    let answer = json(&["analyze", &trace]);
    let rows = answer["phases"].as_array().unwrap();
    let named: Vec<_> = rows.iter().filter(|row| row["name"] == "ProfilerStep#*").collect();
    assert_eq!(named.len(), 1);
    // Worked out from the file's events: 1,198 activities were launched inside the annotation, and 34.892419 ms lie
    // between their first start and last end, as in the annotation's own row on the device. 509 that ran before them
    // were launched before the recording: they are of an earlier step.
    assert_eq!(named[0]["host"]["p50_ns"], 47_151_395);
    assert_eq!(
        (&named[0]["activities"], &named[0]["device_span"]["p50_ns"]),
        (&1_198.0.into(), &34_892_419.into())
    );
}
