//! The stages of a run and their settings.

use super::{ConfigSection, arguments};
use crate::error::PlanError;
use crate::kernel_regex::KernelRegex;
use crate::plan::RunStage;

/// Matrix libraries, and the variables that make each write its log. `LOG` stands for the file.
pub(crate) const MATRIX_LIBRARIES: &[(&str, &[(&str, &str)])] = &[
    ("cublas", &[("CUBLAS_LOGINFO_DBG", "1"), ("CUBLAS_LOGDEST_DBG", "LOG")]),
    ("cublaslt", &[("CUBLASLT_LOG_LEVEL", "2"), ("CUBLASLT_LOG_FILE", "LOG")]),
    ("hipblaslt", &[("HIPBLASLT_LOG_MASK", "32"), ("HIPBLASLT_LOG_FILE", "LOG")]),
    ("rocblas", &[("ROCBLAS_LAYER", "2"), ("ROCBLAS_LOG_BENCH_PATH", "LOG")]),
];

/// The stages.
#[derive(Debug, Clone, Default)]
pub struct Pipeline {
    on: Vec<RunStage>,
    pub(crate) static_analysis: StaticAnalysis,
    pub(crate) nsys: NsysSettings,
    /// Nsight Compute.
    pub ncu: NcuSettings,
    pub(crate) cublas_library: String,
    samples: Vec<(RunStage, Samples)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct NsysSettings {
    pub(crate) program: String,
    /// The phase to capture; none: the whole run.
    pub(crate) capture: Option<String>,
    pub(crate) trace: Vec<String>,
    pub(crate) sample: String,
    pub(crate) cuda_graph_trace: String,
    pub(crate) gpu_metrics: bool,
    pub(crate) args: Vec<String>,
}

/// Settings of Nsight Compute.
#[derive(Debug, Clone, Default)]
pub struct NcuSettings {
    pub(crate) program: String,
    /// The phase whose launches are profiled; none: any.
    pub(crate) phase: Option<String>,
    /// Kernels, by their time in the timeline.
    pub top_kernels: u64,
    /// Launches of each.
    pub launches_per_kernel: u64,
    /// Kernels by name: only those that one of them matches; all where there is none.
    pub kernel: Vec<KernelRegex>,
    pub(crate) set: Option<String>,
    pub(crate) sections: Vec<String>,
    /// Single metrics beside.
    pub metrics: Vec<String>,
    pub(crate) clock_control: String,
    pub(crate) args: Vec<String>,
}

/// What a stage keeps of single samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Samples {
    /// Whether answers are kept.
    pub predictions: bool,
    /// Whether prompts and answers are laid out as a page.
    pub pages: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct StaticAnalysis {
    pub(crate) batch_sizes: Vec<u64>,
    /// Tokens in the cache; none where they are those of the prompts.
    pub(crate) contexts: Vec<u64>,
}

impl Pipeline {
    pub(super) fn read(mut keys: ConfigSection<'_>) -> Result<Self, PlanError> {
        let mut read = Self::default();
        for stage in RunStage::ALL.iter().copied() {
            let Some(mut stage_keys) = keys.optional_section(stage.name())? else {
                // Headline numbers are what a run is for: they are off only if the config says so.
                read.on.extend((stage == RunStage::Measure).then_some(stage));
                continue;
            };
            if stage_keys.flag("enable")? {
                read.on.push(stage);
            }
            match stage {
                RunStage::StaticAnalysis => {
                    let batch_sizes = stage_keys.optional_positives("batch_sizes")?;
                    let contexts = stage_keys.optional_positives("contexts")?;
                    read.static_analysis = StaticAnalysis { batch_sizes, contexts };
                }
                RunStage::TorchProfiler => {
                    torch_profiler(&mut stage_keys)?;
                    read.samples.push((stage, samples(&mut stage_keys, false)?));
                }
                RunStage::Nsys => read.nsys = NsysSettings::read(&mut stage_keys)?,
                RunStage::Ncu => read.ncu = NcuSettings::read(&mut stage_keys)?,
                RunStage::CublasLog => {
                    let names: Vec<&str> = MATRIX_LIBRARIES.iter().map(|(name, _)| *name).collect();
                    read.cublas_library = stage_keys.choice("library", &names)?;
                }
                RunStage::DirectInference => {
                    stage_keys.optional_positive("max_new_tokens")?;
                    // Answers are what it is for.
                    read.samples.push((stage, samples(&mut stage_keys, true)?));
                }
                RunStage::Measure => {}
            }
            stage_keys.finish()?;
        }
        keys.finish()?;
        Ok(read)
    }

    /// What a stage keeps of single samples; nothing where it is off.
    pub fn samples(&self, stage: RunStage) -> Samples {
        let kept = self.samples.iter().find(|(of, _)| *of == stage && self.has(stage));
        kept.map(|(_, samples)| *samples).unwrap_or_default()
    }

    /// Whether a stage is on.
    pub fn has(&self, stage: RunStage) -> bool {
        self.on.contains(&stage)
    }
}

fn torch_profiler(keys: &mut ConfigSection<'_>) -> Result<(), PlanError> {
    keys.choices("activities", &["cpu", "cuda", "xpu", "hpu", "mtia"])?;
    for flag in
        ["record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops", "allocator_snapshot"]
    {
        keys.flag(flag)?;
    }
    keys.optional_positive("max_new_tokens").map(drop)
}

impl NsysSettings {
    fn read(keys: &mut ConfigSection<'_>) -> Result<Self, PlanError> {
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
    fn read(keys: &mut ConfigSection<'_>) -> Result<Self, PlanError> {
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

fn kernels(keys: &mut ConfigSection<'_>) -> Result<Vec<KernelRegex>, PlanError> {
    let texts = keys.optional_texts("kernel")?;
    let read = |text: String| {
        KernelRegex::new(&text).map_err(|error| keys.refused("kernel", &text, error.to_string()))
    };
    texts.into_iter().map(read).collect()
}

/// A set by its name; which there are, the version of Nsight Compute decides.
fn set(keys: &mut ConfigSection<'_>) -> Result<Option<String>, PlanError> {
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

fn samples(keys: &mut ConfigSection<'_>, usual: bool) -> Result<Samples, PlanError> {
    let Some(mut output) = keys.optional_section("output")? else {
        return Ok(Samples { predictions: usual, pages: usual });
    };
    let samples = Samples { predictions: output.flag("predictions")?, pages: output.flag("pages")? };
    output.finish().map(|()| samples)
}
