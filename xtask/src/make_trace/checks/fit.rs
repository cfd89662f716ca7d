//! What kernels achieved, by hand formulas, and whether the model fits the trace.

use rooflens_core::exit::Exit;
use rooflens_core::model::ModelRequest;
use serde_json::{Value, json};

use super::{Case, analyze, each_seed, integer, number, report, rows, string};

const TOLERANCE: f64 = 0.01;

#[test]
fn kernels_achieve_the_injected_share_of_their_roof() {
    each_seed("checks::fit", false, |case| {
        let report = report(&case.traces(), &case.request());
        let mut compared = 0;
        for phase in phases_with_shapes(&report, case) {
            for row in rows(&phase["classes"]).iter().filter(|row| integer(&row["ns"]) >= 1000) {
                let Some(work) = work_of(row) else { continue };
                let (phase, class) = (string(&phase["phase"]), string(&row["class"]));
                let injected = 1.0 / (1.0 + number(&case.injected("inefficiency")[work]));
                // Durations are whole nanoseconds.
                let rounding = number(&row["activities"]) / number(&row["ns"]);
                let got = number(&row["achieved"]["roof_share"]);
                assert!(
                    (got - injected).abs() <= TOLERANCE * injected + rounding,
                    "{phase} {class}: got {got:.4} of the roof, injected {injected:.4}"
                );
                compared += 1;
            }
        }
        compared
    });
}

fn phases_with_shapes<'a>(report: &'a Value, case: &'a Case) -> impl Iterator<Item = &'a Value> {
    let phases = rows(&report["ledger"]["phases"]).iter();
    phases.filter(|phase| case.injected("phases")[string(&phase["phase"])]["has_floor"] == true)
}

fn work_of(row: &Value) -> Option<&'static str> {
    let work = match string(&row["class"]) {
        "gemm" | "moe" => "products",
        "attention" => "attention",
        "norm" => "norms",
        _ => return None,
    };
    (!row["achieved"].is_null()).then_some(work)
}

#[test]
fn gemms_do_the_work_of_their_shapes() {
    each_seed("checks::fit", false, |case| {
        // Only vLLM's annotations have all shapes.
        if case.injected("annotations") != "vllm" {
            return 0;
        }
        let report = report(&case.traces(), &case.request());
        let tp = case.injected("tp").as_u64().unwrap();
        let steps: Vec<Step> = rows(&case.job.traces[0]["traceEvents"]).iter().filter_map(Step::of).collect();
        let mut compared = 0;
        for phase in phases_with_shapes(&report, case) {
            let steps = steps.iter().filter(|step| phase["phase"] == step.phase());
            let steps: Vec<&Step> = steps.collect();
            // A step that is annotated twice would count twice.
            if steps.is_empty() || phase["steps"] != steps.len() as u64 * tp {
                continue;
            }
            let name = string(&phase["phase"]);
            let row = rows(&phase["classes"]).iter().find(|row| row["class"] == "gemm").unwrap();
            let (flops, bytes) = gemm_work(&steps, case.job.config.as_ref().unwrap(), tp);
            for (what, by_hand) in [("flops", flops as f64), ("bytes", bytes as f64)] {
                let got = number(&row["achieved"][what]);
                assert!(
                    (got - by_hand).abs() <= TOLERANCE * by_hand,
                    "{name} gemm {what}: got {got:.5e}, by hand {by_hand:.5e}"
                );
                let rate = number(&row["achieved"][format!("{what}_per_s")]);
                let by_hand = by_hand / (number(&row["ns"]) / 1e9);
                assert!(
                    (rate - by_hand).abs() <= TOLERANCE * rate,
                    "{name} gemm {what} per second: got {rate:.5e}, by hand {by_hand:.5e}"
                );
                compared += 2;
            }
        }
        compared
    });
}

struct Step {
    prompts: u64,
    prompt_tokens: u64,
    decodes: u64,
}

impl Step {
    fn of(event: &Value) -> Option<Self> {
        let (_, rest) = event["name"].as_str()?.strip_prefix("execute_")?.split_once("_context_")?;
        let (prompts, rest) = rest.split_once("(sq")?;
        let (prompt_tokens, rest) = rest.split_once("sk")?;
        let (_, rest) = rest.split_once(")_generation_")?;
        let (decodes, _) = rest.split_once("(sq")?;
        Some(Step {
            prompts: prompts.parse().ok()?,
            prompt_tokens: prompt_tokens.parse().ok()?,
            decodes: decodes.parse().ok()?,
        })
    }

    fn phase(&self) -> &'static str {
        match (self.prompts > 0, self.decodes > 0) {
            (true, true) => "mixed",
            (true, false) => "prefill",
            _ => "decode",
        }
    }
}

/// FLOPs and bytes of the GEMM kernels of all ranks, from shapes alone; bf16 throughout.
fn gemm_work(steps: &[&Step], config: &Value, tp: u64) -> (u64, u64) {
    let of = |key: &str| config[key].as_u64().unwrap();
    let (hidden, heads, kv_heads) = (of("hidden_size"), of("num_attention_heads"), of("num_key_value_heads"));
    let (inner, vocabulary, layers) = (of("intermediate_size"), of("vocab_size"), of("num_hidden_layers"));
    let head = hidden / heads;
    let mut weights = vec![(hidden, (heads + 2 * kv_heads) * head / tp), (heads * head / tp, hidden)];
    if config["model_type"] == "llama" {
        weights.extend([(hidden, 2 * inner / tp), (inner / tp, hidden)]);
    }
    let (mut flops, mut bytes) = (0, 0);
    let mut multiply = |count: u64, tokens: u64, (rows, columns): (u64, u64)| {
        flops += count * 2 * tokens * rows * columns;
        bytes += count * 2 * (rows * columns + tokens * (rows + columns));
    };
    for step in steps {
        for shape in &weights {
            multiply(layers, step.prompt_tokens + step.decodes, *shape);
        }
        multiply(1, step.prompts + step.decodes, (hidden, vocabulary / tp));
    }
    (flops * tp, bytes * tp)
}

#[test]
fn a_model_that_did_not_run_is_refused() {
    each_seed("checks::fit", false, |case| {
        let phases = case.injected("phases").as_object().unwrap();
        if !phases.values().any(|phase| phase["has_floor"] == true) {
            return 0;
        }
        let others = other_configs(case.job.config.as_ref().unwrap());
        let path = case.folder.path().join("other.json");
        for (what, config) in &others {
            std::fs::write(&path, config.to_string()).unwrap();
            assert_refused(what, case, &ModelRequest { model: Some(path.clone()), ..case.request() });
        }
        let request = case.request();
        let tp = request.tp.map(|tp| 2 * tp);
        assert_refused("twice the ranks", case, &ModelRequest { tp, ..request });
        others.len() + 1
    });
}

fn other_configs(config: &Value) -> Vec<(String, Value)> {
    let with = |changes: &[(&str, Value)]| {
        let mut config = config.clone();
        for (key, value) in changes {
            config[*key] = value.clone();
        }
        config
    };
    let layers = config["num_hidden_layers"].as_u64().unwrap();
    let mut others: Vec<(String, Value)> = [layers - 1, layers + 1, 2 * layers]
        .map(|other| (format!("{other} layers, not {layers}"), with(&[("num_hidden_layers", json!(other))])))
        .into();
    others.push(if config["model_type"] == "llama" {
        let experts = with(&[
            ("architectures", json!(["MixtralForCausalLM"])),
            ("model_type", json!("mixtral")),
            ("num_local_experts", json!(8)),
            ("num_experts_per_tok", json!(2)),
        ]);
        ("a model with experts".to_owned(), experts)
    } else {
        let mut dense =
            with(&[("architectures", json!(["LlamaForCausalLM"])), ("model_type", json!("llama"))]);
        dense.as_object_mut().unwrap().retain(|key, _| !key.contains("_experts"));
        ("a dense model".to_owned(), dense)
    });
    others
}

fn assert_refused(what: &str, case: &Case, request: &ModelRequest) {
    match analyze(&case.traces(), request) {
        Ok(_) => panic!("{what}: accepted, expected a refusal"),
        Err(error) => {
            assert_eq!(Exit::from(error.kind()).code(), 2, "{what}: exit code of {error}");
            assert!(
                error.to_string().contains("is not the model of this trace"),
                "{what}: refused for another reason: {error}"
            );
        }
    }
}
