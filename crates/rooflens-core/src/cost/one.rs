//! One design, or two side by side.

use rooflens_cost::compare::differences;
use rooflens_cost::crossover::crossovers;
use rooflens_cost::document::EstimateDocument;
use rooflens_cost::estimate::{Estimate, figures_of};
use rooflens_cost::inverse::{Target, needs};
use rooflens_cost::model::Model;
use rooflens_cost::step::Phase;

use super::answer::{DesignNames, One};
use super::plan::PointPlan;
use super::question::CostQuestion;
use crate::error::CostError;

impl PointPlan<'_> {
    /// The answer for the only point.
    pub(super) fn one(&self) -> Result<One, CostError> {
        let at = vec![0; self.axes.len()];
        let compared = !self.question.set.is_empty() || self.blueprints.len() > 1;
        let (model, balance) = self.design(&at)?;
        let document = self.document(&model, &at)?;
        let base = if compared { Some(self.document(&self.base(&at)?, &at)?) } else { None };
        let differences = base.as_ref().map(|base| differences(base, &document));
        Ok(One { names: self.names(compared), document, base, differences, balance })
    }

    fn names(&self, compared: bool) -> DesignNames {
        let name = |index: usize| crate::model::files::name_of(&self.question.configs[index]);
        let set = self.question.set.iter().map(|set| format!("{}={}", set.key, set.values.join(",")));
        let set: Vec<String> = set.collect();
        let design = name(self.question.configs.len() - 1);
        DesignNames {
            design: if set.is_empty() { design } else { format!("{design} with {}", set.join(", ")) },
            base: compared.then(|| name(0)),
        }
    }

    fn document(&self, model: &Model, at: &[usize]) -> Result<EstimateDocument, CostError> {
        let (setup, workload, device) = (self.setup(at), self.workload(at, model)?, self.device(at));
        let estimate = Estimate::new(model, &setup, &workload, device)?;
        let mut document = EstimateDocument::new(model, &setup, &workload, device, &estimate);
        let bound = figures_of(&setup, device)?.bound;
        if let (Some(roof), Some(decode)) = (&bound.roof, workload.decode) {
            let point = (workload.batch, decode.context, estimate.encoder_tokens);
            document.crossovers = Some(crossovers(model, &bound.setup, roof, point));
        }
        for target in targets(self.question) {
            document.needs.push(needs(model, &setup, &workload, device, target)?);
        }
        Ok(document)
    }
}

/// The targets of a question.
pub(super) fn targets(question: &CostQuestion) -> Vec<Target> {
    let of = |phase, seconds: Option<f64>| seconds.map(|seconds| Target { phase, seconds });
    [of(Phase::Prefill, question.ttft), of(Phase::Decode, question.tpot)].into_iter().flatten().collect()
}
