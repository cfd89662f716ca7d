//! `/metrics` as vLLM has it, true for what this server did.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

const LATENCIES: [f64; 21] = [
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];
const FIRST_TOKENS: [f64; 22] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];
const NEXT_TOKENS: [f64; 18] =
    [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0];

pub(crate) struct BucketCounts {
    bounds: &'static [f64],
    counts: Vec<AtomicU64>,
    sum_ns: AtomicU64,
}

impl BucketCounts {
    fn new(bounds: &'static [f64]) -> Self {
        BucketCounts {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum_ns: AtomicU64::new(0),
        }
    }

    pub(crate) fn observe(&self, time: Duration) {
        let bucket = self.bounds.partition_point(|bound| *bound < time.as_secs_f64());
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.sum_ns.fetch_add(nanos, Ordering::Relaxed);
    }

    fn write(&self, out: &mut String, name: &str, labels: &str) {
        let mut upto = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            upto += count.load(Ordering::Relaxed);
            let bound = self.bounds.get(bucket).map_or("+Inf".to_owned(), |bound| format!("{bound:?}"));
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {upto}");
        }
        let _ = writeln!(out, "{name}_count{{{labels}}} {upto}");
        let sum = self.sum_ns.load(Ordering::Relaxed) as f64 / 1e9;
        let _ = writeln!(out, "{name}_sum{{{labels}}} {sum}");
    }
}

pub(crate) struct MockMetrics {
    pub(crate) running: AtomicI64,
    pub(crate) waiting: AtomicI64,
    pub(crate) kv_tokens: AtomicI64,
    pub(crate) prompt_tokens: AtomicU64,
    pub(crate) generation_tokens: AtomicU64,
    pub(crate) finished: AtomicU64,
    pub(crate) aborted: AtomicU64,
    pub(crate) queue_time: BucketCounts,
    pub(crate) prefill_time: BucketCounts,
    pub(crate) decode_time: BucketCounts,
    pub(crate) inference_time: BucketCounts,
    pub(crate) ttft: BucketCounts,
    pub(crate) itl: BucketCounts,
    pub(crate) e2e: BucketCounts,
    pub(crate) profiles_started: AtomicU64,
    pub(crate) profiles_stopped: AtomicU64,
}

impl Default for MockMetrics {
    fn default() -> Self {
        MockMetrics {
            running: AtomicI64::new(0),
            waiting: AtomicI64::new(0),
            kv_tokens: AtomicI64::new(0),
            prompt_tokens: AtomicU64::new(0),
            generation_tokens: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            queue_time: BucketCounts::new(&LATENCIES),
            prefill_time: BucketCounts::new(&LATENCIES),
            decode_time: BucketCounts::new(&LATENCIES),
            inference_time: BucketCounts::new(&LATENCIES),
            ttft: BucketCounts::new(&FIRST_TOKENS),
            itl: BucketCounts::new(&NEXT_TOKENS),
            e2e: BucketCounts::new(&LATENCIES),
            profiles_started: AtomicU64::new(0),
            profiles_stopped: AtomicU64::new(0),
        }
    }
}

impl MockMetrics {
    /// The text of `/metrics`. `kv_capacity` is how many tokens fill the KV cache.
    pub(crate) fn text(&self, model: &str, kv_capacity: u64) -> String {
        let labels = format!("engine=\"0\",model_name=\"{}\"", model.replace(['"', '\\', '\n'], "_"));
        let mut out = String::new();
        let kv_use = (self.kv_tokens.load(Ordering::Relaxed) as f64 / kv_capacity.max(1) as f64).min(1.0);
        let gauges = [
            ("num_requests_running", self.running.load(Ordering::Relaxed) as f64),
            ("num_requests_waiting", self.waiting.load(Ordering::Relaxed) as f64),
            ("kv_cache_usage_perc", kv_use),
        ];
        for (name, value) in gauges {
            let _ = writeln!(out, "# TYPE vllm:{name} gauge\nvllm:{name}{{{labels}}} {value:?}");
        }
        let prompt_tokens = self.prompt_tokens.load(Ordering::Relaxed);
        let counters = [
            ("prompt_tokens_total", prompt_tokens),
            ("generation_tokens_total", self.generation_tokens.load(Ordering::Relaxed)),
            ("prefix_cache_queries_total", prompt_tokens),
            ("prefix_cache_hits_total", 0),
            ("num_preemptions_total", 0),
        ];
        for (name, value) in counters {
            let _ = writeln!(out, "# TYPE vllm:{name} counter\nvllm:{name}{{{labels}}} {value}.0");
        }
        let _ = writeln!(out, "# TYPE vllm:request_success_total counter");
        for (reason, count) in [("length", &self.finished), ("abort", &self.aborted)] {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(
                out,
                "vllm:request_success_total{{{labels},finished_reason=\"{reason}\"}} {count}.0"
            );
        }
        let histograms = [
            ("time_to_first_token_seconds", &self.ttft),
            ("inter_token_latency_seconds", &self.itl),
            ("e2e_request_latency_seconds", &self.e2e),
            ("request_queue_time_seconds", &self.queue_time),
            ("request_inference_time_seconds", &self.inference_time),
            ("request_prefill_time_seconds", &self.prefill_time),
            ("request_decode_time_seconds", &self.decode_time),
        ];
        for (name, histogram) in histograms {
            let name = format!("vllm:{name}");
            let _ = writeln!(out, "# TYPE {name} histogram");
            histogram.write(&mut out, &name, &labels);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_hold_their_bound() {
        let metrics = MockMetrics::default();
        for millis in [1, 5, 6, 3_000_000] {
            metrics.ttft.observe(Duration::from_millis(millis));
        }
        metrics.generation_tokens.fetch_add(64, Ordering::Relaxed);
        metrics.kv_tokens.fetch_add(25, Ordering::Relaxed);
        let text = metrics.text("m\"x", 100);
        let labels = "engine=\"0\",model_name=\"m_x\"";
        for line in [
            format!("vllm:time_to_first_token_seconds_bucket{{{labels},le=\"0.001\"}} 1"),
            format!("vllm:time_to_first_token_seconds_bucket{{{labels},le=\"0.005\"}} 2"),
            format!("vllm:time_to_first_token_seconds_bucket{{{labels},le=\"2560.0\"}} 3"),
            format!("vllm:time_to_first_token_seconds_bucket{{{labels},le=\"+Inf\"}} 4"),
            format!("vllm:time_to_first_token_seconds_count{{{labels}}} 4"),
            format!("vllm:time_to_first_token_seconds_sum{{{labels}}} 3000.012"),
            format!("vllm:generation_tokens_total{{{labels}}} 64.0"),
            format!("vllm:kv_cache_usage_perc{{{labels}}} 0.25"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
