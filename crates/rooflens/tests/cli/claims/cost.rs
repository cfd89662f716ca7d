//! `rooflens cost`: lower bounds, estimates with stated assumptions, what fits.

use super::*;

const MS: f64 = 1e-3;

fn cost(model: &str, rest: &[&str]) -> Json {
    let path = config(model);
    let mut args = vec!["cost", path.as_str()];
    args.extend(rest);
    json(&args)
}

fn screen(model: &str, rest: &[&str]) -> String {
    let path = config(model);
    let mut args = vec!["cost", path.as_str()];
    args.extend(rest);
    text(&args).split_whitespace().collect::<Vec<&str>>().join(" ")
}

fn number(json: &Json, pointer: &str) -> f64 {
    json.pointer(pointer).and_then(Json::as_f64).unwrap_or_else(|| panic!("{pointer} in {json:#}"))
}

fn phase<'a>(json: &'a Json, name: &str) -> &'a Json {
    let phases = json["phases"].as_array().unwrap();
    phases.iter().find(|phase| phase["phase"] == name).unwrap()
}

const LLAMA_70B: &str = "meta-llama--Meta-Llama-3.1-70B";

/// MXFP4 experts multiply at the fp8 rate of a B200: 58.71 TFLOP / 4,500 = 13.05 ms instead of 26.09.
#[test]
#[ignore = "needs the corpus"]
fn expert_18_mxfp4_experts_run_at_the_fp8_rate_where_kernels_do() {
    let gpt_oss = |hardware| cost("openai--gpt-oss-120b", &["--hardware", hardware, "--prefill", "8k"]);
    let b200 = gpt_oss("b200");
    assert!(number(&b200, "/totals/seconds") <= 26.9 * MS, "{}", b200["totals"]["seconds"]);
    assert_near(number(&b200, "/totals/classes/moe.routed/seconds"), 13.05 * MS, 0.001);
    assert!(number(&b200, "/totals/estimate_s") > 26.9 * MS);
    // No fp4 units, no such kernels: 58.71 TFLOP at 1,307.4.
    let mi300x = gpt_oss("mi300x");
    assert_near(number(&mi300x, "/totals/classes/moe.routed/seconds"), 58.71e12 / 1307.4e12, 0.001);
}

/// 64 heads of 64 by 128 in 64 layers are 33.55 M elements of state a sequence: read and written once a step.
#[test]
#[ignore = "needs the corpus"]
fn expert_19_the_format_of_states_is_said_and_can_be_set() {
    let model = "mistralai--Mamba-Codestral-7B-v0.1.derived";
    let at = |more: &[&str]| {
        let mut args = vec!["--hardware", "h100", "--batch", "64", "--context", "2k"];
        args.extend(more);
        cost(model, &args)
    };
    let usual = at(&[]);
    assert_eq!(usual["kv"]["state_dtype"], "bf16");
    assert_near(number(&usual, "/totals/seconds"), 9.8 * MS, 0.01);
    let wide = at(&["--state-dtype", "fp32"]);
    assert_eq!(wide["kv"]["state_dtype"], "fp32");
    assert_near(number(&wide, "/totals/seconds"), 14.9 * MS, 0.01);
    assert!(screen(model, &["--hardware", "h100"]).contains("state format bf16"));
}

/// 70B at 8k on eight H100: 152.8 ms of compute. Norms are split by token, the all-reduces (multicast, 134 MB
/// each, 161 of them at 450 GB/s: 48 ms) are hidden behind it.
#[test]
#[ignore = "needs the corpus"]
fn expert_20_the_bound_hides_communication_and_the_estimate_does_not() {
    let found = cost(LLAMA_70B, &["--hardware", "h100", "--tp", "8", "--prefill", "8k"]);
    let bound = number(&found, "/totals/seconds");
    assert!((152.8 * MS..157.0 * MS).contains(&bound), "{bound}");
    let message = 8192.0 * 8192.0 * 2.0;
    assert_near(number(&found, "/totals/classes/comm.all_reduce/seconds"), 161.0 * message / 450e9, 0.001);
    // GEMMs at the 80 % that were measured, ring all-reduces at 80 % of the links: 2·7/8 of the message.
    let ring = 161.0 * (message * 1.75 / (450e9 * 0.8) + 12e-6);
    assert_near(number(&found, "/totals/classes/comm.all_reduce/estimate_s"), ring, 0.001);
    assert!(number(&found, "/totals/estimate_s") > bound / 0.81 + ring);
    let stated = screen(LLAMA_70B, &["--hardware", "h100", "--tp", "8", "--prefill", "8k"]);
    for words in ["GEMMs at 80 % of peak", "ring all-reduce", "communication not overlapped", "--assume"] {
        assert!(stated.contains(words), "{words} in {stated}");
    }
    // Settable: everything at its peak and hidden comes down to the bound.
    let best = "gemm=1,attention=1,bandwidth=1,link=1,launch=0us,latency=0us,overlap=1,all-reduce=multicast,\
                sequence-parallel=yes";
    let args = ["--hardware", "h100", "--tp", "8", "--prefill", "8k", "--assume", best];
    assert_near(number(&cost(LLAMA_70B, &args), "/totals/estimate_s"), bound, 1e-9);
}

/// Dispatch in fp8 is half of the combine's 16 bits.
#[test]
#[ignore = "needs the corpus"]
fn expert_20_tokens_travel_to_experts_in_fp8() {
    let args = ["--hardware", "h200", "--dp", "8", "--ep", "8", "--batch", "1024", "--context", "4k"];
    let found = cost("deepseek-ai--DeepSeek-V3", &args);
    let operators = phase(&found, "decode")["operators"].as_array().unwrap();
    let sent =
        |name: &str| operators.iter().find(|it| it["name"] == name).unwrap()["link_bytes"].as_f64().unwrap();
    assert_near(sent("dispatch"), sent("combine") / 2.0, 1e-6);
}

/// 4 × 1,196 tokens of pictures and 100 of text go through the language model: 2 · 70.6 G parameters · 4,884 /
/// (4 · 989.4 TFLOP/s) = 174 ms for its matrices alone.
#[test]
#[ignore = "needs the corpus"]
fn expert_21_image_tokens_enter_the_language_model() {
    let model = "Qwen--Qwen2.5-VL-72B-Instruct";
    let images =
        ["--hardware", "h100", "--tp", "4", "--prefill", "100", "--images", "4", "--image-size", "1280x720"];
    let found = cost(model, &images);
    assert_eq!(found["image_tokens"], 4784);
    let prefill = phase(&found, "prefill");
    assert_eq!(prefill["tokens"], 4884);
    let seconds = number(prefill, "/time/seconds");
    assert!((174.0 * MS..239.7 * MS).contains(&seconds), "{seconds}");
    // As much as the same number of tokens without pictures.
    let text_only = cost(model, &["--hardware", "h100", "--tp", "4", "--prefill", "4884"]);
    assert_near(seconds, number(&text_only, "/totals/seconds"), 1e-9);
    assert!(screen(model, &images).contains("4,884 tokens (100 text, 4,784 image)"));
    // The tower is sharded as the rest, and all four devices take energy.
    let alone = ["--hardware", "h100", "--images", "4", "--image-size", "1280x720"];
    let (one, four) = (cost(model, &alone), cost(model, &[&alone[..], &["--tp", "4"]].concat()));
    let flops = |json: &Json| number(phase(json, "vision"), "/flops/useful");
    assert!(flops(&four) < 0.27 * flops(&one), "{} of {}", flops(&four), flops(&one));
    let vision = phase(&four, "vision");
    let joules = 4.0 * 700.0 * number(vision, "/time/estimate_s") / 4784.0;
    assert_near(number(vision, "/time/joules_per_token"), joules, 1e-9);
}

/// What drivers report: 81,089 MiB of an H100, 191.5 GB of a B200, 206.1 GB of an MI300X.
#[test]
#[ignore = "needs the corpus"]
fn expert_22_memory_is_what_drivers_report() {
    for (hardware, bytes) in [("h100", 85.0e9), ("b200", 191.5e9), ("mi300x", 206.1e9)] {
        let found = cost(LLAMA_70B, &["--hardware", hardware]);
        assert_near(number(&found, "/memory/usable_bytes"), 0.9 * bytes, 0.001);
    }
    let fp8 = cost("nvidia--Llama-3.1-70B-Instruct-FP8", &["--hardware", "h100"]);
    assert_eq!(fp8["memory"]["fits"], true);
    // 76.5 GB usable, 70.6 GB of weights, 672 MB of cache each.
    let bf16 = cost(LLAMA_70B, &["--hardware", "h100", "--tp", "2", "--context", "4k"]);
    assert_eq!(bf16["memory"]["largest_batch"], 8);
}

#[test]
#[ignore = "needs the corpus"]
fn expert_23_layouts_that_engines_refuse_are_said_so() {
    let refused = |model: &str, args: &[&str]| {
        let found = cost(model, &[&["--hardware", "h100"], args].concat());
        let reasons = found["refused"].as_array().unwrap().iter();
        reasons.map(|refusal| refusal["reason"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    assert!(refused(LLAMA_70B, &["--tp", "8"]).is_empty());
    assert_eq!(refused(LLAMA_70B, &["--tp", "3"])[0], "64 attention heads are not divisible by tp 3");
    assert!(screen(LLAMA_70B, &["--tp", "3"]).contains("Engines refuse this layout: 64 attention heads"));
    // Experts of width 1,536, in blocks of 128.
    let fp8 = refused("Qwen--Qwen3-235B-A22B-FP8", &["--tp", "8"]);
    assert!(fp8.iter().any(|reason| reason.contains("shards of 192 columns of experts")), "{fp8:?}");
    assert!(refused("Qwen--Qwen3-235B-A22B-FP8", &["--tp", "4"]).is_empty());
    // 28 heads.
    let heads = refused("Qwen--Qwen2.5-7B-Instruct", &["--tp", "8"]);
    assert_eq!(heads[0], "28 attention heads are not divisible by tp 8");
}

/// 128 tokens per device, each to 2.70 other nodes of four, 7,168 elements of 1 byte there and 2 back, 58 layers,
/// 50 GB/s: 8.6 ms.
#[test]
#[ignore = "needs the corpus"]
fn expert_23_nodes_and_links_between_them_are_part_of_the_setup() {
    let all_to_all = |more: &[&str]| {
        let wide = ["--hardware", "h200", "--dp", "32", "--ep", "32", "--batch", "4096", "--context", "4k"];
        number(
            &cost("deepseek-ai--DeepSeek-V3", &[&wide[..], more].concat()),
            "/totals/classes/comm.all_to_all/seconds",
        )
    };
    let copies = 4.0 * (1.0 - 0.75_f64.powi(8)) * 0.75;
    let by_hand = 128.0 * copies * 7168.0 * 3.0 * 58.0 / 50e9;
    assert_near(by_hand, 8.6 * MS, 0.01);
    assert_near(all_to_all(&[]), by_hand, 0.001);
    assert_near(all_to_all(&["--inter-node", "800Gb/s"]), by_hand / 2.0, 0.001);
    assert!(all_to_all(&["--node-size", "32"]) < 3.3 * MS);
}

/// 61 layers of 656 bytes (512 in fp8, 4 scales, 64 of 16 bits) and an index key of 132.
#[test]
#[ignore = "needs the corpus"]
fn expert_24_the_fp8_cache_of_sparse_mla_has_the_layout_of_flashmla() {
    let model = "deepseek-ai--DeepSeek-V3.2";
    let found = cost(model, &["--kv-dtype", "fp8"]);
    assert_eq!(found["kv"]["bytes_per_token"], 61 * (656 + 132));
    assert!(screen(model, &["--kv-dtype", "fp8"]).contains("FlashMLA's layout"));
}

#[test]
fn newcomer_04_context_takes_4k_everywhere() {
    let (trace, model) = (fixture("kineto/decode.json"), fixture("configs/tiny-moe.json"));
    for command in ["analyze", "advise"] {
        let answer = run(&[command, &trace, "--model", &model, "--hardware", "h100", "--context", "4k"]);
        assert!(!answer.stderr.contains("invalid"), "{command}: {}", answer.stderr);
        assert_ne!(answer.code, 2, "{command}: {}", answer.stderr);
    }
    text(&["cost", &model, "--hardware", "h100", "--context", "4k"]);
}

#[test]
fn newcomer_10_a_target_is_met_only_by_the_estimate() {
    let model = fixture("configs/tiny-moe.json");
    let args =
        |target: &'static str| ["cost", &model, "--hardware", "h100", "--context", "4k", "--tpot", target];
    let needs = json(&args("1s"))["needs"][0].clone();
    assert_eq!((&needs["ruled_out"], &needs["met"]), (&false.into(), &true.into()));
    // Between the two figures.
    assert!(number(&needs, "/now_s") < 200e-6 && number(&needs, "/estimate_s") > 200e-6, "{needs}");
    let needs = json(&args("200us"))["needs"][0].clone();
    assert_eq!((&needs["ruled_out"], &needs["met"]), (&false.into(), &false.into()));
    assert!(text(&args("200us")).contains("is not ruled out"));
}

/// Uniform routing is an assumption: a target is only ruled out where every token may choose the same experts.
#[test]
fn routing_decides_whether_a_target_is_ruled_out() {
    let model = fixture("configs/tiny-moe.json");
    let args = |target: &'static str| {
        ["cost", &model, "--hardware", "h100", "--batch", "8", "--context", "4k", "--tpot", target]
    };
    // 268.2 µs to 595.9 µs.
    for (target, is_out) in [("250us", true), ("300us", false), ("500us", false)] {
        assert_eq!(json(&args(target))["needs"][0]["ruled_out"], is_out, "{target}");
        let sweep: Vec<&str> =
            args(target).iter().map(|word| if *word == "8" { "8,16" } else { word }).collect();
        assert_eq!(json(&sweep)["points"][0]["targets"][0]["ruled_out"], is_out, "{target}");
    }
    assert!(text(&args("300us")).replace('\n', " ").contains("lower bound 268.2 µs to 595.9 µs by routing"));
}

/// The driver reports more than the 32 GB that an RTX 5090 is sold with.
#[test]
#[ignore = "needs the corpus"]
fn newcomer_11_a_model_that_fits_is_said_to_fit() {
    for (model, hardware) in [("nvidia--Llama-3.1-70B-Instruct-FP8", "h100"), ("Qwen--Qwen3-14B", "rtx-5090")]
    {
        let screen = screen(model, &["--hardware", hardware, "--context", "1k"]);
        assert!(screen.contains("fits yes") && !screen.contains("does not fit"), "{screen}");
    }
}

/// One value, whether or not the question has a prefill, with the prefill it rests on.
#[test]
#[ignore = "needs the corpus"]
fn newcomer_19_the_largest_batch_says_its_prefill() {
    let largest =
        |args: &[&str]| cost("Qwen--Qwen3-8B", &[&["--hardware", "h100"], args].concat())["memory"].clone();
    let (alone, both) =
        (largest(&["--context", "2048"]), largest(&["--prefill", "2048", "--context", "2048"]));
    assert_eq!(alone["largest_batch"], both["largest_batch"]);
    assert_eq!(alone["prefill_step_tokens"], 2048);
    let shown = screen("Qwen--Qwen3-8B", &["--hardware", "h100", "--context", "2048"]);
    let words =
        format!("largest batch that fits {} (prefill in steps of 2,048 tokens)", alone["largest_batch"]);
    assert!(shown.contains(&words), "{words} in {shown}");
}
