//! Vision towers: parameters and FLOPs as Transformers 5.22.2 has them.
//!
//! The expected numbers were made by building each tower on the meta device from the config given here and
//! running it under `torch.utils.flop_counter.FlopCounterMode` with eager attention; those of DeepSeek-OCR are
//! published ones, read from the corpus.

mod goldens;
mod nonsense;
mod published;

use rooflens_cost::config::{Keys, parse};
use rooflens_cost::parallel::Parallel;
use rooflens_cost::step::Step;
use rooflens_cost::vision::{
    Images, Tower, View, gemma3, gemma4, kimi_k25, lfm2_vl, mllama, qwen2_5_vl, qwen2_vl, qwen3_vl, step3p7,
};

use crate::common::pass;

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
        qwen2_5_vl::read,
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
    let tower = tower(r#"{"vision_config": {}}"#, qwen2_vl::read).unwrap().unwrap();
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
    let with = tower(config, qwen3_vl::read).unwrap().unwrap();
    assert_eq!(with.parameters(), 576_388_336);
    assert_eq!(grid(&with, 16, 16), 240_063_086_592);
    assert_eq!(grid(&with, 46, 62), 3_595_603_009_536);
    // Positions were learnt for 48 × 48.
    assert_eq!(flops(&with, Images::new(2)), 2 * 2_747_636_121_600);
    assert_eq!(with.tokens(&Images::new(2)).unwrap(), 2 * 576);

    let config = r#"{"vision_config": {"out_hidden_size": 5120}}"#;
    let without = tower(config, qwen3_vl::read_without_deepstack).unwrap().unwrap();
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
        let tower = tower(config, |root| gemma3::read(root, hidden)).unwrap().unwrap();
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
    let large = tower(config, |root| gemma4::read(root, 2816)).unwrap().unwrap();
    assert_eq!(large.parameters(), 572_792_112);
    assert_eq!(large.connector_parameters(), 0);
    assert_eq!(grid(&large, 6, 9), 59_351_768_064);
    assert_eq!(grid(&large, 48, 48), 3_178_641_752_064);
    // 16 × 16 tokens are the largest square of at most 280.
    assert_eq!(flops(&large, Images::new(1)), 3_178_641_752_064);
    assert_eq!(large.tokens(&sized(1, 700, 700)).unwrap(), 256);
    assert_eq!(large.tokens(&sized(1, 65_536, 1)).unwrap(), 280);

    let config = r#"{"vision_config": {}, "audio_config": {}}"#;
    let small = tower(config, |root| gemma4::read(root, 1536)).unwrap().unwrap();
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
        [qwen2_5_vl::read(root), gemma4::read(root, 64), lfm2_vl::read(root, 64)]
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
