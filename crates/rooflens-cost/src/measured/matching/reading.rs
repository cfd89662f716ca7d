//! The operators of the static model that are products, and other ways in which they may have been done.

use std::collections::BTreeMap;

use super::super::work::{LM_HEAD, add_steps};
use super::super::{Ran, Shape};
use crate::hardware::Device;
use crate::model::Model;
use crate::operator::Flops;
use crate::pass::LatentOrder;
use crate::roof::Roof;
use crate::setup::Setup;
use crate::step::Mask;
use crate::tally::{OperatorPlace, Tally, TallyRow};
use crate::units::Unit;

#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(crate) place: OperatorPlace,
    pub(crate) name: &'static str,
    pub(crate) class: &'static str,
    pub(crate) layers: u64,
    /// Operations in one layer, as the framework multiplies: with padding.
    pub(crate) counted: u128,
    /// The same without padding.
    pub(crate) needed: u128,
    /// Other numbers of operations that it may have had, and what they tell.
    pub(crate) others: Vec<(Way, u128)>,
    pub(crate) floor_ns: Option<f64>,
}

impl Expected {
    pub(super) fn place_is_layer(&self) -> bool {
        matches!(self.place, OperatorPlace::Kind(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// Latent attention through its compressed cache.
    Absorbed,
    /// All keys, where a window would do.
    WithoutWindow,
    /// Without padding, where the batch has some.
    WithoutPadding,
}

pub(super) struct Readings {
    pub(crate) operators: Vec<Expected>,
    pub(crate) no_floor: Option<String>,
}

impl Readings {
    pub(super) fn of(
        model: &Model,
        setup: &Setup,
        device: Option<&Device>,
        ran: &[&Ran],
        all_logits: bool,
    ) -> Result<Self, String> {
        let shapes: Vec<&Shape> = ran.iter().map(|one| &one.shape).collect();
        let roof = device.and_then(|device| Roof::of_setup(device, setup));
        let padded = tally(model, setup, &shapes, true, None)?;
        let needed = tally(model, setup, &shapes, false, roof.as_ref())?;
        let unpadded = by_class(&needed, |flops| flops.as_counted);
        let absorbed = Setup { latent: LatentOrder::Absorbed, ..setup.clone() };
        let ways = [
            (Way::Absorbed, by_class(&tally(model, &absorbed, &shapes, true, None)?, |flops| flops.useful)),
            (
                Way::WithoutWindow,
                by_class(&tally(&without_windows(model), setup, &shapes, true, None)?, |flops| {
                    flops.as_counted
                }),
            ),
            (Way::WithoutPadding, unpadded.clone()),
        ];
        let least: BTreeMap<(OperatorPlace, &str), f64> =
            needed.iter().map(|row| ((row.place, row.operator.name), row.seconds.bound * 1e9)).collect();
        let operators = padded
            .iter()
            .filter(|row| row.operator.work.flops.as_counted > 0)
            .map(|row| {
                let key = (row.place, row.operator.class);
                let flops = row.operator.work.flops;
                let is_spared = row.operator.class == LM_HEAD && !all_logits;
                let counted = if is_spared { flops.useful } else { flops.as_counted };
                // Where a class has several operators, its sum tells nothing of each.
                let is_only =
                    padded.iter().filter(|other| (other.place, other.operator.class) == key).count() == 1;
                let others = ways
                    .iter()
                    .filter(|_| is_only && !is_spared)
                    .filter_map(|(way, known)| Some((*way, *known.get(&key)?)))
                    .filter(|(_, other)| *other != counted && *other > 0)
                    .collect();
                let whole = unpadded.get(&key).copied().filter(|_| is_only && !is_spared);
                Expected {
                    place: row.place,
                    name: row.operator.name,
                    class: row.operator.class,
                    layers: row.layers,
                    counted,
                    needed: whole.unwrap_or(counted),
                    others,
                    floor_ns: roof.as_ref().and_then(|_| least.get(&(row.place, row.operator.name)).copied()),
                }
            })
            .collect();
        let no_floor = roof.is_none().then(|| "no peaks of the device are known".to_owned());
        Ok(Readings { operators, no_floor })
    }
}

fn tally(
    model: &Model,
    setup: &Setup,
    shapes: &[&Shape],
    padded: bool,
    roof: Option<&Roof>,
) -> Result<Vec<TallyRow>, String> {
    let (mut language, mut vision) = (Tally::default(), Tally::default());
    for shape in shapes {
        add_steps(&mut language, &mut vision, model, setup, shape, padded, roof)?;
    }
    language.rows.extend(vision.rows);
    Ok(language.rows)
}

fn by_class(rows: &[TallyRow], flops: fn(Flops) -> u128) -> BTreeMap<(OperatorPlace, &'static str), u128> {
    let mut sums = BTreeMap::new();
    for row in rows {
        *sums.entry((row.place, row.operator.class)).or_default() += flops(row.operator.work.flops);
    }
    sums
}

fn without_windows(model: &Model) -> Model {
    let mut model = model.clone();
    for unit in model.kinds.iter_mut().flat_map(|kind| &mut kind.layer.units) {
        if let Unit::Attention(attention) = unit
            && matches!(attention.mask, Mask::Window(_) | Mask::Chunk(_))
        {
            attention.mask = Mask::Causal;
        }
    }
    model
}
