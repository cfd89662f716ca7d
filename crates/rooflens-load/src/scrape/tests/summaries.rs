use crate::scrape::series::NoDifference;
use crate::scrape::{
    ServerCounter, ServerDistribution, ServerGauge, ServerKind, ServerPage, ServerSample, ServerSeries,
    ServerSummary,
};

fn page(sample: ServerSample) -> ServerPage {
    ServerPage { kind: ServerKind::Vllm, sample }
}

fn series() -> ServerSeries {
    let mut series = ServerSeries::default();
    for (seconds, running, kv, generated, hits, queue) in [
        (0, 0.0, 0.0, 100.0, 10.0, (1.0, 10.0)),
        (1, 4.0, 0.5, 150.0, 10.0, (1.0, 10.0)),
        (4, 2.0, 0.25, 900.0, 85.0, (7.0, 30.0)),
    ] {
        let sample = ServerSample::default()
            .with_gauge(ServerGauge::Running, running)
            .with_gauge(ServerGauge::KvCacheUsage, kv)
            .with_counter(ServerCounter::GeneratedTokens, generated)
            .with_counter(ServerCounter::PrefixHits, hits)
            .with_counter(ServerCounter::PrefixQueries, 2.0 * generated)
            .with_totals(ServerDistribution::QueueTime, queue.0, queue.1);
        series.push(page(sample), seconds * 1_000_000_000);
    }
    series
}

#[test]
fn a_summary_is_of_differences_and_means_over_time() {
    let summary = ServerSummary::of(&series());
    assert_eq!((summary.kind, summary.pages), (Some(ServerKind::Vllm), 3));
    assert_eq!(summary.span_ns, Some(4_000_000_000));
    // (0 + 4) / 2 for a second, (4 + 2) / 2 for three: 11 / 4.
    assert_eq!((summary.running_mean, summary.running_max), (Some(2.75), Some(4.0)));
    // 0.25 for a second, 0.375 for three.
    assert_eq!((summary.kv_cache_usage_mean, summary.kv_cache_usage_max), (Some(0.34375), Some(0.5)));
    assert_eq!(summary.generated_tokens, Some(800.0));
    // 75 of 1600.
    assert_eq!(summary.prefix_hit_rate, Some(0.046_875));
    // 6 s of 20 requests.
    assert_eq!(summary.queue_time_mean_ns, Some(300_000_000.0));
    assert_eq!((summary.waiting_mean, summary.preemptions, summary.acceptance_rate), (None, None, None));
    assert_eq!(summary.not_computed["preemptions"], "vLLM does not give it");
    assert_eq!(summary.not_computed["waiting_mean"], "vLLM does not give it");
    assert_eq!(summary.not_computed["prefill_time_mean_ns"], "vLLM does not give it");
    assert!(!summary.not_computed.contains_key("running_mean"));
}

#[test]
fn idle_time_around_the_load_test_does_not_count() {
    let busy = |from: i64, to: i64| {
        let mut series = series();
        series.busy = Some((from * 1_000_000_000, to * 1_000_000_000));
        ServerSummary::of(&series).running_mean
    };
    // From 4 to 2 between the second and the third page; with a single page in it, all count.
    assert_eq!((busy(1, 9), busy(0, 9), busy(2, 9)), (Some(3.0), Some(2.75), Some(2.75)));
}

#[test]
fn every_null_has_a_reason() {
    for series in [ServerSeries::default(), series()] {
        let summary = ServerSummary::of(&series);
        let json = serde_json::to_value(&summary).unwrap();
        for (name, value) in json.as_object().unwrap() {
            let has_reason = summary.not_computed.contains_key(name.as_str());
            let is_fact = ["kind", "version", "span_ns"].contains(&name.as_str());
            assert!(is_fact || value.is_null() == has_reason, "{name}");
        }
        let back: ServerSummary = serde_json::from_value(json).unwrap();
        assert_eq!(back, summary);
    }
}

#[test]
fn a_restart_is_no_difference() {
    let mut series = series();
    series
        .push(page(ServerSample::default().with_counter(ServerCounter::GeneratedTokens, 5.0)), 5_000_000_000);
    assert_eq!(series.grown(ServerCounter::GeneratedTokens), Err(NoDifference::Restarted));
    assert_eq!(series.grown(ServerCounter::Energy), Err(NoDifference::NotGiven));
    assert_eq!(ServerSeries::default().grown(ServerCounter::Energy), Err(NoDifference::TooFewPages));
}

#[test]
fn a_counter_that_begins_to_exist_began_at_0() {
    let mut series = ServerSeries::default();
    series.push(page(ServerSample::default()), 0);
    series.push(page(ServerSample::default().with_counter(ServerCounter::PrefixHits, 7.0)), 1);
    assert_eq!(series.grown(ServerCounter::PrefixHits), Ok(7.0));
}

#[test]
fn memory_is_bounded_and_the_ends_stay() {
    let mut series = ServerSeries::default();
    for at in 0..100_003_i64 {
        let sample = ServerSample::default().with_counter(ServerCounter::GeneratedTokens, at as f64);
        series.push(page(sample), at);
        assert!(series.samples.len() <= 8192);
        assert_eq!(series.samples.last().unwrap().ts_ns, at);
    }
    assert_eq!(series.pages, 100_003);
    assert_eq!(series.grown(ServerCounter::GeneratedTokens), Ok(100_002.0));
    // Every sixteenth, and the last.
    let times: Vec<i64> = series.samples.iter().map(|sample| sample.ts_ns).collect();
    let mut expected: Vec<i64> = (0..100_003).step_by(16).collect();
    expected.push(100_002);
    assert_eq!(times, expected);
}

#[test]
fn times_move_to_the_clock_of_the_load_test() {
    let mut series = series();
    series.base_unix_ns = 5_000;
    let moved = series.on_clock(7_000);
    assert_eq!(moved.samples[0].ts_ns, -2_000);
    assert_eq!(moved.within(0, 1_000_000_000).count(), 1);
}
