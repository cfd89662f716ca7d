//! What no tower can be made of, or look at.

use rooflens_cost::vision::{
    Images, deepseek_ocr, gemma3, gemma4, kimi_k25, lfm2_vl, mllama, qwen2_5_vl, qwen2_vl, qwen3_vl, step3p7,
};

use super::published::DEEPSEEK_OCR;
use super::{counted, sized, tower};

#[test]
fn nonsense_is_refused_and_never_panics() {
    let config = |key: &str, value: &str| format!(r#"{{"vision_config": {{"{key}": {value}}}}}"#);
    let keys = [
        "hidden_size",
        "num_heads",
        "num_attention_heads",
        "attention_heads",
        "patch_size",
        "image_size",
        "spatial_merge_size",
        "window_size",
        "depth",
        "num_hidden_layers",
        "pooling_kernel_size",
        "default_output_length",
        "max_num_tiles",
        "merge_kernel_size",
        "head_dim",
        "num_position_embeddings",
        "intermediate_size",
        "temporal_patch_size",
        "in_channels",
        "num_channels",
        "mlp_ratio",
        "embed_dim",
    ];
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
    for key in keys {
        for value in values {
            let towers = tower(&config(key, value), |root| {
                [
                    qwen2_vl::read(root),
                    qwen2_5_vl::read(root),
                    qwen3_vl::read(root),
                    mllama::read(root, 4096),
                    gemma3::read(root, 4096),
                    gemma4::read(root, 4096),
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
