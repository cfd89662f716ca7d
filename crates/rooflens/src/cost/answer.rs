//! From a question to an answer: one design, two side by side, or many points.

use std::path::Path;

use rooflens_cost::blueprint::{Blueprint, WEIGHT_FORMATS};
use rooflens_cost::compare::{Differences, differences};
use rooflens_cost::crossover::crossovers;
use rooflens_cost::document::Document;
use rooflens_cost::estimate::{Estimate, roof_of};
use rooflens_cost::hardware::{Catalog, Device};
use rooflens_cost::hold::{Balance, balance};
use rooflens_cost::inverse::{Target, needs};
use rooflens_cost::model::Model;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::roof::Roof;
use rooflens_cost::setup::Setup;
use rooflens_cost::step::Phase;
use rooflens_cost::sweep::{Summary, summary};
use rooflens_cost::workload::{Decode, Prefill, Workload};
use serde::Serialize;

use super::files;
use super::question::Question;
use crate::error::CliError;

/// An answer.
pub enum Answer {
    /// One design, or two.
    One(Box<One>),
    /// Many points.
    Sweep(Sweep),
}

/// One design, perhaps with the one it is compared with.
#[derive(Serialize)]
pub struct One {
    /// The design that was asked about.
    #[serde(flatten)]
    pub document: Document,
    /// The design before the change, or the first of two.
    pub base: Option<Document>,
    /// What differs.
    pub differences: Option<Differences>,
    /// How a change was made up for.
    pub balance: Option<Balance>,
}

/// Many points.
#[derive(Serialize)]
pub struct Sweep {
    /// What varies.
    pub axes: Vec<Axis>,
    /// Each combination, the last axis varying fastest.
    pub points: Vec<Point>,
    /// What all of it rests on.
    pub assumptions: Vec<String>,
}

/// What varies.
#[derive(Debug, Clone, Serialize)]
pub struct Axis {
    /// Its name, as `batch`.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// A point.
#[derive(Serialize)]
pub struct Point {
    /// The value of each axis.
    pub at: Vec<String>,
    /// What it costs.
    #[serde(flatten)]
    pub summary: Summary,
}

/// More points are not computed at once.
const MOST_POINTS: usize = 1_000_000;
/// Tokens of prompt and context where none are given.
const USUAL_TOKENS: u64 = 2048;

/// Answers a question.
pub fn answer(question: &Question) -> Result<Answer, CliError> {
    if !(question.usable > 0.0 && question.usable <= 1.0) {
        return Err(CliError::BadShare { flag: "--usable", value: question.usable });
    }
    let catalog = files::catalog(Path::new("hardware"))?;
    let plan = Plan::new(question, &catalog)?;
    let points: usize = plan.axes.iter().map(|axis| axis.values.len()).product();
    if points > MOST_POINTS {
        return Err(CliError::TooManyPoints { points, most: MOST_POINTS });
    }
    if points == 1 {
        plan.one().map(|one| Answer::One(Box::new(one)))
    } else {
        plan.sweep(points).map(Answer::Sweep)
    }
}

/// A question with its files read.
struct Plan<'a> {
    question: &'a Question,
    blueprints: Vec<Blueprint>,
    devices: Vec<Option<&'a Device>>,
    setup: Setup,
    axes: Vec<Axis>,
}

/// The axes of a point, in the order of [`Plan::axes`].
const CONFIG: usize = 0;
const SET: usize = 1;

impl<'a> Plan<'a> {
    fn new(question: &'a Question, catalog: &'a Catalog) -> Result<Self, CliError> {
        let blueprints: Result<Vec<Blueprint>, CliError> =
            question.configs.iter().map(|path| files::blueprint(path)).collect();
        let devices: Result<Vec<Option<&Device>>, CliError> = question
            .hardware
            .iter()
            .map(|name| catalog.find(name).map(Some).map_err(CliError::Hardware))
            .collect();
        let mut devices = devices?;
        let names = devices.iter().flatten().map(|device| device.name.clone()).collect();
        if devices.is_empty() {
            devices.push(None);
        }
        let texts = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<String>>();
        let optional =
            |numbers: &Option<Vec<u64>>| numbers.as_deref().map_or_else(|| vec![String::new()], texts);
        // Two configs are compared with each other, unless there is more to sweep over.
        let config_names = question.configs.iter().map(|path| name_of(path)).collect();
        let mut axes = vec![Axis { name: "config".to_owned(), values: config_names }];
        axes.extend(
            question.set.iter().map(|set| Axis { name: set.key.clone(), values: set.values.clone() }),
        );
        let or_one = |values: Vec<String>| if values.is_empty() { vec![String::new()] } else { values };
        for (name, values) in [
            ("dtype", or_one(question.dtype.clone())),
            ("hardware", or_one(names)),
            ("tp", texts(&question.tp)),
            ("pp", texts(&question.pp)),
            ("ep", texts(&question.ep)),
            ("dp", texts(&question.dp)),
            ("crops", optional(&question.crops)),
            ("prefill", optional(&question.prefill)),
            ("context", optional(&question.context)),
            ("batch", texts(&question.batch)),
        ] {
            axes.push(Axis { name: name.to_owned(), values });
        }
        let others: usize = axes[SET..].iter().map(|axis| axis.values.len()).product();
        if others == 1 {
            let last = axes[CONFIG].values.pop().unwrap_or_default();
            axes[CONFIG].values = vec![last];
        }
        Ok(Self {
            question,
            blueprints: blueprints?,
            devices,
            setup: Setup {
                kv: question.kv()?,
                routing: question.routing()?,
                latent: question.latent,
                usable: question.usable,
                ..Setup::default()
            },
            axes,
        })
    }

    /// The blueprint of a config with formats and keys of a point.
    fn blueprint(&self, config: usize, at: &[usize], changed: bool) -> Result<Blueprint, CliError> {
        let mut blueprint = self.blueprints[config].clone();
        let after_set = SET + self.question.set.len();
        if let Some(format) = self.question.dtype.get(at[after_set]) {
            if !blueprint.weights(format) {
                let known = WEIGHT_FORMATS.iter().map(|(name, _)| *name).collect();
                return Err(CliError::UnknownFormat { flag: "--dtype", name: format.clone(), known });
            }
        }
        if changed {
            for (set, index) in self.question.set.iter().zip(&at[SET..]) {
                let value = &set.values[*index];
                blueprint.set(&set.key, value).map_err(|source| self.config_error(config, source))?;
            }
        }
        Ok(blueprint)
    }

    fn model(&self, config: usize, blueprint: &Blueprint) -> Result<Model, CliError> {
        blueprint.model().map_err(|source| self.config_error(config, source))
    }

    fn config_error(&self, config: usize, source: rooflens_cost::ConfigError) -> CliError {
        CliError::Config { path: self.question.configs[config].clone(), source }
    }

    fn value(&self, axis: &str, at: &[usize]) -> Option<u64> {
        let index = self.axes.iter().rposition(|known| known.name == axis)?;
        self.axes[index].values[at[index]].parse().ok()
    }

    fn setup(&self, at: &[usize]) -> Setup {
        let of = |axis| self.value(axis, at).unwrap_or(1);
        let parallel = Parallel { tp: of("tp"), pp: of("pp"), ep: of("ep"), dp: of("dp") };
        Setup { parallel, ..self.setup.clone() }
    }

    fn workload(&self, at: &[usize]) -> Result<Workload, CliError> {
        let question = self.question;
        let images = question.images(self.value("crops", at))?;
        let (mut prefill, mut context) = (self.value("prefill", at), self.value("context", at));
        if prefill.is_none() && context.is_none() {
            // A target says what is wanted; images may be wanted alone; else both phases are shown.
            let untold = question.ttft.is_none() && question.tpot.is_none() && images.is_none();
            prefill = (question.ttft.is_some() || untold).then_some(USUAL_TOKENS);
            context = (question.tpot.is_some() || untold).then_some(USUAL_TOKENS);
        }
        Ok(Workload {
            batch: self.value("batch", at).unwrap_or(1),
            images,
            prefill: prefill.map(|tokens| Prefill { tokens, prefix: question.prefix, chunk: question.chunk }),
            decode: context.map(|context| Decode { context, steps: question.steps, draft: question.draft }),
        })
    }

    fn device(&self, at: &[usize]) -> Option<&'a Device> {
        let index = self.axes.iter().rposition(|axis| axis.name == "hardware").unwrap_or(0);
        self.devices[at[index]]
    }

    fn one(&self) -> Result<One, CliError> {
        let at = vec![0; self.axes.len()];
        let last = self.blueprints.len() - 1;
        let setup = self.setup(&at);
        let compared = !self.question.set.is_empty() || last > 0;
        let base_model = if compared { Some(self.model(0, &self.blueprint(0, &at, false)?)?) } else { None };
        let mut blueprint = self.blueprint(last, &at, true)?;
        let (model, balanced) = match (self.question.hold, &base_model) {
            (Some(held), Some(base)) => {
                // The change itself must be sound before it is made up for.
                self.model(last, &blueprint)?;
                let (model, balanced) =
                    balance(&mut blueprint, base, &setup, held, self.question.by.as_deref())?;
                (model, Some(balanced))
            }
            _ => (self.model(last, &blueprint)?, None),
        };
        let document = self.document(&model, &at)?;
        let base = base_model.map(|model| self.document(&model, &at)).transpose()?;
        let differences = base.as_ref().map(|base| differences(base, &document));
        Ok(One { document, base, differences, balance: balanced })
    }

    fn document(&self, model: &Model, at: &[usize]) -> Result<Document, CliError> {
        let (setup, workload, device) = (self.setup(at), self.workload(at)?, self.device(at));
        let estimate = Estimate::new(model, &setup, &workload, device)?;
        let mut document = Document::new(model, &setup, &workload, device, &estimate);
        if let (Some(device), Some(decode)) = (device, workload.decode) {
            let roof = roof_of(device)?;
            document.crossovers = Some(crossovers(model, &setup, &roof, workload.batch, decode.context));
        }
        for (phase, seconds) in [(Phase::Prefill, self.question.ttft), (Phase::Decode, self.question.tpot)] {
            if let Some(seconds) = seconds {
                document.needs.push(needs(model, &setup, &workload, device, Target { phase, seconds })?);
            }
        }
        Ok(document)
    }

    fn sweep(&self, points: usize) -> Result<Sweep, CliError> {
        let roofs: Result<Vec<Option<Roof>>, CliError> =
            self.devices.iter().map(|device| device.map(|device| Ok(roof_of(device)?)).transpose()).collect();
        let roofs = roofs?;
        let hardware = self.axes.iter().rposition(|axis| axis.name == "hardware").unwrap_or(0);
        let designs = SET + self.question.set.len() + 1;
        let mut made: Option<(Vec<usize>, Model)> = None;
        let mut sweep =
            Sweep { axes: Vec::new(), points: Vec::with_capacity(points), assumptions: Vec::new() };
        let mut buffer = Vec::new();
        for number in 0..points {
            let at = self.place(number);
            // A design is read once, for all points that share it.
            if made.as_ref().is_none_or(|(known, _)| known[..] != at[..designs]) {
                let config =
                    if self.axes[CONFIG].values.len() == 1 { self.blueprints.len() - 1 } else { at[CONFIG] };
                let model = self.model(config, &self.blueprint(config, &at, true)?)?;
                made = Some((at[..designs].to_vec(), model));
            }
            let Some((_, model)) = &made else { continue };
            let (setup, workload, device) = (self.setup(&at), self.workload(&at)?, self.device(&at));
            let summary = if workload.images.is_some() {
                Summary::of(&Estimate::new(model, &setup, &workload, device)?)
            } else {
                summary(model, &setup, &workload, device, roofs[at[hardware]].as_ref(), &mut buffer)?
            };
            if number == 0 {
                sweep.assumptions = Estimate::new(model, &setup, &workload, device)?.assumptions;
            }
            let varying = self.axes.iter().zip(&at).filter(|(axis, _)| axis.values.len() > 1);
            let at = varying.map(|(axis, index)| axis.values[*index].clone()).collect();
            sweep.points.push(Point { at, summary });
        }
        sweep.axes = self.axes.iter().filter(|axis| axis.values.len() > 1).cloned().collect();
        Ok(sweep)
    }

    /// The place of a point on each axis, the last varying fastest.
    fn place(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut at = vec![0; self.axes.len()];
        for (axis, index) in self.axes.iter().zip(&mut at).rev() {
            *index = rest % axis.values.len();
            rest /= axis.values.len();
        }
        at
    }
}

/// What a config is called: its file, or its folder where the file is a `config.json`.
fn name_of(path: &Path) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let file = name(path).unwrap_or_default();
    let named = if file == "config.json" { path.parent().and_then(name) } else { None };
    named.unwrap_or(file).trim_end_matches(".json").to_owned()
}
