//! How long a sweep takes: 10,000 points of a model with 61 layers and 256 experts, on one core.
//!
//! `cargo bench -p rooflens-cost` prints it, and fails where the points take a second.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench says what it measured")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use rooflens_cost::document::EstimateDocument;
use rooflens_cost::estimate::Estimate;
use rooflens_cost::figures::Figures;
use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::model::Model;
use rooflens_cost::setup::Setup;
use rooflens_cost::sweep::summary;
use rooflens_cost::workload::Workload;

/// The dimensions of DeepSeek-V3.
const CONFIG: &[u8] = br#"{"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432,
    "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
    "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}"#;

/// What 10,000 points may take.
const MOST: Duration = Duration::from_secs(1);
const BATCHES: u64 = 50;
const CONTEXTS: u64 = 20;
const DEVICES: usize = 10;

/// The middle of some runs, in microseconds.
fn middle(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<Duration> = (0..101)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn main() {
    // `cargo test --benches` asks for a quick look only, and does not optimise.
    let measures = std::env::args().any(|argument| argument == "--bench");
    let model = Model::from_json(CONFIG).unwrap();
    let setup = Setup::default();
    let with_figures = |device: &'static Device| Figures::on(device, &setup).map(|figures| (device, figures));
    let devices: Vec<(&Device, Figures)> =
        Catalog::embedded().devices().iter().filter_map(with_figures).take(DEVICES).collect();

    let mut points = 0;
    let mut buffer = Vec::new();
    let begin = Instant::now();
    for (device, figures) in &devices {
        for context in 1..=CONTEXTS {
            for batch in 1..=BATCHES {
                let workload = Workload::decode(batch * 4, context * 1024);
                let point = summary(&model, figures, &workload, Some(device), &mut buffer).unwrap();
                black_box(point);
                points += 1;
            }
        }
    }
    let took = begin.elapsed();
    println!(
        "{points} points in {:.3} s, {:.2} µs a point",
        took.as_secs_f64(),
        took.as_secs_f64() * 1e6 / f64::from(points)
    );
    assert_eq!(points, 10_000);

    let h100 = Catalog::embedded().find("H100 SXM").unwrap();
    let workload = Workload::decode(64, 4096);
    println!("reading the config: {:.0} µs", middle(|| drop(black_box(Model::from_json(CONFIG).unwrap()))));
    let document = || {
        let estimate = Estimate::new(&model, &setup, &workload, Some(h100)).unwrap();
        EstimateDocument::new(&model, &setup, &workload, Some(h100), &estimate)
    };
    println!("an estimate and its document: {:.0} µs", middle(|| drop(black_box(document()))));
    assert!(!measures || took < MOST, "{points} points took {took:?}, more than {MOST:?}");
}
