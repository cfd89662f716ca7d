//! The least times of the passes of a run, by class of operators.

use std::collections::BTreeMap;

use super::work::by_phase;
use super::{Ran, RunPhase};
use crate::hardware::Device;
use crate::model::Model;
use crate::roof::Roof;
use crate::setup::Setup;

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
    let of_phase = |work: Result<super::RanWork, super::WorkError>| {
        let work = work.map_err(|error| error.to_string())?;
        if let Some(format) = work.formats.iter().find(|format| device.matmul_peak(**format).is_none()) {
            return Err(format!("no {} rate of {} is known", format.as_str(), device.name));
        }
        let class = |(class, cost): (&&'static str, &super::work::ClassWork)| ClassFloor {
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
