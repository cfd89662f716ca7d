//! A question with its files read: what varies, and the design, devices and work of each point.

use rooflens_cost::ConfigError;
use rooflens_cost::blueprint::{Blueprint, WEIGHT_FORMATS};
use rooflens_cost::compare::differences;
use rooflens_cost::crossover::crossovers;
use rooflens_cost::document::EstimateDocument;
use rooflens_cost::estimate::{Estimate, figures_of};
use rooflens_cost::hardware::Device;
use rooflens_cost::hold::{Balance, balance};
use rooflens_cost::inverse::{Target, needs};
use rooflens_cost::model::Model;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::routing::Routing;
use rooflens_cost::setup::Setup;
use rooflens_cost::step::Phase;
use rooflens_cost::units::Unit;
use rooflens_cost::workload::{Decode, Prefill, Workload};

use super::answer::{Answer, CostAxis, DesignNames, One};
use super::question::CostQuestion;
use crate::error::CostError;
use crate::model::files::{self, DeviceCatalog};
use crate::project;

pub(crate) struct PointPlan<'a> {
    pub(super) question: &'a CostQuestion,
    pub(super) blueprints: Vec<Blueprint>,
    pub(super) devices: Vec<Option<&'a Device>>,
    setup: Setup,
    pub(super) axes: Vec<CostAxis>,
}

const CONFIG: usize = 0;
const SET: usize = 1;

impl<'a> PointPlan<'a> {
    /// Reads the files of a question.
    pub fn read(question: &'a CostQuestion, known: &'a DeviceCatalog) -> Result<Self, CostError> {
        let given = question.configs.len();
        if !(1..=2).contains(&given) {
            return Err(CostError::ModelCount { given });
        }
        let blueprints: Result<Vec<Blueprint>, CostError> =
            question.configs.iter().map(|path| files::blueprint(path)).collect();
        let devices: Result<Vec<&Device>, CostError> =
            question.hardware.iter().map(|name| known.find(name)).collect();
        Self::new(question, blueprints?, devices?)
    }

    /// A question whose configs and devices are known already: one of each that it names.
    pub(crate) fn new(
        question: &'a CostQuestion,
        blueprints: Vec<Blueprint>,
        devices: Vec<&'a Device>,
    ) -> Result<Self, CostError> {
        let mut devices: Vec<Option<&Device>> = devices.into_iter().map(Some).collect();
        let names = devices.iter().flatten().map(|device| device.name.clone()).collect();
        if devices.is_empty() {
            devices.push(None);
        }
        let mut plan = Self {
            question,
            blueprints,
            devices,
            setup: Setup {
                nodes: question.nodes(),
                vision: question.vision,
                kv: question.kv()?,
                state: question.state()?,
                assume: question.assumed()?,
                routing: question.routing()?,
                latent: question.latent,
                usable: question.usable,
                ..Setup::default()
            },
            axes: axes(question, names)?,
        };
        // Two configs are compared with each other, unless there is more to sweep over.
        let others: usize = plan.axes[SET..].iter().map(|axis| axis.values.len()).product();
        if others == 1 {
            plan.axes[CONFIG].values.drain(..plan.blueprints.len() - 1);
        }
        Ok(plan)
    }

    /// How many points there are.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).fold(1, usize::saturating_mul)
    }

    /// How many of the axes change the design: the others change its devices and its work.
    pub(super) fn design_axes(&self) -> usize {
        SET + self.question.set.len() + 1
    }

    /// The place of a point on each axis, the last varying fastest.
    pub(super) fn place(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut at = vec![0; self.axes.len()];
        for (axis, index) in self.axes.iter().zip(&mut at).rev() {
            *index = rest % axis.values.len();
            rest /= axis.values.len();
        }
        at
    }

    pub(super) fn config(&self, at: &[usize]) -> usize {
        if self.axes[CONFIG].values.len() == 1 { self.blueprints.len() - 1 } else { at[CONFIG] }
    }

    pub(super) fn design(&self, at: &[usize]) -> Result<(Model, Option<Balance>), CostError> {
        let config = self.config(at);
        let mut blueprint = self.blueprint(config, at, true)?;
        // The change itself must be sound before it is made up for.
        let model = self.model(config, &blueprint)?;
        let Some(held) = self.question.hold else { return Ok((model, None)) };
        let by = self.question.by.as_deref();
        let balanced = balance(&mut blueprint, &self.base(at)?, &self.setup(at), held, by);
        let wrong = |source| CostError::Hold { source, held, by: self.question.by.clone() };
        balanced.map(|(model, balance)| (model, Some(balance))).map_err(wrong)
    }

    /// The first config as it stands, in the formats of a point.
    pub(super) fn base(&self, at: &[usize]) -> Result<Model, CostError> {
        self.model(CONFIG, &self.blueprint(CONFIG, at, false)?)
    }

    fn blueprint(&self, config: usize, at: &[usize], changed: bool) -> Result<Blueprint, CostError> {
        let mut blueprint = self.blueprints[config].clone();
        if let Some(format) = self.question.dtype.get(at[self.design_axes() - 1])
            && !blueprint.weights(format)
        {
            let known = WEIGHT_FORMATS.iter().map(|(name, _)| *name).collect();
            return Err(CostError::UnknownFormat { flag: "--dtype", name: format.clone(), known });
        }
        for (set, index) in self.question.set.iter().zip(&at[SET..]).filter(|_| changed) {
            let value = &set.values[*index];
            blueprint.set(&set.key, value).map_err(|source| self.fault(config, source))?;
        }
        Ok(blueprint)
    }

    fn model(&self, config: usize, blueprint: &Blueprint) -> Result<Model, CostError> {
        let model = blueprint.model().map_err(|source| self.fault(config, source))?;
        if let Routing::Histogram { visits } = &self.setup.routing {
            let experts =
                model.kinds.iter().flat_map(|kind| &kind.layer.units).filter_map(|unit| match unit {
                    Unit::Experts(experts) => Some(experts.count),
                    _ => None,
                });
            if let Some(count) = experts.into_iter().find(|count| *count != visits.len() as u64) {
                let reason = format!("it has visits for {} experts, but the model has {count}", visits.len());
                return Err(CostError::BadRoutingFile { text: self.question.routing.clone(), reason });
            }
        }
        Ok(model)
    }

    /// Whose fault it is that a config cannot be read: the file's, or of what was set in it.
    fn fault(&self, config: usize, source: ConfigError) -> CostError {
        let blueprint = &self.blueprints[config];
        if self.question.set.is_empty() || blueprint.model().is_err() {
            return CostError::Config { path: self.question.configs[config].clone(), source };
        }
        let was = |key: &str| blueprint.number(key).map(|number| (key.to_owned(), number));
        let was = self.question.set.iter().find_map(|set| was(&set.key));
        CostError::Setting { source, was }
    }

    pub(super) fn value(&self, axis: &str, at: &[usize]) -> Option<u64> {
        let index = self.axes.iter().rposition(|known| known.name == axis)?;
        self.axes[index].values[at[index]].parse().ok()
    }

    pub(super) fn setup(&self, at: &[usize]) -> Setup {
        let of = |axis| self.value(axis, at).unwrap_or(1);
        let parallel = Parallel { tp: of("tp"), pp: of("pp"), ep: of("ep"), dp: of("dp") };
        Setup { parallel, ..self.setup.clone() }
    }

    pub(super) fn workload(&self, at: &[usize], model: &Model) -> Result<Workload, CostError> {
        let question = self.question;
        let images = question.images(self.value("crops", at))?;
        let (mut prefill, mut context) = (self.value("prefill", at), self.value("context", at));
        if prefill.is_none() && context.is_none() {
            // A target says what is wanted; images may be wanted alone; else both phases are shown.
            let untold = question.ttft.is_none() && question.tpot.is_none() && images.is_none();
            let new = question.steps.saturating_mul(question.draft.saturating_add(1));
            let (prompt, before) = model.usual_tokens(new);
            prefill = (question.ttft.is_some() || untold).then_some(prompt);
            context = (question.tpot.is_some() || untold).then_some(before);
        }
        Ok(model.with_positions(Workload {
            batch: self.value("batch", at).unwrap_or(1),
            images,
            encoder_tokens: question.encoder_tokens,
            prefill: prefill.map(|tokens| Prefill { tokens, prefix: question.prefix, chunk: question.chunk }),
            decode: context.map(|context| Decode { context, steps: question.steps, draft: question.draft }),
        }))
    }

    pub(super) fn device(&self, at: &[usize]) -> Option<&'a Device> {
        let index = self.axes.iter().rposition(|axis| axis.name == "hardware").unwrap_or(0);
        self.devices[at[index]]
    }

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
        let name = |index: usize| files::name_of(&self.question.configs[index]);
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

fn axes(question: &CostQuestion, devices: Vec<String>) -> Result<Vec<CostAxis>, CostError> {
    let texts = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<String>>();
    let optional = |numbers: &Option<Vec<u64>>| numbers.as_deref().map_or_else(|| vec![String::new()], texts);
    let or_one = |values: Vec<String>| if values.is_empty() { vec![String::new()] } else { values };
    let configs = question.configs.iter().map(|path| files::name_of(path)).collect();
    let set = question.set.iter().map(|set| (set.key.as_str(), set.values.clone()));
    let rest = [
        ("dtype", or_one(question.dtype.clone())),
        ("hardware", or_one(devices)),
        ("tp", texts(&question.tp)),
        ("pp", texts(&question.pp)),
        ("ep", texts(&question.ep)),
        ("dp", texts(&question.dp)),
        ("crops", optional(&question.crops)),
        ("prefill", optional(&question.prefill)),
        ("context", optional(&question.context)),
        ("batch", texts(&question.batch)),
    ];
    let all = [("config", configs)].into_iter().chain(set).chain(rest);
    all.map(|(name, values)| match values.is_empty() {
        true => Err(CostError::NoValues { axis: name.to_owned() }),
        false => Ok(CostAxis { name: name.to_owned(), values }),
    })
    .collect()
}

pub(super) fn targets(question: &CostQuestion) -> Vec<Target> {
    let of = |phase, seconds: Option<f64>| seconds.map(|seconds| Target { phase, seconds });
    [of(Phase::Prefill, question.ttft), of(Phase::Decode, question.tpot)].into_iter().flatten().collect()
}

const MOST_POINTS: usize = 1_000_000;

/// Answers a question, with the own devices of the project around here.
pub fn cost(question: &CostQuestion) -> Result<Answer, CostError> {
    let devices = DeviceCatalog::read(&project::hardware())?;
    question.check()?;
    answer(&PointPlan::read(question, &devices)?)
}

/// Answers a question about a model and a device that are known already.
pub fn cost_of(
    question: &CostQuestion,
    model: Blueprint,
    device: Option<&Device>,
) -> Result<Answer, CostError> {
    question.check()?;
    answer(&PointPlan::new(question, vec![model], device.into_iter().collect())?)
}

fn answer(plan: &PointPlan<'_>) -> Result<Answer, CostError> {
    let points = plan.points();
    if points > MOST_POINTS {
        return Err(CostError::TooManyPoints { points, most: MOST_POINTS });
    }
    if points == 1 {
        plan.one().map(|one| Answer::One(Box::new(one)))
    } else {
        plan.sweep(points).map(Answer::Sweep)
    }
}
