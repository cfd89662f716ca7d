//! What an annotation's name says: which kind of step, how many tokens.

use rooflens_schema::tables::{PhaseKind, PhaseSource};
use rooflens_schema::{Opt, RankTables};

use super::modules::MODULE;

/// The range of the workload around what makes tokens of what encoders saw: the end of looking at a picture.
const PROJECTOR: &str = "rooflens.projector";

/// What a name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ParsedPhaseName {
    kind: PhaseKind,
    source: PhaseSource,
    step: Option<i64>,
    batch: Option<i64>,
    prefill_tokens: Option<i64>,
    decode_tokens: Option<i64>,
    kv_tokens: Option<i64>,
}

impl ParsedPhaseName {
    fn new(kind: PhaseKind, source: PhaseSource) -> Self {
        ParsedPhaseName {
            kind,
            source,
            step: None,
            batch: None,
            prefill_tokens: None,
            decode_tokens: None,
            kv_tokens: None,
        }
    }
}

/// Fills `kind`, `source`, `step`, `batch` and the token counts of `phases`.
pub(super) fn read(tables: &mut RankTables) {
    let phases = &mut tables.phases;
    let mut known: Vec<Option<Option<ParsedPhaseName>>> = vec![None; tables.names.len()];
    for i in 0..phases.len() {
        let name = phases.name_id[i];
        let Some(told) = *known[name.index()].get_or_insert_with(|| tell(tables.names.get(name))) else {
            continue;
        };
        phases.kind[i] = told.kind;
        if phases.source[i] == PhaseSource::Annotation {
            phases.source[i] = told.source;
        }
        phases.step[i] = told.step.into();
        phases.batch[i] = told.batch.into();
        phases.prefill_tokens[i] = told.prefill_tokens.into();
        phases.decode_tokens[i] = told.decode_tokens.into();
        phases.kv_tokens[i] = Opt::from(told.kv_tokens);
    }
}

fn tell(name: &str) -> Option<ParsedPhaseName> {
    // A module's path is no phase, whatever words are in it: `module:model.vision_tower`.
    if name.starts_with(MODULE) {
        return None;
    }
    profiler_step(name)
        .or_else(|| vllm(name))
        .or_else(|| sglang(name))
        .or_else(|| tensorrt_llm(name))
        .or_else(|| atom(name))
        .or_else(|| xdit(name))
        .or_else(|| plain_words(name))
}

/// `ProfilerStep#3`, by torch.profiler's schedule.
fn profiler_step(name: &str) -> Option<ParsedPhaseName> {
    let step = name.strip_prefix("ProfilerStep#")?.parse().ok()?;
    Some(ParsedPhaseName {
        step: Some(step),
        ..ParsedPhaseName::new(PhaseKind::Step, PhaseSource::ProfilerStep)
    })
}

/// vLLM: `execute_context_1(888_788544)_generation_0(0)`, and with detailed annotations
/// `execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)`: requests, then
/// sums of query tokens and of cached tokens.
fn vllm(name: &str) -> Option<ParsedPhaseName> {
    let (_, rest) = name.strip_prefix("execute_")?.split_once("context_")?;
    let (prefills, rest) = rest.split_once('(')?;
    let (prefill_sums, rest) = rest.split_once(")_generation_")?;
    let (decodes, rest) = rest.split_once('(')?;
    let decode_sums = rest.split_once(')')?.0;
    let (prefills, decodes): (i64, i64) = (prefills.parse().ok()?, decodes.parse().ok()?);
    let first_number = |sums: &str| number_at(sums.trim_start_matches("sq"));
    let cached = |sums: &str| sums.split_once("sk").and_then(|(_, rest)| number_at(rest));
    let kind = kind_of(prefills, decodes);
    Some(ParsedPhaseName {
        batch: Some(prefills.saturating_add(decodes)),
        prefill_tokens: first_number(prefill_sums),
        decode_tokens: first_number(decode_sums),
        kv_tokens: cached(prefill_sums).zip(cached(decode_sums)).map(|(a, b)| a.saturating_add(b)),
        ..ParsedPhaseName::new(kind, PhaseSource::Engine)
    })
}

/// SGLang: `step[DECODE bs=32]`, `step[EXTEND bs=15 toks=15360]`; with detailed annotations also sums over prompts
/// (`c_`) and over sequences that decode (`g_`), of query tokens (`sq`) and of tokens in the KV cache (`sk`):
/// `step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 … g_sq=1 g_sk=12 …]`.
fn sglang(name: &str) -> Option<ParsedPhaseName> {
    let inside = name.strip_prefix("step[")?.strip_suffix(']')?;
    let value = |key: &str| value_of(inside, key);
    let (batch, tokens) = (value("bs="), value("toks="));
    let mode = inside.split(' ').next()?;
    let kind = match mode {
        "DECODE" | "TARGET_VERIFY" => PhaseKind::Decode,
        _ if mode.starts_with("DRAFT_EXTEND") => PhaseKind::Decode,
        "EXTEND" | "PREFILL" => PhaseKind::Prefill,
        "MIXED" => PhaseKind::Mixed,
        _ => PhaseKind::Step,
    };
    let decode_tokens = value("g_sq=").or(if mode == "DECODE" { tokens.or(batch) } else { None });
    let cached = [value("c_sk="), value("g_sk=")];
    Some(ParsedPhaseName {
        batch,
        prefill_tokens: value("c_sq=").or(tokens.filter(|_| kind == PhaseKind::Prefill)),
        decode_tokens: decode_tokens.or(tokens.filter(|_| kind == PhaseKind::Decode)),
        kv_tokens: cached.into_iter().flatten().reduce(i64::saturating_add),
        ..ParsedPhaseName::new(kind, PhaseSource::Engine)
    })
}

/// TensorRT-LLM: `[Executor] _forward_step 60: 2 ctx reqs, 1024 ctx tokens, 32 gen reqs`; versions leave out the
/// number and the tokens.
fn tensorrt_llm(name: &str) -> Option<ParsedPhaseName> {
    let (step, counts) = name.strip_prefix("[Executor] _forward_step")?.split_once(':')?;
    let value = |what: &str| {
        counts.split(',').find_map(|part| part.trim().strip_suffix(what)?.trim_end().parse::<i64>().ok())
    };
    let (prefills, decodes) = (value("ctx reqs")?, value("gen reqs")?);
    let kind = kind_of(prefills, decodes);
    Some(ParsedPhaseName {
        step: step.trim().parse().ok(),
        batch: Some(prefills.saturating_add(decodes)),
        prefill_tokens: value("ctx tokens"),
        // A speculating engine makes several of a sequence: only tokens that are told count.
        decode_tokens: value("gen tokens"),
        ..ParsedPhaseName::new(kind, PhaseSource::Engine)
    })
}

/// ATOM: `prefill[bs=2 tok=16384]`, `decode[bs=64 tok=64]`.
fn atom(name: &str) -> Option<ParsedPhaseName> {
    let (mode, inside) = name.strip_suffix(']')?.split_once('[')?;
    let (batch, tokens) = (value_of(inside, "bs=")?, value_of(inside, "tok="));
    let told =
        ParsedPhaseName { batch: Some(batch), ..ParsedPhaseName::new(PhaseKind::Step, PhaseSource::Engine) };
    match mode {
        "prefill" => Some(ParsedPhaseName { kind: PhaseKind::Prefill, prefill_tokens: tokens, ..told }),
        "decode" => {
            Some(ParsedPhaseName { kind: PhaseKind::Decode, decode_tokens: tokens.or(Some(batch)), ..told })
        }
        _ => None,
    }
}

fn kind_of(prefills: i64, decodes: i64) -> PhaseKind {
    match (prefills > 0, decodes > 0) {
        (true, true) => PhaseKind::Mixed,
        (true, false) => PhaseKind::Prefill,
        (false, true) => PhaseKind::Decode,
        (false, false) => PhaseKind::Step,
    }
}

fn value_of(words: &str, key: &str) -> Option<i64> {
    words.split(' ').find_map(|word| number_at(word.strip_prefix(key)?))
}

/// xDiT: `execute_diffusion_1_256x256`.
fn xdit(name: &str) -> Option<ParsedPhaseName> {
    let batch = number_at(name.strip_prefix("execute_diffusion_")?);
    Some(ParsedPhaseName { batch, ..ParsedPhaseName::new(PhaseKind::Diffusion, PhaseSource::Engine) })
}

/// Names that people give: `prefill`, `decode_step_3`, `vision encoder`, `step 7`. Only whole words
/// count: a `decoder` is no decode step, and `Optimizer.step` without a number is no step. Nor does capturing a
/// graph of a decode step run one: `capture_32_DECODE`.
fn plain_words(name: &str) -> Option<ParsedPhaseName> {
    let words: Vec<String> = name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    if has(&["capture", "capturing"]) {
        return None;
    }
    let numbered = words
        .windows(2)
        .filter(|pair| matches!(pair[0].as_str(), "step" | "iteration" | "iter" | "decode" | "token"))
        .find_map(|pair| pair[1].parse().ok());
    let kind = if has(&["prefill"]) {
        PhaseKind::Prefill
    } else if has(&["decode", "decoding"]) {
        PhaseKind::Decode
    } else if has(&["vision"]) || name == PROJECTOR {
        PhaseKind::Vision
    } else if numbered.is_some() && has(&["step", "iteration", "iter"]) {
        PhaseKind::Step
    } else {
        return None;
    };
    Some(ParsedPhaseName { step: numbered, ..ParsedPhaseName::new(kind, PhaseSource::Annotation) })
}

fn number_at(text: &str) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_engines() {
        let told = tell("execute_context_1(888_788544)_generation_0(0)").unwrap();
        assert_eq!((told.kind, told.batch, told.prefill_tokens), (PhaseKind::Prefill, Some(1), Some(888)));
        let told =
            tell("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)").unwrap();
        assert_eq!((told.kind, told.batch, told.decode_tokens), (PhaseKind::Decode, Some(32), Some(32)));
        assert_eq!(told.kv_tokens, Some(55086));
        let mixed =
            "execute_8192_context_9(sq8155sk8430sqsq1sqsk1)_generation_37(sq37sk34489sqsq37sqsk34489)";
        let told = tell(mixed).unwrap();
        assert_eq!(
            (told.kind, told.prefill_tokens, told.decode_tokens),
            (PhaseKind::Mixed, Some(8155), Some(37))
        );
        let told = tell("step[EXTEND bs=15 toks=15360]").unwrap();
        assert_eq!((told.kind, told.batch, told.prefill_tokens), (PhaseKind::Prefill, Some(15), Some(15360)));
        assert_eq!(tell("step[DECODE bs=32]").unwrap().decode_tokens, Some(32));
        let told = tell("step[DECODE bs=2 g_sqsq=2 g_sqsk=30 g_sk=30]").unwrap();
        assert_eq!((told.decode_tokens, told.kv_tokens), (Some(2), Some(30)));
        let told = tell("step[EXTEND bs=2 toks=12 c_sqsq=80 c_sqsk=120 c_sk=20]").unwrap();
        assert_eq!((told.prefill_tokens, told.decode_tokens, told.kv_tokens), (Some(12), None, Some(20)));
        let told = tell(
            "step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]",
        )
        .unwrap();
        assert_eq!((told.kind, told.batch, told.kv_tokens), (PhaseKind::Mixed, Some(2), Some(20)));
        assert_eq!((told.prefill_tokens, told.decode_tokens), (Some(5), Some(1)));
        let told = tell("step[TARGET_VERIFY bs=4]").unwrap();
        assert_eq!((told.kind, told.batch, told.decode_tokens), (PhaseKind::Decode, Some(4), None));
        let told = tell("[Executor] _forward_step 60: 2 ctx reqs, 1024 ctx tokens, 32 gen reqs").unwrap();
        assert_eq!((told.kind, told.step, told.batch), (PhaseKind::Mixed, Some(60), Some(34)));
        assert_eq!((told.prefill_tokens, told.decode_tokens), (Some(1024), None));
        let told = tell("[Executor] _forward_step: 0 ctx reqs, 8 gen reqs").unwrap();
        assert_eq!((told.kind, told.step, told.batch), (PhaseKind::Decode, None, Some(8)));
        let told = tell("prefill[bs=2 tok=16384]").unwrap();
        assert_eq!((told.kind, told.batch, told.prefill_tokens), (PhaseKind::Prefill, Some(2), Some(16384)));
        assert_eq!(tell("execute_diffusion_1_256x256").unwrap().kind, PhaseKind::Diffusion);
        assert_eq!(tell("ProfilerStep#12").unwrap().step, Some(12));
    }

    #[test]
    fn words_of_people() {
        assert_eq!(tell("decode_step_3").map(|t| (t.kind, t.step)), Some((PhaseKind::Decode, Some(3))));
        assert_eq!(tell("prefill").map(|t| t.kind), Some(PhaseKind::Prefill));
        for stage in ["rooflens.vision", "rooflens.vision.sam", "rooflens.vision.clip", "rooflens.projector"]
        {
            assert_eq!(tell(stage).map(|t| t.kind), Some(PhaseKind::Vision), "{stage}");
        }
        assert_eq!(tell("step 7").map(|t| (t.kind, t.step)), Some((PhaseKind::Step, Some(7))));
        for name in ["module:model.vision_tower", "module:decode", "module:model.decode.step.3"] {
            assert_eq!(tell(name), None, "{name}");
        }
        for name in [
            "## decoder fp8 None ##",
            "Optimizer.step#SGD.step",
            "nccl:all_reduce",
            "",
            "execute_",
            "capture_32_DECODE",
        ] {
            assert_eq!(tell(name), None, "{name}");
        }
    }
}
