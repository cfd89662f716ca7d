//! What kind of work a span on a host thread is, by its name.

use rooflens_schema::tables::ApiKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a host thread did during most of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// Inside a framework operator.
    Operator,
    /// Inside an annotated range (NVTX, `record_function`).
    Annotation,
    /// Inside a Python function.
    Python,
    /// In a call of the CUDA or HIP runtime or driver.
    RuntimeCall,
    /// In a call that waits for the device.
    Synchronization,
    /// In a call of the operating system.
    SystemCall,
    /// Compiling kernels or loading their modules.
    Compilation,
    /// Capturing a graph.
    GraphCapture,
    /// Collecting garbage in Python.
    GarbageCollection,
    /// Handling page faults.
    PageFault,
    /// The profiler's own work.
    ProfilerOverhead,
    /// In many calls, of which none covers half of the gap.
    ManyCalls,
    /// In nothing that the trace recorded.
    NothingRecorded,
}

impl HostKind {
    /// In a sentence: "the longest gap is …".
    pub fn word(self) -> &'static str {
        match self {
            HostKind::Operator => "inside an operator",
            HostKind::Annotation => "inside an annotated range",
            HostKind::Python => "Python code",
            HostKind::RuntimeCall => "inside a runtime call",
            HostKind::Synchronization => "waiting for the device",
            HostKind::SystemCall => "inside a system call",
            HostKind::Compilation => "kernel compilation or loading",
            HostKind::GraphCapture => "capture of a graph",
            HostKind::GarbageCollection => "Python garbage collection",
            HostKind::PageFault => "page faults",
            HostKind::ProfilerOverhead => "profiler overhead",
            HostKind::ManyCalls => "spread over many short calls",
            HostKind::NothingRecorded => "nothing recorded",
        }
    }

    /// Whether steps that are run again do without it.
    pub(crate) fn is_once(self) -> bool {
        matches!(self, HostKind::Compilation | HostKind::GraphCapture)
    }

    /// Whether it says more than the call inside it: compilation that waits for a subprocess is compilation.
    pub(crate) fn is_specific(self) -> bool {
        matches!(
            self,
            HostKind::Compilation
                | HostKind::GraphCapture
                | HostKind::GarbageCollection
                | HostKind::PageFault
                | HostKind::ProfilerOverhead
        )
    }
}

pub(crate) fn of_call(kind: ApiKind, name: &str) -> HostKind {
    match kind {
        // CUPTI counts the loading and compiling that a launch brings about as overhead.
        ApiKind::Overhead if has(name, &["loading", "driver compiler"]) => HostKind::Compilation,
        ApiKind::Overhead => HostKind::ProfilerOverhead,
        ApiKind::Sync => HostKind::Synchronization,
        ApiKind::System => HostKind::SystemCall,
        _ => of_name(name).unwrap_or(HostKind::RuntimeCall),
    }
}

pub(crate) fn of_name(name: &str) -> Option<HostKind> {
    if has(name, &["nvrtc", "ptxas", "nvjitlink", "moduleload", "libraryload", "kernelgetfunction"])
        || compiles(name)
    {
        return Some(HostKind::Compilation);
    }
    if has(name, &["cudagraphnode.record", "capture_begin", "capture_end", "graphinstantiate"]) {
        return Some(HostKind::GraphCapture);
    }
    if has(name, &["gc.collect", "garbage collect", "python gc"]) {
        return Some(HostKind::GarbageCollection);
    }
    has(name, &["page fault", "page_fault", "pagefault"]).then_some(HostKind::PageFault)
}

/// Packages whose functions compile kernels.
const COMPILERS: &[&str] =
    &["torch/", "triton/", "tilelang/", "tvm/", "/jit/", "numba/", "jax/", "cutlass/", "nvrtc"];

/// The kind of a Python frame, `path/file.py(line): function`. Paths name packages, not what a function does: compiled
/// code runs inside of `torch/_dynamo` and `torch/_inductor` too.
pub(crate) fn of_frame(name: &str) -> HostKind {
    let (path, function) = name.rsplit_once("): ").unwrap_or(("", name));
    if has(function, &["built-in function collect", "gc.collect"]) || path.contains("gc_utils.py") {
        return HostKind::GarbageCollection;
    }
    let captures =
        function.trim_start_matches('_').starts_with("capture") && has(name, &["graph", "capture_model"]);
    if captures || (path.contains("cudagraph_trees.py") && matches!(function, "_record" | "record_function"))
    {
        return HostKind::GraphCapture;
    }
    // Warm-up and dispatch run what was compiled. Any code may call something `compile`: only that of compilers does.
    let compiles = COMPILERS.iter().any(|package| path.contains(package))
        && compiles(function)
        && !has(function, &["wrapper", "warm", "maybe_", "end_compile"]);
    // A frame of `triton/compiler` in which a cache holds the kernel is too short to cover a gap.
    let triton = ["triton/compiler/compiler.py", "triton/compiler/code_generator.py", "triton/backends/"];
    let inductor =
        ["_inductor/graph.py", "_inductor/scheduler.py", "_inductor/codegen/", "_inductor/codecache.py"];
    if compiles || triton.iter().chain(&inductor).any(|part| path.contains(part)) {
        return HostKind::Compilation;
    }
    HostKind::Python
}

fn compiles(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let found = name.match_indices("compil").any(|(at, word)| {
        let rest = &name[at + word.len()..];
        !name[..at].ends_with("pre")
            && (rest.starts_with("ation")
                || (rest.starts_with('e') && !rest.starts_with("ed") && !rest.starts_with("er")))
    });
    found && !name.contains("is_compil")
}

fn has(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    words.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_name() {
        use HostKind::{Compilation, GarbageCollection, PageFault, ProfilerOverhead, Python, RuntimeCall};
        for (kind, name, expected) in [
            (ApiKind::Launch, "cudaLaunchKernel", RuntimeCall),
            (ApiKind::Other, "cuLibraryLoadData", Compilation),
            (ApiKind::Other, "hipModuleLoadData", Compilation),
            (ApiKind::Overhead, "Lazy Function Loading", Compilation),
            (ApiKind::Overhead, "Activity Buffer Request", ProfilerOverhead),
            (ApiKind::Sync, "cudaStreamSynchronize", HostKind::Synchronization),
        ] {
            assert_eq!(of_call(kind, name), expected, "{name}");
        }
        for (name, expected) in [
            ("executor_utils::Nvrtc::CompileProgram", Some(Compilation)),
            ("KernelExecutor::compileFusion", Some(Compilation)),
            ("CompiledFunctionBackward", None),
            ("Torch-Compiled Region: 0/0", None),
            ("cudnn::engines_precompiled", None),
            ("aten::addmm", None),
            ("Python GC: generation 2", Some(GarbageCollection)),
            ("do_page_fault", Some(PageFault)),
        ] {
            assert_eq!(of_name(name), expected, "{name}");
        }
        for (name, expected) in [
            ("triton/compiler/compiler.py(226): compile", Compilation),
            ("torch/_inductor/compile_fx.py(635): compile_fx_inner", Compilation),
            ("torch/_dynamo/eval_frame.py(791): compile_wrapper", Python),
            ("torch/compiler/__init__.py(436): is_compiling", Python),
            ("torch/_compile.py(41): inner", Python),
            ("vllm/v1/worker/gpu_worker.py(522): compile_or_warm_up_model", Python),
            ("triton/runtime/jit.py(574): run", Python),
            ("<built-in function collect>", GarbageCollection),
            ("base_model.py(510): _compile_model", Python),
            ("torch/_inductor/cudagraph_trees.py(1230): _record", HostKind::GraphCapture),
            ("vllm/v1/worker/gpu_model_runner.py(4000): capture_model", HostKind::GraphCapture),
            ("sglang/srt/model_executor/cuda_graph_runner.py(500): capture", HostKind::GraphCapture),
            ("threading.py(359): wait", Python),
        ] {
            assert_eq!(of_frame(name), expected, "{name}");
        }
    }
}
