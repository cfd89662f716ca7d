//! What the passes of a run must cost at least on a device: the operators of one pass in the order of execution, and
//! the classes of operators of all passes.

use std::collections::BTreeMap;

use super::work::{ClassWork, RanWork, by_phase, checked_pictures};
use super::{Ran, RunPhase, Shape};
use crate::hardware::Device;
use crate::model::Model;
use crate::operator::{Operator, Work};
use crate::roof::{Roof, Seconds};
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::Step;
use crate::tally::{OperatorPlace, visit_ragged};
use crate::units::{Slice, Unit};

/// An operator of one pass on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct PassOperator {
    /// Layer of the decoder; none before, after and in the vision tower.
    pub layer: Option<u32>,
    /// Its name within the layer, as `qkv_proj`.
    pub name: &'static str,
    /// What kind of work it is, as `attn.qkv`.
    pub class: &'static str,
    /// Rows and columns of its weight on this device, all outputs together; of experts those of the first GEMM of
    /// each. None where it is no matrix.
    pub matrix: Option<(u64, u64)>,
    /// The share of the work of each kernel that it may be run as: GEMMs of queries, keys and values apart, or of gate
    /// and up before down; norms of queries and of keys.
    pub parts: Vec<f64>,
    /// Its work.
    pub work: Work,
    /// Its lower bounds.
    pub seconds: Seconds,
}

/// The operators of a pass in the order of execution, or why there are none.
pub fn operators(
    model: &Model,
    setup: &Setup,
    device: &Device,
    shape: &Shape,
) -> Result<Vec<PassOperator>, String> {
    let roof = Roof::of_setup(device, setup)
        .ok_or_else(|| format!("the bandwidth of {} is not known", device.name))?;
    let pictures = checked_pictures(model, shape)?;
    let place = setup.parallel.place(0);
    let slices = (place.tp, place.expert_tp);
    let mut found = Vec::new();
    if let Some(tower) = model.vision.as_ref().filter(|_| !pictures.is_empty()) {
        let whole = setup.on_one_device();
        let pass = whole.pass(model, Step::vision(1, 1), 0, Touch::Expected);
        let mut buffer = Vec::new();
        for (stage, count, step) in tower.look(pictures) {
            let pass = crate::pass::Pass { step, ..pass.clone() };
            let mut once = Vec::new();
            for unit in &tower.stages[stage].units {
                buffer.clear();
                unit.operators(&pass, &mut buffer);
                once.extend(
                    buffer.iter().map(|operator| of(unit, operator, (Slice::WHOLE, Slice::WHOLE), &roof)),
                );
            }
            for _ in 0..count {
                found.extend(once.iter().cloned());
            }
        }
    }
    let mut places: BTreeMap<OperatorPlace, Vec<PassOperator>> = BTreeMap::new();
    let sampled = shape.needed.iter().map(|step| step.sequences).sum();
    visit_ragged(model, setup, &shape.needed, sampled, |place, _, unit, operators| {
        let rows = operators.iter().map(|operator| of(unit, operator, slices, &roof));
        places.entry(place).or_default().extend(rows);
    });
    found.extend(places.remove(&OperatorPlace::Before).unwrap_or_default());
    let mut layers: Vec<(u32, usize)> = Vec::new();
    for (number, kind) in model.kinds.iter().enumerate() {
        layers.extend(kind.at.iter().map(|layer| (*layer, number)));
    }
    layers.sort_unstable();
    for (layer, kind) in layers {
        let rows = places.get(&OperatorPlace::Kind(kind)).into_iter().flatten();
        found.extend(rows.map(|row| PassOperator { layer: Some(layer), ..row.clone() }));
    }
    found.extend(places.remove(&OperatorPlace::After).unwrap_or_default());
    let unknown = found.iter().find(|row| row.work.flops.useful > 0 && row.seconds.compute == 0.0);
    match unknown {
        Some(row) => Err(format!("no rate of {} is known for the format of {}", device.name, row.name)),
        None => Ok(found),
    }
}

fn of(unit: &Unit, operator: &Operator, (tp, expert_tp): (Slice, Slice), roof: &Roof) -> PassOperator {
    let (matrix, parts) = match unit {
        Unit::Linear(linear) if !linear.diagonal => {
            let outputs: Vec<u128> = linear.outputs.iter().map(|output| output.local(tp)).collect();
            let all: u128 = outputs.iter().sum();
            let parts = outputs.iter().map(|output| *output as f64 / all.max(1) as f64).collect();
            let sizes = u64::try_from(linear.input.local(tp)).ok().zip(u64::try_from(all).ok());
            (sizes, parts)
        }
        // Gate and up in one GEMM, then down; each of the three matrices has the same size.
        Unit::Experts(experts) => {
            let inner = expert_tp.part(experts.inner) * if experts.gated { 2 } else { 1 };
            let first = if experts.gated { 2.0 / 3.0 } else { 0.5 };
            (Some((experts.input, inner)), vec![first, 1.0 - first])
        }
        Unit::Norm(norm) => (None, norm.parts()),
        _ => (None, vec![1.0]),
    };
    PassOperator {
        layer: None,
        name: operator.name,
        class: operator.class,
        matrix,
        parts,
        work: operator.work,
        seconds: roof.seconds(operator),
    }
}

/// What a class of operators had to do in all passes of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassFloor {
    /// The class, as `attn.qkv`.
    pub class: &'static str,
    /// Its lower bound.
    pub ns: f64,
    /// Model FLOPs.
    pub flops: f64,
    /// Bytes that must move.
    pub bytes: f64,
}

/// The lower bounds of each phase on a device, or why there are none.
pub fn floors(
    model: &Model,
    setup: &Setup,
    device: &Device,
    ran: &[Ran],
) -> BTreeMap<RunPhase, Result<Vec<ClassFloor>, String>> {
    let Some(roof) = Roof::of_setup(device, setup) else {
        let reason = format!("the bandwidth of {} is not known", device.name);
        return ran.iter().map(|one| (one.shape.phase, Err(reason.clone()))).collect();
    };
    let of_phase = |work: Result<RanWork, String>| {
        let work = work?;
        if let Some(reason) = work.unknown_rate(device) {
            return Err(reason);
        }
        let class = |(class, cost): (&&'static str, &ClassWork)| ClassFloor {
            class,
            ns: cost.seconds.bound * 1e9,
            flops: cost.work.flops.useful as f64,
            bytes: cost.work.bytes.total() as f64,
        };
        Ok(work.classes.iter().map(class).collect())
    };
    let phases = by_phase(model, setup, Some(&roof), ran);
    phases.into_iter().map(|(phase, work)| (phase, of_phase(work))).collect()
}
