//! A headline metric has one value, wherever it is shown.

use super::run::{OUT, metrics, project, run_in};
use super::*;

/// Two measured rounds whose metrics differ, so that a mean of rounds would show.
const ROWS: &str = r#"
echo '{"event":"hello","t_ns":1,"python":"3.11","versions":{"torch":"2.0"}}' | tee "$out/events.jsonl" >&$ROOFLENS_EVENTS_FD
echo 'kind,phase,decode_tokens,dur_ns' > "$out/steps.csv"
echo '{"round":0,"kind":"warmup","prompt_tokens":5,"output_tokens":1,"start_ns":0,"token_ns":[9]}' > "$out/requests.jsonl"
echo '{"round":1,"kind":"measured","prompt_tokens":5,"output_tokens":3,"start_ns":1000,"token_ns":[1100,1150,1210]}' >> "$out/requests.jsonl"
echo '{"round":1,"kind":"measured","prompt_tokens":5,"output_tokens":2,"start_ns":1000,"token_ns":[1120,1201]}' >> "$out/requests.jsonl"
echo '{"round":2,"kind":"measured","prompt_tokens":5,"output_tokens":3,"start_ns":2000,"token_ns":[2140,2200,2290]}' >> "$out/requests.jsonl"
touch "$out/tokens.jsonl"
"#;

/// Each metric: its key, its place in `metrics.json`, its value by hand.
///
/// TTFT is 100, 120 and 140 ns; TPOT (1210 − 1100) / 2 = 55, 81 and (2290 − 2140) / 2 = 75 ns; 8 tokens take the
/// 210 and 290 ns of the two rounds.
const EXPECTED: [(&str, &str, f64); 3] = [
    ("tpot_p50_ns", "/measured/tpot_ns/p50", 75.0),
    ("ttft_p50_ns", "/measured/ttft_ns/p50", 120.0),
    ("output_tokens_per_s", "/measured/output_tokens_per_s", 16_000_000.0),
];

#[test]
fn newcomer_05_headline_metrics_are_equal_wherever_they_are_shown() {
    let folder = project(&format!("{OUT}{ROWS}"));
    let sweep = run_in(&folder, &["-m", "seed=1,2", "profiling=none", "--format", "json"]).json();
    let sweeps = folder.path("p/runs/first/sweeps");
    let swept = std::fs::read_dir(sweeps).unwrap().next().unwrap().unwrap().path();
    let runs = ["0", "1"].map(|job| swept.join(job).display().to_string());
    let compared = json(&["compare", &runs[0], &runs[1]]);
    for (key, place, value) in EXPECTED {
        let close = |found: &Json, what: &str| {
            let found = found.as_f64().unwrap_or_else(|| panic!("{what} has no {key}"));
            assert!((found - value).abs() <= value * 1e-12, "{what}: {key} is {found}, not {value}");
        };
        close(metrics(&swept.join("0")).pointer(place).unwrap(), "metrics.json");
        close(sweep["jobs"][1]["metrics"].pointer(place).unwrap(), "the sweep");
        let headline = compared["pairs"][0]["headline"].as_array().unwrap();
        let row = headline.iter().find(|row| row["metric"] == key).unwrap();
        close(&row["a"], "compare");
        close(&row["b"], "compare");
        let trend = json(&["trend", &runs[0], &runs[1], "--key", key]);
        close(&trend["values"][1], "trend");
    }
    let summary = run_in(&folder, &["profiling=none"]).fine();
    for shown in ["p50 75 ns", "p50 120 ns", "16000000.0 total"] {
        assert!(summary.contains(shown), "{shown}: {summary}");
    }
    let page = std::fs::read_to_string(swept.join("0/report/index.html")).unwrap();
    for shown in ["TPOT p50</dt><dd>75 ns", "TTFT p50</dt><dd>120 ns"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}
