//! Many points.

use rooflens_cost::estimate::{Estimate, EstimateError, figures_of};
use rooflens_cost::figures::Figures;
use rooflens_cost::hardware::Device;
use rooflens_cost::hold::Balance;
use rooflens_cost::inverse::{Met, Target, least_seconds, only};
use rooflens_cost::layout::Refusal;
use rooflens_cost::model::Model;
use rooflens_cost::operator::Operator;
use rooflens_cost::setup::Setup;
use rooflens_cost::step::Phase;
use rooflens_cost::sweep::{CostSummary, PhaseSummary, summary};
use rooflens_cost::workload::Workload;

use super::answer::{CostAxis, CostSweep, Impossible, SweepPoint, Usable};
use super::plan::{PointPlan, targets};
use crate::error::CostError;

const ASSUMED: usize = 64;

/// A design that is read once, for all points that share it.
struct Made {
    at: Vec<usize>,
    model: Model,
    balance: Option<Balance>,
}

/// What a point runs on, for all points that differ only in their workload.
struct Machine<'a> {
    at: Vec<usize>,
    setup: Setup,
    device: Option<&'a Device>,
    figures: Figures,
}

impl PointPlan<'_> {
    pub(super) fn sweep(&self, points: usize) -> Result<CostSweep, CostError> {
        let machine_axes = self.axes.iter().rposition(|axis| axis.name == "dp").map_or(0, |axis| axis + 1);
        let targets = targets(self.question);
        let mut made: Option<Made> = None;
        let mut machine: Option<Machine> = None;
        let mut found = Vec::with_capacity(points);
        let mut impossible = Vec::new();
        let mut first = None;
        let mut buffer = Vec::new();
        for number in 0..points {
            let at = self.place(number);
            let design = &at[..self.design_axes()];
            let made = match made.take().filter(|made| made.at == design) {
                Some(known) => made.insert(known),
                None => {
                    let (model, balance) = self.design(&at)?;
                    made.insert(Made { at: design.to_vec(), model, balance })
                }
            };
            let machine = match machine.take().filter(|machine| machine.at == at[..machine_axes]) {
                Some(known) => machine.insert(known),
                None => {
                    let (setup, device) = (self.setup(&at), self.device(&at));
                    let figures = figures_of(&setup, device)?;
                    machine.insert(Machine { at: at[..machine_axes].to_vec(), setup, device, figures })
                }
            };
            match point(&made.model, machine, &self.workload(&at, &made.model)?, &targets, &mut buffer) {
                Ok((summary, phases, targets)) => {
                    let balance = made.balance.clone();
                    found.push(SweepPoint { at: self.varying(&at), summary, phases, targets, balance });
                }
                // The model cannot be sharded so, or has not so many positions: the other points still can.
                Err(error @ (EstimateError::Parallel(_) | EstimateError::Encoder(_))) => {
                    impossible.push(Impossible { at: self.varying(&at), reason: reason_of(&error) });
                    first.get_or_insert(error);
                }
                Err(other) => return Err(other.into()),
            }
        }
        if let (true, Some(first)) = (found.is_empty(), first) {
            return Err(first.into());
        }
        Ok(CostSweep {
            fixed: self.fixed()?,
            axes: self.axes.iter().filter(|axis| axis.values.len() > 1).cloned().collect(),
            points: found,
            impossible,
            usable_bytes: self.usable(),
            assumptions: self.assumptions()?,
        })
    }

    fn varying(&self, at: &[usize]) -> Vec<String> {
        let varying = self.axes.iter().zip(at).filter(|(axis, _)| axis.values.len() > 1);
        varying.map(|(axis, index)| axis.values[*index].clone()).collect()
    }

    /// What has one value, and what is usual where nothing was given.
    fn fixed(&self) -> Result<Vec<CostAxis>, CostError> {
        let place = self.place(0);
        let workload = self.workload(&place, &self.design(&place)?.0)?;
        let usual = |name: &str| match name {
            "prefill" => workload.prefill.map(|prefill| prefill.tokens.to_string()),
            "context" => workload.decode.map(|decode| decode.context.to_string()),
            _ => None,
        };
        let one = |axis: &CostAxis| {
            let [value] = axis.values.as_slice() else { return None };
            let value = if value.is_empty() { usual(&axis.name)? } else { value.clone() };
            Some(CostAxis { name: axis.name.clone(), values: vec![value] })
        };
        Ok(self.axes.iter().filter_map(one).collect())
    }

    fn usable(&self) -> Vec<Usable> {
        let of = |device: &&Device| Usable {
            hardware: device.name.clone(),
            bytes: device.memory_bytes.map(|bytes| (bytes as f64 * self.question.usable).floor()),
        };
        self.devices.iter().flatten().map(of).collect()
    }

    /// The assumptions of the points: each axis by itself tells all there is.
    fn assumptions(&self) -> Result<Vec<String>, CostError> {
        let mut lines: Vec<String> = Vec::new();
        for (axis, values) in self.axes.iter().map(|axis| axis.values.len()).enumerate() {
            let first = usize::from(axis > 0);
            for value in first..values.min(ASSUMED) {
                let mut at = vec![0; self.axes.len()];
                at[axis] = value;
                let (model, _) = self.design(&at)?;
                let workload = self.workload(&at, &model)?;
                let estimate = Estimate::new(&model, &self.setup(&at), &workload, self.device(&at));
                let mut told = Vec::new();
                if let Ok(estimate) = estimate {
                    told.extend(estimate.assumptions);
                    told.extend(estimate.refused.iter().map(Refusal::words));
                }
                for line in told {
                    if !lines.contains(&line) {
                        lines.push(line);
                    }
                }
            }
        }
        Ok(lines)
    }
}

/// Why a point is impossible, without the words that say what is wrong of the whole question.
fn reason_of(error: &EstimateError) -> String {
    match error {
        EstimateError::Parallel(reason) => reason.clone(),
        other => other.to_string(),
    }
}

type Costs = (CostSummary, Vec<PhaseSummary>, Vec<Met>);

fn point(
    model: &Model,
    machine: &Machine<'_>,
    workload: &Workload,
    targets: &[Target],
    buffer: &mut Vec<Operator>,
) -> Result<Costs, EstimateError> {
    let (summary, phases) = costs(model, machine, workload, buffer)?;
    let mut met = Vec::with_capacity(targets.len());
    for target in targets {
        let alone = only(workload, target.phase);
        let (_, phases) = if alone == *workload {
            (summary, phases.clone())
        } else {
            costs(model, machine, &alone, buffer)?
        };
        // Before the first token come the images, too.
        let counts =
            |found: &&PhaseSummary| (found.phase == Phase::Decode) == (target.phase == Phase::Decode);
        let now: Option<f64> = phases.iter().filter(counts).map(|found| found.seconds).sum();
        // What other routing could bring is only asked where it decides.
        let may_be_less =
            now.is_some_and(|now| now > target.seconds) && model.language_parameters().routed > 0;
        let least = match may_be_less {
            true => {
                least_seconds(&Estimate::new(model, &machine.setup, &alone, machine.device)?, target.phase)
            }
            false => now,
        };
        let estimate = phases.iter().filter(counts).map(|found| found.estimate_s).sum();
        met.push(Met::new(*target, [now, least], estimate, summary.fits));
    }
    Ok((summary, phases, met))
}

fn costs(
    model: &Model,
    machine: &Machine<'_>,
    workload: &Workload,
    buffer: &mut Vec<Operator>,
) -> Result<(CostSummary, Vec<PhaseSummary>), EstimateError> {
    let phases = workload.phases();
    let drafts = workload.decode.is_some_and(|decode| decode.draft > 0);
    let plain = workload.images.is_none() && model.encoder.is_none() && !drafts;
    if let ([phase], true) = (phases.as_slice(), plain) {
        // The quick way, for a million points.
        let line = summary(model, &machine.figures, workload, machine.device, buffer)?;
        let CostSummary { seconds, estimate_s, tokens_per_s, limit, .. } = line;
        return Ok((line, vec![PhaseSummary { phase: *phase, seconds, estimate_s, tokens_per_s, limit }]));
    }
    let estimate = Estimate::new(model, &machine.setup, workload, machine.device)?;
    Ok((CostSummary::of(&estimate), PhaseSummary::of(&estimate)))
}
