//! `/metrics` of vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp, Triton and the DCGM exporter: Prometheus' text, one page or
//! several behind each other. `# time SECONDS` before a page, or Prometheus' own timestamps behind the values, tell when it was taken.
//!
//! Labels name machines, pods and devices by serial number. Only model, version and the device's index are kept. Of
//! histograms, sum and count are.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use rooflens_schema::exposition::{ExpositionSample, read_sample, read_time};
use rooflens_schema::tables::{MetricSampleRow, MetricSamples};
use rooflens_schema::{Interner, Notes, Opt, RankTables, Severity, Stage};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::formats::{Format, finish};
use crate::lines;

/// The format.
pub(crate) struct Metrics;

/// What our metrics begin with.
const OURS: &[&str] = &[
    "vllm:",
    "sglang:",
    "trtllm_",
    "tgi_",
    "llamacpp:",
    "nv_inference_",
    "nv_gpu_",
    "nv_energy_",
    "nv_cache_",
    "nv_pinned_memory_",
    "nv_cpu_",
    "DCGM_FI_",
];

fn is_ours(metric: &str) -> bool {
    OURS.iter().any(|begin| metric.starts_with(begin))
}

/// Buckets say nothing without their bounds.
fn is_bucket(sample: &ExpositionSample<'_>) -> bool {
    sample.name.ends_with("_bucket") && sample.label("le").is_some()
}

impl Format for Metrics {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn about(&self) -> &'static str {
        "Prometheus text of vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp, Triton or the DCGM exporter: /metrics, once or several times"
    }

    fn sniff(&self, probe: &Probe) -> bool {
        let head = String::from_utf8_lossy(&probe.head);
        head.lines().any(|line| {
            let named = line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE ")).unwrap_or(line);
            is_ours(named) && (named.len() < line.len() || line.contains([' ', '{']))
        })
    }

    fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
        let source = from.name().to_owned();
        let mut pages = Pages::default();
        let broken = lines::each(from.into_reader(), |line| pages.line(line));
        let tell = |severity, code: &str, count, message: &str| {
            notes.add_many(Stage::Ingest, severity, code, &source, count, message.to_owned());
        };
        if let Some(error) = broken {
            let message = format!("the stream ends early: {error}; the rest is missing");
            tell(Severity::DataLoss, "stream_error", 1, &message);
        }
        tell(
            Severity::DataLoss,
            "damaged_event",
            pages.lost,
            "lines that are neither a metric nor a \
        comment",
        );
        let message = "metrics of no known server, and buckets of histograms, which were not read";
        tell(Severity::Info, "unread_metric", pages.others, message);
        if pages.rows.is_empty() {
            let why = "it has no metric of a known server".to_owned();
            return Err(IngestError::NoRecords { source_name: source, format: self.name(), why });
        }
        pages.date();
        let records = pages.rows.len() as i64;
        let tables = RankTables { metric_samples: pages.rows, ..RankTables::default() };
        Ok(finish(tables, pages.interner, (self.name(), source), records, (0, 0)))
    }
}

/// What was read so far.
#[derive(Default)]
struct Pages {
    rows: MetricSamples,
    interner: Interner,
    snapshot: i32,
    /// Series of this page, by all that tells them apart; nothing of it is kept.
    seen: HashSet<String>,
    /// A time that waits for its page.
    announced: Option<i64>,
    /// When each page was taken.
    times: Vec<Option<i64>>,
    /// Serial numbers of devices, in order of first sight.
    devices: HashMap<String, i32>,
    lost: i64,
    others: i64,
}

impl Pages {
    fn line(&mut self, text: &str) {
        let text = text.trim();
        if let Some(comment) = text.strip_prefix('#') {
            let time = comment.trim_start().strip_prefix("time ");
            self.announced = time.and_then(|time| read_time(time.trim(), 1e9)).or(self.announced);
        } else if !text.is_empty() {
            match read_sample(text, 1e6) {
                None => self.lost += 1,
                Some(sample) if !is_ours(&sample.name) || is_bucket(&sample) => self.others += 1,
                Some(sample) => self.sample(&sample),
            }
        }
    }

    fn sample(&mut self, sample: &ExpositionSample<'_>) {
        // A time that is announced begins a page, as does a series that was there already.
        let again = !self.seen.insert(sample.series.to_owned());
        if again || (self.announced.is_some() && !self.times.is_empty()) {
            self.snapshot = self.snapshot.saturating_add(1);
            self.seen.clear();
            self.seen.insert(sample.series.to_owned());
            self.times.push(None);
        }
        if self.times.is_empty() {
            self.times.push(None);
        }
        let told = self.announced.take().or(sample.unix_ns);
        if let Some(time) = self.times.last_mut() {
            *time = (*time).max(told);
        }
        let whole = |name: &str| sample.label(name).and_then(|value| value.parse::<i32>().ok());
        let serial = sample.label("gpu_uuid").map(|serial| {
            let next = self.devices.len() as i32;
            *self.devices.entry(serial.to_owned()).or_insert(next)
        });
        let model =
            sample.label("model").or(sample.label("model_name")).map(|value| self.interner.intern(value));
        let version = sample.label("version").map(|value| self.interner.intern(value));
        self.rows.push(MetricSampleRow {
            snapshot: self.snapshot,
            unix_ns: Opt::NONE,
            metric_id: self.interner.intern(&sample.name),
            model_id: model.into(),
            version_id: version.into(),
            device: whole("gpu").or(serial).into(),
            instance: whole("GPU_I_ID").into(),
            // NaN and infinities are no values.
            value: Some(sample.value).filter(|value| value.is_finite()),
        });
    }

    /// Gives every value the time of its page.
    fn date(&mut self) {
        for (snapshot, time) in self.rows.snapshot.iter().zip(&mut self.rows.unix_ns) {
            *time = self.times.get(*snapshot as usize).copied().flatten().into();
        }
    }
}
