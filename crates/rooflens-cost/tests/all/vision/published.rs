//! DeepSeek-OCR against published counts.

use std::path::PathBuf;

use rooflens_cost::step::Step;
use rooflens_cost::vision::{Images, deepseek_ocr};
use serde_json::Value;

use super::{flops, sized, tower};
use crate::common::{read, tally};

pub const DEEPSEEK_OCR: &str = r#"{"vision_config": {"width": {"sam_vit_b": {"width": 768, "layers": 12,
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
    let folder = std::env::var_os("ROOFLENS_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let sweeps = folder.join("llm-perf-opt/reports/sweep/20251128-152354");
    assert!(sweeps.is_dir(), "no sweeps at {}: ROOFLENS_CORPUS names the corpus", sweeps.display());
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
