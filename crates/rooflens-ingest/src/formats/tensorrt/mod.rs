//! What `trtexec` exports of an engine: the time of each layer (`--exportProfile`), what the layers are
//! (`--exportLayerInfo`), and the times of each run (`--exportTimes`); and what it prints of each layer
//! (`--dumpProfile`).
//!
//! Layers of the first two are the same where their names are; of equal names the first is the first.
//! Times stand in milliseconds with six digits.

mod printed;
#[cfg(test)]
mod printed_tests;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};

use rooflens_schema::tables::{EngineLayerRow, InferenceRow};
use rooflens_schema::{Interner, Opt, RankTables, Severity};
use serde_json::Value;

use crate::artefact::{Artefact, InputSource, Probe, no_progress};
use crate::error::IngestError;
use crate::reading::{Format, Reading};

/// No export is larger.
const LIMIT: u64 = 1 << 30;

pub(crate) const FORMAT: Format = Format {
    name: "tensorrt",
    about: "TensorRT engine by trtexec: --exportProfile, --exportLayerInfo and --exportTimes, or the log of --dumpProfile",
    sniff,
    read,
};

fn sniff(probe: &Probe) -> bool {
    let head: Vec<u8> =
        probe.head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(256).collect();
    head.starts_with(b"{\"Layers\":[")
        || head.starts_with(b"[{\"count\":")
        || (head.starts_with(b"[{\"") && memchr::memmem::find(&head, b"\"startComputeMs\"").is_some())
        || is_log(&probe.head)
}

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let siblings = from.file().map(siblings).unwrap_or_default();
    let progress = from.progress();
    let mut found = Found::default();
    found.take(from)?;
    let joined = siblings.len() as i64;
    for path in siblings {
        found.take(Artefact::open(&InputSource::File(path), progress.clone())?)?;
    }
    let message = format!("files of the same engine were read with {}", reading.source);
    reading.note(Severity::Info, "joined_files", joined, message);
    for (severity, code, count, message) in std::mem::take(&mut found.told) {
        reading.note(severity, code, count, message);
    }
    reading.lost("event_without_time", found.lost, "layers or runs without a valid name or time");
    let records = found.records;
    let interner = Interner::default();
    let (tables, extent) = found.tables(&interner);
    if tables.engine_layers.is_empty() && tables.inferences.is_empty() {
        return Err(reading.fail("it has neither layers nor runs"));
    }
    Ok(reading.finish(tables, interner, records, extent))
}

fn is_log(bytes: &[u8]) -> bool {
    [printed::TITLE, printed::COMMAND]
        .iter()
        .any(|word| memchr::memmem::find(bytes, word.as_bytes()).is_some())
}

const NO_PROFILE: &str = "the log of trtexec has no profile of layers; trtexec prints one with --dumpProfile \
                          (and --separateProfileRun, so that timed runs are not slowed by it), and writes one with \
                          more digits with --exportProfile=FILE";
const ROUNDED: &str = "the log has totals to 0.01 ms and averages to 0.0001 ms, and no times of single runs; \
                       --exportProfile=FILE has more digits, --exportTimes=FILE the runs";
const NO_MEDIAN: &str = "this version of trtexec prints no median";

#[derive(Debug)]
struct Timed {
    name: String,
    total_ns: i64,
    median_ns: Option<i64>,
    runs: Option<i64>,
}

#[derive(Default)]
struct Found {
    runs: Option<i64>,
    profile: Vec<Timed>,
    layers: Vec<Layer>,
    inferences: Vec<InferenceRow>,
    records: i64,
    lost: i64,
    told: Vec<(Severity, &'static str, i64, String)>,
}

impl Found {
    fn take(&mut self, from: Artefact) -> Result<(), IngestError> {
        let source_name = from.name().to_owned();
        let fail = |why: String| IngestError::NoRecords { source_name, format: "tensorrt", why };
        let mut bytes = Vec::new();
        if let Err(error) = from.into_reader().take(LIMIT).read_to_end(&mut bytes) {
            return Err(fail(format!("the stream ends early: {error}")));
        }
        if !bytes.trim_ascii_start().starts_with(b"[{") && is_log(&bytes) {
            return self.log(&String::from_utf8_lossy(&bytes)).map_err(fail);
        }
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| fail(error.to_string()))?;
        match value {
            Value::Object(mut map) => {
                let layers = map.remove("Layers");
                for layer in layers.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice) {
                    self.records += 1;
                    match Layer::read(layer) {
                        Some(layer) => self.layers.push(layer),
                        None => self.lost += 1,
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.item(item)),
            _ => {}
        }
        Ok(())
    }

    fn log(&mut self, text: &str) -> Result<(), String> {
        let mut profiles = printed::profiles(text);
        let count = profiles.len();
        if count == 0 {
            return Err(NO_PROFILE.to_owned());
        }
        for profile in &profiles {
            self.records += profile.layers.len() as i64 + profile.lost;
            self.lost += profile.lost;
        }
        profiles.retain(|profile| !profile.layers.is_empty());
        if profiles.is_empty() {
            return Err("the profile printed by --dumpProfile is truncated before its first layer".to_owned());
        }
        let mut tell = |severity, code, count: usize, message: String| {
            self.told.push((severity, code, count as i64, message));
        };
        tell(Severity::Info, "rounded_times", 1, ROUNDED.to_owned());
        if profiles.iter().any(|profile| !profile.has_median) {
            tell(Severity::Info, "no_median", 1, NO_MEDIAN.to_owned());
        }
        let cut = profiles.iter().filter(|profile| profile.total_ns.is_none()).count();
        let message = "the log ends before the Total line of a profile: layers may be missing".to_owned();
        tell(Severity::DataLoss, "truncated", cut, message);
        let apart = profiles.iter().filter(|profile| profile.adds_up() == Some(false)).count();
        let message = "the layers of a profile do not add up to its Total line".to_owned();
        tell(Severity::Warning, "total_disagrees", apart, message);
        if profiles.len() > 1 {
            let (first, more) = profiles.split_at_mut(1);
            let is_one = more.iter().all(|other| first[0].is_like(other));
            if is_one {
                more.iter().for_each(|other| first[0].add(other));
                profiles.truncate(1);
            }
            let message = match is_one {
                true => {
                    "the log has several profiles of the same layers: their times and iterations are added up, \
                         and medians are not known"
                }
                false => {
                    "the log has profiles of different engines: the layers of all are listed, and shares are \
                     relative to all of them; analyze the log of each engine alone for its own shares"
                }
            };
            tell(Severity::Info, "several_profiles", count, message.to_owned());
        }
        self.profile.extend(profiles.into_iter().flat_map(|profile| profile.layers));
        Ok(())
    }

    fn item(&mut self, item: &Value) {
        if let Some(runs) = item.get("count").and_then(Value::as_i64) {
            self.runs = Some(runs).filter(|runs| *runs > 0);
            return;
        }
        self.records += 1;
        let is_run = item.get("startComputeMs").is_some();
        let taken = if is_run { self.run(item) } else { self.timed(item) };
        if taken.is_none() {
            self.lost += 1;
        }
    }

    fn timed(&mut self, item: &Value) -> Option<()> {
        let name = item.get("name")?.as_str()?.to_owned();
        let (total_ns, median_ns) = (time(item, "timeMs")?, time(item, "medianMs"));
        self.profile.push(Timed { name, total_ns, median_ns, runs: None });
        Some(())
    }

    fn run(&mut self, item: &Value) -> Option<()> {
        let ts_ns = time(item, "startEnqMs")?;
        self.inferences.push(InferenceRow {
            ts_ns,
            enqueue_ns: time(item, "endEnqMs")?.checked_sub(ts_ns)?,
            h2d_ns: time(item, "h2dMs")?,
            compute_ts_ns: time(item, "startComputeMs")?,
            compute_ns: time(item, "computeMs")?,
            d2h_ns: time(item, "d2hMs")?,
            latency_ns: time(item, "latencyMs")?,
            end_ns: time(item, "endD2hMs").or_else(|| time(item, "endComputeMs"))?,
        });
        Some(())
    }

    fn tables(self, interner: &Interner) -> (RankTables, (i64, i64)) {
        let mut tables = RankTables::default();
        let mut known: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            known.entry(&layer.name).or_default().push_back(index);
        }
        let mut is_timed = vec![false; self.layers.len()];
        let row = |name: &str, layer: Option<&Layer>, timed: Option<&Timed>| {
            let word = |text: Option<&String>| text.map(|text| interner.intern(text)).into();
            EngineLayerRow {
                name_id: interner.intern(name),
                type_id: word(layer.and_then(|layer| layer.kind.as_ref())),
                dtype_id: word(layer.and_then(|layer| layer.dtype.as_ref())),
                tactic_id: word(layer.and_then(|layer| layer.tactic.as_ref())),
                inputs_id: word(layer.and_then(|layer| layer.inputs.as_ref())),
                outputs_id: word(layer.and_then(|layer| layer.outputs.as_ref())),
                runs: timed.and_then(|timed| timed.runs.or(self.runs)).into(),
                total_ns: timed.map_or(Opt::NONE, |timed| Opt::some(timed.total_ns)),
                median_ns: timed.and_then(|timed| timed.median_ns).into(),
            }
        };
        for timed in &self.profile {
            let index = known.get_mut(timed.name.as_str()).and_then(VecDeque::pop_front);
            if let Some(index) = index {
                is_timed[index] = true;
            }
            let layer = index.map(|index| &self.layers[index]);
            tables.engine_layers.push(row(&timed.name, layer, Some(timed)));
        }
        // Layers that were not timed keep their order behind those that were.
        for (layer, _) in self.layers.iter().zip(is_timed).filter(|(_, is_timed)| !is_timed) {
            tables.engine_layers.push(row(&layer.name, Some(layer), None));
        }
        let times = self.inferences.iter();
        let first = times.clone().map(|run| run.ts_ns.min(run.compute_ts_ns)).min();
        let last = times.map(|run| run.end_ns).max();
        self.inferences.into_iter().for_each(|run| tables.inferences.push(run));
        (tables, (first.unwrap_or(0), last.unwrap_or(0)))
    }
}

/// Milliseconds under a key, in whole nanoseconds; `None` where there are none or they make no sense.
fn time(item: &Value, key: &str) -> Option<i64> {
    let ms = item.get(key)?.as_f64()?;
    // A year is more than any engine runs.
    (0.0..=3.2e10).contains(&ms).then(|| (ms * 1e6).round() as i64)
}

/// A layer of `--exportLayerInfo`; with `--profilingVerbosity=layer_names_only` it is its name alone.
struct Layer {
    name: String,
    kind: Option<String>,
    dtype: Option<String>,
    tactic: Option<String>,
    inputs: Option<String>,
    outputs: Option<String>,
}

/// Words in `Format/Datatype`, as in `Row major linear FP16 format`.
const DTYPES: &[(&str, &str)] = &[
    ("FP32", "fp32"),
    ("FP16", "fp16"),
    ("BF16", "bf16"),
    ("FP8", "fp8"),
    ("FP4", "fp4"),
    ("INT8", "int8"),
    ("INT32", "int32"),
    ("INT64", "int64"),
    ("INT4", "int4"),
    ("BOOL", "bool"),
    ("HALF", "fp16"),
    ("FLOAT", "fp32"),
];

impl Layer {
    pub fn read(value: &Value) -> Option<Layer> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let name = value.as_str().or_else(|| text("Name"))?.to_owned();
        let tensors = |key: &str| value.get(key).and_then(Value::as_array).filter(|list| !list.is_empty());
        let outputs = tensors("Outputs");
        Some(Layer {
            name,
            kind: text("LayerType").map(str::to_owned),
            dtype: outputs.and_then(|list| dtype(list.first()?)),
            tactic: text("TacticName")
                .or_else(|| text("TacticValue").filter(|word| !is_zero(word)))
                .map(str::to_owned),
            inputs: tensors("Inputs").map(|list| shapes(list)),
            outputs: outputs.map(|list| shapes(list)),
        })
    }
}

fn is_zero(word: &str) -> bool {
    word.trim_start_matches("0x").bytes().all(|byte| byte == b'0')
}

fn dtype(tensor: &Value) -> Option<String> {
    let words = tensor.get("Format/Datatype")?.as_str()?;
    let known = words.split_whitespace().find_map(|word| {
        let (_, name) = DTYPES.iter().find(|(known, _)| word.eq_ignore_ascii_case(known))?;
        Some((*name).to_owned())
    });
    known.or_else(|| words.split_whitespace().next().map(str::to_lowercase))
}

/// `[32,3,224,224] fp32, [64] fp16`.
fn shapes(tensors: &[Value]) -> String {
    let shape = |tensor: &Value| {
        let sizes = tensor.get("Dimensions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let sizes: Vec<String> = sizes.iter().map(Value::to_string).collect();
        let dtype = dtype(tensor).map_or(String::new(), |dtype| format!(" {dtype}"));
        format!("[{}]{dtype}", sizes.join(","))
    };
    tensors.iter().map(shape).collect::<Vec<String>>().join(", ")
}

/// Words for each kind; the first kind that is there stands for the set.
const KINDS: &[&[&str]] = &[
    &["profile", "layer_profile", "layerprofile"],
    &["graph", "layers", "layer_info", "layerinfo", "engine_info"],
    &["timing", "times", "timings"],
];

fn named(path: &Path) -> Option<(PathBuf, usize)> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".json")?;
    KINDS.iter().enumerate().find_map(|(kind, words)| {
        let before = words.iter().find_map(|word| {
            let rest = stem.strip_suffix(word)?;
            (rest.is_empty() || rest.ends_with(['.', '_', '-'])).then_some(rest)
        })?;
        Some((path.with_file_name(format!("{before}*")), kind))
    })
}

/// The same for a file that is one of them: others may have such a name, too.
fn part(path: &Path) -> Option<(PathBuf, usize)> {
    let found = named(path)?;
    is_one(path).then_some(found)
}

fn is_one(path: &Path) -> bool {
    Artefact::open(&InputSource::File(path.to_owned()), no_progress())
        .is_ok_and(|artefact| sniff(artefact.probe()))
}

fn siblings(path: &Path) -> Vec<PathBuf> {
    let Some((set, _)) = named(path) else { return vec![] };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let names = entries.filter_map(|entry| Some(path.with_file_name(entry.ok()?.file_name())));
    let mut found: Vec<PathBuf> =
        names.filter(|other| other != path && named(other).is_some_and(|(of, _)| of == set)).collect();
    found.retain(|other| is_one(other));
    found.sort();
    found
}

/// Keeps one item of each set: it is read with its siblings.
pub(crate) fn keep_one<T>(items: &mut Vec<T>, path: impl Fn(&T) -> Option<&Path>) {
    let parts: Vec<Option<(PathBuf, usize)>> = items.iter().map(|item| path(item).and_then(part)).collect();
    let mut first: HashMap<&Path, usize> = HashMap::new();
    for (set, kind) in parts.iter().flatten() {
        let best = first.entry(set).or_insert(*kind);
        *best = (*best).min(*kind);
    }
    let mut keep = parts.iter().map(|part| match part {
        Some((set, kind)) => first.get(set.as_path()) == Some(kind),
        None => true,
    });
    items.retain(|_| keep.next().unwrap_or(true));
}
