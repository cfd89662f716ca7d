//! The work of the passes of a run, added up by phase and class.

use std::collections::{BTreeMap, HashMap};

use super::{Ran, RunPhase, Shape};
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

/// Why the work of a phase cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WorkError {
    /// There are pictures, and nobody told their sizes.
    #[error("the image sizes are not known")]
    Pictures,
    /// The model has an encoder, and nobody told what it read.
    #[error("the encoder's input length is not known")]
    Encoder,
    /// A number is beyond belief.
    #[error("a step has more sequences or tokens than possible")]
    Size,
}

/// What the passes of one phase had to do.
#[derive(Debug, Clone, Default)]
pub(crate) struct RanWork {
    /// Passes.
    pub(crate) steps: u64,
    /// How long they took.
    pub(crate) dur_ns: u64,
    /// New tokens, padding not counted.
    pub(crate) tokens: u128,
    /// New tokens, padding counted.
    pub(crate) padded_tokens: u128,
    /// What had to be done, by class.
    pub(crate) classes: BTreeMap<&'static str, ClassWork>,
    /// Operations as the framework multiplies, by class: padding, and nothing masked.
    pub(crate) framework: BTreeMap<&'static str, FrameworkFlops>,
    /// Formats that matmuls are made in.
    pub(crate) formats: Vec<Dtype>,
}

/// The work of a class.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClassWork {
    /// Operations and bytes.
    pub(crate) work: Work,
    /// Least times; zero without a roof.
    pub(crate) seconds: Seconds,
}

/// Operations as the framework multiplies.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrameworkFlops {
    /// With logits of all rows.
    pub(crate) all_rows: u128,
    /// With logits of the last row of each sequence.
    pub(crate) last_rows: u128,
}

impl RanWork {
    /// All classes together.
    #[must_use]
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
) -> BTreeMap<RunPhase, Result<RanWork, WorkError>> {
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
    let mut phases: BTreeMap<RunPhase, Result<RanWork, WorkError>> = BTreeMap::new();
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

fn add(
    sum: &mut RanWork,
    model: &Model,
    setup: &Setup,
    roof: Option<&Roof>,
    shape: &Shape,
    count: u64,
) -> Result<(), WorkError> {
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

/// Adds the operators of a pass to those of the language model and of the vision tower, with or without padding.
pub(super) fn add_steps(
    language: &mut Tally,
    vision: &mut Tally,
    model: &Model,
    setup: &Setup,
    shape: &Shape,
    padded: bool,
    roof: Option<&Roof>,
) -> Result<(), WorkError> {
    let pictures = checked_pictures(model, shape)?;
    let steps = if padded { &shape.padded } else { &shape.needed };
    language.add_ragged(model, setup, steps, shape.sequences(), roof);
    if let Some(tower) = model.vision.as_ref().filter(|_| !pictures.is_empty()) {
        // Towers are small and stand whole on each device.
        let whole = Setup { parallel: crate::parallel::Parallel::NONE, ..setup.clone() };
        let pass = whole.pass(model, Step::vision(1, 1), 0, Touch::Expected);
        vision.add_vision(model, &pass, &tower.look(pictures), roof);
    }
    Ok(())
}

/// The pictures of a pass, where its sizes can be believed.
pub(super) fn checked_pictures<'a>(model: &Model, shape: &'a Shape) -> Result<&'a [View], WorkError> {
    if model.encoder.is_some() {
        return Err(WorkError::Encoder);
    }
    let pictures = match (&model.vision, &shape.pictures) {
        (None, _) => &[][..],
        (Some(_), None) => return Err(WorkError::Pictures),
        (Some(_), Some(pictures)) => pictures,
    };
    let believed = |steps: &[Step]| {
        let sequences = steps.iter().fold(0_u64, |sum, step| sum.saturating_add(step.sequences));
        let longest = steps.iter().map(|step| step.new.saturating_add(step.past)).max().unwrap_or(0);
        sequences <= MOST_SEQUENCES && longest <= MOST_TOKENS
    };
    if !believed(&shape.needed) || !believed(&shape.padded) || !Tower::believes(pictures) {
        return Err(WorkError::Size);
    }
    Ok(pictures)
}

/// The class of the head.
pub(super) const LM_HEAD: &str = "lm_head";
