//! The operators of a run of steps, added up.

use crate::model::{Encoder, Model};
use crate::operator::{Operator, Work};
use crate::pass::Pass;
use crate::roof::{Roof, Seconds};
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::{Phase, Step};
use crate::units::Unit;

/// Where in the model an operator stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperatorPlace {
    /// In the vision tower, by number of the stage.
    Vision(usize),
    /// In the encoder, by number of the part.
    Encoder(usize),
    /// Before the layers.
    Before,
    /// In the layers of a kind, by its number.
    Kind(usize),
    /// In the layers that draft, by number.
    Draft(usize),
    /// After the layers.
    After,
}

fn parts(model: &Model, has_media: bool) -> impl Iterator<Item = (OperatorPlace, u64, &[Unit])> {
    let kinds = model.kinds.iter().enumerate();
    let kinds = kinds.filter(move |(_, kind)| has_media || !kind.layer.media_only);
    let kinds = kinds.map(|(number, kind)| {
        (OperatorPlace::Kind(number), kind.at.len() as u64, kind.layer.units.as_slice())
    });
    let before = std::iter::once((OperatorPlace::Before, 1, model.before.as_slice()));
    before.chain(kinds).chain(std::iter::once((OperatorPlace::After, 1, model.after.as_slice())))
}

/// Visits the operators of one step on one device, part by part; each visit has the number of layers
/// that are so. `buffer` only saves allocations.
pub fn visit(
    model: &Model,
    pass: &Pass,
    buffer: &mut Vec<Operator>,
    mut each: impl FnMut(OperatorPlace, u64, &[Operator]),
) {
    for (place, layers, units) in parts(model, pass.step.media > 0) {
        buffer.clear();
        for unit in units {
            unit.operators(pass, buffer);
        }
        each(place, layers, buffer);
    }
}

pub(crate) fn visit_encoder(
    encoder: &Encoder,
    pass: &Pass,
    buffer: &mut Vec<Operator>,
    mut each: impl FnMut(OperatorPlace, u64, &[Operator]),
) {
    for (number, part) in encoder.parts.iter().enumerate() {
        buffer.clear();
        for unit in &part.units {
            unit.operators(pass, buffer);
        }
        each(OperatorPlace::Encoder(number), part.count(), buffer);
    }
}

/// Adds the operators of a unit for several groups of sequences that run in one step. What the groups read
/// in common, its weights, is read once.
fn operators_of_groups(unit: &Unit, groups: &[Pass], buffer: &mut Vec<Operator>) {
    let start = buffer.len();
    for pass in groups {
        let from = buffer.len();
        unit.operators(pass, buffer);
        for added in buffer.split_off(from) {
            let same = |known: &&mut Operator| known.name == added.name && known.class == added.class;
            match buffer[start..].iter_mut().find(same) {
                Some(known) => {
                    let weights = known.work.bytes.weights.max(added.work.bytes.weights);
                    known.work += added.work;
                    known.work.bytes.weights = weights;
                }
                None => buffer.push(added),
            }
        }
    }
}

/// Visits the operators of one step whose sequences differ, unit by unit: `groups` of equal ones, and
/// `sampled` rows of logits in all.
///
/// What a token costs wherever it stands is counted over all tokens together, so that weights are read
/// once and experts are touched by all; what depends on the context is counted group by group.
pub(crate) fn visit_ragged(
    model: &Model,
    setup: &Setup,
    groups: &[Step],
    sampled: u64,
    mut each: impl FnMut(OperatorPlace, u64, &Unit, &[Operator]),
) {
    let tokens: u128 = groups.iter().map(Step::tokens).sum();
    let Ok(new) = u64::try_from(tokens) else { return };
    let is_decode = groups.iter().all(|group| group.phase == Phase::Decode);
    let phase = if is_decode { Phase::Decode } else { Phase::Prefill };
    let all = Step { phase, sequences: 1, new, past: 0, sampled, media: 0 };
    let all = setup.pass(model, all, 0, Touch::Expected);
    let groups: Vec<Pass> = groups.iter().map(|step| setup.pass(model, *step, 0, Touch::Expected)).collect();
    let mut buffer = Vec::new();
    for (place, layers, units) in parts(model, false) {
        for unit in units {
            buffer.clear();
            match unit.is_per_token() {
                true => unit.operators(&all, &mut buffer),
                false => operators_of_groups(unit, &groups, &mut buffer),
            }
            each(place, layers, unit, &buffer);
        }
    }
}

/// Visits the operators that draft `draft` tokens in one step on one device: for each token a draft layer
/// and the head. Each visit has the number of tokens that the layer drafts.
pub(crate) fn visit_drafts(
    model: &Model,
    pass: &Pass,
    draft: u64,
    buffer: &mut Vec<Operator>,
    mut each: impl FnMut(OperatorPlace, u64, &[Operator]),
) {
    if draft == 0 {
        return;
    }
    let one = Pass { step: Step { new: 1, sampled: 1, ..pass.step }, ..pass.clone() };
    let layers = model.drafts.len() as u64;
    for (number, layer) in model.drafts.iter().enumerate() {
        // Where more tokens are drafted than there are layers, layers are used again.
        let times = draft / layers + u64::from((number as u64) < draft % layers);
        buffer.clear();
        for unit in layer.units.iter().chain(&model.after) {
            unit.operators(&one, buffer);
        }
        each(OperatorPlace::Draft(number), times, buffer);
    }
}

/// An operator of a run of steps.
#[derive(Debug, Clone)]
pub struct TallyRow {
    pub(crate) place: OperatorPlace,
    /// Layers that have it.
    pub layers: u64,
    /// The operator; its work is that of one layer in all steps.
    pub operator: Operator,
    /// Its time in one layer in all steps, by what it waits for.
    pub seconds: Seconds,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) local_s: f64,
    pub(crate) link_s: f64,
}

impl Spent {
    /// Adds an operator of so many layers. An operator either works or sends.
    pub fn add(&mut self, seconds: &Seconds, layers: f64) {
        let side = if seconds.link > 0.0 { &mut self.link_s } else { &mut self.local_s };
        *side += seconds.bound * layers;
    }

    /// From start to end, where the share `overlap` of the communication is hidden behind other work.
    pub(crate) fn seconds(&self, overlap: f64) -> f64 {
        let hidden = overlap * self.link_s;
        // Written so that full overlap is exactly the longer of the two.
        if hidden >= self.local_s { self.link_s } else { self.local_s + (self.link_s - hidden) }
    }
}

/// The operators of a run of steps on one device.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// In the order of execution.
    pub rows: Vec<TallyRow>,
    pub(crate) between_stages_s: f64,
}

impl Tally {
    /// Adds a step; `roof` gives times.
    pub fn add(&mut self, model: &Model, pass: &Pass, roof: Option<&Roof>, buffer: &mut Vec<Operator>) {
        let mut at = 0;
        visit(model, pass, buffer, |place, layers, operators| {
            self.add_all(&mut at, place, layers, operators, roof)
        });
    }

    pub(crate) fn add_ragged(
        &mut self,
        model: &Model,
        setup: &Setup,
        groups: &[Step],
        sampled: u64,
        roof: Option<&Roof>,
    ) {
        let mut at = 0;
        visit_ragged(model, setup, groups, sampled, |place, layers, _, operators| {
            self.add_all(&mut at, place, layers, operators, roof)
        });
    }

    /// Adds the passes that draft `draft` tokens: each a draft layer and the head for one token.
    pub(crate) fn add_drafts(&mut self, model: &Model, pass: &Pass, draft: u64, roof: Option<&Roof>) {
        let mut buffer = Vec::new();
        visit_drafts(model, pass, draft, &mut buffer, |place, times, operators| {
            let mut at = self.rows.iter().position(|row| row.place == place).unwrap_or(self.rows.len());
            self.add_all(&mut at, place, times, operators, roof);
        });
    }

    pub(crate) fn add_vision(
        &mut self,
        model: &Model,
        pass: &Pass,
        passes: &[(usize, u64, Step)],
        roof: Option<&Roof>,
    ) {
        let Some(tower) = &model.vision else { return };
        let mut buffer = Vec::new();
        let mut at = 0;
        for (stage, count, step) in passes {
            buffer.clear();
            let pass = Pass { step: *step, ..pass.clone() };
            for unit in &tower.stages[*stage].units {
                unit.operators(&pass, &mut buffer);
            }
            self.add_all(&mut at, OperatorPlace::Vision(*stage), *count, &buffer, roof);
        }
    }

    /// Adds a pass through the encoder.
    pub fn add_encoder(&mut self, encoder: &Encoder, pass: &Pass, roof: Option<&Roof>) {
        let mut at = 0;
        visit_encoder(encoder, pass, &mut Vec::new(), |place, layers, operators| {
            self.add_all(&mut at, place, layers, operators, roof)
        });
    }

    /// Steps have the same operators in the same order, but for a few that come and go: `at` is where the
    /// first row is expected.
    fn add_all(
        &mut self,
        at: &mut usize,
        place: OperatorPlace,
        layers: u64,
        operators: &[Operator],
        roof: Option<&Roof>,
    ) {
        for operator in operators {
            let seconds = roof.map_or_else(Seconds::default, |roof| roof.seconds(operator));
            let is_it =
                |row: &TallyRow| row.operator.name == operator.name && row.operator.class == operator.class;
            let ahead = self.rows.iter().enumerate().skip(*at).take_while(|(_, row)| row.place == place);
            let found = ahead.into_iter().find(|(_, row)| is_it(row)).map(|(number, _)| number);
            match found {
                Some(found) => {
                    let row = &mut self.rows[found];
                    row.operator.work += operator.work;
                    row.seconds += seconds;
                    *at = found + 1;
                }
                None => {
                    let row = TallyRow { place, layers, operator: *operator, seconds };
                    let end = (*at).min(self.rows.len());
                    self.rows.insert(end, row);
                    *at = end + 1;
                }
            }
        }
    }

    /// The work of all rows.
    pub fn work(&self) -> Work {
        self.rows.iter().fold(Work::default(), |sum, row| sum + row.operator.work * u128::from(row.layers))
    }

    pub(crate) fn spent(&self) -> Spent {
        let mut spent = Spent { local_s: 0.0, link_s: self.between_stages_s };
        for row in &self.rows {
            spent.add(&row.seconds, row.layers as f64);
        }
        spent
    }
}

/// What the bound hides: it is the longer of communication and of all else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum HiddenSide {
    Communication,
    AllElse,
}

impl HiddenSide {
    pub(crate) fn of(rows: &[&TallyRow]) -> Self {
        let sum = |is_link: bool| -> f64 {
            let side = rows.iter().filter(|row| (row.seconds.link > 0.0) == is_link);
            side.map(|row| row.seconds.bound * row.layers as f64).sum()
        };
        if sum(true) > sum(false) { HiddenSide::AllElse } else { HiddenSide::Communication }
    }

    pub(crate) fn has(self, time: &Seconds) -> bool {
        time.bound > 0.0 && (time.link > 0.0) == (self == HiddenSide::Communication)
    }
}
