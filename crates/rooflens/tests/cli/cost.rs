//! `cost`: designs, comparisons and sweeps. Numbers of the small model are derived by hand.

use super::*;

/// Hidden 8, two layers, 4 query heads and 2 key heads of width 2, 16 inside, 32 words.
pub const TINY: &[u8] =
    br#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 16, "vocab_size": 32, "tie_word_embeddings": false}"#;

/// 1 GB/s, 1 TFLOP/s, 1 GB: whatever the tiny model does waits for memory.
pub const SLOW: &[u8] = br#"name = "Slow 1GB"
vendor = "Made"
kind = "gpu"
arch = "none"
source = "made up for tests"

[compute]
confidence = "unconfirmed"

[compute.dense_tflops]
bf16 = 1
fp32 = 1

[memory]
size_gb = 1
bandwidth_gb_per_s = 1
confidence = "unconfirmed"

[package]
link_gb_per_s = 1
confidence = "unconfirmed"
"#;

pub fn bench() -> Folder {
    let folder = Folder::new();
    folder.write("tiny.json", TINY);
    folder.write("hardware/slow.toml", SLOW);
    folder
}

pub fn cost(folder: &Folder, args: &str) -> Answer {
    let args: Vec<&str> = ["cost"].into_iter().chain(args.split_whitespace()).collect();
    Answer::of(rooflens(&args).current_dir(folder.path(".")).output().unwrap())
}

#[test]
fn one_screen() {
    let folder = Folder::new();
    folder.write("model.json", &std::fs::read(fixture("configs/tiny-moe.json")).unwrap());
    insta::assert_snapshot!(
        cost(&folder, "model.json --hardware h100 --batch 8 --context 4k --tpot 1ms").fine()
    );
}

#[test]
fn the_document_of_a_tiny_llama() {
    let folder = bench();
    let text = cost(&folder, "tiny.json --hardware slow --batch 3 --context 5 --format json").fine();
    assert_eq!(text.lines().count(), 1, "one line for programs");
    let json: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], serde_json::json!({"name": "rooflens.cost", "version": "1.0"}));
    assert_eq!(json["names"], serde_json::json!({"design": "tiny", "base": null}));

    // A layer: 64 + 32 + 32 + 64 for attention, 3·128 for the MLP, 2·8 for norms. Two of them, two
    // matrices of 32·8 at the ends, and a last norm.
    let layer = 64 + 32 + 32 + 64 + 3 * 128 + 16;
    assert_eq!(json["params"]["total"], 2 * layer + 2 * 256 + 8);
    assert_eq!(json["params"]["active_without_embedding"], 2 * layer + 256 + 8);
    // Keys and values of 2 heads of 2 in 2 layers, 2 bytes each.
    assert_eq!(json["kv"]["bytes_per_token"], 2 * 2 * 2 * 2 * 2);
    // 3 tokens through every matrix; each sees 5 + 1 tokens with 4 heads of 2 + 2; 3 rows of logits.
    let flops = 2 * (2 * 3 * (layer - 16) + 2 * 3 * 6 * 4 * 4) + 2 * 3 * 8 * 32;
    assert_eq!(json["totals"]["flops"]["useful"], flops);
    assert_eq!(json["totals"]["flops"]["as_counted"], flops, "nothing is masked when decoding");
    // Of the embedding, 3 rows are read.
    let bytes = &json["totals"]["bytes"];
    assert_eq!(bytes["weights"], 2 * (2 * layer + 256 + 8) + 2 * 3 * 8);
    assert_eq!(bytes["kv_read"], 3 * 5 * 32);
    assert_eq!(bytes["kv_write"], 3 * 32);
    let parts = ["weights", "kv_read", "kv_write", "activations"];
    let sum: u64 = parts.iter().map(|part| bytes[part].as_u64().unwrap()).sum();
    assert_eq!(bytes["total"], sum);
    // At 1 GB/s a byte takes a nanosecond; the norms of queries and keys do not exist here.
    let seconds = json["totals"]["seconds"].as_f64().unwrap();
    assert!((seconds * 1e9 - sum as f64).abs() < 1e-3, "{seconds}");
    assert_eq!(json["phases"][0]["phase"], "decode");
    assert_eq!(json["phases"][0]["time"]["limit"], "memory");
    assert_eq!(json["totals"]["classes"]["attn.core"]["flops"]["useful"], 2 * 2 * 3 * 6 * 4 * 4);
    assert_eq!(json["memory"]["kv_bytes"], 3 * 6 * 32);
    assert_eq!(json["memory"]["fits"], true);
    assert_eq!(json["hardware"]["name"], "Slow 1GB");
}

#[test]
fn without_a_device_times_are_null() {
    let folder = bench();
    let json = cost(&folder, "tiny.json --format json").json();
    assert!(
        json["hardware"].is_null() && json["totals"]["seconds"].is_null() && json["crossovers"].is_null()
    );
    assert!(json["memory"]["fits"].is_null());
    let phases: Vec<&str> =
        json["phases"].as_array().unwrap().iter().map(|p| p["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["prefill", "decode"]);
    let first = cost(&folder, "tiny.json").fine().lines().next().unwrap().to_owned();
    assert!(first.starts_with("Prefill of 2,048 tokens of tiny takes "), "{first}");
    // Causal: half the pairs of what PyTorch's counter counts, and the diagonal.
    let prefill = cost(&folder, "tiny.json --prefill 4 --format json").json();
    let core = &prefill["totals"]["classes"]["attn.core"]["flops"];
    assert_eq!(
        (&core["useful"], &core["as_counted"]),
        (&(2 * 2 * 10 * 4 * 4).into(), &(2 * 2 * 16 * 4 * 4).into())
    );
}

#[test]
fn operators_as_csv_are_in_base_units() {
    let folder = bench();
    let csv = cost(&folder, "tiny.json --hardware slow --batch 3 --context 5 --format csv").fine();
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let row: Vec<&str> = lines.find(|line| line.starts_with("down_proj,")).unwrap().split(',').collect();
    assert_eq!(row[at("flops_useful")], (2 * 3 * 128).to_string());
    assert_eq!(row[at("weight_bytes")], "256");
    let (seconds, bytes): (f64, f64) =
        (row[at("seconds")].parse().unwrap(), row[at("bytes")].parse().unwrap());
    assert!((seconds * 1e9 - bytes).abs() < 1e-6, "seconds are seconds: {seconds}");
}

#[test]
fn a_change_against_the_design_before() {
    let folder = bench();
    let question = "tiny.json --hardware slow --context 5 --set num_key_value_heads=4";
    let json = cost(&folder, &format!("{question} --format json")).json();
    assert_eq!(
        json["names"],
        serde_json::json!({"design": "tiny with num_key_value_heads=4", "base": "tiny"})
    );
    assert_eq!((&json["base"]["params"]["total"], &json["params"]["total"]), (&1704.into(), &1832.into()));
    let totals = json["differences"]["totals"].as_array().unwrap();
    let total = |name: &str| totals.iter().find(|row| row["name"] == name && row["phase"].is_null()).unwrap();
    assert_eq!(total("kv.bytes_per_token")["change"], 1.0);
    assert_eq!(total("params.total")["difference"], 128.0);
    assert!(totals.iter().any(|row| row["name"] == "seconds" && row["phase"] == "decode"));
    let screen = cost(&folder, question).fine();
    assert!(screen.starts_with("tiny with num_key_value_heads=4 against tiny: decode +"), "{screen}");
    let csv = cost(&folder, &format!("{question} --format csv")).fine();
    assert!(csv.starts_with("name,phase,class,seconds_base,seconds,seconds_change,flops_base,"), "{csv}");
    assert!(csv.contains("\nqkv_proj,decode,attn.qkv,"), "{csv}");
}

#[test]
fn two_configs() {
    let folder = bench();
    folder.write("wide/config.json", &String::from_utf8_lossy(TINY).replace(": 16", ": 40").into_bytes());
    let json = cost(&folder, "tiny.json wide --context 5 --format json").json();
    assert_eq!(json["names"], serde_json::json!({"design": "wide", "base": "tiny"}));
    // 3 matrices of 8·24 more in each layer.
    assert_eq!(json["params"]["total"], 1704 + 2 * 3 * 8 * 24);
    let screen = cost(&folder, "tiny.json wide --hardware slow").fine();
    for words in [
        "wide against tiny: prefill +",
        "base tiny · changed wide",
        "prefill: lower bound ≥",
        "decode: lower bound ≥",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    let page = cost(&folder, "tiny.json wide --hardware slow --format md").fine();
    assert!(page.starts_with("# wide against tiny\n\n**"), "{page}");
    assert!(!page.contains("\n## \n") && !page.contains("\n- : "), "{page}");
}

#[test]
fn what_is_held_stays_as_near_as_steps_come() {
    let folder = bench();
    let question = "tiny.json --set intermediate_size=40 --hold params --by num_hidden_layers";
    let json = cost(&folder, &format!("{question} --format json")).json();
    // Layers of 592 + 576: one and the ends are 1,688, two are 2,856; wanted are 1,704.
    let wanted = serde_json::json!({"held": "params", "key": "num_hidden_layers", "before": 2, "after": 1,
        "wanted": 1704.0, "reached": 1688.0});
    assert_eq!(json["balance"], wanted);
    assert_eq!(json["params"]["total"], 1688);
    let screen = cost(&folder, question).fine();
    assert!(screen.contains("`num_hidden_layers` changes from 2 to 1"), "{screen}");
    let sweep = cost(
        &folder,
        "tiny.json --set intermediate_size=16,40 --hold params --by num_hidden_layers --format json",
    );
    let points = sweep.json()["points"].clone();
    assert_eq!((&points[0]["balance"]["after"], &points[1]["balance"]["after"]), (&2.into(), &1.into()));
    // The second config is made as large as the first.
    folder.write("wide.json", &String::from_utf8_lossy(TINY).replace(": 16", ": 40").into_bytes());
    let two = cost(&folder, "tiny.json wide.json --hold params --by num_hidden_layers --format json").json();
    assert_eq!(two["balance"]["after"], 1);
}

#[test]
fn targets() {
    let folder = bench();
    let needs = |args: &str| {
        cost(&folder, &format!("tiny.json --context 5 {args} --format json")).json()["needs"].clone()
    };
    // 2,880 bytes of weights and some more: at 1 GB/s a few microseconds.
    let met = needs("--hardware slow --tpot 1ms");
    assert_eq!((&met[0]["met"], &met[0]["devices"]), (&true.into(), &1.into()));
    assert!(met[0]["largest_batch"].as_u64().unwrap() > 100, "{met}");
    let missed = needs("--hardware slow --tpot 1us");
    assert_eq!((&missed[0]["met"], &missed[0]["largest_batch"]), (&false.into(), &Json::Null));
    let unknown = needs("--tpot 1us");
    assert!(unknown[0]["met"].is_null() && unknown[0]["bytes_per_s"].as_f64().unwrap() > 1e9, "{unknown}");
    let screen = cost(&folder, "tiny.json --context 5 --hardware slow --tpot 1us").fine();
    assert!(screen.contains("TPOT 1.00 µs is below the lower bound, "), "{screen}");
    assert!(screen.contains("largest batch none"), "an answer, though there is none: {screen}");
}
