use super::*;
use crate::sample::{Sample, findings};

fn found(samples: &[(i32, &str, f64)], times: Option<[i64; 2]>) -> ServerMetrics {
    let mut sample = Sample::new(0);
    for (snapshot, metric, value) in samples {
        let time = times.map(|times| times[usize::from(*snapshot > 0)]);
        sample.metric(*snapshot, time, metric, *value);
    }
    findings(&[sample.tables]).get::<ServerMetrics>().expect("metrics").clone()
}

const PAGES: &[(i32, &str, f64)] = &[
    (0, "nv_inference_request_success", 100.0),
    (0, "nv_inference_count", 400.0),
    (0, "nv_inference_exec_count", 50.0),
    (0, "nv_inference_request_duration_us", 1e6),
    (0, "nv_inference_queue_duration_us", 250e3),
    (0, "nv_energy_consumption", 5000.0),
    (0, "DCGM_FI_DEV_FB_USED", 1.0),
    (0, "DCGM_FI_DEV_POWER_VIOLATION", 7.0),
    (1, "nv_inference_request_success", 300.0),
    (1, "nv_inference_count", 1600.0),
    (1, "nv_inference_exec_count", 150.0),
    (1, "nv_inference_request_duration_us", 3e6),
    (1, "nv_inference_queue_duration_us", 1250e3),
    (1, "nv_energy_consumption", 7500.0),
    (1, "DCGM_FI_DEV_FB_USED", 3.0),
    (1, "DCGM_FI_DEV_POWER_VIOLATION", 9.0),
];

#[test]
fn two_pages_are_a_difference() {
    let metrics = found(PAGES, Some([0, 10_000_000_000]));
    let model = &metrics.models[0];
    assert_eq!(
        (model.requests, model.inferences, model.executions),
        (Some(200.0), Some(1200.0), Some(100.0))
    );
    // 1,200 / 100; 2 s / 200; 1 s / 200; half of it; 200 and 1,200 in 10 s.
    assert_eq!((model.batch, model.request_ns, model.queue_ns), (Some(12.0), Some(10e6), Some(5e6)));
    assert_eq!((model.queue_share, model.requests_per_s), (Some(0.5), Some(20.0)));
    assert_eq!((model.inferences_per_s, model.over), (Some(120.0), Over::BetweenSnapshots));
    assert!(model.failures.is_none() && model.not_computed.contains_key("failures"));
    let device = &metrics.devices[0];
    // 2,500 J in 10 s; 1 and 3 MiB.
    assert_eq!((device.energy_j, device.mean_power_w), (Some(2500.0), Some(250.0)));
    let memory = Gauge { last: 3_145_728.0, mean: 2_097_152.0, max: 3_145_728.0 };
    assert_eq!(device.values["memory_used_bytes"], memory);
    assert_eq!(device.unit_unknown["DCGM_FI_DEV_POWER_VIOLATION"], 9.0);
}

#[test]
fn one_page_is_since_the_start_and_has_no_rate() {
    let metrics = found(&PAGES[..8], Some([0, 0]));
    let model = &metrics.models[0];
    assert_eq!((model.requests, model.batch, model.request_ns), (Some(100.0), Some(8.0), Some(10e6)));
    assert_eq!((model.over, model.requests_per_s), (Over::SinceStart, None));
    assert!(model.not_computed.contains_key("requests_per_s"));
    assert_eq!((metrics.devices[0].energy_j, metrics.span_ns), (None, None));
}

#[test]
fn without_times_there_is_no_rate_and_after_a_restart_no_difference() {
    let metrics = found(PAGES, None);
    assert_eq!((metrics.models[0].requests, metrics.models[0].requests_per_s), (Some(200.0), None));
    let mut fallen = PAGES.to_vec();
    fallen[8].2 = 20.0;
    let model = &found(&fallen, Some([0, 10])).models[0];
    assert_eq!((model.requests, model.request_ns, model.requests_per_s), (None, None, None));
    assert!(model.not_computed["requests"].contains("restarted"));
}

#[test]
fn an_engine_gives_requests_and_the_sums_of_their_times() {
    let pages = [
        (0, "vllm:request_success_total", 10.0),
        (0, "vllm:request_queue_time_seconds_sum", 1.0),
        (0, "vllm:request_queue_time_seconds_count", 10.0),
        (0, "vllm:e2e_request_latency_seconds_sum", 5.0),
        (0, "vllm:e2e_request_latency_seconds_count", 10.0),
        // Reasons are series of their own, which are added.
        (1, "vllm:request_success_total", 16.0),
        (1, "vllm:request_success_total", 34.0),
        (1, "vllm:request_queue_time_seconds_sum", 21.0),
        (1, "vllm:request_queue_time_seconds_count", 50.0),
        (1, "vllm:e2e_request_latency_seconds_sum", 45.0),
        (1, "vllm:e2e_request_latency_seconds_count", 50.0),
    ];
    let metrics = found(&pages, Some([0, 10_000_000_000]));
    let model = &metrics.models[0];
    // 40 requests in 10 s; 20 s and 40 s of 40 requests.
    assert_eq!((model.requests, model.requests_per_s), (Some(40.0), Some(4.0)));
    assert_eq!((model.queue_ns, model.request_ns, model.queue_share), (Some(0.5e9), Some(1e9), Some(0.5)));
    assert_eq!((model.batch, model.not_computed["batch"].as_ref()), (None, "vLLM does not give it"));
    assert!(metrics.devices.is_empty());
}

#[test]
fn an_engine_without_a_name_of_its_model_is_named_itself() {
    let metrics = found(&[(0, "llamacpp:prompt_tokens_total", 8.0)], None);
    let model = &metrics.models[0];
    assert_eq!((model.model.as_str(), model.requests), ("llama.cpp", None));
    assert_eq!(model.not_computed["requests"], "llama.cpp does not give it");
    let metrics = found(&[(0, "tgi_request_success", 0.0), (0, "tgi_request_duration_count", 0.0)], None);
    let model = &metrics.models[0];
    assert_eq!((model.model.as_str(), model.requests, model.request_ns), ("TGI", Some(0.0), None));
    assert_eq!(model.not_computed["request_ns"], "no request ended");
}
