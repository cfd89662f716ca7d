//! The composed config as plain settings. Everything is checked here; nothing after this looks at the
//! config again, but for handing it to the workload.

mod pipeline;
mod section;

use std::collections::BTreeMap;

use rooflens_compose::value::Node;

pub use self::pipeline::{Ncu, Nsys, Pipeline, Samples, StaticAnalysis};
pub use self::section::Section;
use crate::error::{SettingsError, SettingsProblem};
use crate::runtimes::{self, Runtime};

/// What a run is made of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The model.
    pub model: Model,
    /// The device.
    pub hardware: Hardware,
    /// The program that runs the model.
    pub runtime: RuntimeSettings,
    /// The stages.
    pub pipeline: Pipeline,
    /// What is written at the end.
    pub output: Output,
    /// How often device and host are sampled meanwhile; nothing where they are not.
    pub sampler: Option<Sampler>,
}

/// How device and host are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampler {
    /// From one sample to the next.
    pub interval_ms: u64,
}

/// The model.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its name, in reports.
    pub name: String,
    /// Its folder, from the project's own.
    pub path: String,
    /// Format to compute in; nothing where it is the config's own.
    pub dtype: Option<String>,
}

/// The device.
#[derive(Debug, Clone)]
pub struct Hardware {
    /// Whose peaks numbers are held against; nothing where it is the device that is found.
    pub name: Option<String>,
}

/// The program that runs the model.
#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    /// Which.
    pub runtime: &'static dyn Runtime,
    /// Most sequences in a step.
    pub batch_size: u64,
    /// Environment variables of the workload.
    pub env: BTreeMap<String, String>,
    /// A workload that takes longer is stopped.
    pub timeout_s: Option<u64>,
    /// What it runs, in reports; nothing where that is the model's name.
    pub label: Option<String>,
    /// What only this runtime has.
    pub own: Own,
}

/// What a runtime reads of its own keys.
#[derive(Debug, Clone)]
pub struct Own {
    /// The interpreter.
    pub python: String,
    /// Devices that share each layer.
    pub tensor_parallel: u64,
    /// Format of cached keys and values; nothing where it is the runtime's choice.
    pub kv_dtype: Option<String>,
    /// Folder of the model, for a runtime that does not run the one of the config.
    pub model: Option<String>,
}

/// What is written at the end.
#[derive(Debug, Clone)]
pub struct Output {
    /// `html`, `md`, `json`.
    pub formats: Vec<String>,
    /// Rows of tables.
    pub top: u64,
    /// Whether figures are drawn.
    pub plots: bool,
    /// Whether traces are kept when they have been read.
    pub keep_raw: bool,
}

impl Settings {
    /// Reads a config that has nothing left to resolve.
    ///
    /// # Errors
    /// [`SettingsError`], at the first key that is unknown, missing or wrong.
    pub fn read(config: &Node) -> Result<Self, SettingsError> {
        let mut root = Section::root(config)?;
        root.name("experiment_name")?;
        root.count("seed")?;
        root.count("warmup_rounds")?;
        root.positive("repeats")?;
        let settings = Self {
            model: model(root.section("model")?)?,
            hardware: hardware(root.section("hardware")?)?,
            runtime: runtime(root.section("runtime")?)?,
            pipeline: Pipeline::read(root.section("pipeline")?)?,
            output: output(root.section("output")?)?,
            sampler: sampler(root.optional_section("sampler")?)?,
        };
        infer(root.section("infer")?)?;
        dataset(root.section("dataset")?)?;
        root.finish()?;
        Ok(settings)
    }
}

impl Settings {
    /// Folder of the model that is run, from the project's own; nothing where the runtime starts a
    /// program that does not say which model it runs.
    #[must_use]
    pub fn model_path(&self) -> Option<&str> {
        match self.runtime.runtime.runs_the_model() {
            true => Some(&self.model.path),
            false => self.runtime.own.model.as_deref(),
        }
    }

    /// What is run, in words: the model's name, with its folder where that has another name; or what the
    /// runtime calls its program.
    #[must_use]
    pub fn label(&self) -> String {
        let label = self.runtime.label.as_deref().unwrap_or(&self.model.name);
        let path =
            self.model_path().filter(|path| path.rsplit('/').find(|part| !part.is_empty()) != Some(label));
        path.map_or_else(|| label.to_owned(), |path| format!("{label} ({path})"))
    }
}

fn model(mut keys: Section<'_>) -> Result<Model, SettingsError> {
    let model = Model {
        name: keys.name("name")?,
        path: keys.name("path")?,
        dtype: Some(keys.choice("dtype", &["auto", "fp32", "bf16", "fp16"])?).filter(|dtype| dtype != "auto"),
    };
    keys.choice("weights", &["auto", "random", "checkpoint"])?;
    keys.flag("trust_remote_code")?;
    preprocess(keys.optional_section("preprocess")?)?;
    keys.finish().map(|()| model)
}

/// How pictures are prepared. Other keys than these are not unknown: processors have their own, and the
/// workload says which the model's has.
fn preprocess(keys: Option<Section<'_>>) -> Result<(), SettingsError> {
    let Some(mut keys) = keys else { return Ok(()) };
    for size in ["base_size", "image_size", "patch_size", "downsample_ratio"] {
        keys.optional_positive(size)?;
    }
    keys.optional_flag("crop_mode").map(|_| ())
}

fn hardware(mut keys: Section<'_>) -> Result<Hardware, SettingsError> {
    let name = Some(keys.name("name")?).filter(|name| name != "auto");
    keys.name("device")?;
    keys.positive("count")?;
    keys.finish().map(|()| Hardware { name })
}

fn runtime(mut keys: Section<'_>) -> Result<RuntimeSettings, SettingsError> {
    let names: Vec<&'static str> = runtimes::ALL.iter().map(|runtime| runtime.name()).collect();
    let name = keys.choice("name", &names)?;
    let Some(runtime) = runtimes::find(&name) else {
        return Err(SettingsError::new(SettingsProblem::Missing { key: "runtime.name".to_owned() }));
    };
    let settings = RuntimeSettings {
        runtime,
        batch_size: keys.positive("batch_size")?,
        env: keys.variables("env")?,
        timeout_s: keys.optional_positive("timeout_s")?,
        label: keys.optional_text("label")?,
        own: runtime.read(&mut keys)?,
    };
    keys.finish().map(|()| settings)
}

fn output(mut keys: Section<'_>) -> Result<Output, SettingsError> {
    let output = Output {
        formats: keys.choices("formats", &["html", "md", "json"])?,
        top: keys.positive("top")?,
        plots: keys.flag("plots")?,
        keep_raw: keys.flag("keep_raw")?,
    };
    keys.finish().map(|()| output)
}

fn sampler(keys: Option<Section<'_>>) -> Result<Option<Sampler>, SettingsError> {
    let Some(mut keys) = keys else { return Ok(None) };
    let enable = keys.flag("enable")?;
    let sampler = Sampler { interval_ms: keys.positive("interval_ms")? };
    keys.finish().map(|()| enable.then_some(sampler))
}

fn infer(mut keys: Section<'_>) -> Result<(), SettingsError> {
    keys.positive("max_new_tokens")?;
    keys.flag("ignore_eos")?;
    keys.flag("do_sample")?;
    keys.optional_flag("chat_template")?;
    for number in ["temperature", "top_p", "top_k", "min_p", "typical_p", "repetition_penalty"] {
        keys.optional_number(number)?;
    }
    keys.optional_number("no_repeat_ngram_size")?;
    keys.finish()
}

fn dataset(mut keys: Section<'_>) -> Result<(), SettingsError> {
    keys.name("name")?;
    keys.name("root")?;
    keys.choice("kind", &["text", "image"])?;
    keys.optional_text("filelist")?;
    keys.texts("patterns")?;
    keys.optional_text("prompt")?;
    let mut sampling = keys.section("sampling")?;
    sampling.positive("epochs")?;
    sampling.optional_positive("samples_per_epoch")?;
    sampling.flag("shuffle")?;
    sampling.count("seed")?;
    sampling.finish()?;
    keys.finish()
}
