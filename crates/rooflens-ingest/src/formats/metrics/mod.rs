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
use rooflens_schema::{Interner, Opt, RankTables, Severity};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::lines;
use crate::reading::{Format, Reading};

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

pub(crate) const FORMAT: Format = Format {
    name: "metrics",
    about: "Prometheus text of vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp, Triton or the DCGM exporter: /metrics, once or several times",
    sniff,
    read,
};

fn sniff(probe: &Probe) -> bool {
    let head = String::from_utf8_lossy(&probe.head);
    head.lines().any(|line| {
        let named = line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE ")).unwrap_or(line);
        is_ours(named) && (named.len() < line.len() || line.contains([' ', '{']))
    })
}

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let mut pages = Pages::default();
    if let Some(error) = lines::each(from.into_reader(), |line| pages.line(line)) {
        reading.broke_off(&error);
    }
    reading.lost("damaged_event", pages.lost, "lines that are neither a metric nor a comment");
    let message = "metrics of no known server, and buckets of histograms, which were not read";
    reading.note(Severity::Info, "unread_metric", pages.others, message);
    if pages.rows.is_empty() {
        return Err(reading.fail("it has no metric of a known server"));
    }
    pages.date();
    let records = pages.rows.len() as i64;
    let tables = RankTables { metric_samples: pages.rows, ..RankTables::default() };
    Ok(reading.finish(tables, pages.interner, records, (0, 0)))
}

#[derive(Default)]
struct Pages {
    rows: MetricSamples,
    interner: Interner,
    snapshot: i32,
    /// Series of this page, by all that tells them apart; nothing of it is kept.
    seen: HashSet<String>,
    announced: Option<i64>,
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

    fn date(&mut self) {
        for (snapshot, time) in self.rows.snapshot.iter().zip(&mut self.rows.unix_ns) {
            *time = self.times.get(*snapshot as usize).copied().flatten().into();
        }
    }
}
