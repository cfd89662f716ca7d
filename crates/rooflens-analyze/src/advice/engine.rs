//! Which engine and which device a trace is of, so that only options that exist there are named.

use crate::advice::case::Case;
use crate::analyses::{BACKWARD, KernelStat, Launches, Phases, Trace};
use crate::kernel_catalog::{KernelClass, made_by};

/// What ran the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Vllm,
    Sglang,
    Pytorch,
}

impl Engine {
    fn as_str(self) -> &'static str {
        match self {
            Engine::Vllm => "vLLM",
            Engine::Sglang => "SGLang",
            Engine::Pytorch => "PyTorch",
        }
    }
}

/// Generations of devices that have other kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    Blackwell,
    Hopper,
    /// NVIDIA V100, T4 and their kin: tensor cores for fp16 alone.
    Volta,
    Nvidia,
    Gfx950,
    Gfx942,
    Amd,
}

impl Device {
    pub(super) fn is_amd(self) -> bool {
        matches!(self, Device::Gfx950 | Device::Gfx942 | Device::Amd)
    }
}

/// Words in the names of devices.
const GENERATIONS: &[(&str, Device)] = &[
    ("B200", Device::Blackwell),
    ("B100", Device::Blackwell),
    ("B300", Device::Blackwell),
    ("H100", Device::Hopper),
    ("H200", Device::Hopper),
    ("H800", Device::Hopper),
    ("H20", Device::Hopper),
    ("MI350", Device::Gfx950),
    ("MI355", Device::Gfx950),
    ("MI300", Device::Gfx942),
    ("MI325", Device::Gfx942),
    ("V100", Device::Volta),
    ("TITAN V", Device::Volta),
    ("T4", Device::Volta),
    ("Quadro RTX", Device::Volta),
    ("AMD", Device::Amd),
    ("Instinct", Device::Amd),
    ("NVIDIA", Device::Nvidia),
    ("Tesla", Device::Nvidia),
];

impl Case<'_> {
    /// The engine: as the run's config names it, else as names of steps, functions, operators and kernels tell.
    pub(super) fn engine(&self) -> Option<Engine> {
        match self.context.runtime.as_deref() {
            Some("vllm") => return Some(Engine::Vllm),
            Some("pytorch") => return Some(Engine::Pytorch),
            _ => {}
        }
        let steps = self.findings.get::<Phases>().map_or(&[][..], |found| &found.0);
        let has_step = |prefix: &str, word: &str| {
            steps.iter().any(|step| step.name.starts_with(prefix) && step.name.contains(word))
        };
        let has_file = |word: &str| self.frames().iter().any(|frame| frame.name.contains(word));
        let has_operator = |prefix: &str| self.operators().iter().any(|row| row.name.starts_with(prefix));
        let has_library = |name: &str| self.kernels().iter().any(|row| row.library.as_deref() == Some(name));
        // Names of steps are an engine's own. By all else SGLang comes first: it has kernels of vLLM, and a kernel of
        // both may be known as SGLang's.
        let is_vllm = has_step("execute_", "context_");
        let is_sglang = has_file("sglang/") || has_operator("sgl_kernel::") || has_library("sglang");
        if has_step("step[", " bs=") || (is_sglang && !is_vllm) {
            return Some(Engine::Sglang);
        }
        if is_vllm || has_file("vllm/") || has_operator("vllm::") || has_library("vllm") {
            return Some(Engine::Vllm);
        }
        // Operators of PyTorch without an engine around them.
        has_operator("aten::").then_some(Engine::Pytorch)
    }

    pub(super) fn is_training(&self) -> bool {
        let ranges = self.findings.get::<Phases>().map_or(&[][..], |found| &found.0);
        self.operators().iter().any(|row| row.name.starts_with(BACKWARD))
            || ranges.iter().any(|row| row.name.starts_with("Optimizer."))
    }

    /// The device: by its name, else by whose runtime and libraries are in use.
    pub(super) fn device(&self) -> Option<Device> {
        let trace = self.findings.get::<Trace>();
        let named = self.ledger.floor_of.as_ref().map(|floor| &floor.device);
        let names = named.into_iter().chain(trace.iter().flat_map(|trace| &trace.hardware));
        let by_name = names.into_iter().find_map(|name| {
            GENERATIONS.iter().find(|(word, _)| name.contains(word)).map(|(_, device)| *device)
        });
        let launches = self.findings.get::<Launches>();
        let calls = |prefix: &str| {
            launches.is_some_and(|found| found.calls.iter().any(|call| call.name.starts_with(prefix)))
        };
        by_name
            .or_else(|| calls("hip").then_some(Device::Amd))
            .or_else(|| (calls("cuda") || calls("cu")).then_some(Device::Nvidia))
    }

    /// The 16-bit format whose products this device does fast: as people write it, and as PyTorch does.
    pub(super) fn narrow_format(&self) -> (&'static str, &'static str) {
        match self.device() {
            Some(Device::Volta) => ("fp16", "float16"),
            _ => ("bf16", "bfloat16"),
        }
    }

    pub(super) fn graph_word(&self) -> &'static str {
        if self.device().is_some_and(Device::is_amd) { "HIP graph" } else { "CUDA graph" }
    }

    /// What to do, for the engine that ran the model; for each where that is not known.
    pub(super) fn for_engine(&self, options: &[(Engine, &str)]) -> String {
        let engine = self.engine();
        let fits = |option: &&(Engine, &str)| engine.is_none_or(|engine| engine == option.0);
        let words = |option: &(Engine, &str)| format!("{}: {}", option.0.as_str(), option.1);
        options.iter().filter(fits).map(words).collect::<Vec<_>>().join("; ")
    }

    /// The options of the engine that ran the model, of a list as `vLLM: --a; SGLang: --b`.
    pub(super) fn own_options(&self, options: &str) -> String {
        let Some(engine) = self.engine() else { return options.to_owned() };
        let all = [Engine::Vllm, Engine::Sglang, Engine::Pytorch];
        let is_of = |option: &str, engine: Engine| option.starts_with(&format!("{}: ", engine.as_str()));
        let fits = |option: &&str| is_of(option, engine) || !all.iter().any(|other| is_of(option, *other));
        options.split("; ").filter(fits).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn in_project(&self, runtimes: &[&str], key: &str) -> String {
        let runtime = self.context.runtime.as_deref();
        match runtime.is_some_and(|name| runtimes.contains(&name)) {
            true => format!("; in this project: {key}"),
            false => String::new(),
        }
    }
}

/// One generated kernel in so many, or this part of the time, is a compiled model; less is a compiled sampler or a helper.
const COMPILED: f64 = 0.05;
/// Beginnings of the names of operators that only a compiled model has.
const COMPILED_NAMES: &[&str] = &["CompiledFunction", "Torch-Compiled Region"];
/// From this share of activities on, replays are in use already.
const CAPTURED: f64 = 0.5;
/// Classes that multiply by weights.
const WEIGHTS: &[KernelClass] = &[KernelClass::Gemm, KernelClass::Gemv, KernelClass::Moe];

pub(super) fn is_generated(kernel: &KernelStat) -> bool {
    made_by(&kernel.name).compiler.is_some()
}

/// Whether the kernel is PyTorch's own for a single operator, so that a compiler can fuse it with others. Kernels
/// of engines (vLLM, SGLang, AITER, FlashInfer, TensorRT-LLM …) are fused by hand.
pub(super) fn is_eager(kernel: &KernelStat) -> bool {
    let making = made_by(&kernel.name);
    matches!(kernel.library.as_deref(), Some("aten") | None) && making.compiler.is_none() && !making.fused
}

impl Case<'_> {
    /// Whether the model went through a compiler: as the run's config has it, else as kernels are named.
    pub(super) fn is_compiled(&self) -> bool {
        if let Some(told) = self.context.is_compiled {
            return told;
        }
        // AOTAutograd's functions, and what Dynamo calls a region: where kernels of theirs are more than a helper's.
        let is_compiled = |name: &str| COMPILED_NAMES.iter().any(|known| name.starts_with(known));
        let compiled =
            self.operators().iter().filter(|row| is_compiled(&row.name)).map(|row| row.device_ns as f64);
        let device: f64 = self.kernels().iter().map(|row| row.total_ns as f64).sum();
        if device > 0.0 && compiled.sum::<f64>() >= COMPILED * device {
            return true;
        }
        let all: usize = self.kernels().iter().map(|row| row.count).sum();
        let rows = self.kernels().iter().filter(|row| is_generated(row));
        let generated: usize = rows.map(|row| row.count).sum();
        generated > 0 && generated as f64 >= COMPILED * all as f64
    }

    pub(super) fn is_captured(&self) -> bool {
        let all: usize = self.ledger.phases.iter().map(|phase| phase.activities).sum();
        let in_graphs = self.findings.get::<Launches>().map_or(0, |found| found.graph_activities);
        in_graphs as f64 >= CAPTURED * all.max(1) as f64
    }

    pub(super) fn quantised_kernel(&self) -> Option<&KernelStat> {
        let multiplies = |row: &&KernelStat| WEIGHTS.iter().any(|class| row.class == class.as_str());
        self.kernels().iter().filter(multiplies).find(|row| made_by(&row.name).quantized)
    }

    pub(super) fn narrow_cache_kernel(&self) -> Option<&KernelStat> {
        let reads = |row: &&KernelStat| row.class == KernelClass::Attention.as_str();
        self.kernels().iter().filter(reads).find(|row| made_by(&row.name).quantized)
    }
}
