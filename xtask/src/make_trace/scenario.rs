//! What is planted: a model, a device, steps, and how much goes wrong.

use anyhow::{Context, Result, bail};
use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::measured::{self, Ran, RunPhase, Shape};
use rooflens_cost::step::Step as Pass;
use rooflens_cost::{Model, Parallel, Setup};
use serde_json::{Value, json};

use super::truth::Work;
use crate::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `execute_32_context_0(…)_generation_32(sq32sk55086…)`: tells everything.
    Vllm,
    /// `step[DECODE bs=32]`: does not tell the cache.
    Sglang,
    /// `decode_step_3`: tells no shapes.
    Words,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// None.
    Plain,
    Inside,
    Around,
    /// The same name again, as of a second tool, and drawn once more on the device.
    Twice,
    ProfilerSteps,
    /// `ProfilerStep#0` around all steps.
    OneProfilerStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Artefact {
    Profiler,
    /// The host waited for work that is not in the trace.
    Unrecorded,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) phase: RunPhase,
    pub(crate) name: String,
    pub(crate) other_name: String,
    pub(crate) artefact: Option<Artefact>,
    pub(crate) is_graph: bool,
    pub(crate) is_told: bool,
    pub(crate) floors: Vec<(&'static str, f64)>,
}

#[derive(Debug)]
pub(crate) struct Habits {
    pub(crate) pace_ns: i64,
    /// Chance that the host does something else before a launch.
    pub(crate) busy: f64,
    /// Chance that it waits for the device before a launch.
    pub(crate) sync: f64,
    pub(crate) dispatch: f64,
    pub(crate) dependency: f64,
    /// Chance of work that is not needed, after a kernel.
    pub(crate) unneeded: f64,
    pub(crate) overlap: f64,
}

pub(crate) struct Scenario {
    pub(crate) config: Value,
    pub(crate) layers: u64,
    pub(crate) has_experts: bool,
    pub(crate) device: &'static Device,
    /// Ranks, which share each layer.
    pub(crate) ranks: u64,
    pub(crate) style: Style,
    pub(crate) nesting: Nesting,
    /// Tokens in the cache of each sequence, where annotations do not tell.
    pub(crate) context: Option<u64>,
    /// Sequences, where annotations do not tell.
    pub(crate) batch: Option<u64>,
    /// The steps, in order.
    pub(crate) steps: Vec<Step>,
    pub(crate) inefficiency: [(Work, f64); 4],
    pub(crate) habits: Habits,
}

const DEVICES: &[&str] = &["H100 SXM", "H200 SXM", "B200", "A100 SXM 80GB", "L40S", "MI300X"];

impl Scenario {
    pub(crate) fn new(seed: u64, ranks: Option<u64>) -> Result<Self> {
        let random = &mut Random::new(seed, 0);
        let ranks = ranks.unwrap_or_else(|| *random.pick(&[1, 1, 2, 4]));
        let has_experts = random.happens(0.3);
        let layers = random.between(2, 6) as u64;
        let config = config(random, layers, has_experts, ranks);
        let model = Model::from_json(config.to_string().as_bytes())?;
        let name: &&str = random.pick(DEVICES);
        let device = Catalog::embedded().find(name)?;
        let setup = Setup { parallel: Parallel { tp: ranks, ..Parallel::NONE }, ..Setup::default() };
        if let Some(fault) = setup.parallel.fault(model.depth) {
            bail!("{fault}");
        }
        let style = *random.pick(&[Style::Vllm, Style::Vllm, Style::Sglang, Style::Words]);
        // One context and batch for all decode steps, where they come by option.
        let context = (style != Style::Vllm).then(|| random.between(64, 4096) as u64);
        let batch = (style == Style::Words).then(|| random.between(1, 64) as u64);
        let graphs = *random.pick(&[0.0, 0.0, 0.6, 1.0]);
        // Apart from the draws above and below, which stay as they are for a seed.
        let besides = &mut Random::new(seed, u64::MAX - 1);
        let nesting = *besides.pick(&[
            Nesting::Plain,
            Nesting::Inside,
            Nesting::Around,
            Nesting::Twice,
            Nesting::ProfilerSteps,
            Nesting::OneProfilerStep,
        ]);
        let artefact = *besides.pick(&[None, Some(Artefact::Profiler), Some(Artefact::Unrecorded)]);
        let mut steps = Vec::new();
        for number in 0..random.between(4, 12) {
            let mut shape = Sizes::new(random, style, number == 0, context, batch);
            let is_decode = shape.phase() == RunPhase::Decode;
            shape.number = number;
            steps.push(Step {
                phase: shape.phase(),
                name: shape.annotation(style),
                other_name: shape.other_name(style),
                artefact: artefact.filter(|_| number > 0 && besides.happens(0.3)),
                is_graph: is_decode && random.happens(graphs),
                is_told: is_decode || style != Style::Words,
                floors: shape.floors(&model, &setup, device)?,
            });
        }
        let inefficiency = [Work::Products, Work::Attention, Work::Norms, Work::Lookups];
        let inefficiency = inefficiency.map(|work| (work, 0.02 + 3.0 * random.fraction().powi(2)));
        Ok(Scenario {
            config,
            layers,
            has_experts,
            device,
            ranks,
            style,
            nesting,
            context,
            batch,
            steps,
            inefficiency,
            habits: Habits {
                pace_ns: *random.pick(&[3_000, 10_000, 40_000]),
                busy: *random.pick(&[0.0, 0.01, 0.04]),
                sync: *random.pick(&[0.0, 0.01, 0.03]),
                dispatch: *random.pick(&[0.0, 0.2, 0.8]),
                dependency: *random.pick(&[0.0, 0.02, 0.1]),
                unneeded: *random.pick(&[0.0, 0.2, 0.6]),
                overlap: *random.pick(&[0.0, 0.5, 0.9]),
            },
        })
    }
}

fn config(random: &mut Random, layers: u64, has_experts: bool, ranks: u64) -> Value {
    let heads = *random.pick(&[8_u64, 16, 32]);
    let kv_heads = *random.pick(&[4_u64, 8]);
    let mut config = json!({
        "architectures": [if has_experts { "MixtralForCausalLM" } else { "LlamaForCausalLM" }],
        "model_type": if has_experts { "mixtral" } else { "llama" },
        "hidden_size": heads * 128,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads.max(ranks),
        "intermediate_size": heads * 128 * random.between(2, 4) as u64,
        "num_hidden_layers": layers,
        "vocab_size": *random.pick(&[32_000_u64, 65_536, 128_256]),
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": false,
    });
    if has_experts {
        config["num_local_experts"] = json!(8);
        config["num_experts_per_tok"] = json!(2);
    }
    config
}

struct Sizes {
    number: i64,
    prompts: (u64, u64),
    /// Tokens of each prompt that were cached before.
    cached: u64,
    /// Sequences that go on, and the tokens in sight of them all.
    going_on: (u64, u64),
}

impl Sizes {
    fn new(
        random: &mut Random,
        style: Style,
        is_first: bool,
        context: Option<u64>,
        batch: Option<u64>,
    ) -> Self {
        let kind = match style {
            _ if is_first => RunPhase::Prefill,
            Style::Vllm => *random.pick(&[
                RunPhase::Decode,
                RunPhase::Decode,
                RunPhase::Decode,
                RunPhase::Prefill,
                RunPhase::Mixed,
            ]),
            _ => *random.pick(&[RunPhase::Decode, RunPhase::Decode, RunPhase::Decode, RunPhase::Prefill]),
        };
        let prompts = (random.between(1, 4) as u64, random.between(16, 1024) as u64);
        let sequences = batch.unwrap_or(random.between(1, 64) as u64);
        let in_sight = match context {
            Some(each) => each * sequences,
            None => {
                sequences * random.between(16, 4096) as u64 + random.between(0, sequences as i64 - 1) as u64
            }
        };
        // Only there do annotations tell of it.
        let is_told = style == Style::Vllm && kind == RunPhase::Prefill;
        let cached = if is_told && random.happens(0.5) { random.between(1, 4096) as u64 } else { 0 };
        Sizes {
            number: 0,
            cached,
            prompts: if kind == RunPhase::Decode { (0, 0) } else { prompts },
            going_on: if kind == RunPhase::Prefill { (0, 0) } else { (sequences, in_sight) },
        }
    }

    fn phase(&self) -> RunPhase {
        match (self.prompts.0 > 0, self.going_on.0 > 0) {
            (true, true) => RunPhase::Mixed,
            (true, false) => RunPhase::Prefill,
            _ => RunPhase::Decode,
        }
    }

    fn annotation(&self, style: Style) -> String {
        let (prompts, prompt) = self.prompts;
        let (decodes, in_sight) = self.going_on;
        let (tokens, seen) = (prompts * prompt, prompts * (prompt + self.cached));
        match (style, self.phase()) {
            (Style::Vllm, _) => format!(
                "execute_{}_context_{prompts}(sq{tokens}sk{seen}sqsq{tokens}sqsk{seen})_generation_{decodes}\
                 (sq{decodes}sk{in_sight}sqsq{decodes}sqsk{in_sight})",
                tokens + decodes
            ),
            (Style::Sglang, RunPhase::Decode) => format!("step[DECODE bs={decodes}]"),
            (Style::Sglang, _) => format!("step[EXTEND bs={prompts} toks={tokens}]"),
            (Style::Words, RunPhase::Decode) => format!("decode_step_{}", self.number),
            (Style::Words, _) => "prefill".to_owned(),
        }
    }

    /// What another tool calls the step. It never tells more than the options do.
    fn other_name(&self, style: Style) -> String {
        match (style, self.phase()) {
            (Style::Vllm, RunPhase::Decode) => format!("step[DECODE bs={}]", self.going_on.0),
            (Style::Vllm, RunPhase::Prefill) => {
                format!("step[EXTEND bs={} toks={}]", self.prompts.0, self.prompts.0 * self.prompts.1)
            }
            (Style::Vllm, _) => format!("step[MIXED bs={}]", self.prompts.0 + self.going_on.0),
            (_, RunPhase::Decode) => "decode".to_owned(),
            _ => "prefill".to_owned(),
        }
    }

    fn floors(&self, model: &Model, setup: &Setup, device: &Device) -> Result<Vec<(&'static str, f64)>> {
        let mut needed = Vec::new();
        if self.prompts.0 > 0 {
            needed.push(Pass::prefill(self.prompts.0, self.prompts.1, self.cached));
        }
        if self.going_on.0 > 0 {
            needed.extend(measured::decoding(self.going_on.0, self.going_on.1));
        }
        let phase = self.phase();
        let shape = Shape { phase, padded: needed.clone(), needed, pictures: Some(Vec::new()) };
        let mut floors = measured::floors(model, setup, device, &[Ran { shape, dur_ns: 0 }]);
        let floors = floors.remove(&phase).context("no floors")?.map_err(anyhow::Error::msg)?;
        Ok(floors.into_iter().map(|floor| (floor.class, floor.ns)).collect())
    }
}
