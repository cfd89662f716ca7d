//! `cost`: many points.

use super::cost::{bench, cost};
use super::*;

#[test]
fn points_as_json_and_csv() {
    let folder = bench();
    let json = cost(&folder, "tiny.json --batch 1,3 --context 5 --hardware slow --format json").json();
    assert_eq!(json["schema"]["name"], "rooflens.cost-sweep");
    assert_eq!(json["axes"], serde_json::json!([{"name": "batch", "values": ["1", "3"]}]));
    let fixed: Vec<String> = json["fixed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|axis| axis["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(fixed.contains(&"context".to_owned()) && fixed.contains(&"config".to_owned()), "{fixed:?}");
    // By hand, as for one design: 3,200 operations for each sequence.
    assert_eq!((&json["points"][0]["flops"], &json["points"][1]["flops"]), (&3200.into(), &9600.into()));
    let alone = cost(&folder, "tiny.json --batch 3 --context 5 --hardware slow --format json").json();
    assert_eq!(json["points"][1]["seconds"], alone["totals"]["seconds"]);
    assert_eq!(json["points"][1]["memory_bytes"], alone["memory"]["total_bytes"]);

    let csv = cost(&folder, "tiny.json --batch 1,3 --context 5 --hardware slow --format csv").fine();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let row: Vec<&str> = csv.lines().nth(2).unwrap().split(',').collect();
    assert_eq!((row[at("batch")], row[at("flops")], row[at("fits")]), ("3", "9600", "yes"));
    assert_eq!(row[at("seconds")].parse::<f64>().unwrap(), json["points"][1]["seconds"].as_f64().unwrap());
}

#[test]
fn phases_are_told_apart() {
    let folder = bench();
    let json = cost(&folder, "tiny.json --batch 1,2 --hardware slow --format json").json();
    let phases = &json["points"][0]["phases"];
    assert_eq!((&phases[0]["phase"], &phases[1]["phase"]), (&"prefill".into(), &"decode".into()));
    let sum: f64 = [0, 1].iter().map(|phase: &usize| phases[phase]["seconds"].as_f64().unwrap()).sum();
    assert!((json["points"][0]["seconds"].as_f64().unwrap() / sum - 1.0).abs() < 1e-12);
    let screen = cost(&folder, "tiny.json --batch 1,2 --hardware slow").fine();
    assert!(
        screen.contains("Prefill  estimate  bound by") && screen.contains("Decode  estimate  bound by"),
        "{screen}"
    );
}

#[test]
fn keys_formats_and_devices_vary() {
    let folder = bench();
    let sweep = |args: &str| cost(&folder, &format!("tiny.json --context 5 {args} --format json")).json();
    let keys = sweep("--set num_key_value_heads=1..4");
    let bytes: Vec<u64> =
        keys["points"].as_array().unwrap().iter().map(|p| p["kv_bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [6 * 16, 6 * 32, 6 * 64]);
    let formats = sweep("--dtype bf16,fp8");
    assert!(formats["points"][1]["weight_bytes"].as_u64() < formats["points"][0]["weight_bytes"].as_u64());
    let devices = sweep("--hardware slow,h100");
    let words = devices["assumptions"].as_array().unwrap();
    for device in ["Slow 1GB at its dense peaks", "H100 SXM5 80GB at its dense peaks"] {
        assert!(words.iter().any(|line| line.as_str().unwrap().contains(device)), "{words:?}");
    }
    let configs = {
        folder.write("other.json", cost::TINY);
        cost(&folder, "tiny.json other.json --context 5,6 --format json").json()
    };
    assert_eq!(configs["axes"][0], serde_json::json!({"name": "config", "values": ["tiny", "other"]}));
    assert_eq!(configs["points"].as_array().unwrap().len(), 4);
}

#[test]
fn each_point_says_whether_it_meets_the_target() {
    let folder = bench();
    let question = "tiny.json --batch 1,100000 --context 5 --hardware slow --tpot 100us";
    let json = cost(&folder, &format!("{question} --format json")).json();
    let met: Vec<&Json> =
        json["points"].as_array().unwrap().iter().map(|p| &p["targets"][0]["met"]).collect();
    assert_eq!(met, [true, false]);
    let screen = cost(&folder, question).fine();
    assert!(screen.contains("TPOT 100.0 µs is met by the estimate at 1 of 2 points"), "{screen}");
    assert!(screen.contains("below the bound"), "{screen}");
    // No device, no answer.
    let json = cost(&folder, "tiny.json --batch 1,2 --context 5 --tpot 100us --format json").json();
    assert!(json["points"][0]["targets"][0]["met"].is_null());
}

#[test]
fn what_cannot_be_is_left_out_and_said() {
    let folder = bench();
    let json = cost(&folder, "tiny.json --pp 1..4 --context 5 --format json").json();
    assert_eq!(json["points"].as_array().unwrap().len(), 2, "two layers make two stages");
    let wanted = serde_json::json!([{"at": ["4"], "reason": "the pipeline-parallel size 4 is larger than the 2 layers"}]);
    assert_eq!(json["impossible"], wanted);
    let answer = cost(&folder, "tiny.json --pp 4,8 --context 5");
    assert_eq!(answer.code, 2, "{}", answer.stdout);
}

#[test]
fn drafts_cost_in_a_sweep_what_they_cost_alone() {
    let fixture = json_file(fixture("cost/deepseek_v3-mtp.json"));
    let folder = bench();
    folder.write("drafting.json", fixture["config"].to_string().as_bytes());
    let question = "drafting.json --context 64 --draft 1 --hardware h100 --format json";
    let alone = cost(&folder, &format!("{question} --batch 4")).json();
    let sweep = cost(&folder, &format!("{question} --batch 2,4")).json();
    assert_eq!(sweep["points"][1]["flops"], alone["totals"]["flops"]["useful"]);
    assert_eq!(sweep["points"][1]["seconds"], alone["totals"]["seconds"]);
}

#[test]
fn a_table_fits_every_width() {
    let folder = bench();
    for question in [
        "tiny.json --hardware slow,h100 --tp 1,2 --batch 1,64 --context 1k,8k --tpot 1ms",
        "tiny.json --hardware h100 --operators",
        "tiny.json --hardware h100 --set num_key_value_heads=4",
    ] {
        for width in [60, 80, 100, 140] {
            let args: Vec<&str> = ["cost"].into_iter().chain(question.split(' ')).collect();
            let mut command = rooflens(&args);
            let text = Answer::of(
                command.current_dir(folder.path(".")).env("COLUMNS", width.to_string()).output().unwrap(),
            )
            .fine();
            let too_wide = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(too_wide, None, "{question} at {width}");
        }
        assert!(!cost(&folder, question).fine().contains('\u{1b}'), "no colours in a pipe");
    }
}
