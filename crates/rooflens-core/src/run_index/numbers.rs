//! The few numbers of `report/metrics.json` that lists of runs show. The rest of that file, which may be long, is
//! skipped while it is read.

use std::collections::BTreeMap;
use std::{fmt, fs};

use rooflens_analyze::compare::headline;
use rooflens_schema::RunDir;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

use super::folders::{is_plain_file, is_plain_folder};
use crate::saved::METRICS;

/// Where the efficiency of a run has how far it was from the device's peaks: of a run, then of a load test.
const SHARES_OF_PEAK: &[(&str, &str)] = &[
    ("mfu_prefill", "/phases/prefill/mfu"),
    ("mbu_prefill", "/phases/prefill/mbu"),
    ("mfu_decode", "/phases/decode/mfu"),
    ("mbu_decode", "/phases/decode/mbu"),
    ("mfu_decode", "/mfu"),
    ("mbu_decode", "/mbu"),
];

const BUSY: &str = "device_busy_share";

pub(crate) fn further_metrics() -> Vec<String> {
    use rooflens_schema::tables::PhaseKind;
    let shares = SHARES_OF_PEAK.iter().map(|(key, _)| (*key).to_owned());
    let steps = PhaseKind::ALL.iter().map(|phase| step_key(phase.as_str()));
    let mut keys: Vec<String> = shares.chain(steps).chain([BUSY.to_owned()]).collect();
    keys.sort();
    keys.dedup();
    keys
}

fn step_key(phase: &str) -> String {
    if phase == "step" { "step_p50_ns".to_owned() } else { format!("{phase}_step_p50_ns") }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct KeptNumbers {
    measured: Json,
    efficiency: Json,
    steps: Option<Vec<KeptStep>>,
    trace: Option<KeptTrace>,
    devices: Option<Vec<KeptDevice>>,
    ledger: Option<KeptLedger>,
    analysis: Option<Box<KeptNumbers>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KeptStep {
    step: Json,
    end: Option<Json>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KeptTrace {
    hardware: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KeptDevice {
    busy_ns: Option<f64>,
    span_ns: Option<f64>,
    recognised: Option<RecognisedDevice>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RecognisedDevice {
    device: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KeptLedger {
    phases: Option<Vec<KeptPhase>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KeptPhase {
    phase: Option<String>,
    step: Option<KeptSpread>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KeptSpread {
    p50_ns: Option<f64>,
}

#[derive(Default)]
struct Beginning {
    numbers: KeptNumbers,
    has_analysis: bool,
    /// Whether reading ended because nothing is missing.
    is_enough: bool,
}

impl<'de> DeserializeSeed<'de> for &mut Beginning {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Beginning {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the numbers of a report")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let own = ["measured", "efficiency", "steps"];
        let mut seen = 0;
        while let Some(key) = map.next_key::<String>()? {
            seen += usize::from(own.contains(&key.as_str()));
            let numbers = &mut self.numbers;
            match key.as_str() {
                // All that comes before the analysis is short.
                "kernels" | "analysis" if self.has_analysis => self.is_enough = true,
                "measured" => numbers.measured = map.next_value()?,
                "efficiency" => numbers.efficiency = map.next_value()?,
                "steps" => numbers.steps = map.next_value()?,
                "trace" => numbers.trace = map.next_value()?,
                "devices" => numbers.devices = map.next_value()?,
                "ledger" => numbers.ledger = map.next_value()?,
                "analysis" => numbers.analysis = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            self.is_enough |= self.has_analysis && seen == own.len();
            if self.is_enough {
                return Err(A::Error::custom("enough is read"));
            }
        }
        Ok(())
    }
}

fn finding(run: &RunDir, name: &str) -> Option<KeptNumbers> {
    let path = run.findings().join(format!("{name}.json"));
    let is_there = is_plain_folder(&run.findings()) && is_plain_file(&path);
    let bytes = fs::read(path).ok().filter(|bytes| is_there && bytes.len() as u64 <= MOST_BYTES)?;
    serde_json::from_slice(&bytes).ok()
}

/// Largest file of numbers that is read: none that Rooflens writes is near it.
const MOST_BYTES: u64 = 64 << 20;

impl KeptNumbers {
    pub(crate) fn of(run: &RunDir) -> Self {
        Self::read(run).ok().flatten().unwrap_or_default()
    }

    /// The same, with what is wrong with the file. Of a long report only the beginning is parsed: what the analysis says
    /// stands in files of its own, too.
    pub(crate) fn read(run: &RunDir) -> Result<Option<Self>, String> {
        let path = run.report().join(METRICS);
        if !is_plain_folder(&run.report()) || !is_plain_file(&path) {
            return Ok(None);
        }
        let cannot = |why: String| format!("report/{METRICS} cannot be read: {why}");
        let size = fs::metadata(&path).map_or(0, |found| found.len());
        if size > MOST_BYTES {
            return Err(cannot(format!("it has {size} bytes")));
        }
        let bytes = fs::read(&path).map_err(|error| cannot(error.to_string()))?;
        if bytes.trim_ascii_end().last() != Some(&b'}') {
            return Err(cannot("it ends early".to_owned()));
        }
        let mut beginning = Beginning::default();
        if let Some(ledger) = finding(run, "ledger") {
            let devices = finding(run, "devices").and_then(|found| found.devices);
            beginning.numbers.analysis = Some(Box::new(KeptNumbers { devices, ..ledger }));
            beginning.has_analysis = true;
        }
        let read = beginning.deserialize(&mut serde_json::Deserializer::from_slice(&bytes));
        match read {
            Err(error) if !beginning.is_enough => Err(cannot(error.to_string())),
            _ => Ok(Some(beginning.numbers)),
        }
    }

    /// Whether the pass without profilers ended well: the rounds of one that failed are a part, mostly the beginning. A run
    /// that does not say is taken as it is.
    fn is_whole(&self) -> bool {
        let steps = self.steps.iter().flatten().filter(|step| step.step == "measure");
        steps.into_iter().all(|step| step.end.as_ref().is_some_and(|end| end == "done"))
    }

    pub(crate) fn headline(&self) -> BTreeMap<String, f64> {
        if !self.is_whole() {
            return BTreeMap::new();
        }
        let value = |metric: &headline::HeadlineMetric| {
            let path = metric.path.strip_prefix("/measured")?;
            Some((metric.key.to_owned(), self.measured.pointer(path)?.as_f64()?))
        };
        headline::ALL.iter().filter_map(value).collect()
    }

    /// How far the run was from the device's peaks, the median step of each phase, and the share of time in which devices
    /// were busy.
    pub(crate) fn further(&self) -> BTreeMap<String, f64> {
        let share =
            |&(key, path): &(&str, &str)| Some((key.to_owned(), self.efficiency.pointer(path)?.as_f64()?));
        let mut found: BTreeMap<String, f64> = SHARES_OF_PEAK.iter().filter_map(share).collect();
        let analysis = self.analysis.as_deref().unwrap_or(self);
        for phase in analysis.ledger.iter().flat_map(|ledger| ledger.phases.iter().flatten()) {
            let step = phase.step.as_ref().and_then(|step| step.p50_ns);
            if let (Some(name), Some(step)) = (&phase.phase, step) {
                found.insert(step_key(name), step);
            }
        }
        let devices = || analysis.devices.iter().flatten();
        let busy: f64 = devices().filter_map(|device| device.busy_ns).sum();
        let span: f64 = devices().filter_map(|device| device.span_ns).sum();
        if span > 0.0 {
            found.insert(BUSY.to_owned(), busy / span);
        }
        found.retain(|_, value| value.is_finite());
        found
    }

    /// Columns of `runs` that a report knows and the tables do not: which device a trace is of, and what a load test was told
    /// about the server.
    pub(crate) fn columns(&self) -> BTreeMap<String, String> {
        let devices = self.efficiency["tensor_parallel"].as_u64().map(|count| count.to_string());
        let of_server = self.efficiency["device"].as_str().filter(|_| devices.is_some()).map(str::to_owned);
        let is_named =
            self.trace.as_ref().is_some_and(|trace| trace.hardware.iter().flatten().next().is_some());
        let first = self.devices.iter().flatten().next().filter(|_| !is_named);
        let recognised = first.and_then(|device| device.recognised.as_ref()?.device.clone());
        let device = of_server.or(recognised);
        let named = [("hardware", device), ("tp", devices.clone()), ("devices", devices)];
        named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: Json) -> KeptNumbers {
        serde_json::from_value(json).expect("numbers")
    }

    #[test]
    fn a_run_tells_its_metrics_and_those_of_its_trace() {
        let numbers = read(serde_json::json!({
            "measured": {"tpot_ns": {"p50": 12.5}},
            "efficiency": {"phases": {"decode": {"mbu": 0.5, "mfu": null}}},
            "steps": [{"step": "measure", "end": "done"}],
            "analysis": {
                "devices": [{"busy_ns": 3, "span_ns": 4}],
                "ledger": {"phases": [{"phase": "decode", "step": {"p50_ns": 7}}, {"phase": "step", "step": {"p50_ns": 9}}]},
            },
        }));
        assert_eq!(numbers.headline(), [("tpot_p50_ns".to_owned(), 12.5)].into());
        let further = numbers.further();
        let known: Vec<(&str, f64)> = further.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        assert_eq!(
            known,
            [
                ("decode_step_p50_ns", 7.0),
                ("device_busy_share", 0.75),
                ("mbu_decode", 0.5),
                ("step_p50_ns", 9.0)
            ]
        );
        assert!(known.iter().all(|(key, _)| further_metrics().iter().any(|listed| listed == key)));
    }

    #[test]
    fn rounds_of_a_pass_that_failed_do_not_count() {
        let numbers = read(serde_json::json!({
            "measured": {"tpot_ns": {"p50": 12.5}},
            "steps": [{"step": "measure", "end": "failed"}],
        }));
        assert!(numbers.headline().is_empty());
    }

    #[test]
    fn the_device_is_told_where_the_trace_does_not_name_it() {
        let recognised = serde_json::json!([{"recognised": {"device": "H100 SXM"}}]);
        let unnamed = read(serde_json::json!({"trace": {"hardware": []}, "devices": recognised}));
        assert_eq!(unnamed.columns(), [("hardware".to_owned(), "H100 SXM".to_owned())].into());
        let named = read(serde_json::json!({"trace": {"hardware": ["NVIDIA H100"]}, "devices": recognised}));
        assert!(named.columns().is_empty());
    }

    #[test]
    fn of_a_long_report_only_the_beginning_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = RunDir::new(folder.path());
        run.create().expect("folders");
        let write = |numbers: &str| fs::write(run.report().join(METRICS), numbers).expect("numbers");
        let ledger = r#"{"ledger":{"phases":[{"phase":"decode","step":{"p50_ns":7}}]}}"#;
        let whole = format!(r#"{{"measured":{{"tpot_ns":{{"p50":2.5}}}},"analysis":{ledger}}}"#);
        write(&whole);
        let known = |numbers: &KeptNumbers| {
            (
                numbers.headline().get("tpot_p50_ns").copied(),
                numbers.further().get("decode_step_p50_ns").copied(),
            )
        };
        assert_eq!(known(&KeptNumbers::of(&run)), (Some(2.5), Some(7.0)));
        // With the finding in its file, what the report says of the analysis is not looked at.
        fs::write(run.findings().join("ledger.json"), ledger).expect("a finding");
        write(&whole.replace(ledger, "{damaged}"));
        assert_eq!(known(&KeptNumbers::of(&run)), (Some(2.5), Some(7.0)));
        write(r#"{"measured":{"#);
        assert!(KeptNumbers::read(&run).is_err_and(|why| why.ends_with("it ends early")));
    }
}
