//! Engines that serve language models: their names of what Triton counts too.

use std::collections::BTreeMap;

use super::{Model, ModelMetrics, NO_SPAN, Over, Pages, Series};

/// What an engine calls its metrics.
pub(super) struct EngineNames {
    /// Its own name.
    pub(crate) title: &'static str,
    begin: &'static str,
    /// Requests that ended.
    requests: Option<&'static str>,
    /// Histogram of seconds of a whole request.
    request: Option<&'static str>,
    /// Histogram of seconds in the queue.
    queue: Option<&'static str>,
}

const ENGINES: &[EngineNames] = &[
    EngineNames {
        title: "vLLM",
        begin: "vllm:",
        requests: Some("vllm:request_success_total"),
        request: Some("vllm:e2e_request_latency_seconds"),
        queue: Some("vllm:request_queue_time_seconds"),
    },
    EngineNames {
        title: "SGLang",
        begin: "sglang:",
        requests: Some("sglang:num_requests_total"),
        request: Some("sglang:e2e_request_latency_seconds"),
        queue: Some("sglang:queue_time_seconds"),
    },
    EngineNames {
        title: "TensorRT-LLM",
        begin: "trtllm_",
        requests: Some("trtllm_request_success_total"),
        request: Some("trtllm_e2e_request_latency_seconds"),
        queue: Some("trtllm_request_queue_time_seconds"),
    },
    EngineNames {
        title: "TGI",
        begin: "tgi_",
        requests: Some("tgi_request_success"),
        request: Some("tgi_request_duration"),
        queue: Some("tgi_request_queue_duration"),
    },
    EngineNames { title: "llama.cpp", begin: "llamacpp:", requests: None, request: None, queue: None },
];

impl EngineNames {
    /// The engine that a metric is of.
    pub(crate) fn of_metric(metric: &str) -> Option<&'static EngineNames> {
        ENGINES.iter().find(|engine| metric.starts_with(engine.begin))
    }
}

impl Pages {
    pub(super) fn model_of_engine(
        &self,
        (model, version): Model,
        engine: &EngineNames,
        series: &Series,
    ) -> ModelMetrics {
        let requests = engine.requests.and_then(|name| self.count(series, name));
        let part = |name: Option<&str>, part: &str| self.count(series, &format!("{}_{part}", name?));
        let mean = |name: Option<&str>| {
            Some(1e9 * part(name, "sum")? / part(name, "count").filter(|count| *count > 0.0)?)
        };
        let (request_ns, queue_ns) = (mean(engine.request), mean(engine.queue));
        let mut found = ModelMetrics {
            file: self.file,
            model,
            version,
            over: if self.last == 0 { Over::SinceStart } else { Over::BetweenSnapshots },
            requests,
            failures: None,
            inferences: None,
            executions: None,
            batch: None,
            request_ns,
            queue_ns,
            compute_input_ns: None,
            compute_infer_ns: None,
            compute_output_ns: None,
            queue_share: queue_ns
                .zip(request_ns)
                .filter(|(_, all)| *all > 0.0)
                .map(|(queue, all)| queue / all),
            requests_per_s: self.a_second(requests),
            inferences_per_s: None,
            not_computed: BTreeMap::new(),
        };
        let not_given = format!("{} does not give it", engine.title);
        let triton_only = [
            "failures",
            "inferences",
            "executions",
            "batch",
            "compute_input_ns",
            "compute_infer_ns",
            "compute_output_ns",
            "inferences_per_s",
        ];
        for key in triton_only {
            found.not_computed.insert(key.into(), not_given.clone().into());
        }
        let lost = "not on every page, or decreased: the server was restarted";
        let none = if requests == Some(0.0) { "no request ended" } else { lost };
        for (key, value, is_given, why) in [
            ("requests", found.requests, engine.requests.is_some(), lost),
            ("request_ns", found.request_ns, engine.request.is_some(), none),
            ("queue_ns", found.queue_ns, engine.queue.is_some(), none),
            ("queue_share", found.queue_share, engine.queue.is_some(), none),
            (
                "requests_per_s",
                found.requests_per_s,
                engine.requests.is_some(),
                if self.span_ns.is_none() { NO_SPAN } else { lost },
            ),
        ] {
            if value.is_none() {
                let why = if is_given { why.to_owned() } else { not_given.clone() };
                found.not_computed.insert(key.into(), why.into());
            }
        }
        found
    }
}
