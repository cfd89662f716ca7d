use std::path::PathBuf;

use rooflens_schema::tables::RequestStatus;

use super::*;
use crate::testing;

fn fixture(name: &str) -> Vec<BenchResult> {
    let notes = Notes::default();
    let results = read(&testing::fixture("bench_results").join(name), &notes).unwrap();
    assert!(notes.rows().is_empty(), "{name}");
    results
}

fn codes(result: &BenchResult) -> Vec<&str> {
    result.caveats.iter().map(|caveat| caveat.code).collect()
}

fn statuses(result: &BenchResult) -> Vec<&str> {
    result.requests.status.iter().map(|status| status.as_str()).collect()
}

/// TTFT from being sent, of completed requests, in ms.
fn ttfts(result: &BenchResult) -> Vec<f64> {
    let rows =
        (0..result.requests.len()).filter(|row| result.requests.status[*row] == RequestStatus::Completed);
    let ttft = |row: usize| {
        let first = result.requests.first_token_ts_ns[row].get()?;
        Some((first - result.requests.sent_ts_ns[row].get()?) as f64 / 1e6)
    };
    rows.filter_map(ttft).collect()
}

/// From the first row of a file of hand-made numbers: 50 ms, then two gaps of 5 ms.
fn first_chunks(result: &BenchResult) -> Vec<i64> {
    let first = result.tokens.request_id[0];
    let sent = result.requests.sent_ts_ns[first as usize].get().unwrap();
    let of_first = result.tokens.request_id.iter().zip(&result.tokens.ts_ns).filter(|(of, _)| **of == first);
    of_first.map(|(_, ns)| (ns - sent) / 1_000_000).collect()
}

#[test]
fn vllm_in_python() {
    let results = fixture("vllm-python.json");
    let [result] = results.as_slice() else { panic!("{}", results.len()) };
    assert_eq!((result.client, result.model.as_deref()), (BenchClient::VllmPython, Some("made-up")));
    assert_eq!(result.load, StatedLoad { rate: Some(10.0), max_concurrency: Some(2) });
    assert_eq!(statuses(result), ["completed", "completed", "completed", "failed"]);
    assert_eq!(result.requests.error[3].as_deref(), Some("Bad Gateway"));
    assert_eq!(ttfts(result), [50.0, 60.0, 70.0]);
    assert_eq!((first_chunks(result), result.tokens.len()), (vec![50, 55, 60], 9));
    assert!(result.tokens.tokens.iter().all(|tokens| tokens.get() == Some(1)));
    // The third waited 100 ms in the client.
    let waits: Vec<i64> = (0..3)
        .map(|row| {
            result.requests.sent_ts_ns[row].get().unwrap()
                - result.requests.scheduled_ts_ns[row].get().unwrap()
        })
        .collect();
    assert_eq!(waits, [0, 0, 100_000_000]);
    assert_eq!((result.stated["ttft_p50_ns"], result.stated["latency_p99_ns"]), (60e6, 83.76e6));
    assert_eq!((result.stated["error_rate"], result.stated["output_tokens_per_s"]), (0.25, 18.0));
    assert!(result.is_whole() && result.has_send_times && result.has_token_times);
    // Two streams are few for Python.
    assert_eq!(codes(result), ["client_queue"]);
}

#[test]
fn vllm_in_rust_as_a_closed_loop() {
    let result = fixture("vllm-rust.json").remove(0);
    assert_eq!(result.client, BenchClient::VllmRust);
    assert_eq!(result.load, StatedLoad { rate: None, max_concurrency: Some(2) });
    assert_eq!(codes(&result), ["closed_loop", "chunks_as_tokens"]);
    assert!(result.requests.scheduled_ts_ns.iter().all(|ns| !ns.is_some()));
    assert_eq!(result.requests.sent_ts_ns[2].get(), Some(300_000_000));
}

#[test]
fn sglang_has_a_line_per_load_test() {
    let results = fixture("sglang.jsonl");
    let [closed, open] = results.as_slice() else { panic!("{}", results.len()) };
    assert_eq!((closed.client, closed.load.rate, open.load.rate), (BenchClient::Sglang, None, Some(5.0)));
    assert_eq!((ttfts(closed), first_chunks(closed)), (vec![50.0, 60.0, 70.0], vec![50, 55, 60]));
    assert!(!closed.has_send_times);
    assert_eq!(codes(closed), ["closed_loop", "no_send_times"]);
    assert_eq!(codes(open), ["no_send_times"]);
    assert_eq!(open.stated["latency_p50_ns"], 72e6);
    assert!(!open.stated.contains_key("error_rate"), "it does not say");
}

#[test]
fn lines_of_aiperf() {
    let result = fixture("aiperf.jsonl").remove(0);
    assert_eq!(result.client, BenchClient::Aiperf);
    assert_eq!(
        statuses(&result),
        ["completed", "completed", "completed", "completed", "failed", "cancelled"]
    );
    assert_eq!(result.requests.round_kind[0].as_deref(), Some("warmup"));
    assert_eq!(result.requests.error_kind[4].as_deref(), Some("BadGateway"));
    assert_eq!(ttfts(&result), [90.0, 50.0, 60.0, 70.0]);
    // The server's counts, not the client's.
    let counts = (result.requests.prompt_tokens[1].get(), result.requests.output_tokens[1].get());
    assert_eq!(counts, (Some(10), Some(3)));
    // The credit of the first was issued 2 ms before it was sent: that is 0.
    assert_eq!(result.requests.scheduled_ts_ns[0].get(), Some(0));
    assert_eq!(result.requests.sent_ts_ns[1].get(), Some(102_000_000));
    assert_eq!(result.base_unix_ns, Some(1_799_999_999_998_000_000));
    assert_eq!(codes(&result), ["client_lag"]);
}

#[test]
fn a_summary_of_aiperf_states_metrics() {
    let result = fixture("aiperf-summary.json").remove(0);
    assert_eq!((result.model.as_deref(), result.load.rate), (Some("made-up"), Some(10.0)));
    assert!(result.requests.is_empty() && !result.is_whole());
    // Its inter-token latency is a mean per request.
    assert_eq!((result.stated["tpot_p50_ns"], result.stated["itl_p50_ns"]), (6e6, 5e6));
    assert_eq!((result.stated["error_rate"], result.stated["output_tokens_per_s_per_user"]), (0.25, 166.5));
    assert_eq!(codes(&result), ["client_lag", "summary_only"]);
}

#[test]
fn guidellm() {
    let result = fixture("guidellm.json").remove(0);
    assert_eq!(statuses(&result), ["completed", "completed", "completed", "failed"]);
    assert_eq!(result.load, StatedLoad { rate: Some(10.0), max_concurrency: None });
    // Unix seconds as floats are whole to 240 ns.
    let rounded: Vec<f64> = ttfts(&result).iter().map(|ms| ms.round()).collect();
    assert_eq!(rounded, [50.0, 60.0, 70.0]);
    assert_eq!(result.requests.scheduled_ts_ns[0].get(), Some(0));
    assert_eq!((result.tokens.len(), result.has_token_times), (6, false));
    assert_eq!((result.stated["tpot_p50_ns"], result.stated["latency_p50_ns"]), (6e6, 82e6));
    assert_eq!(result.stated["service_time_p50_ns"], 72e6);
    assert_eq!(codes(&result), ["own_warning", "client_lag", "no_token_times"]);
    assert!(result.caveats[0].words.contains("p95 root dispatch delay"));
}

#[test]
fn other_files_are_not_taken() {
    let notes = Notes::default();
    for text in [&b"[1, 2]"[..], b"{\"traceEvents\": []}", b"{\"completed\": 3}", b"{", b"plain text"] {
        let from = Artefact::from_bytes("x.json", text).unwrap();
        assert!(read_artefact(from, &notes).unwrap().is_empty(), "{}", text.escape_ascii());
    }
    assert!(notes.rows().is_empty());
}

#[test]
fn odd_values_never_panic() {
    let notes = Notes::default();
    for name in ["vllm-python.json", "sglang.jsonl", "aiperf.jsonl", "aiperf-summary.json", "guidellm.json"] {
        let text = std::fs::read_to_string(testing::fixture("bench_results").join(name)).unwrap();
        // Every number, one kind of nonsense after the other.
        for odd in ["-1", "1e300", "null", "\"x\"", "[]", "9223372036854775807"] {
            let mut changed = String::new();
            let mut is_number = false;
            for letter in text.chars() {
                let is_digit = letter.is_ascii_digit();
                if is_digit && !is_number && changed.ends_with([' ', '[']) {
                    changed.push_str(odd);
                    is_number = true;
                } else if !is_number {
                    changed.push(letter);
                } else if letter == ',' || letter == ']' || letter == '}' || letter == '\n' {
                    is_number = false;
                    changed.push(letter);
                }
            }
            let from = Artefact::from_bytes(name, changed.as_bytes()).unwrap();
            let _ = read_artefact(from, &notes).unwrap();
        }
        for cut in (1..text.len()).step_by(97).filter(|cut| text.is_char_boundary(*cut)) {
            let _ =
                read_artefact(Artefact::from_bytes(name, &text.as_bytes()[..cut]).unwrap(), &notes).unwrap();
        }
    }
}

fn corpus(name: &str) -> BenchResult {
    let folder = std::env::var("ROOFLENS_CORPUS").expect("ROOFLENS_CORPUS names the corpus");
    let path = PathBuf::from(folder).join("bench").join(name);
    read(&path, &Notes::default()).unwrap().remove(0)
}

#[test]
#[ignore = "needs the corpus"]
fn real_files_are_recognised() {
    let cases = [
        ("vllm-bench-serve-0.32-python.detailed.json", BenchClient::VllmPython, 3),
        ("vllm-bench-serve-0.32-rust.detailed.json", BenchClient::VllmRust, 3),
        ("sglang-bench-0.5.23-rust.details.jsonl", BenchClient::Sglang, 3),
        ("aiperf-0.13-profile_export_aiperf.json", BenchClient::Aiperf, 0),
        ("guidellm-0.8.1.json", BenchClient::Guidellm, 1),
    ];
    for (name, client, rows) in cases {
        let result = corpus(name);
        assert_eq!(
            (result.client, result.requests.len(), result.stated_requests),
            (client, rows, Some(1_000)),
            "{name}"
        );
        assert_eq!(result.load.rate, Some(50.0), "{name}");
        // Rows are trimmed, and the files say so by their totals.
        assert!(!result.is_whole(), "{name}");
        let ttft = result.stated["ttft_p50_ns"];
        assert!((50e6..500e6).contains(&ttft), "{name}: {ttft}");
        for key in ["tpot_p50_ns", "tpot_p99_ns", "latency_p50_ns", "latency_p99_ns"] {
            assert!(result.stated.contains_key(key), "{name}: {key}");
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn rows_of_real_files_agree_with_what_they_say() {
    let result = corpus("aiperf-0.13-profile_export.jsonl");
    // Each line states TTFT, latency and their difference per token.
    let decode = |row: usize| {
        let last = result.requests.last_token_ts_ns[row].get()?;
        let after = result.requests.output_tokens[row].get()? - 1;
        Some((last - result.requests.first_token_ts_ns[row].get()?) as f64 / after as f64)
    };
    assert!((decode(0).unwrap() - 4_999_849.937_007_874).abs() < 0.01, "{:?}", decode(0));
    assert_eq!(ttfts(&result)[0], 111.820_033);
    assert_eq!(result.requests.output_tokens[0].get(), Some(128));

    let python = corpus("vllm-bench-serve-0.32-python.detailed.json");
    assert_eq!(ttfts(&python)[0], 54.957_502);
    let latency = |row: usize| {
        python.requests.last_token_ts_ns[row].get().unwrap() - python.requests.sent_ts_ns[row].get().unwrap()
    };
    assert_eq!(latency(0), 2_078_882_216);
    let queue =
        python.requests.sent_ts_ns[0].get().unwrap() - python.requests.scheduled_ts_ns[0].get().unwrap();
    assert_eq!(queue, 201_206);

    // Throughput is what totals and duration say: 128,000 tokens in 20.687 s.
    let rust = corpus("vllm-bench-serve-0.32-rust.detailed.json");
    assert!((rust.stated["output_tokens_per_s"] - 128_000.0 / 20.687_429_409).abs() < 1e-6);

    let guidellm = corpus("guidellm-0.8.1.json");
    let codes = codes(&guidellm);
    assert!(codes.contains(&"own_warning") && codes.contains(&"client_lag"), "{codes:?}");
}
