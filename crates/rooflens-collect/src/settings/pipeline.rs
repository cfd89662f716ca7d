//! The stages of a run and their settings.

use rooflens_compose::ProblemPlace;

use super::{ConfigSection, arguments};
use crate::error::SettingsError;
use crate::kernel_regex::KernelRegex;
use crate::plan::RunStage;
use crate::profilers::cublas_log;

/// The stages.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// Those that are on, in their order, each with the place that says so.
    pub(crate) on: Vec<(RunStage, Option<Box<ProblemPlace>>)>,
    /// What the model must cost.
    pub(crate) static_analysis: StaticAnalysis,
    /// Nsight Systems.
    pub(crate) nsys: NsysSettings,
    /// Nsight Compute.
    pub ncu: NcuSettings,
    /// The log of the matrix library.
    pub(crate) cublas_log: CublasLogSettings,
    /// What is kept of single samples, by stage.
    pub(crate) samples: Vec<(RunStage, Samples)>,
}

/// Settings of Nsight Systems.
#[derive(Debug, Clone, Default)]
pub struct NsysSettings {
    /// The program.
    pub(crate) program: String,
    /// The phase to capture; none: the whole run.
    pub(crate) capture: Option<String>,
    /// What to trace.
    pub(crate) trace: Vec<String>,
    /// Samples of call stacks.
    pub(crate) sample: String,
    /// A graph as one row, or each kernel in it.
    pub(crate) cuda_graph_trace: String,
    /// Counters of the device over time.
    pub(crate) gpu_metrics: bool,
    /// Arguments of the user's own.
    pub(crate) args: Vec<String>,
}

/// Settings of the matrix library's log.
#[derive(Debug, Clone, Default)]
pub(crate) struct CublasLogSettings {
    /// Whose log it is.
    pub(crate) library: String,
}

/// Settings of Nsight Compute.
#[derive(Debug, Clone, Default)]
pub struct NcuSettings {
    /// The program.
    pub(crate) program: String,
    /// The phase whose launches are profiled; none: any.
    pub(crate) phase: Option<String>,
    /// Kernels, by their time in the timeline.
    pub top_kernels: u64,
    /// Launches of each.
    pub launches_per_kernel: u64,
    /// Kernels by name: only those that one of them matches; all where there is none.
    pub kernel: Vec<KernelRegex>,
    /// A set of sections.
    pub(crate) set: Option<String>,
    /// What to measure.
    pub(crate) sections: Vec<String>,
    /// Single metrics beside.
    pub metrics: Vec<String>,
    /// Whether clocks are held.
    pub(crate) clock_control: String,
    /// Arguments of the user's own.
    pub(crate) args: Vec<String>,
}

/// What a stage keeps of single samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Samples {
    /// Whether answers are kept.
    pub predictions: bool,
    /// Whether prompts and answers are laid out as a page.
    pub pages: bool,
}

/// Sizes that the static analysis is asked about.
#[derive(Debug, Clone)]
pub struct StaticAnalysis {
    /// Sequences in a step.
    pub(crate) batch_sizes: Vec<u64>,
    /// Tokens in the cache; none where they are those of the prompts.
    pub(crate) contexts: Vec<u64>,
}

impl Pipeline {
    pub(super) fn read(mut keys: ConfigSection<'_>) -> Result<Self, SettingsError> {
        let mut on = Vec::new();
        let mut kept = Vec::new();
        let mut static_analysis = StaticAnalysis { batch_sizes: Vec::new(), contexts: Vec::new() };
        let mut nsys = NsysSettings::default();
        let mut ncu = NcuSettings::default();
        let mut cublas_log = CublasLogSettings::default();
        for stage in RunStage::ALL.iter().copied() {
            let Some(mut stage_keys) = keys.optional_section(stage.name())? else {
                // Headline numbers are what a run is for: they are off only where the config says so.
                on.extend((stage == RunStage::Measure).then_some((stage, None)));
                continue;
            };
            if stage_keys.flag("enable")? {
                on.push((stage, place(&stage_keys)));
            }
            match stage {
                RunStage::StaticAnalysis => static_analysis = sizes(&mut stage_keys)?,
                RunStage::TorchProfiler => {
                    torch_profiler(&mut stage_keys)?;
                    kept.push((stage, samples(&mut stage_keys, false)?));
                }
                RunStage::Nsys => nsys = NsysSettings::read(&mut stage_keys)?,
                RunStage::Ncu => ncu = NcuSettings::read(&mut stage_keys)?,
                RunStage::CublasLog => {
                    let library = stage_keys.choice("library", &cublas_log::libraries())?;
                    cublas_log = CublasLogSettings { library };
                }
                RunStage::DirectInference => {
                    stage_keys.optional_positive("max_new_tokens")?;
                    // Answers are what it is for.
                    kept.push((stage, samples(&mut stage_keys, true)?));
                }
                RunStage::Measure => {}
            }
            stage_keys.finish()?;
        }
        keys.finish()?;
        Ok(Self { on, static_analysis, nsys, ncu, cublas_log, samples: kept })
    }

    /// What a stage keeps of single samples; nothing where it is off.
    #[must_use]
    pub fn samples(&self, stage: RunStage) -> Samples {
        let kept = self.samples.iter().find(|(of, _)| *of == stage && self.has(stage));
        kept.map_or(Samples { predictions: false, pages: false }, |(_, samples)| *samples)
    }

    /// Whether a stage is on.
    #[must_use]
    pub fn has(&self, stage: RunStage) -> bool {
        self.on.iter().any(|(on, _)| *on == stage)
    }
}

fn place(keys: &ConfigSection<'_>) -> Option<Box<ProblemPlace>> {
    let origin = &keys.node("enable")?.origin;
    Some(Box::new(ProblemPlace { origin: origin.clone(), excerpt: String::new() }))
}

fn sizes(keys: &mut ConfigSection<'_>) -> Result<StaticAnalysis, SettingsError> {
    Ok(StaticAnalysis {
        batch_sizes: keys.optional_positives("batch_sizes")?,
        contexts: keys.optional_positives("contexts")?,
    })
}

fn torch_profiler(keys: &mut ConfigSection<'_>) -> Result<(), SettingsError> {
    keys.choices("activities", &["cpu", "cuda", "xpu", "hpu", "mtia"])?;
    for flag in
        ["record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops", "allocator_snapshot"]
    {
        keys.flag(flag)?;
    }
    keys.optional_positive("max_new_tokens").map(drop)
}

impl NsysSettings {
    fn read(keys: &mut ConfigSection<'_>) -> Result<Self, SettingsError> {
        Ok(Self {
            program: keys.optional_text("program")?.unwrap_or_else(|| "nsys".to_owned()),
            capture: keys.optional_text("capture")?,
            trace: keys.texts("trace")?,
            sample: keys.text("sample")?,
            cuda_graph_trace: keys.choice("cuda_graph_trace", &["graph", "node"])?,
            gpu_metrics: keys.flag("gpu_metrics")?,
            args: arguments::read(keys, arguments::NSYS)?,
        })
    }
}

impl NcuSettings {
    fn read(keys: &mut ConfigSection<'_>) -> Result<Self, SettingsError> {
        Ok(Self {
            program: keys.optional_text("program")?.unwrap_or_else(|| "ncu".to_owned()),
            phase: keys.optional_text("phase")?,
            top_kernels: keys.positive("top_kernels")?,
            launches_per_kernel: keys.positive("launches_per_kernel")?,
            kernel: kernels(keys)?,
            set: set(keys)?,
            sections: keys.texts("sections")?,
            metrics: keys.texts("metrics")?,
            clock_control: keys.choice("clock_control", &["base", "none"])?,
            args: arguments::read(keys, arguments::NCU)?,
        })
    }
}

fn kernels(keys: &mut ConfigSection<'_>) -> Result<Vec<KernelRegex>, SettingsError> {
    let texts = keys.optional_texts("kernel")?;
    let read = |text: String| {
        KernelRegex::new(&text).map_err(|error| keys.refused("kernel", &text, error.to_string()))
    };
    texts.into_iter().map(read).collect()
}

/// A set by its name; which there are, the version of Nsight Compute decides.
fn set(keys: &mut ConfigSection<'_>) -> Result<Option<String>, SettingsError> {
    let set = keys.optional_text("set")?;
    let is_name = |set: &str| {
        let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
        !set.starts_with('-') && !set.is_empty() && set.chars().all(plain)
    };
    match set {
        Some(set) if !is_name(&set) => {
            Err(keys.refused("set", &set, "not a name of a set; ncu --list-sets shows them".to_owned()))
        }
        set => Ok(set),
    }
}

/// What a stage keeps of single samples; `usual` where the config does not say.
fn samples(keys: &mut ConfigSection<'_>, usual: bool) -> Result<Samples, SettingsError> {
    let Some(mut output) = keys.optional_section("output")? else {
        return Ok(Samples { predictions: usual, pages: usual });
    };
    let samples = Samples { predictions: output.flag("predictions")?, pages: output.flag("pages")? };
    output.finish().map(|()| samples)
}
