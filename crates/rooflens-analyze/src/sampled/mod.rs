//! What devices and the host did while the steps of a run went on: the table `counters`, summed up for
//! each step and for each part of it, such as `decode`.
//!
//! A level (power, use, memory) has its mean, least and most over the samples that fell into a part. A
//! count that only grows (energy, bytes moved) has what it grew by; where a part begins or ends between
//! two samples, it is taken to have grown evenly between them. Energy is that of the device's own counter;
//! where it has none, the integral of its power.

mod columns;
mod growth;

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_schema::tables::{CounterRow, CounterSource, CounterStep, Counters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::growth::Growth;

/// The name of the part that is the whole step.
pub const WHOLE: &str = "all";

/// What was sampled, and what is to be told apart.
pub struct SampledRun<'a> {
    /// The samples, by time.
    pub counters: &'a Counters,
    /// From one sample to the next.
    pub interval_ns: i64,
    /// The time of day that is 0 in the samples.
    pub base_unix_ns: i64,
    /// What was sampled.
    pub subjects: Vec<CounterSubject>,
    /// The steps, in order.
    pub steps: Vec<StepParts>,
    /// Names of throttle bits.
    pub throttle: fn(i64) -> Vec<String>,
    /// What could not be sampled at all, and why.
    pub missing: BTreeMap<String, String>,
}

/// Something that was sampled.
#[derive(Debug, Clone)]
pub struct CounterSubject {
    /// The machine, or a device of it.
    pub source: CounterSource,
    /// Device index.
    pub device: Option<i32>,
    /// What it is called.
    pub name: String,
    /// Columns that it could not tell, and why.
    pub reasons: BTreeMap<String, String>,
}

/// The parts of a step.
#[derive(Debug, Clone)]
pub struct StepParts {
    /// The step.
    pub step: CounterStep,
    /// Its parts beside the whole.
    pub parts: Vec<StepPart>,
}

/// A part of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPart {
    /// Its name, as `decode`.
    pub name: String,
    /// When it went on: from, to, on the clock of the samples; by time, none touching the next.
    pub stretches: Vec<(i64, i64)>,
    /// Tokens that were made in it, where that is known.
    pub output_tokens: Option<u64>,
}

/// What was sampled in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampled {
    /// From one sample to the next.
    pub interval_ns: i64,
    /// The time of day that is 0 in `counters`.
    pub base_unix_ns: i64,
    /// The steps, in order.
    pub steps: Vec<StepSampled>,
    /// What could not be sampled, and why.
    pub not_computed: BTreeMap<String, String>,
}

/// What was sampled in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepSampled {
    /// The step.
    pub step: CounterStep,
    /// The whole of it first, then its parts.
    pub parts: Vec<PartSampled>,
}

/// What was sampled in a part of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartSampled {
    /// `all` for the whole step, `rounds` for what counts of it, or a phase.
    pub part: String,
    /// How long it was, all stretches together.
    pub dur_ns: i64,
    /// Tokens that were made in it.
    pub(crate) output_tokens: Option<u64>,
    /// The host and each device.
    pub subjects: Vec<SubjectSampled>,
}

/// What was sampled of the host or of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectSampled {
    /// The machine, or a device of it.
    pub source: CounterSource,
    /// Device index as the driver counts.
    pub device: Option<i32>,
    /// What it is called.
    pub name: String,
    /// Samples that fell into the part.
    pub samples: usize,
    /// Levels by column of `counters`.
    pub levels: BTreeMap<Cow<'static, str>, Option<LevelSummary>>,
    /// What counts grew by, by column of `counters`.
    pub totals: BTreeMap<Cow<'static, str>, Option<f64>>,
    /// Energy of a device.
    pub energy_j: Option<f64>,
    /// `counter`, or `power` where it is the integral of that.
    pub(crate) energy_from: Option<Cow<'static, str>>,
    /// Energy of this device / tokens that were made. Where several devices work together, add them up.
    pub energy_j_per_output_token: Option<f64>,
    /// Why a device's clocks were low, and in which part of the samples that tell.
    pub throttle: Option<Vec<Throttled>>,
    /// Performance states of a device, the fastest first, each with its part of the samples that tell one.
    pub pstates: Option<Vec<StateShare>>,
    /// Performance states while the device was busy (`gpu_util_pct` above 0); null if no such sample records
    /// one.
    pub busy_pstates: Option<BusyStates>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, String>,
    /// Each level over the whole step: of the whole only, for charts.
    #[serde(skip)]
    pub series: BTreeMap<&'static str, Vec<(i64, f64)>>,
    /// Why the clocks were low in each sample that tells, nothing where they were not: of the whole only, for charts.
    #[serde(skip)]
    pub throttle_series: Vec<(i64, Vec<String>)>,
}

/// A level over the samples that tell it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelSummary {
    /// How many.
    pub(crate) samples: usize,
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

/// A reason for low clocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throttled {
    /// Its word.
    pub reason: String,
    /// Part of the samples that had it.
    pub share: f64,
}

/// A performance state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateShare {
    /// The state, as `P0`.
    pub state: String,
    /// Part of the samples.
    pub share: f64,
}

/// Performance states of samples in which a device was busy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyStates {
    /// Samples in which it was busy and reported its state.
    pub samples: usize,
    /// States, the fastest first.
    pub states: Vec<StateShare>,
    /// Part of these samples in a state slower than P0.
    pub below_p0_share: f64,
    /// The same as time: samples below P0 × the time between two samples.
    pub below_p0_ns: i64,
}

const NOT_BUSY: &str = "no busy sample of the device has its performance state";
const NO_SAMPLE: &str = "no sample fell into it; a shorter sampler.interval_ms takes more";
const TOO_SHORT: &str =
    "its intervals are shorter than the sampling interval; set a shorter sampler.interval_ms";
const NOT_OF_HOSTS: &str = "it is only sampled for devices";
const NOT_TOLD: &str = "it was not reported";
const NO_TOKENS: &str = "the number of tokens generated in it is not known";

/// Sums the samples up.
pub fn sampled(question: &SampledRun<'_>) -> Sampled {
    let steps = question.steps.iter().map(|step| step_sampled(step, question)).collect();
    Sampled {
        interval_ns: question.interval_ns,
        base_unix_ns: question.base_unix_ns,
        steps,
        not_computed: question.missing.clone(),
    }
}

fn step_sampled(step: &StepParts, question: &SampledRun<'_>) -> StepSampled {
    let counters = question.counters;
    let rows: Vec<Vec<CounterRow>> = question
        .subjects
        .iter()
        .map(|subject| {
            let is_of = |row: &CounterRow| {
                row.step == step.step && row.source == subject.source && row.device.get() == subject.device
            };
            (0..counters.len()).filter_map(|i| counters.row(i)).filter(is_of).collect()
        })
        .collect();
    let times = || rows.iter().flatten().map(|row| row.ts_ns);
    let whole = StepPart {
        name: WHOLE.to_owned(),
        stretches: times().min().zip(times().max()).into_iter().collect(),
        output_tokens: None,
    };
    let part = |part: &StepPart| PartSampled {
        part: part.name.clone(),
        dur_ns: part.stretches.iter().map(|(from, to)| to - from).sum(),
        output_tokens: part.output_tokens,
        subjects: question
            .subjects
            .iter()
            .zip(&rows)
            .map(|(subject, rows)| subject_sampled(subject, rows, part, question))
            .collect(),
    };
    StepSampled { step: step.step, parts: std::iter::once(&whole).chain(&step.parts).map(part).collect() }
}

fn subject_sampled(
    subject: &CounterSubject,
    rows: &[CounterRow],
    part: &StepPart,
    question: &SampledRun<'_>,
) -> SubjectSampled {
    let is_whole = part.name == WHOLE;
    let is_in =
        |ts_ns: i64| is_whole || part.stretches.iter().any(|(from, to)| (*from..*to).contains(&ts_ns));
    let inside: Vec<&CounterRow> = rows.iter().filter(|row| is_in(row.ts_ns)).collect();
    let mut sums = SubjectSampled {
        source: subject.source,
        device: subject.device,
        name: subject.name.clone(),
        samples: inside.len(),
        levels: BTreeMap::new(),
        totals: BTreeMap::new(),
        energy_j: None,
        energy_from: None,
        energy_j_per_output_token: None,
        throttle: None,
        pstates: None,
        busy_pstates: None,
        not_computed: BTreeMap::new(),
        series: BTreeMap::new(),
        throttle_series: Vec::new(),
    };
    // Why a column is null: it never was anything else, or only here.
    let reason = |column: &str, is_ever: bool, here: &str| match is_ever {
        true => here.to_owned(),
        false => subject.reasons.get(column).cloned().unwrap_or_else(|| NOT_TOLD.to_owned()),
    };
    let points = |of: columns::Value| -> Vec<(i64, f64)> {
        rows.iter().filter_map(|row| Some((row.ts_ns, of(row)?))).collect()
    };
    for column in columns::LEVELS.iter().filter(|column| column.is_of(subject.source)) {
        let level = level(inside.iter().filter_map(|row| (column.of)(row)));
        if level.is_none() {
            let is_ever = rows.iter().any(|row| (column.of)(row).is_some());
            sums.not_computed.insert(column.name.into(), reason(column.name, is_ever, NO_SAMPLE));
        }
        if is_whole && level.is_some() {
            sums.series.insert(column.name, points(column.of));
        }
        sums.levels.insert(column.name.into(), level);
    }
    // A mean stretch that falls between two samples shares its growth with what is around it.
    let is_long = is_whole
        || part.stretches.iter().map(|(from, to)| to - from).sum::<i64>()
            >= question.interval_ns.saturating_mul(i64::try_from(part.stretches.len()).unwrap_or(i64::MAX));
    let grown = |growth: &Growth| match (is_whole, part.stretches.is_empty()) {
        (true, _) => growth.in_all(),
        (false, true) => Err(NO_SAMPLE),
        (false, false) if !is_long => Err(TOO_SHORT),
        (false, false) => growth.within(&part.stretches),
    };
    for column in columns::COUNTS.iter().filter(|column| column.is_of(subject.source)) {
        let points = points(column.of);
        let is_ever = !points.is_empty();
        let total = grown(&Growth::of_count(points));
        if let Err(why) = total {
            sums.not_computed.insert(column.name.into(), reason(column.name, is_ever, why));
        }
        sums.totals.insert(column.name.into(), total.ok());
    }
    if subject.source == CounterSource::Device {
        let counted = points(|row| row.energy_mj.get().map(|energy| energy as f64 / 1e3));
        let power = points(|row| row.power_mw.get().map(|power| power as f64 / 1e3));
        let (growth, from) = match counted.is_empty() {
            false => (Growth::of_count(counted), "counter"),
            true => (Growth::of_rate(&power), "power"),
        };
        let energy = grown(&growth);
        sums.energy_j = energy.ok();
        sums.energy_from = sums.energy_j.map(|_| from.into());
        if let Err(why) = energy {
            let why = reason("energy_mj", from == "counter" || !power.is_empty(), why);
            sums.not_computed.insert("energy_j".into(), why);
        }
        let tokens = part.output_tokens.filter(|tokens| *tokens > 0);
        sums.energy_j_per_output_token =
            sums.energy_j.zip(tokens).map(|(energy, tokens)| energy / tokens as f64);
        if sums.energy_j_per_output_token.is_none() {
            let why = sums.not_computed.get("energy_j").cloned();
            sums.not_computed
                .insert("energy_j_per_output_token".into(), why.unwrap_or_else(|| NO_TOKENS.to_owned()));
        }
        sums.throttle = throttled(&inside, question.throttle);
        if is_whole {
            let told = |row: &CounterRow| Some((row.ts_ns, (question.throttle)(row.throttle_reasons.get()?)));
            sums.throttle_series = rows.iter().filter_map(told).collect();
        }
        if sums.throttle.is_none() {
            let is_ever = rows.iter().any(|row| row.throttle_reasons.is_some());
            sums.not_computed.insert("throttle".into(), reason("throttle_reasons", is_ever, NO_SAMPLE));
        }
        sums.pstates = states(&inside);
        sums.busy_pstates = busy_states(&inside, question.interval_ns);
        let is_ever = rows.iter().any(|row| row.pstate.is_some());
        if sums.pstates.is_none() {
            sums.not_computed.insert("pstates".into(), reason("pstate", is_ever, NO_SAMPLE));
        }
        if sums.busy_pstates.is_none() {
            sums.not_computed.insert("busy_pstates".into(), reason("pstate", is_ever, NOT_BUSY));
        }
    } else {
        for name in ["energy_j", "energy_j_per_output_token", "throttle", "pstates", "busy_pstates"] {
            sums.not_computed.insert(name.into(), NOT_OF_HOSTS.to_owned());
        }
    }
    sums
}

fn level(values: impl Iterator<Item = f64>) -> Option<LevelSummary> {
    let (mut samples, mut sum, mut min, mut max) = (0_usize, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        samples += 1;
        sum += value;
        (min, max) = (value.min(min), value.max(max));
    }
    (samples > 0).then(|| LevelSummary { samples, mean: sum / samples as f64, min, max })
}

fn throttled(rows: &[&CounterRow], names: fn(i64) -> Vec<String>) -> Option<Vec<Throttled>> {
    let told: Vec<i64> = rows.iter().filter_map(|row| row.throttle_reasons.get()).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in told.iter().flat_map(|bits| names(*bits)) {
        *counts.entry(name).or_default() += 1;
    }
    let share = |(reason, count)| Throttled { reason, share: count as f64 / told.len() as f64 };
    let mut shares: Vec<Throttled> = counts.into_iter().map(share).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    (!told.is_empty()).then_some(shares)
}

fn states(rows: &[&CounterRow]) -> Option<Vec<StateShare>> {
    let told: Vec<i32> = rows.iter().filter_map(|row| row.pstate.get()).collect();
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    told.iter().for_each(|state| *counts.entry(*state).or_default() += 1);
    let share =
        |(state, count)| StateShare { state: format!("P{state}"), share: count as f64 / told.len() as f64 };
    (!told.is_empty()).then(|| counts.into_iter().map(share).collect())
}

fn busy_states(rows: &[&CounterRow], interval_ns: i64) -> Option<BusyStates> {
    let is_busy =
        |row: &&CounterRow| row.gpu_util_pct.get().is_some_and(|busy| busy > 0) && row.pstate.is_some();
    let busy: Vec<&CounterRow> = rows.iter().copied().filter(is_busy).collect();
    let below = busy.iter().filter(|row| row.pstate.get().is_some_and(|state| state > 0)).count();
    Some(BusyStates {
        samples: busy.len(),
        states: states(&busy)?,
        below_p0_share: below as f64 / busy.len() as f64,
        below_p0_ns: interval_ns.saturating_mul(i64::try_from(below).unwrap_or(i64::MAX)),
    })
}

#[cfg(test)]
mod tests;
