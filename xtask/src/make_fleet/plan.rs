//! What each run of the fleet is: where, when, which model and build, and what is planted in it.
//!
//! Two kinds of runs. A quarter of the time into the fleet, most runs begin to be those of a laboratory, which runs one
//! model on one kind of hardware with four builds of the same version in turn; differences of builds are planted there
//! and nothing else. The other runs are of all models, hardware and runtimes, and hold slow ranks, a throttled node,
//! a release that renames a kernel, and a version that launches more.

use super::kernels::{DECODE_ACTIVATION, DECODE_ATTENTION, PREFILL_GEMM};

/// Ranks of every run.
pub(super) const RANKS: i32 = 8;
/// A kind of hardware: name, speed relative to the first, architecture in names of kernels, highest clock.
pub(super) const HARDWARE: [(&str, f64, &str, i32); 3] = [
    ("NVIDIA H100 80GB HBM3", 1.0, "hsh", 1980),
    ("NVIDIA H200", 1.15, "h200", 1980),
    ("NVIDIA B200", 1.9, "bsh", 1965),
];
/// A model: name, size relative to the first.
pub(super) const MODELS: [(&str, f64); 3] = [
    ("meta-llama/Llama-3.3-70B-Instruct", 1.0),
    ("Qwen/Qwen3-32B", 0.55),
    ("deepseek-ai/DeepSeek-V3.2", 1.4),
];
/// Where builds are compared: hardware and model.
pub(super) const LABORATORY: (usize, usize) = (0, 0);
/// Label of the release.
pub(super) const RELEASE: &str = "release-26.1";
/// The node that is throttled.
pub(super) const HOT_NODE: &str = "node-100";
/// Nodes with a slow device.
const SLOW_NODES: [&str; 2] = ["node-017", "node-042"];
const NODES: u64 = 125;

/// Builds of the laboratory. The first is the base, the second differs from it in nothing.
pub(super) const BUILDS: [&str; 4] =
    ["0.21.0+g1a2b3c4", "0.21.0+g5d6e7f8", "0.21.0+g9abcdef", "0.21.0+g0fedcba"];

/// A change that a build brings: build, part of the kernel's name, whether in decode, factor of its time.
pub(super) const CHANGES: [(usize, &str, bool, f64); 3] =
    [(2, DECODE_ATTENTION, true, 1.12), (3, PREFILL_GEMM, false, 1.06), (3, DECODE_ACTIVATION, true, 0.93)];

#[derive(Debug, Clone)]
pub(super) struct RunPlan {
    pub(super) number: u64,
    pub(super) tenant: &'static str,
    pub(super) start_unix_ns: i64,
    pub(super) hardware: usize,
    pub(super) model: usize,
    pub(super) runtime: &'static str,
    pub(super) version: &'static str,
    pub(super) build: &'static str,
    pub(super) label: Option<&'static str>,
    pub(super) node: String,
    pub(super) slow_rank: Option<i32>,
    pub(super) is_throttled: bool,
    pub(super) is_renamed: bool,
    /// Calls of the unfused kernel that a decode step has more than usual.
    pub(super) more_launches: i32,
    /// Place of its build in [`BUILDS`], for a run of the laboratory.
    pub(super) lab_build: Option<usize>,
    pub(super) is_load_test: bool,
}

const DAY_NS: i64 = 86_400_000_000_000;
/// 2026-10-01, a Thursday.
const FIRST_DAY_UNIX_NS: i64 = 1_790_812_800_000_000_000;

/// The plan of the run of this number, of so many, over so many days.
pub(super) fn plan(number: u64, runs: u64, days: u64) -> RunPlan {
    let early = runs / 4;
    let is_early = number < early;
    // From then on three of five runs are the laboratory's.
    let lab_build = (!is_early && number % 5 < 3).then_some(((number / 5 * 3 + number % 5) % 4) as usize);
    // Combinations in turn, by a stride that has no factor in common with their number.
    let turn = if is_early { number } else { number / 5 * 2 + number % 5 };
    let combination = (turn * 7) % 18;
    let (hardware, model) = match lab_build {
        Some(_) => LABORATORY,
        None => ((combination % 3) as usize, (combination / 3 % 3) as usize),
    };
    let is_vllm = lab_build.is_some() || combination < 9;
    // A build from before the release, run 0 among them, which some keep running.
    let is_old = lab_build.is_none() && is_vllm && number.is_multiple_of(13);
    let (runtime, version, build, label) = match (lab_build, is_vllm, is_old, is_early) {
        (Some(build), ..) => ("vllm", "0.21.0", BUILDS[build], None),
        (None, true, true, _) => ("vllm", "0.20.1", "0.20.1", None),
        (None, true, false, true) => ("vllm", "0.20.2", "0.20.2", Some(RELEASE)),
        (None, true, false, false) => ("vllm", "0.21.0", "0.21.0", None),
        (None, false, _, true) => ("sglang", "0.6.0", "0.6.0", None),
        (None, false, _, false) => ("sglang", "0.6.1", "0.6.1", None),
    };
    let is_throttled = lab_build.is_none() && number % 19 == 3;
    let slow = lab_build.is_none() && !is_throttled && number % 7 == 5;
    let node = match (is_throttled, slow) {
        (true, _) => HOT_NODE.to_owned(),
        (false, true) => SLOW_NODES[(number / 7 % 2) as usize].to_owned(),
        (false, false) => match (number * 37 + 11) % NODES {
            // Healthy runs never land on the throttled node.
            100 => "node-101".to_owned(),
            node => format!("node-{node:03}"),
        },
    };
    let span_ns = days as i64 * DAY_NS;
    let start_unix_ns = FIRST_DAY_UNIX_NS
        + (i128::from(span_ns) * i128::from(number) / i128::from(runs.max(1))) as i64
        + 1_000_003 * (number as i64 % 997);
    RunPlan {
        number,
        tenant: if number % 4 == 1 { "research" } else { "production" },
        start_unix_ns,
        hardware,
        model,
        runtime,
        version,
        build,
        label,
        node,
        slow_rank: slow.then_some((number * 3 % RANKS as u64) as i32),
        is_throttled,
        is_renamed: version == "0.21.0",
        more_launches: if version == "0.6.1" { 14 } else { 0 },
        lab_build,
        is_load_test: number / 3 % 3 == number % 3,
    }
}

impl RunPlan {
    pub(super) fn change(&self, kernel: &str, is_decode: bool) -> f64 {
        let of_build = CHANGES.iter().filter(|(build, ..)| self.lab_build == Some(*build));
        let matching =
            of_build.filter(|(_, part, in_decode, _)| *in_decode == is_decode && kernel.contains(part));
        matching.map(|(.., factor)| factor).product()
    }
}
