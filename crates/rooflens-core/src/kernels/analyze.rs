//! From reports of Nsight Compute or rocprof-compute to what each launch loses.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rooflens_analyze::kernels::{
    CatalogDevice, DeviceHint, MOST_ASKED, Profile, ProfiledLaunch, ProfilerAdvice, ProfilerTool,
    TimelineDurations, expanded,
};
use rooflens_compose::nearest;
use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::precision::Dtype;
use rooflens_ingest::ncu::{self, RuleGrade};
use rooflens_ingest::{IngestError, rocprof_compute};
use rooflens_report::Part;
use rooflens_report::profiled::parts;
use rooflens_schema::{Note, Notes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{read_timeline, save};
use crate::error::{CostError, Error, Hint};
use crate::input::missing;
use crate::observer::{Event, SharedObserver};
use crate::shell::word;
use rooflens_schema::SchemaTag;

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct ProfiledRequest {
    /// Reports, printed pages, folders of them.
    pub inputs: Vec<PathBuf>,
    /// Where the real time of each kernel is.
    pub timeline: Option<PathBuf>,
    /// Name of the device in the catalog.
    pub hardware: Option<String>,
    /// Folder for files.
    pub output: Option<PathBuf>,
    /// Metrics to add as columns.
    pub columns: Vec<String>,
}

/// What profiled launches tell.
pub struct ProfiledKernels {
    pub(crate) profile: Profile,
    launches: Vec<ProfiledLaunch>,
    notes: Vec<Note>,
    /// Whether reading the timeline was ended early.
    pub stopped: bool,
}

/// The JSON document: what limits each profiled launch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProfiledDocument<'a> {
    /// `rooflens.kernel_profile`.
    pub(crate) schema: SchemaTag,
    /// What limits each launch.
    #[serde(flatten)]
    pub(crate) profile: Cow<'a, Profile>,
    /// What could not be read, or looks wrong.
    pub(crate) notes: Cow<'a, [Note]>,
}

impl ProfiledKernels {
    /// For programs.
    pub fn document(&self) -> ProfiledDocument<'_> {
        ProfiledDocument {
            schema: SchemaTag::new("kernel_profile"),
            profile: Cow::Borrowed(&self.profile),
            notes: (&self.notes).into(),
        }
    }

    /// For people, with at most so many rows in each table.
    pub fn parts(&self, limit: usize) -> Vec<Part> {
        parts(&self.profile, limit)
    }

    /// What a page of it is called.
    pub fn title(&self) -> String {
        save::title(&self.profile)
    }
}

/// Reads profiled launches and says what limits each; writes files where a folder is given.
pub fn analyze(request: &ProfiledRequest, observer: &SharedObserver) -> Result<ProfiledKernels, Error> {
    if let Some(folder) = &request.output {
        save::destination(folder)?;
    }
    if let Some(path) = request.inputs.iter().find(|path| !path.exists()) {
        return Err(missing(path));
    }
    let found = profile_of(request, observer)?;
    if let Some(folder) = &request.output {
        save::write(folder, &found.profile, &found.launches, &found.document(), observer)?;
    }
    observer.event(&Event::Notes(&found.notes));
    Ok(found)
}

/// Writes the files of a report that a run left.
pub fn save_profile(
    report: PathBuf,
    timeline: Option<PathBuf>,
    columns: &[String],
    folder: &Path,
    observer: &SharedObserver,
) -> Result<(), Error> {
    let inputs = vec![report];
    let request =
        ProfiledRequest { inputs, timeline, columns: columns.to_vec(), ..ProfiledRequest::default() };
    let found = profile_of(&request, observer)?;
    save::destination(folder)?;
    save::write(folder, &found.profile, &found.launches, &found.document(), observer)
}

fn profile_of(request: &ProfiledRequest, observer: &SharedObserver) -> Result<ProfiledKernels, Error> {
    let notes = Notes::default();
    let launches = read(&request.inputs, &notes)?;
    let mut stopped = false;
    let mut times = None;
    if let Some(path) = &request.timeline {
        let read = read_timeline(std::slice::from_ref(path), None, observer)?;
        stopped = read.stopped;
        let mut sums = TimelineDurations::default();
        for kernel in &read.kernels {
            sums.add(&kernel.name, kernel.total_ns);
        }
        times = Some(sums);
    }
    let known = known(request.hardware.as_deref(), &rooflens_analyze::kernels::hint(&launches))?;
    let mut profile = rooflens_analyze::kernels::profile(&launches, known.as_ref(), times.as_ref());
    profile.ask(&launches, columns(&request.columns, &launches, observer));
    Ok(ProfiledKernels { profile, launches, notes: notes.rows(), stopped })
}

fn columns(wished: &[String], launches: &[ProfiledLaunch], observer: &SharedObserver) -> Vec<&'static str> {
    let mut names: Vec<String> = Vec::new();
    for wish in wished.iter().map(|wish| wish.trim()).filter(|wish| !wish.is_empty()) {
        let found = expanded(wish, launches);
        let has = |launch: &ProfiledLaunch, name: &String| {
            launch.numbers.contains_key(name) || launch.texts.contains_key(name)
        };
        if !found.iter().any(|name| launches.iter().any(|launch| has(launch, name))) {
            let known = launches.iter().flat_map(|launch| launch.numbers.keys()).map(String::as_str);
            let near = nearest(wish, known).map_or(String::new(), |near| format!("; the nearest is {near}"));
            observer.warn(&format!("no launch has the metric {wish}{near}"));
        }
        names.extend(found);
    }
    names.dedup();
    if names.len() > MOST_ASKED {
        observer.warn(&format!(
            "{} metrics were requested: the first {MOST_ASKED} become \
                                columns",
            names.len()
        ));
        names.truncate(MOST_ASKED);
    }
    // Names of columns live as long as the program; these are few, and made once.
    names.into_iter().map(|name| &*Box::leak(name.into_boxed_str())).collect()
}

fn unreadable(error: &IngestError) -> Error {
    let hint = match error {
        IngestError::Io { path, .. } => Hint::command(format!("ls -l {}", word(path))),
        _ => Hint::words(
            "ncu -o profile … writes one; printed: ncu --import x.ncu-rep --csv --page raw > x.csv; AMD: \
             rocprof-compute profile -n NAME -- …",
        ),
    };
    Error::data(error.to_string()).hinted(hint)
}

/// The launches of all inputs, of one profiler: peaks of two devices are no roof.
fn read(inputs: &[PathBuf], notes: &Notes) -> Result<Vec<ProfiledLaunch>, Error> {
    let folders: Vec<Vec<PathBuf>> = inputs.iter().map(|path| rocprof_compute::folders(path)).collect();
    if let Some(at) = folders.iter().position(|found| !found.is_empty()) {
        if let Some(other) = folders.iter().position(Vec::is_empty) {
            let path = |at: usize| inputs.get(at).cloned().unwrap_or_default();
            let (amd, other) = (path(at), path(other));
            let message = format!(
                "{} is from rocprof-compute and {} is not: only launches of one profiler can be read at a time",
                amd.display(),
                other.display()
            );
            return Err(Error::data(message).command(format!("rooflens kernels analyze {}", word(&amd))));
        }
        let mut launches = Vec::new();
        for folder in folders.iter().flatten() {
            let read = rocprof_compute::read(folder as &Path, notes).map_err(|error| unreadable(&error))?;
            launches.extend(read.into_iter().map(amd_launch));
        }
        return Ok(launches);
    }
    let launches = ncu::read_all(inputs, notes).map_err(|error| unreadable(&error))?;
    Ok(launches.into_iter().map(launch).collect())
}

/// rocprof-compute tells sizes as products only.
fn amd_launch(from: rocprof_compute::RocprofLaunch) -> ProfiledLaunch {
    ProfiledLaunch {
        profiler: ProfilerTool::RocprofCompute,
        name: from.name,
        grid: from.groups.map(|groups| [groups, 1, 1]),
        block: from.items.map(|items| [items, 1, 1]),
        numbers: from.numbers,
        device: from.device,
        ..ProfiledLaunch::default()
    }
}

/// A launch as the analysis takes it: names of people and machines are not in it.
fn launch(from: ncu::NcuLaunch) -> ProfiledLaunch {
    let device =
        from.text("device__attribute_display_name").filter(|name| !name.is_empty()).map(str::to_owned);
    let numbers = from.metrics.keys().filter_map(|name| Some((name.clone(), from.number(name)?))).collect();
    let texts = from.metrics.keys().filter_map(|name| Some((name.clone(), from.text(name)?.to_owned())));
    let texts = texts.collect();
    let units = from.metrics.iter().filter_map(|(name, metric)| Some((name.clone(), metric.unit.clone()?)));
    let units = units.collect();
    let advice = from.rules.iter().filter_map(|rule| {
        let speedup = rule.speedup?;
        // Messages of a rule that failed name files of the machine.
        let said = rule.messages.iter().find(|(grade, _)| *grade == RuleGrade::Optimization);
        Some(ProfilerAdvice {
            rule: rule.id.clone(),
            speedup_pct: speedup.percent,
            global: speedup.is_global,
            message: said.map_or(String::new(), |(_, text)| plain(text)),
        })
    });
    let advice = advice.collect();
    let profiler = ProfilerTool::NsightCompute;
    let (grid, block, name) = (from.grid, from.block, from.name);
    ProfiledLaunch { profiler, grid, block, numbers, texts, units, device, advice, name }
}

/// A message without its markup: `@section:Occupancy:Occupancy@` and `@url:words:address@` are their words.
fn plain(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for (at, part) in message.split('@').enumerate() {
        let words = match part.split_once(':') {
            Some(("url", rest)) => rest.split(":http").next(),
            Some((_, rest)) => rest.rsplit(':').next(),
            None => None,
        };
        out.push_str(words.filter(|_| at % 2 == 1).unwrap_or(part));
    }
    out
}

/// What the catalog knows of the device; `None` where it does not know it. A name that was given and is
/// not known is an error.
pub(crate) fn known(wished: Option<&str>, hint: &DeviceHint) -> Result<Option<CatalogDevice>, Error> {
    let catalog = Catalog::embedded();
    if let Some(name) = wished {
        let device = catalog.find(name).map_err(|error| Error::from(CostError::Hardware(error)))?;
        return Ok(Some(known_of(device)));
    }
    let by_name = hint.name.as_deref().and_then(|name| catalog.find(name).ok());
    Ok(by_name.or_else(|| by_shape(catalog, hint)).map(known_of))
}

fn by_shape<'c>(catalog: &'c Catalog, hint: &DeviceHint) -> Option<&'c Device> {
    let (major, minor) = hint.capability?;
    let target = format!("sm_{major}{minor}");
    let count = hint.multiprocessors?;
    let mut fitting = catalog.devices().iter().filter(|device| {
        let units = device.compute_units.is_some_and(|units| f64::from(units) == count);
        units && device.arch.split_whitespace().any(|word| word.trim_end_matches('a') == target)
    });
    let only = fitting.next()?;
    fitting.next().is_none().then_some(only)
}

fn known_of(device: &Device) -> CatalogDevice {
    let rates = device.peaks.iter().filter(|rate| rate.accumulate.is_none());
    CatalogDevice {
        name: device.name.clone(),
        bytes_per_s: device.bandwidth_bytes_per_s,
        flops_per_s: rates.map(|rate| (precision(rate.dtype), rate.flops_per_s)).collect(),
    }
}

/// The catalog has matrix rates: all but that of FP32 are of tensor cores.
fn precision(dtype: Dtype) -> String {
    match dtype {
        Dtype::Fp32 => dtype.as_str().to_owned(),
        dtype => format!("tensor_{}", dtype.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_words() {
        let text = "See @section:WarpState:Warp State@ and the @url:guide:https://x.y/z@. A @ b.";
        assert_eq!(plain(text), "See Warp State and the guide. A  b.");
    }

    #[test]
    fn a_device_without_a_name_is_found_by_its_shape() {
        let hint = DeviceHint { name: None, capability: Some((12, 0)), multiprocessors: Some(170.0) };
        let found = known(None, &hint).unwrap().unwrap();
        assert_eq!(found.name, "RTX 5090 32GB");
        assert!(found.flops_per_s.contains(&("tensor_bf16".to_owned(), 209.5e12)));
        let other = DeviceHint { multiprocessors: Some(171.0), ..hint };
        assert!(known(None, &other).unwrap().is_none());
        assert!(known(Some("no such device"), &other).is_err());
    }
}
