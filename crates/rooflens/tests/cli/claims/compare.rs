//! `compare` and `trend`: numbers that are shown, tables that add up, matches that something proves, one definition
//! of each metric.

use super::*;

const H100: &str = "kineto/tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz";
const MI300: &str = "kineto/tracelens/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz";
const CONTROL: &str = "kineto/hta/trace_diff/control/control.json.gz";
const TEST: &str = "kineto/hta/trace_diff/test/test.json.gz";
const BEFORE: &str = "nsys/nsys-ai__mfu_2gpu_before.sqlite";
const AFTER: &str = "nsys/nsys-ai__mfu_2gpu_after.sqlite";

const PAIRS: &[(&str, &str)] = &[
    (H100, MI300),
    (CONTROL, TEST),
    (BEFORE, AFTER),
    (
        "kineto/tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
        "kineto/tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    ),
    (
        "kineto/tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
        "kineto/tracelens/mi300/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    ),
];

fn compared(pair: (&str, &str)) -> Json {
    json(&["compare", &corpus(pair.0), &corpus(pair.1)])["pairs"][0].clone()
}

fn at_width(columns: Option<&str>, args: &[&str]) -> String {
    let mut command = rooflens(args);
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Cells of a table are two or more blanks apart. A name is cut in its middle and keeps at least thirteen
/// characters; a number that was cut would be shorter, or begin or end with the mark.
fn assert_no_number_is_cut(told: &str) {
    for line in told.lines().filter(|line| line.contains('…')) {
        for cell in line.split("  ").map(str::trim).filter(|cell| cell.contains('…')) {
            let letters = cell.chars().filter(|char| char.is_alphabetic()).count();
            assert!(cell.chars().count() >= 13 && letters >= 4, "{cell:?} in {line:?}\n{told}");
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn expert_25_and_newcomer_02_numbers_are_shown_at_every_width() {
    for (a, b) in PAIRS {
        let (a, b) = (corpus(a), corpus(b));
        for columns in [Some("80"), Some("100"), Some("120"), None] {
            let told = at_width(columns, &["compare", &a, &b]);
            assert_no_number_is_cut(&told);
            let width: usize = columns.map_or(100, |columns| columns.parse().unwrap());
            assert!(told.lines().all(|line| line.chars().count() <= width), "{told}");
        }
    }
    // Every number of the kernels that changed most, as it is in the JSON.
    let told = at_width(Some("80"), &["compare", &corpus(CONTROL), &corpus(TEST)]);
    let pair = compared((CONTROL, TEST));
    let lines = pair["places"][0]["lines"].as_array().unwrap().iter();
    let mut changed: Vec<&Json> = lines.filter(|line| line["is_change"] == true).collect();
    let change = |line: &Json| line["delta_ns"].as_f64().unwrap().abs();
    changed.sort_by(|a, b| change(b).total_cmp(&change(a)));
    assert!(changed.len() >= 3, "{}", changed.len());
    for line in changed.into_iter().take(12) {
        for key in ["a_ns", "b_ns"] {
            let ms = line[key].as_f64().unwrap() / 1e6;
            let shown = if ms >= 1.0 { format!("{ms:.2} ms") } else { String::new() };
            assert!(told.contains(&shown), "{shown}: {line}\n{told}");
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn analyze_shows_every_number_at_every_width() {
    for trace in [H100, MI300, CONTROL, BEFORE, "kineto/tracelens/b200/eager_trace.json.gz"] {
        for columns in ["80", "100", "120"] {
            let told = at_width(Some(columns), &["analyze", &corpus(trace)]);
            assert_no_number_is_cut(&told);
        }
    }
}

fn account(pair: &Json, scope: &str) -> Json {
    let accounts = pair["accounts"].as_array().unwrap();
    accounts.iter().find(|account| account["scope"] == scope).unwrap().clone()
}

fn row<'a>(account: &'a Json, rows: &str, name: &str) -> &'a Json {
    let rows = account[rows].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows:#?}"))
}

fn times(row: &Json) -> (f64, f64) {
    (row["a_ns"].as_f64().unwrap() / 1e6, row["b_ns"].as_f64().unwrap() / 1e6)
}

#[test]
#[ignore = "needs the corpus"]
fn expert_26_classes_and_operators_are_compared_across_devices() {
    let pair = compared((H100, MI300));
    // Sums of the durations by class, by another reader.
    let trace = account(&pair, "trace");
    for (class, a, b) in [("gemm", 12.8, 16.9), ("attention", 3.86, 5.70), ("elementwise", 19.55, 14.38)] {
        let found = times(row(&trace, "rows", class));
        assert_near(found.0, a, 0.005);
        assert_near(found.1, b, 0.005);
    }
    // Operators have the same names on both sides.
    for operator in ["aten::mm", "aten::addmm", "aten::mul", "aten::_flash_attention_forward"] {
        let (a, b) = times(row(&trace, "operators", operator));
        assert!(a > 1.0 && b > 1.0, "{operator} {a} {b}");
    }
    assert_eq!((pair["is_valid"].as_bool(), pair["is_like_for_like"].as_bool()), (Some(true), Some(false)));
    let told = text(&["compare", &corpus(H100), &corpus(MI300)]);
    assert!(
        told.starts_with("Different setup: device NVIDIA H100 80GB HBM3 → AMD Instinct MI300X VF."),
        "{told}"
    );
    assert!(told.contains("different setup") && !told.contains("Not comparable"), "{told}");
    assert!(!told.contains("All work"), "{told}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_26_every_table_adds_up_to_the_row_above() {
    for pair in PAIRS {
        let found = compared(*pair);
        let of_places = found["places"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|place| place["accounts"].as_array().unwrap());
        for account in found["accounts"].as_array().unwrap().iter().chain(of_places) {
            let rows = account["rows"].as_array().unwrap();
            let sum = |rows: &[Json], entry: &str, key: &str| -> f64 {
                rows.iter().filter(|row| row["entry"] == entry).map(|row| row[key].as_f64().unwrap()).sum()
            };
            for key in ["a_ns", "b_ns", "delta_ns"] {
                let (wall, busy, idle) =
                    (sum(rows, "wall", key), sum(rows, "busy", key), sum(rows, "idle", key));
                let near = |a: f64, b: f64| (a - b).abs() <= 1.0 + 1e-9 * a.abs();
                assert!(near(busy + idle, wall), "{pair:?} {key}");
                assert!(near(sum(rows, "class", key), busy), "{pair:?} {key}");
                assert!(near(sum(rows, "cause", key), idle), "{pair:?} {key}");
                let operators = account["operators"].as_array().unwrap();
                assert!(
                    operators.is_empty() || near(sum(operators, "operator", key), busy),
                    "{pair:?} {key}"
                );
            }
        }
        // Kernel by kernel it is the same step.
        for place in found["places"].as_array().unwrap() {
            for phase in place["phases"].as_array().unwrap() {
                let lines = place["lines"].as_array().unwrap().iter();
                let sum: f64 = lines
                    .filter(|line| line["phase"] == phase["phase"])
                    .map(|line| line["a_ns"].as_f64().unwrap())
                    .sum();
                assert_near(sum, phase["a_ns"].as_f64().unwrap(), 1e-9);
            }
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn expert_26_and_newcomer_19_a_match_is_proven_or_not_claimed() {
    for pair in PAIRS {
        for place in compared(*pair)["places"].as_array().unwrap() {
            for line in place["lines"].as_array().unwrap() {
                let names = |key: &str| line[key].as_array().unwrap().clone();
                let (a, b) = (names("a_names"), names("b_names"));
                let how = line["how"].as_str().unwrap();
                if matches!(how, "fused" | "split" | "replaced") {
                    assert!(line["inside"].is_string(), "{line:#}");
                }
                // One kernel in the place of several.
                assert!(how != "fused" || (b.len() == 1 && a.len() > 1), "{line:#}");
                let is_nccl = |name: &Json| name.as_str().unwrap().to_lowercase().contains("nccl");
                let all = a.iter().chain(&b);
                assert!(all.clone().all(is_nccl) || !all.clone().any(is_nccl), "{line:#}");
            }
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn expert_27_idle_time_and_its_causes_are_compared() {
    let pair = compared((BEFORE, AFTER));
    let trace = account(&pair, "trace");
    let idle = row(&trace, "rows", "idle");
    // 1 − the union of activities / the span, over both devices, by SQL.
    assert_near(idle["a_share"].as_f64().unwrap(), 0.096, 0.01);
    assert_near(idle["b_share"].as_f64().unwrap(), 0.174, 0.01);
    let told = text(&["compare", &corpus(BEFORE), &corpus(AFTER)]);
    let lead: String = told.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    assert!(lead.contains("9.6% → 17.4% of wall time (launch bound +"), "{lead}");
    assert!(told.contains("- idle") && told.contains("- - launch bound"), "{told}");
}

/// A run that measured rounds: of each round, the requests with the time of their first token and the times after it.
fn measured(folder: &Path, name: &str, rounds: &[Vec<(u64, u64)>]) -> String {
    let mut lines = String::new();
    for (round, requests) in rounds.iter().enumerate() {
        for (ttft, gap) in requests {
            let tokens: Vec<u64> = (0..4).map(|token| ttft + token * gap).collect();
            lines.push_str(&format!(
                "{{\"round\":{round},\"kind\":\"measured\",\"prompt_tokens\":7,\"output_tokens\":4,\"start_ns\":0,\"token_ns\":{tokens:?}}}\n"
            ));
        }
    }
    let run = folder.join(name);
    std::fs::create_dir_all(run.join("raw/measure")).unwrap();
    std::fs::write(run.join("raw/measure/requests.jsonl"), lines).unwrap();
    run.to_str().unwrap().to_owned()
}

#[test]
fn newcomer_03_three_rounds_are_shown_and_the_setting_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let rounds = |ttft: u64| (0..3).map(|round| vec![(ttft + round, 100)]).collect::<Vec<_>>();
    let (a, b) = (measured(folder.path(), "a", &rounds(1_000)), measured(folder.path(), "b", &rounds(1_500)));
    let told = text(&["compare", &a, &b]);
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "3 and 3 measured rounds, at least 4 per side are needed: `repeats` sets them";
    assert!(words.contains(why), "{told}");
    assert!(told.contains("+50.0%"), "the change is shown all the same: {told}");
    // What `init` writes is enough.
    let project = folder.path().join("project");
    run(&["init", project.to_str().unwrap()]);
    let config = std::fs::read_to_string(project.join("conf/config.yaml")).unwrap();
    let repeats = config.lines().find_map(|line| line.strip_prefix("repeats: ")).unwrap();
    assert!(repeats.trim().parse::<usize>().unwrap() >= 4, "{repeats}");
}

#[test]
fn newcomer_18_a_trend_names_runs_and_reads_kept_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<String> = (0..24)
        .map(|at: u64| {
            let tpot = if at < 12 { 1_000 } else { 1_120 } + [3, 0, 5, 1][at as usize % 4];
            // The raw rows are gone; what is kept are the numbers.
            let run = folder.path().join(format!("run-{at:02}"));
            std::fs::create_dir_all(run.join("report")).unwrap();
            let metrics = serde_json::json!({"measured": {"tpot_ns": {"p50": tpot as f64}}});
            std::fs::write(run.join("report/metrics.json"), metrics.to_string()).unwrap();
            run.to_str().unwrap().to_owned()
        })
        .collect();
    let args: Vec<&str> = ["trend"].into_iter().chain(runs.iter().map(String::as_str)).collect();
    let told = text(&args);
    assert!(told.contains("changed once in 24 runs, at run-12"), "{told}");
    let chart = told.lines().find(|line| line.contains('█')).unwrap();
    let levels: Vec<char> = chart.chars().filter(|char| ('▁'..='█').contains(char)).collect();
    assert_eq!(levels.len(), 24, "{told}");
    assert!(
        levels[..12].iter().all(|level| *level <= '▂') && levels[12..].iter().all(|level| *level >= '▇'),
        "{told}"
    );
    let answer = json(&args);
    assert_eq!(answer["runs"][12], "run-12");
}
