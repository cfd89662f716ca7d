//! What Rooflens answers for real traces, with the numbers behind each sentence.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value as Json;

use super::markdown::cell;
use crate::workspace;

struct Case {
    what: &'static str,
    trace: &'static str,
    options: &'static [&'static str],
}

const INFERENCE: &str = "kineto/tracelens/inference";
const QWEN3_8B: &[&str] = &["--model", "configs/Qwen--Qwen3-8B.json", "--hardware", "mi300x"];
const GPT_OSS_20B: &[&str] = &["--model", "configs/openai--gpt-oss-20b.json", "--hardware", "mi300x"];

#[rustfmt::skip] // One trace per line.
const CASES: &[Case] = &[
    Case { what: "vLLM, decode step of gpt-oss-20b as a HIP graph, MI300X", trace: "vllm_decode_full/graph_execution.json.gz", options: GPT_OSS_20B },
    Case { what: "vLLM, prefill and decode of gpt-oss-20b in piecewise graphs, MI300X", trace: "vllm_prefilldecode_piecewise/graph_execution.json.gz", options: GPT_OSS_20B },
    Case { what: "SGLang, prefill of Qwen3-8B, MI300X", trace: "sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz", options: QWEN3_8B },
    Case { what: "SGLang, decode step of Qwen3-8B, MI300X", trace: "sglang_decode/sglang_Qwen3-8B_decode.json.gz", options: QWEN3_8B },
    Case { what: "vLLM, eager prefill on 8 B200, one rank", trace: "kineto/tracelens/b200/eager_trace.json.gz", options: &[] },
    Case { what: "xDiT, Stable Diffusion 3.5, MI300X", trace: "xdit_sd_3.5/profile_trace_rank_0.json.gz", options: &[] },
    Case { what: "Transformers, Qwen1.5-0.5B, H100", trace: "kineto/tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", options: &[] },
    Case { what: "Transformers, Qwen1.5-0.5B, MI300X", trace: "kineto/tracelens/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", options: &[] },
    Case { what: "Transformers, OWLv2, H100", trace: "kineto/tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz", options: &[] },
    Case { what: "ResNet trained with DDP, MI300X", trace: "kineto/tracelens/mi300/resnet_act_checkpoint.json.gz", options: &[] },
    Case { what: "device events alone, MI210", trace: "kineto/tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz", options: &[] },
    Case { what: "two ranks of a training job, sampled", trace: "kineto/hta/trace_filter", options: &[] },
    Case { what: "Llama on a CPU", trace: "kineto/cpu_llama/llama8x512_nostack.json.gz", options: &[] },
    Case { what: "nvFuser under Nsight Systems", trace: "nsys/Fuser__64ee035_report1.sqlite", options: &[] },
    Case { what: "two H100 that copy weights from the host, under Nsight Systems", trace: "nsys/nsys-ai__h100_2gpu_1s.sqlite", options: &[] },
];

const HEAD: &str = "\
# Verdicts for real traces

The first sentence and the first advice of `rooflens analyze` for traces of the test corpus. Below each are the
numbers behind its sentences, as in `rooflens analyze --format json`, and the rows that support the advice. Each can
be checked by hand: every number is a sum over events of the trace, and `rooflens analyze TRACE -o DIR` writes these
events as Parquet tables for any query engine.
";

/// The page; none where the corpus is not there.
pub(crate) fn page(program: &Path) -> Result<Option<String>> {
    let Some(corpus) = corpus() else { return Ok(None) };
    let mut summary = String::from("| trace | verdict | first advice |\n| --- | --- | --- |\n");
    let mut sections = String::new();
    for (index, case) in CASES.iter().enumerate() {
        let answer = answer(program, &corpus, case)?;
        let number = index + 1;
        let verdict = answer["verdict"]["sentence"].as_str().context("no verdict")?;
        let advice = answer["advice"]["items"].get(0);
        let title = advice.and_then(|advice| advice["title"].as_str()).unwrap_or("none");
        let anchor = format!("[{number}. {}](#trace-{number})", case.what);
        writeln!(summary, "| {} | {} | {} |", cell(&anchor), cell(verdict), cell(title))?;
        sections.push_str(&section(number, case, &answer, verdict, advice)?);
    }
    Ok(Some(format!("{HEAD}\n{summary}{sections}")))
}

fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("ROOFLENS_CORPUS").map(PathBuf::from);
    Some(named.unwrap_or_else(|| workspace::root().join("../shared/data"))).filter(|path| path.is_dir())
}

impl Case {
    fn path(&self) -> String {
        match self.trace.starts_with("kineto/") || self.trace.starts_with("nsys/") {
            true => self.trace.to_owned(),
            false => format!("{INFERENCE}/{}", self.trace),
        }
    }
}

fn answer(program: &Path, corpus: &Path, case: &Case) -> Result<Json> {
    let program = std::path::absolute(program)?;
    let mut command = Command::new(program);
    command.current_dir(corpus).args(["analyze", &case.path(), "--format", "json"]).args(case.options);
    let text = workspace::output(&mut command)?;
    serde_json::from_str(&text).with_context(|| format!("the answer for {}", case.trace))
}

fn section(
    number: usize,
    case: &Case,
    answer: &Json,
    verdict: &str,
    advice: Option<&Json>,
) -> Result<String> {
    let mut text = format!("\n## <a id=\"trace-{number}\"></a>{number}. {}\n\n", case.what);
    let options: String = case.options.iter().map(|option| format!(" {option}")).collect();
    writeln!(text, "```sh\nrooflens analyze {}{options}\n```\n", case.path())?;
    writeln!(text, "**Verdict.** {verdict}\n")?;
    for claim in answer["verdict"]["claims"].as_array().into_iter().flatten() {
        if claim["place"] == "sentence" {
            writeln!(text, "- {}", reasoning(claim))?;
        }
    }
    let Some(advice) = advice else {
        text.push_str("\nNo rule has advice.\n");
        return Ok(text);
    };
    let word = |key: &str| advice[key].as_str().unwrap_or_default().to_owned();
    writeln!(text, "\n**First advice** ({}): {}.\n", word("phase"), word("title"))?;
    for row in advice["evidence"].as_array().into_iter().flatten() {
        writeln!(text, "- {}", row.as_str().unwrap_or_default())?;
    }
    writeln!(text, "- gain: {}; {}", gain(advice), word("computed"))?;
    writeln!(text, "- change: {}", word("change"))?;
    Ok(text)
}

/// A number of a sentence as a sum and a quotient of fields.
fn reasoning(claim: &Json) -> String {
    let text = claim["text"].as_str().unwrap_or_default();
    let what = claim["what"].as_str().unwrap_or_default();
    let fields: Vec<String> = claim["from"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .map(|field| format!("`{field}`"))
        .collect();
    let fields = fields.join(" + ");
    match (claim["ns"].as_f64(), claim["share"].as_f64(), claim["of"].as_str()) {
        (Some(ns), Some(share), Some(whole)) if share > 0.0 => {
            let part = if fields.is_empty() { String::new() } else { format!(": {fields} / `{whole}`") };
            format!("{text} {what} = {} / {}{part}", milliseconds(ns), milliseconds(ns / share))
        }
        (Some(ns), ..) => format!("{text} {what} = {}: {fields}", milliseconds(ns)),
        _ => format!("{text} {what}: {fields}"),
    }
}

fn gain(advice: &Json) -> String {
    let share = |end: &str| advice["gain_share"][end].as_f64().map(|share| format!("{:.1}", 100.0 * share));
    match share("low").zip(share("high")) {
        Some((low, high)) if low == high => format!("{low} % of the phase's time"),
        Some((low, high)) => format!("{low} to {high} % of the phase's time"),
        None => "not given as a number".to_owned(),
    }
}

fn milliseconds(ns: f64) -> String {
    format!("{:.3} ms", ns / 1e6)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_share_is_shown_as_a_quotient_of_fields() {
        let claim = json!({
            "text": "25.0%", "what": "sync", "ns": 250_000.0, "share": 0.25,
            "from": ["ledger.lines[line=sync].ns"], "of": "ledger.wall_ns",
        });
        let expected = "25.0% sync = 0.250 ms / 1.000 ms: `ledger.lines[line=sync].ns` / `ledger.wall_ns`";
        assert_eq!(reasoning(&claim), expected);
        let claim = json!({"text": "12 ms", "what": "copies", "ns": 12e6, "from": ["kernels[0].total_ns"]});
        assert_eq!(reasoning(&claim), "12 ms copies = 12.000 ms: `kernels[0].total_ns`");
    }

    #[test]
    fn a_gain_that_is_not_known_is_said_so() {
        assert_eq!(gain(&json!({"gain_share": null})), "not given as a number");
        assert_eq!(
            gain(&json!({"gain_share": {"low": 0.1, "high": 0.25}})),
            "10.0 to 25.0 % of the phase's time"
        );
    }
}
