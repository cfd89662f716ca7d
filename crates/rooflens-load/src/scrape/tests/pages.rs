use crate::scrape::page::{ServerPage, read_server_page};
use crate::scrape::{ServerCounter, ServerDistribution, ServerGauge, ServerKind};

const VLLM: &str = r#"# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="tiny"} 3.0
vllm:num_requests_running{engine="1",model_name="tiny"} 4.0
vllm:num_requests_waiting{engine="0",model_name="tiny"} 5.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="tiny",reason="capacity"} 5.0
vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="tiny"} 0.5
vllm:gpu_cache_usage_perc{engine="0",model_name="tiny"} 0.9
vllm:num_preemptions_total{engine="0",model_name="tiny"} 2.0
vllm:num_preemptions_created{engine="0",model_name="tiny"} 1.7948995276862032e+09
vllm:prompt_tokens_total{engine="0",model_name="tiny"} 1000.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="tiny",source="local_compute"} 700.0
vllm:prompt_tokens_cached_total{engine="0",model_name="tiny"} 300.0
vllm:generation_tokens_total{engine="0",model_name="tiny"} 640.0
vllm:generation_tokens_total{engine="1",model_name="tiny"} 60.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny"} 4.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny"} 6.0
vllm:prefix_cache_queries_total{engine="0",model_name="tiny"} 1000.0
vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 300.0
vllm:gpu_prefix_cache_hits_total{engine="0",model_name="tiny"} 300.0
vllm:request_queue_time_seconds_bucket{engine="0",le="0.3",model_name="tiny"} 7.0
vllm:request_queue_time_seconds_bucket{engine="1",le="0.3",model_name="tiny"} 1.0
vllm:request_queue_time_seconds_bucket{engine="0",le="+Inf",model_name="tiny"} 9.0
vllm:request_queue_time_seconds_bucket{engine="1",le="+Inf",model_name="tiny"} 1.0
vllm:request_queue_time_seconds_count{engine="0",model_name="tiny"} 9.0
vllm:request_queue_time_seconds_count{engine="1",model_name="tiny"} 1.0
vllm:request_queue_time_seconds_sum{engine="0",model_name="tiny"} 4.5
vllm:request_queue_time_seconds_sum{engine="1",model_name="tiny"} 0.5
vllm:iteration_tokens_total_sum{engine="0",model_name="tiny"} 1700.0
vllm:iteration_tokens_total_count{engine="0",model_name="tiny"} 100.0
process_cpu_seconds_total 25.48
"#;

fn page(text: &str) -> ServerPage {
    read_server_page(text).unwrap()
}

fn totals(page: &ServerPage, one: ServerDistribution) -> (Option<f64>, Option<f64>) {
    let totals = page.sample.totals(one);
    (totals.sum, totals.count)
}

#[test]
fn vllm_with_two_engines_is_one_server() {
    let page = page(VLLM);
    assert_eq!(page.kind, ServerKind::Vllm);
    let sample = &page.sample;
    assert_eq!(sample.gauge(ServerGauge::Running), Some(7.0));
    assert_eq!(sample.gauge(ServerGauge::Waiting), Some(5.0));
    // The fuller one; the old name stands back.
    assert_eq!(sample.gauge(ServerGauge::KvCacheUsage), Some(0.5));
    assert_eq!(sample.counter(ServerCounter::Preemptions), Some(2.0));
    assert_eq!(sample.counter(ServerCounter::PromptTokens), Some(1000.0));
    assert_eq!(sample.counter(ServerCounter::GeneratedTokens), Some(700.0));
    assert_eq!(sample.counter(ServerCounter::RequestsFinished), Some(10.0));
    assert_eq!(sample.counter(ServerCounter::PrefixHits), Some(300.0));
    assert_eq!(sample.counter(ServerCounter::DraftTokens), None);
    assert_eq!(totals(&page, ServerDistribution::QueueTime), (Some(5.0), Some(10.0)));
    assert_eq!(totals(&page, ServerDistribution::IterationTokens), (Some(1700.0), Some(100.0)));
}

#[test]
fn the_names_of_vllm_0_10_are_read_where_there_are_no_newer_ones() {
    let old = "vllm:gpu_cache_usage_perc{engine=\"0\"} 0.9\nvllm:gpu_prefix_cache_hits_total 3\n\
               vllm:time_per_output_token_seconds_sum 2\nvllm:time_per_output_token_seconds_count 4\n";
    let page = page(old);
    assert_eq!(page.sample.gauge(ServerGauge::KvCacheUsage), Some(0.9));
    assert_eq!(page.sample.counter(ServerCounter::PrefixHits), Some(3.0));
    assert_eq!(totals(&page, ServerDistribution::InterTokenLatency), (Some(2.0), Some(4.0)));
}

#[test]
fn sglang() {
    let page = page(
        r#"sglang:num_running_reqs{model_name="m",tp_rank="0"} 8.0
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 2.0
sglang:token_usage{model_name="m"} 0.28
sglang:prompt_tokens_total{is_streaming="true",model_name="m"} 500.0
sglang:prompt_tokens_total{is_streaming="false",model_name="m"} 100.0
sglang:cached_tokens_total{cache_source="device",model_name="m"} 150.0
sglang:generation_tokens_total{is_streaming="true",model_name="m"} 400.0
sglang:per_stage_req_latency_seconds_sum{model_name="m",stage="prefill_forward"} 3.0
sglang:per_stage_req_latency_seconds_count{model_name="m",stage="prefill_forward"} 6.0
sglang:per_stage_req_latency_seconds_sum{model_name="m",stage="request_process"} 9.0
sglang:queue_time_seconds_sum{model_name="m"} 1.5
sglang:queue_time_seconds_count{model_name="m"} 6.0
sglang:num_retracted_requests_total{model_name="m"} 1.0
"#,
    );
    assert_eq!(page.kind, ServerKind::Sglang);
    assert_eq!(page.sample.gauge(ServerGauge::Running), Some(8.0));
    assert_eq!(page.sample.counter(ServerCounter::PromptTokens), Some(600.0));
    assert_eq!(page.sample.counter(ServerCounter::PrefixQueries), Some(600.0));
    assert_eq!(page.sample.counter(ServerCounter::PrefixHits), Some(150.0));
    assert_eq!(page.sample.counter(ServerCounter::Preemptions), Some(1.0));
    assert_eq!(totals(&page, ServerDistribution::PrefillTime), (Some(3.0), Some(6.0)));
    assert_eq!(totals(&page, ServerDistribution::QueueTime), (Some(1.5), Some(6.0)));
}

#[test]
fn tensorrt_llm() {
    let page = page(
        "trtllm_num_requests_running{engine_type=\"trtllm\",model_name=\"m\"} 3\n\
         trtllm_max_num_active_requests{model_name=\"m\"} 64\ntrtllm_kv_cache_utilization{model_name=\"m\"} 0.5\n\
         trtllm_prompt_tokens_total{model_name=\"m\"} 10\ntrtllm_prompt_cached_tokens_total{model_name=\"m\"} 4\n\
         trtllm_spec_decode_num_draft_tokens_total{model_name=\"m\"} 8\n\
         trtllm_request_decode_time_seconds_sum{model_name=\"m\"} 6\n\
         trtllm_request_decode_time_seconds_count{model_name=\"m\"} 2\n",
    );
    assert_eq!(page.kind, ServerKind::TensorrtLlm);
    assert_eq!(page.sample.gauge(ServerGauge::RunningLimit), Some(64.0));
    assert_eq!(page.sample.counter(ServerCounter::PrefixHits), Some(4.0));
    assert_eq!(page.sample.counter(ServerCounter::DraftTokens), Some(8.0));
    assert_eq!(totals(&page, ServerDistribution::DecodeTime), (Some(6.0), Some(2.0)));
}

#[test]
fn tgi_counts_tokens_in_histograms() {
    let page = page(
        "tgi_batch_current_size 5\ntgi_queue_size 1\ntgi_request_generated_tokens_sum 320\n\
         tgi_request_generated_tokens_count 10\ntgi_request_input_length_sum 1000\n\
         tgi_request_input_length_bucket{le=\"16\"} 2\ntgi_request_success 10\n\
         tgi_request_queue_duration_sum 2\ntgi_request_queue_duration_count 10\n",
    );
    assert_eq!(page.kind, ServerKind::Tgi);
    assert_eq!(page.sample.counter(ServerCounter::GeneratedTokens), Some(320.0));
    assert_eq!(page.sample.counter(ServerCounter::PromptTokens), Some(1000.0));
    assert_eq!(totals(&page, ServerDistribution::QueueTime), (Some(2.0), Some(10.0)));
}

#[test]
fn llama_cpp_counts_computed_and_cached_prompts_apart() {
    let page = page(
        "llamacpp:prompt_tokens_total 70\nllamacpp:prompt_tokens_cached_total 30\n\
         llamacpp:tokens_predicted_total 12\nllamacpp:prompt_seconds_total 0.5\n\
         llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n",
    );
    assert_eq!(page.kind, ServerKind::LlamaCpp);
    assert_eq!(page.sample.counter(ServerCounter::PromptTokens), Some(100.0));
    assert_eq!(page.sample.counter(ServerCounter::PrefixQueries), Some(100.0));
    assert_eq!(page.sample.counter(ServerCounter::PrefixHits), Some(30.0));
    assert_eq!(totals(&page, ServerDistribution::PrefillTime), (Some(0.5), None));
}

#[test]
fn triton_has_a_value_of_a_lone_model_and_none_of_an_ensemble() {
    let lone = "nv_inference_request_success{model=\"a\",version=\"1\"} 10\n\
                nv_inference_queue_duration_us{model=\"a\",version=\"1\"} 2500000\n\
                nv_gpu_utilization{gpu_uuid=\"x\"} 0.5\nnv_gpu_utilization{gpu_uuid=\"y\"} 1.0\n\
                nv_trt_llm_request_metrics{model=\"a\",request_type=\"scheduled\"} 4\n\
                nv_trt_llm_request_metrics{model=\"a\",request_type=\"max\"} 64\n";
    let page_of_one = page(lone);
    assert_eq!(page_of_one.kind, ServerKind::Triton);
    assert_eq!(totals(&page_of_one, ServerDistribution::QueueTime), (Some(2.5), Some(10.0)));
    assert_eq!(page_of_one.sample.gauge(ServerGauge::GpuUtilization), Some(0.75));
    assert_eq!(page_of_one.sample.gauge(ServerGauge::Running), Some(4.0));
    assert_eq!(page_of_one.sample.gauge(ServerGauge::RunningLimit), Some(64.0));
    let ensemble = format!("{lone}nv_inference_request_success{{model=\"b\",version=\"1\"}} 10\n");
    assert_eq!(page(&ensemble).sample.counter(ServerCounter::RequestsFinished), None);
}

#[test]
fn dcgm_is_in_our_units_and_an_engine_outranks_triton() {
    let page_of_dcgm = page(
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 40\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 60\n\
         DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\"} 5000\n",
    );
    assert_eq!(page_of_dcgm.kind, ServerKind::Dcgm);
    assert_eq!(page_of_dcgm.sample.gauge(ServerGauge::GpuUtilization), Some(0.5));
    assert_eq!(page_of_dcgm.sample.counter(ServerCounter::Energy), Some(5.0));
    assert_eq!(page("nv_inference_count 1\nvllm:num_requests_running 2\n").kind, ServerKind::Vllm);
    assert_eq!(read_server_page("process_cpu_seconds_total 1\n<html>"), None);
    let odd = page("vllm:num_requests_running NaN\nvllm:num_requests_waiting 1\n");
    assert_eq!(odd.sample.gauge(ServerGauge::Running), None);
}
