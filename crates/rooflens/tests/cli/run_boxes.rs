//! Boxes of grounding answers, and DeepSeek-OCR's own stages.

use super::run::{OUT, ROWS, metrics, only_run, project, run_in, start};
use super::*;

/// The header of a PNG of 400 by 200 pixels: what Rooflens reads of it.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x01\x90\0\0\0\xc8\x08\x02\0\0\0crc!";

fn lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn parity_123_boxes_are_drawn_and_kept_in_pixels() {
    let answer = "<|ref|>a <b><|/ref|><|det|>[[0, 0, 499.5, 999], [-5, 0, 2000, 999], [9, 9, 9, 9]]<|/det|>";
    let line = serde_json::json!({"round": 1, "sample": "a.png", "prompt": "<image>", "answer": answer, "tokens": 3});
    let model = r#"{"event":"model","t_ns":2,"architecture":"DeepseekOCRForCausalLM"}"#;
    let script = format!(
        "{OUT}{ROWS}echo '{model}' >> \"$out/events.jsonl\"\n\
         case $out in *direct_inference) echo '{line}' > \"$out/predictions.jsonl\";; esac\n"
    );
    let folder = project(&script);
    folder.write("p/datasets/pictures/a.png", PNG);
    let args = [
        "pipeline.torch_profiler.enable=false",
        "pipeline.direct_inference.enable=true",
        "dataset.kind=image",
        "dataset.root=datasets/pictures",
        "dataset.patterns=['*.png']",
    ];
    run_in(&folder, &args).fine();
    let report = only_run(&folder).join("report");
    let boxes = lines(&report.join("boxes.jsonl"));
    let told: Vec<_> = boxes.iter().map(|it| (&it["x1"], &it["x2"], &it["y2"], &it["flags"])).collect();
    let expected = [
        serde_json::json!([0.0, 200.0, 200.0, []]),
        serde_json::json!([0.0, 400.0, 200.0, ["clipped"]]),
        serde_json::json!([null, null, null, ["empty"]]),
    ];
    for (have, want) in told.iter().zip(&expected) {
        assert_eq!(serde_json::json!([have.0, have.1, have.2, have.3]), *want);
    }
    assert_eq!((boxes.len(), &boxes[0]["label"], &boxes[0]["sample"]), (3, &"a <b>".into(), &"a.png".into()));
    let page = std::fs::read_to_string(report.join("predictions.html")).unwrap();
    assert!(page.contains("<rect data-box=\"0\" x=\"0\" y=\"0\" width=\"200\" height=\"200\"/>"));
    assert!(page.contains("<title>a &lt;b&gt;</title>") && page.contains("2 boxes"));
    assert!(page.contains("<li>1 box: clipped at the edge of the image</li>"));
    let small = std::fs::read_to_string(report.join("thumbnails.html")).unwrap();
    assert!(small.contains("href=\"predictions.html#s0\">a.png</a> · 2 boxes"), "{small}");
    assert!(std::fs::read_to_string(report.join("predictions.md")).unwrap().contains("- 1 box: empty"));
}

#[test]
fn parity_078_cost_has_the_stages_of_two_encoders() {
    let folder = Folder::new();
    // The sizes of fixtures/models/deepseek-ocr-tiny.
    let config = serde_json::json!({
        "architectures": ["DeepseekOCRForCausalLM"], "model_type": "deepseek_vl_v2", "hidden_size": 64,
        "intermediate_size": 96, "moe_intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2,
        "num_key_value_heads": 2, "n_routed_experts": 4, "n_shared_experts": 2, "num_experts_per_tok": 2,
        "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "topk_method": "greedy",
        "use_mla": false, "kv_lora_rank": null, "q_lora_rank": null, "qk_nope_head_dim": 0,
        "qk_rope_head_dim": 0, "v_head_dim": 0, "vocab_size": 520, "max_position_embeddings": 4096,
        "vision_config": {"image_size": 256, "width": {
            "sam_vit_b": {
                "width": 32, "layers": 2, "heads": 2, "global_attn_indexes": [1], "window_size": 5,
                "patch_size": 16, "image_size": 256, "downsample_channels": [32, 64], "mlp_ratio": 4.0,
                "out_chans": 16,
            },
            "clip-l-14-224": {
                "width": 64, "layers": 2, "heads": 2, "patch_size": 14, "image_size": 56, "ffn": 128,
            },
        }},
    });
    let path = folder.write("config.json", config.to_string().as_bytes());
    let asked = ["cost", path.as_str(), "--images", "1", "--image-size", "200x200", "--prefill", "8"];
    let cost = run(&[&asked[..], &["--hardware", "h100", "--format", "json"][..]].concat()).json();
    let phases: Vec<_> =
        cost["phases"].as_array().unwrap().iter().map(|it| it["phase"].as_str().unwrap()).collect();
    assert!(phases.contains(&"vision") && phases.contains(&"prefill"), "{phases:?}");
    let vision = &cost["phases"].as_array().unwrap().iter().find(|it| it["phase"] == "vision").unwrap();
    let stages = vision["stages"].as_array().unwrap();
    let names: Vec<_> = stages.iter().map(|stage| stage["stage"].as_str().unwrap()).collect();
    assert_eq!(names, ["sam", "clip", "projector"]);
    let sum: u64 = stages.iter().map(|stage| stage["flops"]["useful"].as_u64().unwrap()).sum();
    assert_eq!(sum, vision["flops"]["useful"].as_u64().unwrap());
    // 16 tokens of 2 * 64 to 64, a multiplication and an addition each.
    assert_eq!(stages[2]["flops"]["useful"], 16 * 128 * 64 * 2);
    let screen = run(&[&asked[..], &["--hardware", "h100"][..]].concat()).fine();
    assert!(screen.contains("projector"), "{screen}");
}

#[test]
#[ignore = "needs PyTorch: ROOFLENS_TORCH_PYTHON names an interpreter that has it"]
fn parity_079_deepseek_ocr_from_its_pictures_to_its_boxes_on_torch() {
    let python = interpreter("ROOFLENS_TORCH_PYTHON");
    let folder = project("exit 1\n");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let make = |args: &[&str]| {
        let mut command = Command::new(&python);
        command.args(args).env("PYTHONPATH", repository.join("python")).env("OMP_NUM_THREADS", "1");
        let made = command.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let script = repository.join("fixtures/models/deepseek-ocr-tiny/make.py");
    make(&[script.to_str().unwrap(), &folder.text("p/models/deepseek_ocr")]);
    std::fs::create_dir_all(folder.path("p/datasets/omnidocbench/source-data/images")).unwrap();
    let picture = folder.text("p/datasets/omnidocbench/source-data/images/page.jpg");
    make(&[
        "-c",
        &format!(
            "from PIL import Image; e = Image.Exif(); e[0x0112] = 6\n\
             Image.radial_gradient('L').resize((1998, 999)).save({picture:?}, exif=e)"
        ),
    ]);
    let mut command = start(&folder, &["--format", "json", "repeats=1", "model=deepseek_ocr"]);
    command.args(["dataset=omnidocbench", "model.preprocess.base_size=256", "model.dtype=fp32"]);
    command.args(["infer.max_new_tokens=12", "pipeline.direct_inference.enable=true", "hardware=cpu"]);
    command
        .arg(format!("runtime.python={python}"))
        .env("OMP_NUM_THREADS", "1")
        .env("HOME", folder.path("cache"));
    let answer = Answer::of(command.output().unwrap()).json();
    assert_eq!(answer["status"], "complete", "{answer}");
    let run_dir = only_run(&folder);
    let metrics = metrics(&run_dir);

    // The picture is 999 wide and 1998 high once it is upright: parts of 999 are its pixels across.
    let boxes = lines(&run_dir.join("report/boxes.jsonl"));
    let at = |it: &Json| ["x1", "y1", "x2", "y2"].map(|key| it[key].as_f64().unwrap().round());
    assert_eq!(
        boxes.iter().map(at).collect::<Vec<_>>(),
        [[111.0, 444.0, 333.0, 888.0], [555.0, 1332.0, 999.0, 1776.0]]
    );
    assert_eq!(boxes[1]["flags"], serde_json::json!(["clipped"]));

    // Stages by the trace: in the ledger they add up to their phase, which add up to the whole.
    let ledger = &metrics["analysis"]["ledger"];
    let number = |value: &Json| value.as_i64().unwrap();
    let mut stages = std::collections::BTreeSet::new();
    let mut wall = 0;
    for phase in ledger["phases"].as_array().unwrap() {
        wall += number(&phase["wall_ns"]);
        let Some(of_phase) = phase["stages"].as_array() else { continue };
        let sum: i64 = of_phase.iter().map(|stage| number(&stage["wall_ns"])).sum();
        assert_eq!(sum, number(&phase["wall_ns"]), "{phase}");
        stages.extend(of_phase.iter().map(|stage| stage["stage"].as_str().unwrap().to_owned()));
    }
    assert_eq!(wall, number(&ledger["wall_ns"]));
    for stage in ["sam", "clip", "projector"] {
        assert!(stages.contains(stage), "{stages:?}");
    }
    let phases: Vec<_> = ledger["phases"].as_array().unwrap().iter().map(|it| &it["phase"]).collect();
    for phase in ["prefill", "decode", "vision"] {
        assert!(phases.contains(&&phase.into()), "{phases:?}");
    }
    // The static model at the sizes that were run has the GEMMs and convolutions that torch counted, encoders among
    // them.
    for phase in ["prefill", "decode"] {
        let check = &metrics["flops_check"]["phases"][phase];
        assert_eq!(check["equal"], true, "{phase}: {check}");
    }
}
