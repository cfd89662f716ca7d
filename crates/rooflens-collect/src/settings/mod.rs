//! The composed config as plain settings. Everything is checked here; nothing after this looks at the
//! config again, but for handing it to the workload.

mod arguments;
mod pipeline;
mod section;

use std::collections::BTreeMap;

use rooflens_compose::value::Node;

pub(crate) use self::pipeline::MATRIX_LIBRARIES;
pub use self::pipeline::{NcuSettings, Pipeline, Samples};
pub(crate) use self::section::ConfigSection;
use crate::environment::{Interpreter, WorkloadEnvironment};
use crate::error::PlanError;
use crate::plan::CommandWord;
use crate::runtimes::{self, Runtime, RuntimeOptions};

/// What a run is made of.
#[derive(Debug, Clone)]
pub struct RunSettings {
    pub(crate) model: ModelSettings,
    /// The samples.
    pub dataset: Dataset,
    /// The device.
    pub hardware: Hardware,
    /// The program that runs the model.
    pub runtime: RuntimeSettings,
    /// The stages.
    pub pipeline: Pipeline,
    /// What is written at the end.
    pub output: Output,
    /// How often device and host are sampled meanwhile; nothing where they are not.
    pub sampler: Option<SamplerSettings>,
}

/// How device and host are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplerSettings {
    /// From one sample to the next.
    pub interval_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct ModelSettings {
    pub(crate) name: String,
    pub(crate) path: String,
    /// Format to compute in; nothing where it is the config's own.
    pub(crate) dtype: Option<String>,
}

/// The samples.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Their folder, from the project's own.
    pub root: String,
    /// What the files are; `auto` where they say so themselves.
    pub kind: String,
    /// A list of samples, from the project's folder.
    pub filelist: Option<String>,
    /// Whether patterns say which files are samples.
    pub has_patterns: bool,
    /// The variant to use instead, by the name of its folder in the dataset's.
    pub variant: Option<String>,
}

/// The device.
#[derive(Debug, Clone)]
pub struct Hardware {
    /// Whose peaks numbers are held against; nothing where it is the device that is found.
    pub name: Option<String>,
    /// Where the runtime puts the model, as torch names it.
    pub device: String,
    /// How many of them.
    pub count: u64,
    /// The power limit that the devices must enforce; nothing where any will do.
    pub power_limit_w: Option<f64>,
    /// Whether its peaks are measured where none are known.
    pub measure: bool,
}

/// The program that runs the model.
#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    pub(crate) runtime: &'static Runtime,
    pub(crate) batch_size: u64,
    /// Environment variables of the workload.
    pub env: BTreeMap<String, String>,
    pub(crate) timeout_s: Option<u64>,
    /// What it runs, in reports; nothing where that is the model's name.
    pub(crate) label: Option<String>,
    /// The environment that Python runs in; nothing where the interpreter is named itself.
    pub environment: Option<WorkloadEnvironment>,
    /// What only this runtime has.
    pub options: RuntimeOptions,
}

impl RuntimeSettings {
    /// How the workload's Python is started.
    pub fn interpreter(&self) -> Interpreter {
        if let Some(environment) = &self.environment {
            return environment.interpreter();
        }
        let python = CommandWord::program(&self.options.python);
        let install =
            std::iter::once(python.clone()).chain(["-m", "pip", "install"].map(CommandWord::plain)).collect();
        Interpreter { argv: vec![python], env: BTreeMap::new(), install }
    }
}

/// What is written at the end.
#[derive(Debug, Clone)]
pub struct Output {
    /// `html`, `md`, `json`, `csv`.
    pub formats: Vec<String>,
    /// Rows of tables.
    pub top: u64,
    /// Whether figures are drawn.
    pub plots: bool,
    /// Whether traces are kept when they have been read.
    pub keep_raw: bool,
}

impl RunSettings {
    /// Reads a config that has nothing left to resolve.
    pub fn read(config: &Node) -> Result<Self, PlanError> {
        let mut root = ConfigSection::root(config)?;
        root.name("experiment_name")?;
        root.count("seed")?;
        root.count("warmup_rounds")?;
        root.positive("repeats")?;
        let settings = Self {
            model: model(root.section("model")?)?,
            dataset: dataset(root.section("dataset")?)?,
            hardware: hardware(root.section("hardware")?)?,
            runtime: runtime(root.section("runtime")?)?,
            pipeline: Pipeline::read(root.section("pipeline")?)?,
            output: output(root.section("output")?)?,
            sampler: sampler(root.optional_section("sampler")?)?,
        };
        infer(root.section("infer")?)?;
        root.finish()?;
        settings.check_captured(config)?;
        Ok(settings)
    }

    /// The dataset alone: where its samples are is found out before the rest is read.
    pub fn read_dataset(config: &Node) -> Result<Dataset, PlanError> {
        dataset(ConfigSection::root(config)?.section("dataset")?)
    }

    /// Whether the runtime marks what profilers are to capture: known before a model is loaded.
    fn check_captured(&self, config: &Node) -> Result<(), PlanError> {
        let phases = self.runtime.runtime.phases;
        let wanted =
            [("nsys", "capture", &self.pipeline.nsys.capture), ("ncu", "phase", &self.pipeline.ncu.phase)];
        for (stage, key, wanted) in wanted {
            let Some(wanted) = wanted else { continue };
            let range = wanted.strip_prefix(runtimes::NVTX);
            if phases.is_empty()
                || range.is_some_and(|name| !name.is_empty())
                || phases.contains(&wanted.as_str())
            {
                continue;
            }
            let known: Vec<&str> = phases.iter().copied().chain(["nvtx:NAME"]).collect();
            let error = PlanError::not_one_of(&format!("pipeline.{stage}.{key}"), wanted, &known);
            let node = config.get(&["pipeline", stage, key]);
            return Err(node.map_or(error.clone(), |node| error.at(&node.origin)));
        }
        Ok(())
    }
}

impl RunSettings {
    /// Folder of the model that is run, from the project's own; nothing where the runtime starts a
    /// program that does not say which model it runs.
    pub fn model_path(&self) -> Option<&str> {
        match self.runtime.runtime.runs_the_model() {
            true => Some(&self.model.path),
            false => self.runtime.options.model.as_deref(),
        }
    }

    /// What is run, in words: the model's name, with its folder where that has another name; or what the
    /// runtime calls its program.
    pub fn label(&self) -> String {
        let label = self.runtime.label.as_deref().unwrap_or(&self.model.name);
        let path =
            self.model_path().filter(|path| path.rsplit('/').find(|part| !part.is_empty()) != Some(label));
        path.map_or_else(|| label.to_owned(), |path| format!("{label} ({path})"))
    }
}

fn model(mut keys: ConfigSection<'_>) -> Result<ModelSettings, PlanError> {
    let model = ModelSettings {
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
fn preprocess(keys: Option<ConfigSection<'_>>) -> Result<(), PlanError> {
    let Some(mut keys) = keys else { return Ok(()) };
    for size in ["base_size", "image_size", "patch_size", "downsample_ratio"] {
        keys.optional_positive(size)?;
    }
    keys.optional_flag("crop_mode").map(|_| ())
}

fn hardware(mut keys: ConfigSection<'_>) -> Result<Hardware, PlanError> {
    let name = Some(keys.name("name")?).filter(|name| name != "auto");
    let hardware = Hardware {
        name,
        device: keys.name("device")?,
        count: keys.positive("count")?,
        power_limit_w: keys.optional_positive_number("power_limit_w")?,
        measure: keys.optional_flag("measure")?.unwrap_or(false),
    };
    keys.finish().map(|()| hardware)
}

fn runtime(mut keys: ConfigSection<'_>) -> Result<RuntimeSettings, PlanError> {
    let names: Vec<&'static str> = runtimes::ALL.iter().map(|runtime| runtime.name).collect();
    let name = keys.choice("name", &names)?;
    let Some(runtime) = runtimes::find(&name) else {
        return Err(PlanError::missing("runtime.name"));
    };
    let settings = RuntimeSettings {
        runtime,
        batch_size: keys.positive("batch_size")?,
        env: keys.variables("env")?,
        timeout_s: keys.optional_positive("timeout_s")?,
        label: keys.optional_text("label")?,
        environment: WorkloadEnvironment::read(keys.optional_section("environment")?)?,
        options: (runtime.read)(&mut keys)?,
    };
    keys.finish().map(|()| settings)
}

fn output(mut keys: ConfigSection<'_>) -> Result<Output, PlanError> {
    let output = Output {
        formats: keys.choices("formats", &["html", "md", "json", "csv"])?,
        top: keys.positive("top")?,
        plots: keys.flag("plots")?,
        keep_raw: keys.flag("keep_raw")?,
    };
    keys.finish().map(|()| output)
}

fn sampler(keys: Option<ConfigSection<'_>>) -> Result<Option<SamplerSettings>, PlanError> {
    let Some(mut keys) = keys else { return Ok(None) };
    let enable = keys.flag("enable")?;
    let sampler = SamplerSettings { interval_ms: keys.positive("interval_ms")? };
    keys.finish().map(|()| enable.then_some(sampler))
}

fn infer(mut keys: ConfigSection<'_>) -> Result<(), PlanError> {
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

fn dataset(mut keys: ConfigSection<'_>) -> Result<Dataset, PlanError> {
    keys.name("name")?;
    let root = keys.name("root")?;
    let kind = keys.choice("kind", &["auto", "text", "image", "jsonl"])?;
    keys.optional_text("field")?;
    let (variant, filelist) = (keys.optional_text("variant")?, keys.optional_text("filelist")?);
    let has_patterns = !keys.texts("patterns")?.is_empty();
    let dataset = Dataset { root, kind, variant, filelist, has_patterns };
    if dataset.filelist.is_some() && dataset.variant.is_some() {
        return Err(keys.conflict("variant", "filelist"));
    }
    keys.optional_text("prompt")?;
    let mut sampling = keys.section("sampling")?;
    sampling.positive("epochs")?;
    sampling.optional_positive("samples_per_epoch")?;
    sampling.flag("shuffle")?;
    sampling.optional_number("seed")?;
    sampling.finish()?;
    keys.finish().map(|()| dataset)
}
