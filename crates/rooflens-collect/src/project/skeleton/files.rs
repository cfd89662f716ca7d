//! The skeleton's files, embedded.

use super::{PackageManager, SkeletonOptions};

/// A file of a new project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkeletonFile {
    /// From the project's folder, with `/` between names.
    pub path: &'static str,
    /// The whole text.
    pub contents: &'static str,
}

/// The files of a new project, sorted by path.
#[must_use]
pub fn files(options: &SkeletonOptions) -> Vec<SkeletonFile> {
    let environment = match options.environment {
        None => None,
        Some(PackageManager::Pixi) => Some(PIXI),
        Some(PackageManager::Pyproject) => Some(PYPROJECT),
    };
    let mut files: Vec<SkeletonFile> = FILES.iter().copied().chain(environment).collect();
    files.sort_unstable_by_key(|file| file.path);
    files
}

macro_rules! file {
    ($path:literal) => {
        SkeletonFile { path: $path, contents: include_str!(concat!("../../../skeleton/", $path)) }
    };
}

const PIXI: SkeletonFile = file!("pixi.toml");
const PYPROJECT: SkeletonFile = file!("pyproject.toml");

/// What every project gets.
const FILES: &[SkeletonFile] = &[
    file!(".gitignore"),
    file!("README.md"),
    file!("bootstrap.yaml"),
    file!("conf/README.md"),
    file!("conf/config.yaml"),
    file!("conf/dataset/omnidocbench.yaml"),
    file!("conf/dataset/sampling/all.yaml"),
    file!("conf/dataset/sampling/few.yaml"),
    file!("conf/dataset/sampling/shuffled.yaml"),
    file!("conf/dataset/starter.yaml"),
    file!("conf/experiment/batch-sweep.yaml"),
    file!("conf/experiment/h100-serving.yaml"),
    file!("conf/experiment/long-decode.yaml"),
    file!("conf/hardware/auto.yaml"),
    file!("conf/hardware/cpu.yaml"),
    file!("conf/hardware/h100.yaml"),
    file!("conf/hardware/mi300x.yaml"),
    file!("conf/hardware/multi_gpu.yaml"),
    file!("conf/hardware/single_gpu.yaml"),
    file!("conf/model/llama3_70b.yaml"),
    file!("conf/model/llama3_70b/arch/default.yaml"),
    file!("conf/model/llama3_70b/infer/greedy.yaml"),
    file!("conf/model/qwen2_5_7b.yaml"),
    file!("conf/model/qwen2_5_7b/arch/default.yaml"),
    file!("conf/model/qwen2_5_7b/infer/greedy.yaml"),
    file!("conf/pipeline/cublas_log/default.yaml"),
    file!("conf/model/deepseek_ocr.yaml"),
    file!("conf/model/deepseek_ocr/arch/default.yaml"),
    file!("conf/model/deepseek_ocr/infer/greedy.yaml"),
    file!("conf/model/tiny-random.yaml"),
    file!("conf/model/tiny-random/arch/default.yaml"),
    file!("conf/model/tiny-random/infer/greedy.yaml"),
    file!("conf/model/tiny-random/infer/sampled.yaml"),
    file!("conf/output/numbers.yaml"),
    file!("conf/output/report.yaml"),
    file!("conf/output/samples/none.yaml"),
    file!("conf/output/samples/predictions.yaml"),
    file!("conf/pipeline/direct_inference/default.yaml"),
    file!("conf/pipeline/ncu/detailed.yaml"),
    file!("conf/pipeline/ncu/roofline.yaml"),
    file!("conf/pipeline/nsys/decode.yaml"),
    file!("conf/pipeline/nsys/prefill.yaml"),
    file!("conf/pipeline/nsys/whole.yaml"),
    file!("conf/pipeline/static_analysis/point.yaml"),
    file!("conf/pipeline/static_analysis/sweep.yaml"),
    file!("conf/pipeline/torch_profiler/detailed.yaml"),
    file!("conf/pipeline/torch_profiler/light.yaml"),
    file!("conf/profiling/full.yaml"),
    file!("conf/profiling/minimal.yaml"),
    file!("conf/profiling/ncu.yaml"),
    file!("conf/profiling/none.yaml"),
    file!("conf/profiling/nsys.yaml"),
    file!("conf/profiling/roofline-only.yaml"),
    file!("conf/profiling/torch.yaml"),
    file!("conf/runtime/command.yaml"),
    file!("conf/runtime/pytorch.yaml"),
    file!("conf/runtime/tensorrtllm.yaml"),
    file!("conf/runtime/vllm.yaml"),
    file!("datasets/.gitignore"),
    file!("datasets/README.md"),
    file!("datasets/starter/README.md"),
    file!("datasets/starter/metadata.yaml"),
    file!("datasets/starter/source-data/1-question.txt"),
    file!("datasets/starter/source-data/2-instruction.txt"),
    file!("datasets/starter/source-data/3-code.txt"),
    file!("datasets/starter/source-data/4-list.txt"),
    file!("datasets/starter/source-data/5-conversation.txt"),
    file!("datasets/starter/source-data/6-report.txt"),
    file!("hardware/README.md"),
    file!("models/.gitignore"),
    file!("models/README.md"),
    file!("models/tiny-random/README.md"),
    file!("models/tiny-random/config.json"),
    file!("models/tiny-random/tokenizer.json"),
    file!("models/tiny-random/tokenizer_config.json"),
    file!("models/tiny-random/weights.random"),
    file!("third_party/README.md"),
    file!("third_party/externals.lock"),
];
