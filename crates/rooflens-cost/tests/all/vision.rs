//! Vision towers: parameters and FLOPs as Transformers 5.22.2 has them.
//!
//! The expected numbers were made by building each tower on the meta device from the config given here and
//! running it under `torch.utils.flop_counter.FlopCounterMode` with eager attention; those of DeepSeek-OCR are
//! published ones, read from the corpus.

use rooflens_cost::config::{Keys, parse};
use rooflens_cost::parallel::Parallel;
use rooflens_cost::step::Step;
use rooflens_cost::vision::{
    Images, Tower, View, deepseek_ocr, gemma, kimi_k25, lfm2_vl, mllama, qwen_vl, step3p7,
};
use serde_json::Value;

use crate::common::{assert_none, corpus, goldens, model, pass, read, tally};

fn tower<T>(config: &str, read: impl FnOnce(&Keys) -> T) -> T {
    let config = parse(config.as_bytes()).unwrap();
    read(&Keys::new(&config, ""))
}

fn counted(tower: &Tower, passes: &[(usize, u64, Step)]) -> u128 {
    let mut operators = Vec::new();
    let mut sum = 0;
    for (stage, layers, step) in passes {
        operators.clear();
        for unit in &tower.stages[*stage].units {
            unit.operators(&pass(*step, Parallel::NONE, 0), &mut operators);
        }
        let flops: u128 = operators.iter().map(|operator| operator.work.flops.as_counted).sum();
        sum += flops * u128::from(*layers);
    }
    sum
}

/// FLOPs of images that the tower cuts by itself.
fn flops(tower: &Tower, images: Images) -> u128 {
    counted(tower, &tower.passes(&images).unwrap())
}

/// FLOPs of one image of `rows` × `columns` patches.
fn grid(tower: &Tower, rows: u64, columns: u64) -> u128 {
    counted(tower, &tower.look(&[View { images: 1, rows, columns }]))
}

fn sized(count: u64, width: u64, height: u64) -> Images {
    Images { width: Some(width), height: Some(height), ..Images::new(count) }
}

#[test]
fn qwen2_5_vl_has_windows() {
    let tower = tower(
        r#"{"vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16,
        "out_hidden_size": 2048, "patch_size": 14, "spatial_merge_size": 2, "window_size": 112,
        "fullatt_block_indexes": [7, 15, 23, 31], "temporal_patch_size": 2}}"#,
        qwen_vl::qwen2_5_vl,
    );
    let tower = tower.unwrap().unwrap();
    assert_eq!(tower.parameters(), 668_684_288);
    assert_eq!(grid(&tower, 16, 16), 331_701_288_960);
    assert_eq!(grid(&tower, 46, 62), 3_845_523_619_840);
    assert_eq!(grid(&tower, 34, 20), 886_114_713_600);
    assert_eq!(grid(&tower, 74, 54), 5_481_983_262_720);
    // 46 patches of 14 pixels are 644; 640 is nearest to that of all multiples of 28.
    assert_eq!(flops(&tower, sized(1, 868, 640)), 3_845_523_619_840);
    assert_eq!(tower.tokens(&sized(3, 868, 640)).unwrap(), 3 * 23 * 31);
    assert!(tower.passes(&Images::new(1)).unwrap_err().contains("any size"));
}

#[test]
fn qwen2_vl() {
    let tower = tower(r#"{"vision_config": {}}"#, qwen_vl::qwen2_vl).unwrap().unwrap();
    assert_eq!(tower.parameters(), 675_759_104);
    assert_eq!(grid(&tower, 16, 16), 339_334_922_240);
    assert_eq!(grid(&tower, 34, 20), 948_596_736_000);
}

#[test]
fn qwen3_vl_has_three_more_mergers_than_qwen3_5() {
    let config = r#"{"vision_config": {"deepstack_visual_indexes": [8, 16, 24], "depth": 27,
        "hidden_size": 1152, "in_channels": 3, "intermediate_size": 4304, "num_heads": 16,
        "num_position_embeddings": 2304, "out_hidden_size": 4096, "patch_size": 16,
        "spatial_merge_size": 2, "temporal_patch_size": 2}}"#;
    let with = tower(config, qwen_vl::qwen3_vl).unwrap().unwrap();
    assert_eq!(with.parameters(), 576_388_336);
    assert_eq!(grid(&with, 16, 16), 240_063_086_592);
    assert_eq!(grid(&with, 46, 62), 3_595_603_009_536);
    // Positions were learnt for 48 × 48.
    assert_eq!(flops(&with, Images::new(2)), 2 * 2_747_636_121_600);
    assert_eq!(with.tokens(&Images::new(2)).unwrap(), 2 * 576);

    let config = r#"{"vision_config": {"out_hidden_size": 5120}}"#;
    let without = tower(config, qwen_vl::qwen3_5).unwrap().unwrap();
    assert_eq!(without.parameters(), 460_730_096);
    assert_eq!(grid(&without, 16, 16), 225_265_582_080);
    assert_eq!(grid(&without, 48, 48), 2_614_458_580_992);
}

#[test]
fn mllama_runs_four_tiles() {
    let config = r#"{"vision_config": {"image_size": 560, "vision_output_dim": 7680}}"#;
    let tower = tower(config, |root| mllama::read(root, 4096)).unwrap().unwrap();
    assert_eq!(tower.parameters(), 863_567_379);
    assert_eq!(tower.connector_parameters(), 31_461_376);
    assert_eq!(flops(&tower, Images::new(1)), 19_001_986_418_688);
    assert_eq!(flops(&tower, sized(2, 300, 900)), 38_003_972_837_376);
    assert_eq!(tower.tokens(&Images::new(1)).unwrap(), 4 * 1601);
}

#[test]
fn gemma3_is_siglip() {
    let config = r#"{"mm_tokens_per_image": 256, "vision_config": {"hidden_size": 1152, "image_size": 896,
        "intermediate_size": 4304, "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14,
        "vision_use_head": false}}"#;
    for (hidden, connector, flops_of_one) in
        [(2560, 2_950_272, 5_461_902_360_576_u128), (5376, 6_194_304, 5_463_563_304_960)]
    {
        let tower = tower(config, |root| gemma::gemma3(root, hidden)).unwrap().unwrap();
        assert_eq!(tower.parameters(), 416_866_032);
        assert_eq!(tower.connector_parameters(), connector);
        assert_eq!(flops(&tower, sized(1, 4000, 3000)), flops_of_one);
        assert_eq!(flops(&tower, Images { crops: Some(2), ..Images::new(1) }), 3 * flops_of_one);
        assert_eq!(tower.tokens(&Images::new(3)).unwrap(), 768);
    }
}

#[test]
fn gemma4_pools_nine_patches() {
    let config = r#"{"vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "head_dim": 72,
        "num_attention_heads": 16, "num_key_value_heads": 16, "num_hidden_layers": 27,
        "default_output_length": 280}}"#;
    let large = tower(config, |root| gemma::gemma4(root, 2816)).unwrap().unwrap();
    assert_eq!(large.parameters(), 572_792_112);
    assert_eq!(large.connector_parameters(), 0);
    assert_eq!(grid(&large, 6, 9), 59_351_768_064);
    assert_eq!(grid(&large, 48, 48), 3_178_641_752_064);
    // 16 × 16 tokens are the largest square of at most 280.
    assert_eq!(flops(&large, Images::new(1)), 3_178_641_752_064);
    assert_eq!(large.tokens(&sized(1, 700, 700)).unwrap(), 256);
    assert_eq!(large.tokens(&sized(1, 65_536, 1)).unwrap(), 280);

    let config = r#"{"vision_config": {}, "audio_config": {}}"#;
    let small = tower(config, |root| gemma::gemma4(root, 1536)).unwrap().unwrap();
    assert_eq!(small.parameters(), 168_544_256);
    assert_eq!(small.connector_parameters(), 304_824_608 + 2_359_296);
    assert_eq!(grid(&small, 6, 9), 16_529_135_616);
    assert_eq!(grid(&small, 48, 48), 960_931_823_616);
}

#[test]
fn kimi_k25_reads_both_spellings() {
    for config in [
        r#"{"vision_config": {}}"#,
        r#"{"vision_config": {"vt_hidden_size": 1152, "vt_intermediate_size": 4304, "patch_size": 14,
        "vt_num_attention_heads": 16, "vt_num_hidden_layers": 27, "init_pos_emb_height": 64,
        "init_pos_emb_width": 64, "merge_kernel_size": [2, 2]}}"#,
    ] {
        let tower = tower(config, |root| kimi_k25::read(root, 7168)).unwrap().unwrap();
        assert_eq!(tower.parameters(), 416_866_032);
        assert_eq!(tower.connector_parameters(), 54_277_888);
        assert_eq!(grid(&tower, 16, 16), 225_914_388_480);
        assert_eq!(grid(&tower, 64, 46), 3_582_577_999_872);
        assert_eq!(tower.tokens(&sized(1, 600, 896)).unwrap(), 32 * 22);
    }
}

#[test]
fn lfm2_vl_tiles_large_images() {
    let config = r#"{"projector_hidden_size": 2048, "projector_use_layernorm": false, "vision_config": {
        "hidden_size": 1152, "intermediate_size": 4304, "num_attention_heads": 16, "num_hidden_layers": 27,
        "num_patches": 256, "patch_size": 16, "vision_use_head": false}}"#;
    let tower = tower(config, |root| lfm2_vl::read(root, 2048)).unwrap().unwrap();
    assert_eq!(tower.parameters(), 412_649_712);
    assert_eq!(tower.connector_parameters(), 13_635_584);
    assert_eq!(grid(&tower, 6, 8), 40_161_509_376);
    assert_eq!(grid(&tower, 32, 32), 981_123_203_072);
    assert_eq!(flops(&tower, Images::new(1)), 981_123_203_072);
    // Six tiles of 512 pixels, and a thumbnail.
    assert_eq!(tower.tokens(&sized(1, 1536, 1024)).unwrap(), 6 * 256 + 19 * 13);
}

#[test]
fn step3p7_has_a_tower_of_its_own() {
    let tower = tower("{}", |root| step3p7::read(root, 4096)).unwrap();
    assert_eq!(tower.parameters(), 1_955_848_960);
    assert_eq!(tower.connector_parameters(), 25_165_824);
    assert_eq!(flops(&tower, sized(1, 1000, 1000)), 11_634_513_346_560);
    let crops = Images { crops: Some(2), ..Images::new(1) };
    assert_eq!(flops(&tower, crops), 11_634_513_346_560 + 10_098_741_215_232);
    assert_eq!(tower.tokens(&crops).unwrap(), 169 + 2 * 81);
}

/// What the processors' own functions make of sizes: `smart_resize` of Qwen2-VL without limits,
/// `get_aspect_ratio_preserving_size` of Gemma 4 for 280 tokens, `smart_resize` and `_get_grid_layout` of
/// LFM2-VL.
#[test]
fn sizes_become_tokens_as_by_the_processors() {
    let config = r#"{"vision_config": {"vision_use_head": false}}"#;
    let towers = tower(config, |root| {
        [qwen_vl::qwen2_5_vl(root), gemma::gemma4(root, 64), lfm2_vl::read(root, 64)]
            .map(|tower| tower.unwrap().unwrap())
    });
    for (width, height, tokens) in [
        (640, 480, [391, 266, 234]),
        (1920, 1080, [2691, 264, 2300]),
        (512, 512, [324, 256, 256]),
        (100, 80, [12, 252, 72]),
        (1500, 1000, [1944, 260, 1783]),
        (3000, 4000, [15_301, 266, 1770]),
        (1024, 1024, [1369, 256, 1280]),
        (700, 500, [450, 266, 234]),
        (33, 900, [32, 261, 84]),
        (4032, 3024, [15_552, 266, 1770]),
    ] {
        let found = towers.each_ref().map(|tower| tower.tokens(&sized(1, width, height)).unwrap());
        assert_eq!(found, tokens, "{width} × {height}");
    }
}

/// The goldens of `oracles/transformers_cost.py` that have images.
#[test]
fn goldens_of_small_towers() {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (name, golden) in goldens() {
        let Some(seen) = golden.get("vision").and_then(Value::as_array) else { continue };
        let model = model(&golden["config"].to_string());
        // No tower is read for this family: its class for text leaves images out.
        if model.family == "llama4" {
            continue;
        }
        let tower = model.vision.as_ref().unwrap_or_else(|| panic!("{name} has no tower"));
        let encoder = if model.vision_is_apart { 0 } else { tower.parameters() };
        if encoder != u128::from(golden["params"]["vision"].as_u64().unwrap()) {
            wrong.push(format!("{name}: {encoder} parameters, wanted {}", golden["params"]["vision"]));
        }
        for image in seen {
            let size = &image["image"];
            let passes = match size["grid"].as_array() {
                Some(grid) => {
                    let [images, rows, columns] = [0, 1, 2].map(|i| grid[i].as_u64().unwrap());
                    tower.look(&[View { images, rows, columns }])
                }
                None => tower.passes(&Images::new(1)).unwrap(),
            };
            let (found, wanted) = (counted(tower, &passes), image["flops"]["total"].as_u64().unwrap());
            if found != u128::from(wanted) {
                wrong.push(format!("{name} {size}: {found}, wanted {wanted}"));
            }
            compared += 1;
        }
    }
    assert_none(&wrong);
    assert!(compared >= 40, "only {compared} images");
}

const DEEPSEEK_OCR: &str = r#"{"vision_config": {"width": {"sam_vit_b": {"width": 768, "layers": 12,
    "heads": 12, "global_attn_indexes": [2, 5, 8, 11], "downsample_channels": [512, 1024]},
    "clip-l-14-224": {"width": 1024, "layers": 24, "heads": 16, "patch_size": 14, "image_size": 224}}}}"#;

#[test]
fn deepseek_ocr_costs_the_same_for_each_crop() {
    let tower = tower(DEEPSEEK_OCR, |root| deepseek_ocr::read(root, 1280)).unwrap().unwrap();
    assert_eq!(tower.parameters(), 401_372_160);
    let of = |crops| Images { crops: Some(crops), ..Images::new(1) };
    assert_eq!(flops(&tower, of(2)), 1_916_266_708_992);
    for crops in 0..=390 {
        assert_eq!(flops(&tower, of(crops)), 1_139_967_033_344 + u128::from(crops) * 388_149_837_824);
    }
    // By size: 3 × 2 crops are nearest to 1500 × 1000, and small images need none.
    assert_eq!(tower.tokens(&sized(1, 1500, 1000)).unwrap(), 893);
    assert_eq!(tower.tokens(&sized(1, 640, 480)).unwrap(), 273);
    assert_eq!(tower.tokens(&of(390)).unwrap(), 39_423);
    assert_eq!(tower.tokens(&Images { crops: Some(2), ..sized(1, 640, 1280) }).unwrap(), 273 + 220);
}

/// Published values of the reference system's sweeps, which it counted by `FlopCounterMode`.
#[test]
#[ignore = "needs the corpus"]
fn deepseek_ocr_is_as_published() {
    let folder = corpus();
    let sweeps = folder.join("llm-perf-opt/reports/sweep/20251128-152354");
    let points = |path: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(sweeps.join(path)).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["points"].as_array().unwrap().clone()
    };
    let model = read(&folder.join("configs/deepseek-ai--DeepSeek-OCR.derived.json")).unwrap();
    let tower = model.vision.as_ref().expect("the family has the tower");
    let number = |point: &Value, key: &str| point[key].as_u64().unwrap();
    let images = |point: &Value| {
        let crops = number(point, "height_crop_num") * number(point, "width_crop_num");
        Images { crops: Some(crops), ..Images::new(1) }
    };
    // Written as 10¹² FLOPs, to the FLOP.
    let exactly =
        |tera: &Value| tera.as_f64().filter(|tera| *tera > 0.0).map(|tera| (tera * 1e12).round() as u128);

    let mut compared = (0, 0, 0);
    for point in points("vision_crops/vision_sweep.json") {
        assert_eq!(tower.tokens(&images(&point)).unwrap(), number(&point, "image_tokens_total"));
        if let Some(published) = exactly(&point["stage_costs"]["vision_vendor"]["flops_tflops"]) {
            assert_eq!(flops(tower, images(&point)), published);
            compared.0 += 1;
        }
    }
    for point in points("e2e_vision_prefill/e2e_vision_prefill_sweep.json") {
        if let Some(published) = exactly(&point["prefill"]["vendor_tflops"]) {
            let prefill = tally(&model, Step::prefill(1, number(&point, "context_len"), 0));
            assert_eq!(flops(tower, images(&point)) + prefill.work().flops.as_counted, published);
            compared.1 += 1;
        }
    }
    for point in points("e2e_decode/e2e_decode_sweep.json") {
        if let Some(published) = exactly(&point["decode"]["vendor_tflops"]) {
            let step =
                |i| tally(&model, Step::decode(1, number(&point, "context_len") + i)).work().flops.as_counted;
            assert_eq!((0..number(&point, "decode_steps")).map(step).sum::<u128>(), published);
            compared.2 += 1;
        }
    }
    assert_eq!(compared, (8, 8, 8));
}

#[test]
fn nonsense_is_refused_and_never_panics() {
    let config = |key: &str, value: &str| format!(r#"{{"vision_config": {{"{key}": {value}}}}}"#);
    let keys = "hidden_size num_heads num_attention_heads attention_heads patch_size image_size spatial_merge_size window_size \
        depth num_hidden_layers pooling_kernel_size default_output_length max_num_tiles merge_kernel_size head_dim \
        num_position_embeddings intermediate_size temporal_patch_size in_channels num_channels mlp_ratio embed_dim";
    let values = ["0", "1", "3", "-1", "67108864", "1e300", "null", "\"x\"", "[]", "[7, 7]", "2.5"];
    let images = [
        Images::new(1),
        Images::new(4096),
        sized(1, 1, 1),
        sized(4096, 65_536, 65_536),
        sized(1, 1, 65_536),
        Images { crops: Some(4096), ..sized(4096, 65_536, 1) },
        Images { crops: Some(0), ..Images::new(1) },
    ];
    for key in keys.split(' ') {
        for value in values {
            let towers = tower(&config(key, value), |root| {
                [
                    qwen_vl::qwen2_vl(root),
                    qwen_vl::qwen2_5_vl(root),
                    qwen_vl::qwen3_vl(root),
                    mllama::read(root, 4096),
                    gemma::gemma3(root, 4096),
                    gemma::gemma4(root, 4096),
                    kimi_k25::read(root, 4096),
                    lfm2_vl::read(root, 4096),
                    step3p7::read(root, 4096).map(Some),
                    deepseek_ocr::read(root, 4096),
                ]
            });
            for tower in towers.into_iter().flatten().flatten() {
                let _ = tower.parameters() + tower.connector_parameters();
                for images in images {
                    if let Ok(passes) = tower.passes(&images) {
                        let _ = counted(&tower, &passes);
                        let _ = tower.tokens(&images).unwrap();
                    }
                }
            }
        }
    }
    let tower = tower(DEEPSEEK_OCR, |root| deepseek_ocr::read(root, 1280)).unwrap().unwrap();
    for wrong in [
        Images::new(0),
        Images::new(4097),
        sized(1, 0, 640),
        sized(1, 65_537, 640),
        Images { crops: Some(4097), ..Images::new(1) },
        Images { width: Some(640), ..Images::new(1) },
        Images { crops: Some(4096), ..Images::new(4096) },
    ] {
        assert!(tower.passes(&wrong).is_err() && tower.tokens(&wrong).is_err(), "{wrong:?}");
    }
}
