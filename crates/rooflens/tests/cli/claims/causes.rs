//! Why a device was idle, in the verdict and everywhere else, and sentences that agree with the tables under them.

use super::*;
use crate::corpus_files::{at_least, corpus_files};

/// A value of the answer, as `verdict.claims[].from` writes it: `gaps[0].p50_ns`, `devices[*].busy_ns` for the sum
/// over all rows, `ledger.lines[line=sync].ns` for the row with that value.
fn resolve(answer: &Json, path: &str) -> f64 {
    let Some((first, rest)) =
        path.split_once('.').map(|(first, rest)| (first, Some(rest))).or(Some((path, None)))
    else {
        unreachable!()
    };
    let (name, index) = match first.split_once('[') {
        Some((name, index)) => (name, Some(index.trim_end_matches(']'))),
        None => (first, None),
    };
    let value = &answer[name];
    let deeper = |value: &Json| match rest {
        Some(rest) => resolve(value, rest),
        None => value.as_f64().unwrap_or_else(|| panic!("{path}: {value} is no number")),
    };
    match index {
        None => deeper(value),
        Some("*") => value.as_array().unwrap().iter().map(deeper).sum(),
        Some(index) => match index.split_once('=') {
            Some((key, wanted)) => {
                let row = value.as_array().unwrap().iter().find(|row| row[key] == wanted);
                deeper(row.unwrap_or_else(|| panic!("{path}: no such row")))
            }
            None => deeper(&value[index.parse::<usize>().unwrap()]),
        },
    }
}

/// Every percentage and time in a sentence, as it is printed; names in backticks are left out.
fn numbers(sentence: &str) -> Vec<String> {
    let plain: String = sentence.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let mut found = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let word = word.trim_start_matches('(');
        if !word.starts_with(|c: char| c.is_ascii_digit() || c == '<') {
            continue;
        }
        let trimmed = word.trim_end_matches([',', '.', ')', ':', ';']);
        if trimmed.ends_with('%') {
            found.push(trimmed.to_owned());
        } else if let Some(unit) = words.get(i + 1) {
            let unit = unit.trim_end_matches([',', '.', ')', ':', ';']);
            if ["ns", "µs", "ms", "s"].contains(&unit) {
                found.push(format!("{word} {unit}"));
            }
        }
    }
    found
}

/// The value of a printed percentage (0 to 1) or time (ns), and half of its last digit.
fn printed(text: &str) -> (f64, f64) {
    if text == "<0.1%" {
        return (0.00025, 0.00025);
    }
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => {
            let (number, unit) = text.split_once(' ').unwrap();
            (
                number,
                match unit {
                    "ns" => 1.0,
                    "µs" => 1e3,
                    "ms" => 1e6,
                    _ => 1e9,
                },
            )
        }
    };
    let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    (number.parse::<f64>().unwrap() * unit, 0.5000001 * unit * 0.1f64.powi(decimals as i32))
}

/// Holds every number of the verdict to the tables of the same answer.
pub(super) fn check_verdict(name: &str, answer: &Json) {
    let verdict = &answer["verdict"];
    let claims = verdict["claims"].as_array().unwrap_or_else(|| panic!("{name}: no claims"));
    let health: Vec<&str> =
        answer["health"].as_array().into_iter().flatten().filter_map(|row| row["message"].as_str()).collect();
    let sentences = std::iter::once(("sentence", &verdict["sentence"]))
        .chain(verdict["next"].as_array().unwrap().iter().map(|next| ("next", next)));
    for (place, sentence) in sentences {
        let sentence = sentence.as_str().unwrap();
        // A failed check is told in its own words.
        if let Some(message) = sentence.strip_prefix("Before anything else, see `health`: ") {
            assert!(health.contains(&message), "{name}: {message}");
            continue;
        }
        for number in numbers(sentence) {
            let known =
                claims.iter().any(|claim| claim["place"] == place && claim["text"] == number.as_str());
            assert!(known, "{name}: {number} of {sentence:?} is no claim");
        }
    }
    for claim in claims {
        let from: f64 = claim["from"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| resolve(answer, path.as_str().unwrap()))
            .sum();
        let (shown, half) = printed(claim["text"].as_str().unwrap());
        let value = match (claim["ns"].as_f64(), claim["share"].as_f64()) {
            (None, Some(share)) => {
                assert!((from.abs() - share).abs() < 1e-9, "{name}: {claim}");
                share
            }
            (Some(ns), Some(share)) => {
                assert!((from - ns).abs() < 0.5, "{name}: {claim}");
                let whole = resolve(answer, claim["of"].as_str().unwrap());
                assert!((ns / whole - share).abs() < 1e-9, "{name}: {claim}");
                share
            }
            (Some(ns), None) => {
                assert!((from - ns).abs() < 0.5, "{name}: {claim}");
                ns
            }
            (None, None) => panic!("{name}: {claim} has no value"),
        };
        assert!((shown - value).abs() <= half, "{name}: {claim} is printed as {shown}");
        parts_add_up(name, claim, claims);
    }
    words_hold(name, answer);
    // What is idle in the sentence is idle in the ledger and in the table of gaps.
    if let Some(idle) = claims.iter().find(|claim| claim["what"] == "idle") {
        let causes = answer["gaps"].as_array().unwrap().iter().filter(|gap| gap["cause"] != "tail");
        let gaps: f64 = causes.map(|gap| gap["total_ns"].as_f64().unwrap()).sum();
        assert_eq!(idle["ns"].as_f64().unwrap(), gaps, "{name}");
    }
}

/// "Most" is half or more of its cause; what helps most is about the largest line of the ledger.
fn words_hold(name: &str, answer: &Json) {
    let sentence = answer["verdict"]["sentence"].as_str().unwrap();
    if sentence.contains("Most of the CPU-bound time, ") {
        let share = answer["gaps"][0]["hosts"][0]["share"].as_f64().unwrap();
        assert!(share >= 0.5, "{name}: {sentence}");
    }
    if sentence.contains("help most") {
        let lines = answer["ledger"]["lines"].as_array().unwrap();
        let largest = lines.iter().max_by_key(|line| line["ns"].as_i64()).unwrap();
        assert_eq!(largest["line"], "launch_bound", "{name}: {sentence}");
    }
    assert!(!sentence.contains("Another "), "{name}: {sentence}");
}

/// The parts of a claim sum to it, as numbers and as printed.
fn parts_add_up(name: &str, claim: &Json, claims: &[Json]) {
    let parts: Vec<&Json> = claims.iter().filter(|part| part["part_of"] == claim["what"]).collect();
    if parts.is_empty() {
        return;
    }
    let sum = |key: &str| parts.iter().map(|part| part[key].as_f64().unwrap()).sum::<f64>();
    assert!((sum("ns") - claim["ns"].as_f64().unwrap()).abs() < 0.5, "{name}: {claim}");
    let printed = |claim: &Json| printed(claim["text"].as_str().unwrap());
    let (shown, mut half) = printed(claim);
    half += parts.iter().map(|part| printed(part).1).sum::<f64>();
    let of_parts: f64 = parts.iter().map(|part| printed(part).0).sum();
    assert!((of_parts - shown).abs() <= half, "{name}: {of_parts} of {claim}");
}

fn check_gaps(name: &str, answer: &Json) {
    for gap in answer["gaps"].as_array().into_iter().flatten() {
        let total = gap["total_ns"].as_i64().unwrap();
        let hosts = gap["hosts"].as_array().unwrap();
        let of_host = ["launch_bound", "cpu_bound", "sync"].contains(&gap["cause"].as_str().unwrap());
        let idle: i64 = hosts.iter().map(|host| host["idle_ns"].as_i64().unwrap()).sum();
        assert_eq!(idle, if of_host { total } else { 0 }, "{name}: {}", gap["cause"]);
        for host in hosts {
            assert!(host["covered_ns"].as_i64() <= host["idle_ns"].as_i64(), "{name}: {host}");
        }
        for example in gap["examples"].as_array().unwrap() {
            let covered = example["covered_share"].as_f64();
            if !example["host"].is_null() {
                assert!(covered.unwrap() >= 0.5, "{name}: {example}");
            } else if example["host_kind"] == "nothing_recorded" {
                assert!(covered.unwrap() < 0.5, "{name}: {example}");
            }
            if example["host_kind"] == "synchronization" {
                assert_ne!(gap["cause"], "cpu_bound", "{name}: {example}");
            }
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn expert_05_every_share_of_a_sentence_stands_in_the_tables_of_every_trace() {
    let mut checked = 0;
    for path in corpus_files(&["kineto", "nsys"]) {
        let name = path.to_str().unwrap();
        if ![".json.gz", ".sqlite"].iter().any(|ending| name.ends_with(ending)) {
            continue;
        }
        let answer = run(&["analyze", name, "--format", "json"]);
        // A JSON of rocprofv3 is no trace that can be read.
        if answer.code != 0 {
            assert!(name.contains("rocprof"), "{name}: {}", answer.stderr);
            continue;
        }
        let answer: Json = serde_json::from_str(&answer.stdout).unwrap();
        check_verdict(name, &answer);
        check_gaps(name, &answer);
        checked += 1;
    }
    assert!(checked >= at_least(15, 40), "{checked}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_05_parts_of_idle_time_are_its_parts() {
    let sentence = text(&["analyze", &corpus("kineto/tracelens/b200/eager_trace.json.gz")]);
    let first = sentence.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(first.starts_with("GPU idle 86.3% of the time: 56.1% CPU-bound, 30.0% launch-bound"), "{first}");
    assert!(!first.contains("nother"), "{first}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_06_the_cause_of_a_gap_is_what_covers_it() {
    let answer = json(&["analyze", &corpus("nsys/Fuser__64ee035_report1.sqlite")]);
    let gap = &answer["gaps"][0]["examples"][0];
    assert_eq!(gap["host"], "executor_utils::Nvrtc::CompileProgram");
    assert_eq!(gap["host_kind"], "compilation");
    // NVTX_EVENTS has the range with 351.645 ms, all of it inside of the gap of 396.8 ms.
    assert_near(gap["covered_ns"].as_f64().unwrap(), 351_645_101.0, 1e-6);
    let sentence = answer["verdict"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("`executor_utils::Nvrtc::CompileProgram` covers 352 ms (88.6%)"), "{sentence}");
    assert!(!sentence.contains("cudaLaunchKernel"), "{sentence}");

    // Calls on the launching thread cover 0.47 ms of 1.63 s.
    let answer = json(&["analyze", &corpus("nsys/Fuser__a049892_report1.sqlite")]);
    let gap = &answer["gaps"][0]["examples"][0];
    assert!(gap["host"].is_null() && gap["host_kind"] == "nothing_recorded", "{gap}");
    let sentence = answer["verdict"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("Nothing recorded") && !sentence.contains("cudaMalloc"), "{sentence}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_07_pinned_memory_is_not_advised_for_pinned_copies() {
    let path = corpus("nsys/nsys-ai__h100_2gpu_1s.sqlite");
    let screen = text(&["analyze", &path]).to_lowercase();
    assert!(!screen.contains("pinned memory"), "{screen}");
    assert!(screen.contains("pinned already"), "{screen}");
    let advice = json(&["analyze", &path])["advice"].to_string();
    assert!(!advice.contains("pin_memory"), "{advice}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_08_what_is_saved_is_said_once() {
    let answer = json(&["analyze", &corpus("kineto/tracelens/mi300/resnet_act_checkpoint.json.gz")]);
    let sentence = answer["verdict"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("64.3%") && !sentence.contains("save"), "{sentence}");
}

#[test]
#[ignore = "needs the corpus"]
fn newcomer_06_the_verdict_agrees_with_its_tables() {
    // Launch-bound 7.1 %, kernels 55.4 %: graphs do not help most.
    let answer = json(&["analyze", &corpus("kineto/tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz")]);
    let sentence = answer["verdict"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("7.1% launch-bound") && !sentence.contains("help most"), "{sentence}");
    assert!(sentence.starts_with("GPU 89.4% busy"), "{sentence}");
}

#[test]
fn newcomer_06_sentences_about_made_traces_agree_with_their_tables() {
    for name in ["kineto/decode.json", "kineto/two_ranks"] {
        let answer = json(&["analyze", &fixture(name)]);
        assert!(!answer["verdict"]["claims"].as_array().unwrap().is_empty());
        check_verdict(name, &answer);
        check_gaps(name, &answer);
    }
}

/// One kernel of 1.8 µs in 13.7 s.
#[test]
#[ignore = "needs the corpus"]
fn one_kernel_is_too_little_to_judge() {
    let answer = json(&["analyze", &corpus("kineto/hta/triton_example/triton_example.json.gz")]);
    let sentence = answer["verdict"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Too little on the GPU to judge: 1 kernel"), "{sentence}");
}
