//! Made sequences: planted layers are found again, kernel by kernel.

use rooflens_schema::RankTables;
use rooflens_schema::tables::ApiKind;

use super::super::{captured, derive_with};
use super::pattern::{Kernel, find};
use crate::kernel_catalog::KernelClass::{self, *};
use crate::sample::{Random, Sample};

/// Kernels by name: the same word is the same kernel. The class is what stands before the colon.
struct Words(Vec<&'static str>);

impl Words {
    fn sequence(&mut self, words: &[&'static str]) -> Vec<Kernel> {
        words
            .iter()
            .map(|word| {
                let known = self.0.iter().position(|known| known == word);
                let name = known.unwrap_or_else(|| {
                    self.0.push(word);
                    self.0.len() - 1
                });
                let class = KernelClass::named(word.split(':').next().unwrap()).unwrap_or(Other);
                Kernel { name: name as u32, class }
            })
            .collect()
    }
}

type Layer = Vec<&'static str>;

fn words(text: &'static str) -> Layer {
    text.split(' ').collect()
}

/// A pass: what stands before, the layers, what stands behind; and what is to be found.
fn pass(
    before: &[&'static str],
    layers: &[Layer],
    behind: &[&'static str],
) -> (Vec<Kernel>, Vec<Option<i32>>) {
    let mut words = before.to_vec();
    let mut truth = vec![None; before.len()];
    for (index, layer) in layers.iter().enumerate() {
        words.extend(layer);
        truth.extend(layer.iter().map(|_| Some(index as i32)));
    }
    words.extend(behind);
    truth.extend(behind.iter().map(|_| None));
    (Words(Vec::new()).sequence(&words), truth)
}

const QWEN: &str = "norm:add gemm:qkv copy:q norm:qk copy:q norm:qk rope kv_cache attention:main attention:reduce \
                    gemm:o norm:add gemm:up activation gemm:down";
const BEFORE: [&str; 3] = ["elementwise:positions", "kv_cache:tables", "embedding"];
const BEHIND: [&str; 4] = ["norm:add", "gemm:head", "elementwise:scale", "sampling:argmax"];

fn qwen(layers: usize) -> Vec<Layer> {
    let mut layers = vec![words(QWEN); layers];
    layers[0][0] = "norm:first";
    layers
}

#[test]
fn thirty_six_layers_of_fifteen() {
    let (sequence, truth) = pass(&BEFORE, &qwen(36), &BEHIND);
    assert_eq!(find(&sequence, true), truth);
}

#[test]
fn one_kernel_more_in_a_layer_and_one_less() {
    let mut layers = qwen(36);
    layers[5].insert(13, "elementwise:fill");
    layers[20].remove(2);
    layers[30].remove(9);
    let (sequence, truth) = pass(&BEFORE, &layers, &BEHIND);
    assert_eq!(find(&sequence, true), truth);
}

/// Twelve times two layers, sliding and full attention, 17 and 18 kernels; a copy that the first layer lacks.
fn alternating() -> Vec<Layer> {
    let sliding = words(
        "norm:add gemm:qkv elementwise:cast rope kv_cache attention:2d gemm:o norm:add gemm:router copy:pad moe:topk \
         moe:sum moe:memset moe:compute moe:up moe:down moe:finalize",
    );
    let mut full = sliding.clone();
    full.splice(5..6, ["attention:3d", "attention:segments"]);
    let mut layers: Vec<Layer> =
        (0..24).map(|i| if i % 2 == 0 { sliding.clone() } else { full.clone() }).collect();
    layers[0][0] = "norm:first";
    layers[0].remove(2);
    layers
}

#[test]
fn alternating_attention_is_two_layers_a_period() {
    let (sequence, truth) = pass(&["copy:input", "elementwise:embed"], &alternating(), &BEHIND);
    assert_eq!(find(&sequence, true), truth);
}

#[test]
fn experts_after_dense_layers() {
    let dense = words(
        "norm:add gemm:qkv_a norm:qk gemm:qkv_b rope attention:mla gemm:o norm:add gemm:up activation gemm:down",
    );
    let routed = words(
        "norm:add gemm:qkv_a norm:qk gemm:qkv_b rope attention:mla gemm:o norm:add gemm:router moe:topk moe:align moe:up \
         activation:moe moe:down moe:sum elementwise:shared",
    );
    let layers: Vec<Layer> = (0..61).map(|i| if i < 3 { dense.clone() } else { routed.clone() }).collect();
    let (sequence, truth) = pass(&BEFORE, &layers, &BEHIND);
    assert_eq!(find(&sequence, true), truth);
}

#[test]
fn one_in_six_layers_is_another() {
    let mut layers = qwen(48);
    for layer in layers.iter_mut().skip(5).step_by(6) {
        layer.splice(8..10, ["attention:global", "attention:merge", "attention:reduce"]);
    }
    let (sequence, truth) = pass(&BEFORE, &layers, &BEHIND);
    assert_eq!(find(&sequence, true), truth);
}

#[test]
fn half_a_layer_is_no_layer() {
    // Norms and additions come evenly, twice a layer.
    let layer = words("norm gemm attention gemm elementwise:add norm gemm activation gemm elementwise:add");
    let (sequence, truth) = pass(&["embedding"], &vec![layer; 12], &["norm", "gemm:head", "sampling"]);
    assert_eq!(find(&sequence, true), truth);
}

#[test]
fn unknown_kernels_repeat_too() {
    let layer = vec!["a", "b", "c", "d", "e", "f", "c"];
    let (sequence, truth) = pass(&["in", "x"], &vec![layer; 12], &["y", "z"]);
    assert_eq!(find(&sequence, true), truth);
}

#[test]
fn several_steps_in_one_sequence_begin_anew() {
    let one = pass(&BEFORE, &qwen(12), &BEHIND);
    for steps in [2, 3, 7] {
        assert_eq!(find(&one.0.repeat(steps), false), one.1.repeat(steps), "{steps} steps");
    }
}

#[test]
fn two_passes_with_other_kernels_are_both_found() {
    let layer =
        "norm:add gemm:big_qkv rope attention:flash gemm:big_o norm:add gemm:big_up activation gemm:big_down";
    let prefill = vec![words(layer); 36];
    let mut sequence = BEFORE.to_vec();
    let mut truth = vec![None; BEFORE.len()];
    for (layers, behind) in [(prefill, &BEHIND[..]), (qwen(36), &BEHIND[..])] {
        for (index, layer) in layers.iter().enumerate() {
            sequence.extend(layer);
            truth.extend(layer.iter().map(|_| Some(index as i32)));
        }
        sequence.extend(behind);
        truth.extend(behind.iter().map(|_| None));
        sequence.push("embedding");
        truth.push(None);
    }
    assert_eq!(find(&Words(Vec::new()).sequence(&sequence), false), truth);
}

#[test]
fn planted_layers_are_found_whatever_their_number_and_what_is_lost() {
    let mut random = Random(7);
    for round in 0..200 {
        let count = 8 + random.below(90) as usize;
        let mut layers = if round % 2 == 0 { qwen(count) } else { alternating()[..24.min(count)].to_vec() };
        // A few kernels are lost; never what marks the edge of a layer, which nothing could tell.
        for _ in 0..random.below(4) {
            let layer = &mut layers[random.below(8) as usize];
            let at = 2 + random.below(layer.len() as u64 - 4) as usize;
            layer.remove(at);
        }
        let before = &BEFORE[..random.below(4) as usize];
        let (sequence, truth) = pass(before, &layers, &BEHIND);
        assert_eq!(find(&sequence, true), truth, "round {round}");
    }
}

#[test]
fn noise_has_no_layers() {
    let mut random = Random(1);
    let noise: Vec<Kernel> =
        (0..5000).map(|_| Kernel { name: random.below(40) as u32, class: Attention }).collect();
    assert!(find(&noise, true).iter().all(Option::is_none));
    assert_eq!(find(&[], true), []);
    let same = vec![Kernel { name: 1, class: Gemm }; 500];
    assert!(find(&same, true).iter().all(Option::is_none));
}

/// A trace of calls, each `(name, kernel, module)`, one a microsecond, and of the kernels of graph launches.
fn trace(calls: &[(&str, Option<&str>, Option<&str>)], replays: &[&[&str]]) -> RankTables {
    let mut sample = Sample::new(0);
    for (at, (call, kernel, module)) in calls.iter().enumerate() {
        let ts = at as i64 * 1000;
        sample.api(1, ts, 500, call, ApiKind::Other, None);
        sample.tables.api.kernel_id[at] = kernel.map(|kernel| sample.tables.names.add(kernel)).into();
        if let Some(module) = module {
            sample.frame(1, ts - 100, 800, &format!("nn.Module: {module}"));
        }
    }
    let mut now = 1_000_000;
    for (replay, kernels) in replays.iter().enumerate() {
        sample.api(1, now, 500, "cudaGraphLaunch", ApiKind::Other, Some(replay as i64));
        for kernel in *kernels {
            now += 1000;
            sample.kernel(0, 7, now, 900, kernel, "other").corr(replay as i64);
        }
    }
    sample.tables
}

fn placed(capture: RankTables, mut replays: RankTables) -> Vec<(Option<i32>, String)> {
    derive_with(&mut replays, Some(&captured(capture)));
    let kernels = &replays.kernels;
    let module = |i: usize| kernels.module_id[i].get().map_or("-", |name| replays.names.get(name)).to_owned();
    (0..kernels.len()).map(|i| (kernels.layer[i].get(), module(i))).collect()
}

const BEGIN: (&str, Option<&str>, Option<&str>) = ("hipStreamBeginCapture", None, None);
const END: (&str, Option<&str>, Option<&str>) = ("hipStreamEndCapture", None, None);

#[test]
fn a_capture_names_the_kernels_of_its_replays() {
    let launch = |kernel, module| ("hipLaunchKernel", Some(kernel), Some(module));
    let capture = trace(
        &[
            // Before the capture: no part of the graph.
            launch("fill", "Warmup_9"),
            BEGIN,
            launch("norm", "DecoderLayer_0"),
            launch("gemm", "DecoderLayer_0"),
            launch("norm", "DecoderLayer_1"),
            launch("gemm", "DecoderLayer_1"),
            launch("head", "Linear_0"),
            END,
        ],
        &[],
    );
    // One kernel is lost in the second replay; the third is of another graph.
    let replays: &[&[&str]] = &[
        &["norm", "gemm", "norm", "gemm", "head"],
        &["norm", "gemm", "norm", "head"],
        &["copy", "copy", "copy"],
    ];
    let found = placed(capture, trace(&[], replays));
    let at = |layer: i32| (Some(layer), format!("DecoderLayer_{layer}"));
    let (head, none) = ((None, "Linear_0".to_owned()), (None, "-".to_owned()));
    let mut truth = vec![at(0), at(0), at(1), at(1), head.clone(), at(0), at(0), at(1), head];
    truth.extend(vec![none; 3]);
    assert_eq!(found, truth);
}

#[test]
fn graphs_of_the_same_kernels_are_told_apart_by_their_order() {
    let layers = ["Block_0", "Block_1", "Block_2"];
    let piece = |module| [BEGIN, ("hipLaunchKernel", Some("gemm"), Some(module)), END];
    let capture = trace(&layers.map(piece).concat(), &[]);
    let replay: &[&str] = &["gemm"];
    let found = placed(capture, trace(&[], &[replay; 6]));
    let layers: Vec<Option<i32>> = found.into_iter().map(|(layer, _)| layer).collect();
    assert_eq!(layers, [0, 1, 2, 0, 1, 2].map(Some));
}

#[test]
fn without_names_the_number_of_launches_must_be_right() {
    let launch = |module| ("cudaLaunchKernel", None, Some(module));
    let calls = [BEGIN, launch("Layer_0"), launch("Layer_1"), END];
    let replays: &[&[&str]] = &[&["a", "b"], &["a", "b", "c"]];
    let found = placed(trace(&calls, &[]), trace(&[], replays));
    let layers: Vec<Option<i32>> = found.into_iter().map(|(layer, _)| layer).collect();
    assert_eq!(layers, [Some(0), Some(1), None, None, None]);
}
