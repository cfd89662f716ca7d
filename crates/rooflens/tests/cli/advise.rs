//! What to change, from tables and traces.

use super::*;

const HEAD: &str =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";

/// 100 launches and 250 µs of kernels.
fn table(folder: &Folder) -> String {
    let rows = "80,200000,80,2500,2500,2000,3000,1,\"void gemvx::kernel<7>()\"\n\
                20,50000,20,2500,2500,2000,3000,1,\"void at::native::elementwise_kernel<1>()\"\n";
    folder.write("kernels.csv", format!("{HEAD}{rows}").as_bytes())
}

#[test]
fn a_table_of_kernels_with_its_wall_time() {
    let folder = Folder::new();
    let found = json(&["advise", &table(&folder), "--wall", "1ms", "--steps", "2"]);
    let first = &found["advice"]["items"][0];
    // 750 µs idle less 2 or 0.5 µs for each of 100 launches.
    assert_eq!(first["rule"], "cuda_graphs");
    assert_eq!(first["gain_ns"]["low"], 550_000.0);
    assert_eq!(first["gain_share"]["high"], 0.7);
    assert_eq!(first["step_gain_ns"]["high"], 350_000.0);
    assert!(found["verdict"].as_str().unwrap().contains("launch-bound: 50 launches per step"), "{found}");
    assert!(found["advice"]["not_computed"]["larger_batch"].is_string());
}

#[test]
fn a_changed_model_beside_the_old() {
    let folder = Folder::new();
    let (table, config) = (table(&folder), fixture("configs/tiny-moe.json"));
    let mut args =
        vec!["advise", &table, "--wall", "1ms", "--steps", "2", "--what-if", "num_hidden_layers=1"];
    run(&args).fails(2, "");
    // A table without MoE kernels is none of a model with experts.
    args.extend(["--model", &config, "--hardware", "h100", "--context", "512"]);
    run(&args).fails(2, "");
    args.push("--force");
    let found = json(&args);
    let changed = &found["what_if"][0];
    let number = |value: &Json| value.as_f64().unwrap();
    let line = |name: &str| {
        let lines = changed["lines"].as_array().unwrap();
        lines
            .iter()
            .find(|line| line["line"] == name)
            .map(|line| (number(&line["old_ns"]), number(&line["new_ns"])))
    };
    // Fewer layers have less to do; what was lost stays as it ran.
    let (old, new) = line("floor").unwrap();
    assert!(new < old, "{changed}");
    assert_eq!(line("launch_bound"), Some((750_000.0, 750_000.0)));
    // The gain's least is the difference of the floor's line, to the rounding of a nanosecond.
    assert!((number(&changed["gain_ns"]["low"]) - (old - new)).abs() <= 1.0, "{changed}");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new();
    let table = table(&folder);
    for args in [
        &["advise", &table][..],
        &["advise", &table, "--wall", "100us", "--steps", "2"],
        &["advise", &table, "--wall", "1ms", "--steps", "0"],
        &["advise", &table, "--wall", "1ms", "--steps", "2", "--what-if", "x"],
    ] {
        run(args).fails(2, "");
    }
}

#[test]
fn a_trace_has_its_advice() {
    let trace = fixture("kineto/decode.json");
    let found = json(&["advise", &trace]);
    let all = json(&["analyze", &trace]);
    assert_eq!(found["advice"], all["advice"]);
    let gains: Vec<f64> = found["advice"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["gain_ns"]["low"].as_f64().unwrap() + item["gain_ns"]["high"].as_f64().unwrap())
        .collect();
    assert!(!gains.is_empty() && gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
}
