//! The files of the Python package, embedded.

/// A file of the package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageFile {
    /// From the folder that stands on `PYTHONPATH`.
    pub path: &'static str,
    /// The whole text.
    pub contents: &'static str,
}

macro_rules! file {
    ($path:literal) => {
        PackageFile { path: $path, contents: include_str!(concat!("../../python/", $path)) }
    };
}

/// Every file, sorted by path.
pub const FILES: &[PackageFile] = &[
    file!("rooflens/__init__.py"),
    file!("rooflens/__init__.pyi"),
    file!("rooflens/__main__.py"),
    file!("rooflens/_rooflens.pyi"),
    file!("rooflens/devices.py"),
    file!("rooflens/nvtx.py"),
    file!("rooflens/peaks.py"),
    file!("rooflens/probe.py"),
    file!("rooflens/profiling.py"),
    file!("rooflens/py.typed"),
    file!("rooflens/pytest_plugin.py"),
    file!("rooflens/runtimes/__init__.py"),
    file!("rooflens/runtimes/command.py"),
    file!("rooflens/runtimes/engines.py"),
    file!("rooflens/runtimes/pytorch/__init__.py"),
    file!("rooflens/runtimes/pytorch/decode.py"),
    file!("rooflens/runtimes/pytorch/deepseek_ocr.py"),
    file!("rooflens/runtimes/pytorch/inputs.py"),
    file!("rooflens/runtimes/pytorch/memory.py"),
    file!("rooflens/runtimes/pytorch/model.py"),
    file!("rooflens/runtimes/pytorch/profiler.py"),
    file!("rooflens/runtimes/pytorch/ranges.py"),
    file!("rooflens/runtimes/pytorch/sampling.py"),
    file!("rooflens/runtimes/pytorch/weights.py"),
    file!("rooflens/runtimes/tensorrt_llm/__init__.py"),
    file!("rooflens/runtimes/vllm/__init__.py"),
    file!("rooflens/runtimes/vllm/scheduler.py"),
    file!("rooflens/tiny.py"),
    file!("rooflens/workload/__init__.py"),
    file!("rooflens/workload/__main__.py"),
    file!("rooflens/workload/clock.py"),
    file!("rooflens/workload/dataset.py"),
    file!("rooflens/workload/errors.py"),
    file!("rooflens/workload/events.py"),
    file!("rooflens/workload/jsonl.py"),
    file!("rooflens/workload/pictures.py"),
    file!("rooflens/workload/records.py"),
    file!("rooflens/workload/spec.py"),
];
