//! Two designs side by side: what changes, operator by operator.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{EstimateDocument, OperatorFacts, Totals};
use crate::step::Phase;

/// What differs between two designs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    /// Whole numbers of the design and the workload.
    pub totals: Vec<Difference>,
    /// Each operator of either, all its layers together.
    pub operators: Vec<OperatorDifference>,
}

/// A number of two designs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Which number, as `params.total`.
    pub name: Cow<'static, str>,
    /// Of which phase; null for the design itself and for all phases together.
    pub phase: Option<Phase>,
    /// Its unit.
    pub unit: Cow<'static, str>,
    /// Its values.
    #[serde(flatten)]
    pub values: Change,
}

/// A number before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// In the design that is compared with.
    pub base: f64,
    /// In the requested design.
    pub value: f64,
    /// Their difference.
    pub difference: f64,
    /// The difference as a part of the base; null where the base is nothing.
    pub change: Option<f64>,
}

impl Change {
    pub(crate) fn new(base: f64, value: f64) -> Self {
        let difference = value - base;
        Self { base, value, difference, change: (base != 0.0).then(|| difference / base) }
    }
}

/// An operator of two designs, all its layers together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorDifference {
    /// In which phase.
    pub phase: Phase,
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its class.
    pub class: Cow<'static, str>,
    /// Useful operations.
    pub flops: Change,
    /// Bytes between memory and chip.
    pub bytes: Change,
    /// The lower bound; null without a device.
    pub seconds: Option<Change>,
}

/// What differs between `base` and `document`.
pub fn differences(base: &EstimateDocument, document: &EstimateDocument) -> Differences {
    let mut totals = Vec::new();
    let mut add = |phase, name: &'static str, unit: &'static str, base: Option<f64>, value: Option<f64>| {
        if let (Some(base), Some(value)) = (base, value) {
            totals.push(Difference {
                name: name.into(),
                phase,
                unit: unit.into(),
                values: Change::new(base, value),
            });
        }
    };
    let number = |value: u128| Some(value as f64);
    add(None, "params.total", "1", number(base.params.total), number(document.params.total));
    add(None, "params.active", "1", number(base.params.active), number(document.params.active));
    let kv = |document: &EstimateDocument| number(document.kv.cache.bytes_per_token);
    add(None, "kv.bytes_per_token", "B", kv(base), kv(document));
    let memory = |document: &EstimateDocument| number(document.memory.total_bytes);
    add(None, "memory.total_bytes", "B", memory(base), memory(document));
    let mut work = |phase, base: &Totals, new: &Totals| {
        add(phase, "flops.useful", "FLOP", number(base.flops.useful), number(new.flops.useful));
        add(phase, "bytes.total", "B", number(base.bytes.total), number(new.bytes.total));
        add(phase, "seconds", "s", base.seconds, new.seconds);
    };
    work(None, &base.totals, &document.totals);
    for new in &document.phases {
        if let Some(base) = base.phases.iter().find(|base| base.phase == new.phase) {
            work(Some(new.phase), &base.totals, &new.totals);
        }
    }
    Differences { totals, operators: operators(base, document) }
}

#[derive(Default, Clone, Copy)]
struct Sum {
    flops: f64,
    bytes: f64,
    seconds: Option<f64>,
}

type Key<'a> = (Phase, &'a Cow<'static, str>, &'a Cow<'static, str>);

fn operators(base: &EstimateDocument, document: &EstimateDocument) -> Vec<OperatorDifference> {
    // In the order of execution: those of the new design, then those that it no longer has.
    let (base, new) = (sums(base), sums(document));
    let find = |sums: &[(Key<'_>, Sum)], key: &Key<'_>| {
        sums.iter().find(|(known, _)| known == key).map(|(_, sum)| *sum).unwrap_or_default()
    };
    let gone = base.iter().filter(|(key, _)| !new.iter().any(|(known, _)| known == key));
    let keys = new.iter().chain(gone).map(|(key, _)| *key);
    let difference = |key: Key<'_>| {
        let (before, after) = (find(&base, &key), find(&new, &key));
        OperatorDifference {
            phase: key.0,
            class: key.1.clone(),
            name: key.2.clone(),
            flops: Change::new(before.flops, after.flops),
            bytes: Change::new(before.bytes, after.bytes),
            seconds: before
                .seconds
                .or(after.seconds)
                .map(|_| Change::new(before.seconds.unwrap_or(0.0), after.seconds.unwrap_or(0.0))),
        }
    };
    keys.map(difference).collect()
}

fn sums(document: &EstimateDocument) -> Vec<(Key<'_>, Sum)> {
    let mut sums: Vec<(Key<'_>, Sum)> = Vec::new();
    let all = document
        .phases
        .iter()
        .flat_map(|phase| phase.operators.iter().map(move |operator| (phase.phase, operator)));
    for (phase, operator) in all {
        let key = (phase, &operator.class, &operator.name);
        let OperatorFacts { count, flops, bytes, seconds, .. } = operator;
        let layers = *count as f64;
        let index = sums.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            sums.push((key, Sum::default()));
            sums.len() - 1
        });
        let sum = &mut sums[index].1;
        sum.flops += flops.useful as f64 * layers;
        sum.bytes += bytes.total as f64 * layers;
        if let Some(seconds) = seconds {
            *sum.seconds.get_or_insert(0.0) += seconds.bound * layers;
        }
    }
    sums
}
