use rooflens_schema::Opt;
use rooflens_schema::tables::{OutputKind, RequestRow, RequestStatus, Requests, TokenRow, Tokens};

use super::*;

const UNKNOWN: [Opt<i64>; 3] = [Opt::NONE; 3];

#[test]
fn names_are_unique_and_found_without_their_unit() {
    let keys: std::collections::BTreeSet<&str> = ALL.iter().map(|metric| metric.key).collect();
    assert_eq!(keys.len(), ALL.len());
    assert!(ALL.iter().all(|metric| metric.is_time() == metric.key.ends_with("_ns")));
    assert!(find("tpot_p50").is_some() && find("tpot").is_none());
}

#[test]
fn by_hand() {
    let request = |round, start_ns, token_ns: &'static [i64]| MeasuredRequest {
        round,
        prompt_tokens: 5,
        output_tokens: token_ns.len() as i64,
        start_ns,
        token_ns,
        chunk_tokens: &UNKNOWN[..token_ns.len()],
        scheduled_ns: None,
        chunk_kinds: &[None; 3][..token_ns.len()],
        end_ns: None,
        is_load_test: false,
        is_failed: false,
        queued_ns: token_ns.first().filter(|_| round == 1).map(|first| first - start_ns - 10),
    };
    let requests = [
        request(1, 100, &[150, 170, 200]),
        request(1, 100, &[160]),
        request(2, 300, &[310, 330]),
        request(2, 300, &[]),
    ];
    let of = |name: &str| find(name).unwrap().of(&requests).unwrap();
    // (20 + 30) / 2 and 20: one token has none.
    assert_eq!((of("tpot_p50").value(), of("tpot_p50").rounds()), (22.5, vec![25.0, 20.0]));
    // 10, 50 and 60 together; 55 and 10 by round.
    assert_eq!((of("ttft_p50").value(), of("ttft_p50").rounds()), (50.0, vec![55.0, 10.0]));
    assert_eq!(of("itl_p50").value(), 20.0);
    // 6 tokens in 100 + 30 ns.
    let rate = of("output_tokens_per_s");
    assert!((rate.value() / (6e9 / 130.0) - 1.0).abs() < 1e-12);
    assert!((rate.rounds()[0] / (4e9 / 100.0) - 1.0).abs() < 1e-12);
    assert!(find("tpot_p50").unwrap().of(&requests[1..2]).is_none());
    // 40 and 50 in the first round; the second tells none.
    assert_eq!((of("queued_p50").value(), of("queued_p50").rounds()), (45.0, vec![45.0]));
    assert!(find("queued_p99").unwrap().of(&requests[2..]).is_none());
}

#[test]
fn requests_of_the_tables() {
    let (mut requests, mut tokens) = (Requests::default(), Tokens::default());
    for (request_id, kind) in [(0, "warmup"), (1, "measured"), (2, "measured")] {
        requests.push(RequestRow {
            stage: Some("measure".to_owned()),
            round: Opt::some(request_id),
            round_kind: Some(kind.to_owned()),
            sent_ts_ns: Opt::some(-5),
            prompt_tokens: Opt::some(7),
            output_tokens: Opt::some(2),
            ..RequestRow::new(request_id, RequestStatus::Completed)
        });
    }
    for (request_id, index, ts_ns) in [(0, 0, 1), (1, 0, 3), (1, 1, 9)] {
        tokens.push(TokenRow { request_id, index, ts_ns, tokens: Opt::some(1), kind: None });
    }
    let found = measured_requests(&requests, &tokens);
    let told: Vec<_> = found.iter().map(|one| (one.round, one.token_ns.to_vec())).collect();
    assert_eq!(told, [(1, vec![3, 9]), (2, vec![])]);
    // From −5 to 3, on a clock whose zero lies between.
    assert_eq!(find("ttft_p50").unwrap().of(&found).unwrap().value(), 8.0);
}

/// A request of a load test: 4 tokens in chunks of 1, 2 and 1, the first of them reasoning.
fn load_test_tables() -> (Requests, Tokens) {
    let (mut requests, mut tokens) = (Requests::default(), Tokens::default());
    requests.push(RequestRow {
        round: Opt::some(0),
        round_kind: Some(MEASURED.to_owned()),
        scheduled_ts_ns: Opt::some(50),
        sent_ts_ns: Opt::some(100),
        end_ts_ns: Opt::some(250),
        prompt_tokens: Opt::some(10),
        output_tokens: Opt::some(4),
        ..RequestRow::new(0, RequestStatus::Completed)
    });
    let chunks =
        [(150, 1, OutputKind::Reasoning), (210, 2, OutputKind::Text), (240, 1, OutputKind::ToolCall)];
    for (index, (ts_ns, count, kind)) in (0..).zip(chunks) {
        tokens.push(TokenRow { request_id: 0, index, ts_ns, tokens: Opt::some(count), kind: Some(kind) });
    }
    (requests, tokens)
}

fn value(name: &str, requests: &Requests, tokens: &Tokens) -> Option<f64> {
    find(name).unwrap().of(&measured_requests(requests, tokens)).map(|sample| sample.value())
}

#[test]
fn a_scheduled_request_by_hand() {
    let (mut requests, tokens) = load_test_tables();
    let of = |name: &str, requests: &Requests| value(name, requests, &tokens);
    // From 50, not from 100.
    assert_eq!((of("ttft_p50", &requests), of("service_ttft_p50", &requests)), (Some(100.0), Some(50.0)));
    assert_eq!((of("latency_p50", &requests), of("service_time_p50", &requests)), (Some(190.0), Some(140.0)));
    assert_eq!(of("ttfo_p50", &requests), Some(160.0));
    // 90 ns for 3 tokens after the first.
    assert_eq!(of("tpot_p50", &requests), Some(30.0));
    assert_eq!(of("output_tokens_per_s_per_user", &requests), Some(1e9 / 30.0));
    assert_eq!((TPOT.of)(&measured_requests(&requests, &tokens)[0]), [30.0]);
    // 60 ns for two tokens, 30 ns for one.
    assert_eq!((ITL.of)(&measured_requests(&requests, &tokens)[0]), [30.0, 30.0, 30.0]);
    // 190 ns from the scheduled time to the last token.
    let per_s = |count: f64| Some(count / (190.0 / 1e9));
    let rates = ["output_tokens_per_s", "input_tokens_per_s", "total_tokens_per_s", "requests_per_s"];
    assert_eq!(rates.map(|name| of(name, &requests)), [4.0, 10.0, 14.0, 1.0].map(per_s));
    assert_eq!(of("error_rate", &requests), Some(0.0));

    // A closed loop has no schedule.
    requests.scheduled_ts_ns[0] = Opt::NONE;
    assert_eq!((of("ttft_p50", &requests), of("service_ttft_p50", &requests)), (Some(50.0), None));
    // Nor has `rooflens run`, nor the metrics of load tests.
    requests.stage[0] = Some("measure".to_owned());
    assert_eq!(of("ttft_p50", &requests), Some(50.0));
    let only_load =
        ["input_tokens_per_s", "total_tokens_per_s", "requests_per_s", "error_rate", "service_time_p50"];
    assert_eq!(only_load.map(|name| of(name, &requests)), [None; 5]);
    assert_eq!(of("output_tokens_per_s_per_user", &requests), None);
}

#[test]
fn chunks_whose_tokens_nobody_tells() {
    let (mut requests, mut tokens) = load_test_tables();
    tokens.tokens.fill(Opt::NONE);
    tokens.kind.fill(None);
    requests.output_tokens[0] = Opt::some(6);
    // 90 ns for 5 tokens; two tokens per chunk.
    assert_eq!(value("tpot_p50", &requests, &tokens), Some(18.0));
    assert_eq!((ITL.of)(&measured_requests(&requests, &tokens)[0]), [30.0, 30.0, 15.0, 15.0]);
    assert_eq!(value("ttfo_p50", &requests, &tokens), None);
    // Chunks are not taken for tokens.
    requests.output_tokens[0] = Opt::NONE;
    let names = ["tpot_p50", "itl_p50", "output_tokens_per_s", "total_tokens_per_s"];
    assert_eq!(names.map(|name| value(name, &requests, &tokens)), [None; 4]);
    assert_eq!(value("ttft_p50", &requests, &tokens), Some(100.0));
    assert!(value("requests_per_s", &requests, &tokens).is_some());
}

#[test]
fn failed_requests_count_as_errors_alone() {
    let (mut requests, tokens) = load_test_tables();
    for (id, status) in
        [(1, RequestStatus::Failed), (2, RequestStatus::TimedOut), (3, RequestStatus::Cancelled)]
    {
        requests.push(RequestRow { round_kind: Some(MEASURED.to_owned()), ..RequestRow::new(id, status) });
    }
    requests.push(RequestRow {
        round_kind: Some("warmup".to_owned()),
        ..RequestRow::new(4, RequestStatus::Failed)
    });
    // Two of three; what the client cancelled says nothing.
    assert_eq!(value("error_rate", &requests, &tokens), Some(2.0 / 3.0));
    assert_eq!(value("ttft_p50", &requests, &tokens), Some(100.0));
    assert_eq!(value("requests_per_s", &requests, &tokens), Some(1.0 / 190e-9));
}

#[test]
fn embeddings_have_no_tokens_but_an_end() {
    let (mut requests, _) = load_test_tables();
    requests.output_tokens[0] = Opt::some(0);
    let none = Tokens::default();
    assert_eq!(value("latency_p50", &requests, &none), Some(200.0));
    assert_eq!(value("input_tokens_per_s", &requests, &none), Some(10.0 / 200e-9));
    assert_eq!((value("ttft_p50", &requests, &none), value("tpot_p50", &requests, &none)), (None, None));
}

#[test]
fn blocks_of_time_add_up_to_the_whole() {
    // A request every 10 ns, each of which takes 25 ns: blocks of 4 overlap.
    let made: Vec<_> = (0..12_i64).map(|at| (at / 4, at * 10, [at * 10 + 10, at * 10 + 25])).collect();
    let requests: Vec<MeasuredRequest<'_>> = made
        .iter()
        .map(|(round, start_ns, token_ns)| MeasuredRequest {
            round: *round,
            prompt_tokens: 1,
            output_tokens: 2,
            scheduled_ns: None,
            start_ns: *start_ns,
            token_ns,
            chunk_tokens: &[Opt::NONE; 2],
            chunk_kinds: &[None; 2],
            end_ns: None,
            queued_ns: None,
            is_load_test: true,
            is_failed: false,
        })
        .collect();
    let rate = |requests: &[MeasuredRequest<'_>]| find("output_tokens_per_s").unwrap().of(requests).unwrap();
    let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
    // 24 tokens in 110 + 25 ns; blocks of 40 ns, the last up to its last token.
    close(rate(&requests).value(), 24e9 / 135.0);
    close(rate(&requests).rounds()[0], 8e9 / 40.0);
    close(rate(&requests).rounds()[2], 8e9 / 55.0);
    // A second repetition, a second later: the pause is part of neither.
    let later: Vec<i64> = (0..4).map(|at| 1_000_000_000 + at * 10).collect();
    let ends: Vec<[i64; 2]> = later.iter().map(|ns| [ns + 10, ns + 25]).collect();
    let mut two = requests.clone();
    two.extend(later.iter().zip(&ends).map(|(start_ns, token_ns)| MeasuredRequest {
        round: 9,
        start_ns: *start_ns,
        token_ns,
        ..requests[0]
    }));
    close(rate(&two).value(), 32e9 / (135.0 + 55.0));
}

#[test]
fn keys_tell_their_unit() {
    let units = [
        ("tpot_p50_ns", MetricUnit::Time),
        ("tpot_p50", MetricUnit::Time),
        ("decode_step_p50_ns", MetricUnit::Time),
        ("requests_per_s", MetricUnit::Rate("requests/s")),
        ("output_tokens_per_s_per_user", MetricUnit::Rate("tokens/s")),
        ("error_rate", MetricUnit::Share),
        ("mbu_decode", MetricUnit::Share),
        ("device_busy_share", MetricUnit::Share),
        ("accuracy", MetricUnit::Number),
    ];
    for (key, unit) in units {
        assert_eq!(MetricUnit::of(key), unit, "{key}");
    }
    let titles = [
        ("tpot_p50_ns", "TPOT p50"),
        ("decode_step_p50_ns", "decode step p50"),
        ("step_p50_ns", "step p50"),
        ("mbu_decode", "MBU of decode"),
        ("device_busy_share", "device busy"),
        ("accuracy_p50", "accuracy_p50"),
    ];
    for (key, title) in titles {
        assert_eq!(title_of(key), title);
    }
}
