//! Where a design changes its nature: the batch from which it is bound by compute, the context from which
//! the cache weighs more than the weights.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::operator::Operator;
use crate::roof::Roof;
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::Step;
use crate::tally::visit;

const MOST_BATCH: u64 = 1 << 17;
const MOST_CONTEXT: u64 = 1 << 24;

/// Where decoding changes its nature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Crossovers {
    /// The smallest batch at which a step takes longer on the matrix units than moving bytes, at this
    /// context; none up to 131,072.
    pub compute_bound_batch: Option<u64>,
    /// The same for each class of operators with matmuls.
    pub classes: BTreeMap<Cow<'static, str>, Option<u64>>,
    /// The smallest context at which a step reads more of the cache than of the weights, at this batch;
    /// none up to 16,777,216, or to the last position where positions are a table.
    pub kv_bound_context: Option<u64>,
}

/// Where decoding of `batch` sequences with `context` tokens each changes its nature, if each attends to
/// `media` tokens of images or positions of an encoder besides.
pub fn crossovers(
    model: &Model,
    setup: &Setup,
    roof: &Roof,
    (batch, context, media): (u64, u64, u64),
) -> Crossovers {
    let decode = |batch, context| Step { media, ..Step::decode(setup.sequences(batch), context) };
    let mut buffer = Vec::new();
    let mut of_class = |class: Option<&str>, batch: u64| {
        let step = decode(batch, context);
        let (mut compute, mut memory) = (0.0, 0.0);
        each(model, setup, step, &mut buffer, |layers, operator| {
            if class.is_none_or(|class| class == operator.class) {
                let seconds = roof.seconds(operator);
                compute += layers * seconds.compute;
                memory += layers * seconds.memory;
            }
        });
        compute > 0.0 && compute >= memory
    };
    let compute_bound_batch = first(1, MOST_BATCH, |batch| of_class(None, batch));
    let mut names = Vec::new();
    each(model, setup, Step { sequences: 1, ..decode(1, context) }, &mut Vec::new(), |_, operator| {
        if operator.work.flops.useful > 0 && !names.contains(&operator.class) {
            names.push(operator.class);
        }
    });
    let classes = names
        .iter()
        .map(|class| (Cow::Borrowed(*class), first(1, MOST_BATCH, |batch| of_class(Some(class), batch))));
    let classes = classes.collect();
    let mut buffer = Vec::new();
    let most = model.encoder.as_ref().and_then(|encoder| encoder.most_decoded);
    let most = most.unwrap_or(MOST_CONTEXT).min(MOST_CONTEXT);
    let kv_bound_context = first(0, most, |context| {
        let (mut kv, mut weights) = (0, 0);
        each(model, setup, decode(batch, context), &mut buffer, |layers, operator| {
            kv += layers as u128 * operator.work.bytes.kv_read;
            weights += layers as u128 * operator.work.bytes.weights;
        });
        kv >= weights
    });
    let kv_bound_context = kv_bound_context.filter(|context| *context <= most);
    Crossovers { compute_bound_batch, classes, kv_bound_context }
}

fn each(
    model: &Model,
    setup: &Setup,
    step: Step,
    buffer: &mut Vec<Operator>,
    mut f: impl FnMut(f64, &Operator),
) {
    let pass = setup.pass(model, step, 0, Touch::Expected);
    visit(model, &pass, buffer, |_, layers, operators| {
        for operator in operators {
            f(layers as f64, operator);
        }
    });
}

/// The first number in `least..=most` for which `holds` holds, if it holds from there on: by doubling,
/// then by halves.
pub(crate) fn first(least: u64, most: u64, mut holds: impl FnMut(u64) -> bool) -> Option<u64> {
    if holds(least) {
        return Some(least);
    }
    let (mut low, mut high) = (least, least.max(1) * 2);
    while !holds(high) {
        low = high;
        if high >= most {
            return None;
        }
        high = (high * 2).min(most);
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
