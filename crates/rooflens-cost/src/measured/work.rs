//! The work of the passes of a run, added up by phase and class.

use std::collections::{BTreeMap, HashMap};

use super::{Ran, RunPhase, Shape};
use crate::hardware::Device;
use crate::model::Model;
use crate::operator::Work;
use crate::precision::Dtype;
use crate::roof::{Roof, Seconds};
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::Step;
use crate::tally::Tally;
use crate::vision::{Tower, View};

/// The most sequences and tokens of a pass that are believed: as for a workload.
const MOST_SEQUENCES: u64 = 1 << 20;
const MOST_TOKENS: u64 = 1 << 28;

#[derive(Debug, Clone, Default)]
pub(crate) struct RanWork {
    pub(crate) steps: u64,
    pub(crate) dur_ns: u64,
    /// New tokens, padding not counted.
    pub(crate) tokens: u128,
    /// New tokens, padding counted.
    pub(crate) padded_tokens: u128,
    pub(crate) classes: BTreeMap<&'static str, ClassWork>,
    /// Operations as the framework multiplies, by class: padding, and nothing masked.
    pub(crate) framework: BTreeMap<&'static str, FrameworkFlops>,
    pub(crate) formats: Vec<Dtype>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClassWork {
    pub(crate) work: Work,
    /// Least times; zero without a roof.
    pub(crate) seconds: Seconds,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameworkFlops {
    pub(crate) all_rows: u128,
    /// With logits of the last row of each sequence.
    pub(crate) last_rows: u128,
}

impl RanWork {
    /// Why times on the device are unknown: a format without a rate would take no time.
    pub(crate) fn unknown_rate(&self, device: &Device) -> Option<String> {
        let unknown = self.formats.iter().find(|format| device.matmul_peak(**format).is_none())?;
        Some(format!("no {} rate of {} is known", unknown.as_str(), device.name))
    }

    pub(crate) fn total(&self) -> ClassWork {
        self.classes.values().fold(ClassWork::default(), |mut sum, class| {
            sum.work += class.work;
            sum.seconds += class.seconds;
            sum
        })
    }
}

/// Adds up the work of each phase. Passes of the same shape are counted once and multiplied.
pub(super) fn by_phase(
    model: &Model,
    setup: &Setup,
    roof: Option<&Roof>,
    ran: &[Ran],
) -> BTreeMap<RunPhase, Result<RanWork, String>> {
    // In the order they come in, so that sums of floats are the same every time.
    let mut shapes: Vec<(&Shape, u64, u64)> = Vec::new();
    let mut known: HashMap<&Shape, usize> = HashMap::new();
    for one in ran {
        let at = *known.entry(&one.shape).or_insert(shapes.len());
        if at == shapes.len() {
            shapes.push((&one.shape, 0, 0));
        }
        let (_, count, ns) = &mut shapes[at];
        *count += 1;
        *ns = ns.saturating_add(one.dur_ns);
    }
    let mut phases: BTreeMap<RunPhase, Result<RanWork, String>> = BTreeMap::new();
    for (shape, count, ns) in shapes {
        let phase = phases.entry(shape.phase).or_insert_with(|| Ok(RanWork::default()));
        let Ok(sum) = phase else { continue };
        if let Err(error) = add(sum, model, setup, roof, shape, count) {
            *phase = Err(error);
            continue;
        }
        sum.steps += count;
        sum.dur_ns = sum.dur_ns.saturating_add(ns);
    }
    phases
}

/// What each phase gives, and why others give nothing.
pub(super) fn computed<T>(
    phases: impl IntoIterator<Item = (RunPhase, Result<T, String>)>,
) -> (BTreeMap<RunPhase, T>, BTreeMap<String, String>) {
    let (mut found, mut not_computed) = (BTreeMap::new(), BTreeMap::new());
    for (phase, result) in phases {
        match result {
            Ok(value) => drop(found.insert(phase, value)),
            Err(reason) => drop(not_computed.insert(phase.as_str().to_owned(), reason)),
        }
    }
    (found, not_computed)
}

fn add(
    sum: &mut RanWork,
    model: &Model,
    setup: &Setup,
    roof: Option<&Roof>,
    shape: &Shape,
    count: u64,
) -> Result<(), String> {
    let times = u128::from(count);
    let (mut needed, mut vision) = (Tally::default(), Tally::default());
    add_steps(&mut needed, &mut vision, model, setup, shape, false, roof)?;
    for row in needed.rows.iter().chain(&vision.rows) {
        let class = sum.classes.entry(row.operator.class).or_default();
        class.work += row.operator.work * (u128::from(row.layers) * times);
        class.seconds += row.seconds.times(row.layers as f64 * count as f64);
        let dtype = row.operator.storage.compute;
        if row.operator.work.flops.useful > 0 && !sum.formats.contains(&dtype) {
            sum.formats.push(dtype);
        }
    }
    let mut padded = Tally::default();
    add_steps(&mut padded, &mut Tally::default(), model, setup, shape, true, None)?;
    for row in padded.rows.iter().chain(&vision.rows) {
        let class = sum.framework.entry(row.operator.class).or_default();
        let (flops, times) = (row.operator.work.flops, u128::from(row.layers) * times);
        class.all_rows += flops.as_counted * times;
        // The head is the one matrix that is spared rows whose result nobody asks for.
        let last = if row.operator.class == LM_HEAD { flops.useful } else { flops.as_counted };
        class.last_rows += last * times;
    }
    sum.tokens += Shape::tokens(&shape.needed) * times;
    sum.padded_tokens += Shape::tokens(&shape.padded) * times;
    Ok(())
}

pub(super) fn add_steps(
    language: &mut Tally,
    vision: &mut Tally,
    model: &Model,
    setup: &Setup,
    shape: &Shape,
    padded: bool,
    roof: Option<&Roof>,
) -> Result<(), String> {
    let pictures = checked_pictures(model, shape)?;
    let steps = if padded { &shape.padded } else { &shape.needed };
    language.add_ragged(model, setup, steps, shape.sequences(), roof);
    if let Some(tower) = model.vision.as_ref().filter(|_| !pictures.is_empty()) {
        // Towers are small and stand whole on each device.
        let whole = setup.on_one_device();
        let pass = whole.pass(model, Step::vision(1, 1), 0, Touch::Expected);
        vision.add_vision(model, &pass, &tower.look(pictures), roof);
    }
    Ok(())
}

/// The pictures of a pass, where its sizes can be believed.
pub(super) fn checked_pictures<'a>(model: &Model, shape: &'a Shape) -> Result<&'a [View], String> {
    if model.encoder.is_some() {
        return Err("the encoder's input length is not known".to_owned());
    }
    let pictures = match (&model.vision, &shape.pictures) {
        (None, _) => &[][..],
        (Some(_), None) => return Err("the image sizes are not known".to_owned()),
        (Some(_), Some(pictures)) => pictures,
    };
    let believed = |steps: &[Step]| {
        let sequences = steps.iter().fold(0_u64, |sum, step| sum.saturating_add(step.sequences));
        let longest = steps.iter().map(|step| step.new.saturating_add(step.past)).max().unwrap_or(0);
        sequences <= MOST_SEQUENCES && longest <= MOST_TOKENS
    };
    if !believed(&shape.needed) || !believed(&shape.padded) || !Tower::believes(pictures) {
        return Err("a step has more sequences or tokens than possible".to_owned());
    }
    Ok(pictures)
}

pub(super) const LM_HEAD: &str = "lm_head";
