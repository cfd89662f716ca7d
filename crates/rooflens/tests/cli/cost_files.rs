//! `cost`: what is read beside a config, and what is written.

use super::cost::{TINY, bench, cost};
use super::*;

#[test]
fn configs_by_file_folder_and_standard_input() {
    let folder = bench();
    folder.write("models/Tiny-1K/config.json", TINY);
    let wanted = cost(&folder, "tiny.json --format json").json();
    for (config, name) in [("models/Tiny-1K", "Tiny-1K"), ("models/Tiny-1K/config.json", "Tiny-1K")] {
        let json = cost(&folder, &format!("{config} --format json")).json();
        assert_eq!(json["names"]["design"], name);
        assert_eq!(json["totals"], wanted["totals"]);
    }
    let json = run_with_input(&["cost", "-", "--format", "json"], TINY).json();
    assert_eq!((&json["names"]["design"], &json["totals"]), (&"stdin".into(), &wanted["totals"]));
}

#[test]
fn infinity_and_nan_are_what_checkpoints_have() {
    let folder = bench();
    let text = String::from_utf8_lossy(TINY)
        .replace("\"vocab_size\"", "\"a\": Infinity, \"b\": NaN, \"vocab_size\"");
    folder.write("odd.json", text.as_bytes());
    assert_eq!(cost(&folder, "odd.json --format json").json()["params"]["total"], 1704);
}

#[test]
fn a_quantisation_beside_the_config_counts() {
    let folder = bench();
    folder.write("quantised/config.json", TINY);
    folder.write(
        "quantised/hf_quant_config.json",
        br#"{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8",
            "exclude_modules": ["lm_head"]}}"#,
    );
    let json = cost(&folder, "quantised --format json").json();
    assert_eq!(json["kv"]["dtype"], "fp8");
    assert_eq!(json["kv"]["bytes_per_token"], 16);
    let plain = cost(&folder, "tiny.json --format json").json();
    assert!(json["memory"]["weights_bytes"].as_u64() < plain["memory"]["weights_bytes"].as_u64());
}

#[test]
fn routing_from_a_file() {
    let folder = bench();
    folder.write("moe.json", &std::fs::read(fixture("configs/tiny-moe.json")).unwrap());
    let one = (0..64).map(|expert| if expert < 4 { "1000" } else { "0" }).collect::<Vec<_>>().join(", ");
    folder.write("visits.json", format!("[{one}]").as_bytes());
    let bytes = |routing: &str| {
        let question = format!("moe.json --context 64 --batch 32 --routing {routing} --format json");
        cost(&folder, &question).json()["totals"]["classes"]["moe.routed"]["bytes"]["weights"]
            .as_u64()
            .unwrap()
    };
    // All tokens visit the same 4 experts: 16 layers, 3 matrices of 1,024·512, 2 bytes.
    assert_eq!(bytes("visits.json"), 16 * 4 * 3 * 1024 * 512 * 2);
    assert_eq!(bytes("balanced"), 16 * 64 * 3 * 1024 * 512 * 2);
    assert!(bytes("uniform") < bytes("balanced"));
}

#[test]
fn figures() {
    let folder = bench();
    let drawn = |args: &str| {
        let answer = cost(&folder, &format!("{args} --figures plots"));
        assert!(answer.stderr.contains("figures: plots"), "{}", answer.stderr);
        answer.fine();
        let names = files(&folder.path("plots"));
        for name in &names {
            let svg = std::fs::read_to_string(folder.path("plots").join(name)).unwrap();
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name}");
        }
        std::fs::remove_dir_all(folder.path("plots")).unwrap();
        names
    };
    assert_eq!(
        drawn("tiny.json --hardware slow"),
        ["roofline-decode.svg", "roofline-prefill.svg", "time-by-class.svg"]
    );
    assert_eq!(drawn("tiny.json"), ["bytes-by-class.svg"]);
    let work = ["bytes.svg", "flops.svg", "intensity.svg", "kv.svg", "memory.svg"];
    assert_eq!(drawn("tiny.json --batch 1..8 --context 5"), work);
    let timed = drawn("tiny.json --batch 1..8 --context 5 --hardware slow,h100");
    assert_eq!(timed, [&work[..], &["time.svg", "tokens-per-s.svg"]].concat());
    assert!(drawn("tiny.json --batch 1..8 --hardware slow").contains(&"time-prefill.svg".to_owned()));
    let none = cost(&folder, "tiny.json --hardware slow,h100 --figures plots");
    assert!(none.stderr.contains("no figure: sweep over numbers"), "{}", none.stderr);
}

#[test]
fn an_answer_is_saved() {
    let folder = bench();
    let printed = cost(&folder, "tiny.json --hardware slow --format json -o run").fine();
    let found = files(&folder.path("run"));
    for name in ["report/static_compute.json", "report/static_compute.md", "tables/model_ops.parquet"] {
        assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
    }
    assert_eq!(std::fs::read_to_string(folder.path("run/report/static_compute.json")).unwrap(), printed);
    let table = std::fs::read(folder.path("run/tables/model_ops.parquet")).unwrap();
    let says = |words: &str| table.windows(words.len()).any(|window| window == words.as_bytes());
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    assert!(says("flops_useful") && says("kv_read_bytes"), "the columns of model_ops");
    // A sweep, and again: what is ours may be replaced.
    for _ in 0..2 {
        cost(&folder, "tiny.json --batch 1,2 -o sweep").fine();
    }
    let found = files(&folder.path("sweep"));
    assert!(found.contains(&"report/cost_sweep.csv".to_owned()), "{found:?}");
    folder.write("mine/index.html", b"mine");
    let answer = cost(&folder, "tiny.json -o mine");
    assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "nothing is printed where nothing is saved");
    assert_eq!(files(&folder.path("mine")), ["index.html"]);
}

#[test]
fn every_failure_has_its_code_and_hint() {
    let folder = bench();
    folder.write("empty.json", b"");
    folder.write("list.json", b"[1, 2]");
    folder.write("bert.json", br#"{"model_type": "bert"}"#);
    folder.write("short.json", b"[1, 2, 3]");
    folder.write("moe.json", &std::fs::read(fixture("configs/tiny-moe.json")).unwrap());
    for (args, code, fact, hint) in [
        ("tinny.json", 5, "no config at tinny.json", "did you mean tiny.json? rooflens cost tiny.json"),
        ("hardware", 5, "no config at hardware/config.json", "ls hardware"),
        ("empty.json", 5, "not JSON", "head -c 300 empty.json"),
        ("list.json", 5, "a config is an object, this is a list", "head -c 300 list.json"),
        (
            "bert.json",
            5,
            "no model family has architecture (none), model_type bert",
            "rooflens list families",
        ),
        ("tiny.json --hardware h10", 2, "there is no device `h10`", "rooflens list hardware"),
        ("tiny.json --batch 0", 2, "batch is 0", "as in --batch 8"),
        ("tiny.json --context 1000000000000", 2, "context is 1000000000000", "as in --context 4k"),
        ("tiny.json --steps 0", 2, "steps is 0", "as in --steps 16"),
        ("tiny.json --tp 0", 2, "at least 1", "as in --tp 8"),
        ("tiny.json --tp 100000", 2, "at most 65,536", "as in --tp 8"),
        ("tiny.json --pp 3", 2, "pipeline-parallel size 3 is larger than the 2 layers", "--pp 2"),
        ("tiny.json --usable 2", 2, "--usable 2", "as in --usable 0.9"),
        ("tiny.json --dtype fp7", 2, "--dtype fp7", "one of fp32, bf16"),
        ("tiny.json --kv-dtype fp7", 2, "--kv-dtype fp7", "one of fp32, bf16"),
        ("tiny.json --state-dtype fp7", 2, "--state-dtype fp7", "one of fp32, bf16"),
        ("tiny.json --assume gemm=2", 2, "gemm=2: expected a share", "as in --assume gemm=0.8"),
        ("tiny.json --assume magic=1", 2, "there is no assumption", "as in --assume gemm=0.8"),
        ("tiny.json --images 1", 2, "has no vision tower", "leave out --images"),
        ("tiny.json --image-size 3", 2, "is not an image size", "as in --image-size"),
        ("tiny.json --set hidden_sise=4", 2, "does not use hidden_sise", "--set hidden_size=VALUE"),
        ("tiny.json --set hidden_size=0", 2, "hidden_size is 0", "the config has 8: --set hidden_size=8"),
        (
            "tiny.json --set num_hidden_layers=1000000000000",
            2,
            "num_hidden_layers is 1000000000000",
            "the config has 2",
        ),
        ("tiny.json --set num_key_value_heads=3", 2, "are inconsistent", "--set num_key_value_heads=2"),
        ("tiny.json --set vocab_size=1 --set vocab_size=2", 2, "given twice", "--set vocab_size=1,2"),
        ("tiny.json --hold kv", 2, "nothing is changed", "--set hidden_size=2048 --hold params"),
        (
            "tiny.json --set vocab_size=64 --hold params --by vocab_size",
            2,
            "the key is set",
            "leave out --by",
        ),
        (
            "tiny.json --set vocab_size=64 --hold params --by nothing",
            2,
            "--by nothing cannot",
            "--by intermediate_size",
        ),
        ("tiny.json --batch 1..2000:+1 --context 1..2000:+1", 2, "4000000 points", "use a larger step"),
        ("tiny.json --routing steep", 2, "--routing steep", "uniform, balanced, power:1.2"),
        ("moe.json --routing short.json", 5, "visits for 3 experts, but the model has 64", "a JSON list"),
        ("moe.json --routing bert.json", 5, "--routing bert.json", "a JSON list"),
    ] {
        let answer = cost(&folder, args);
        answer.fails(code, fact).hints(hint);
        assert!(
            answer.stderr.starts_with("error: ") && answer.stderr.lines().count() == 2,
            "{}",
            answer.stderr
        );
        assert_eq!(answer.stdout, "", "{args}");
    }
    for args in
        ["", "tiny.json --batch 8..4", "tiny.json --set x", "tiny.json --tpot 5", "tiny.json --prefix 5"]
    {
        let answer = cost(&folder, args);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{args}");
    }
    folder.write("hardware/broken.toml", b"name = 3");
    cost(&folder, "tiny.json").fails(5, "broken.toml");
}
