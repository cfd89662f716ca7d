//! The host's own code between operators, by the operator that follows.

use std::collections::BTreeMap;

use rooflens_schema::{NameId, Names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::FastMap;
use crate::facts::LAUNCHING_PACE_NS;

/// Operators that are named.
const MOST: usize = 5;

/// The host's own code.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Waits {
    /// Time in gaps of 100 us and more.
    pub(crate) long_ns: i64,
    /// By the operator that follows, most time first, at most five.
    pub(crate) rows: Vec<Wait>,
}

/// The host's own code before an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Wait {
    /// The operator that follows.
    pub(crate) before: String,
    /// Gaps.
    pub(crate) count: usize,
    /// Their time.
    pub(crate) ns: i64,
    /// The longest.
    pub(crate) max_ns: i64,
}

/// Gaps before operators of one name.
#[derive(Default, Clone, Copy)]
pub struct Gaps {
    count: usize,
    ns: i64,
    max_ns: i64,
    long_ns: i64,
}

/// The gaps of one rank, by its row of `phases` and its ids of names.
#[derive(Default)]
pub(crate) struct OfRank(BTreeMap<Option<i32>, OfPhase>);

/// Those of one phase of a rank.
pub(crate) type OfPhase = FastMap<NameId, Gaps>;

impl OfRank {
    pub(crate) fn add(&mut self, phase: Option<i32>, name: NameId, ns: i64) {
        let gaps = self.0.entry(phase).or_default().entry(name).or_default();
        gaps.count += 1;
        gaps.ns = gaps.ns.saturating_add(ns);
        gaps.max_ns = gaps.max_ns.max(ns);
        // As for a device: a host that goes on sooner is on its way from one operator to the next.
        if ns >= LAUNCHING_PACE_NS {
            gaps.long_ns = gaps.long_ns.saturating_add(ns);
        }
    }

    pub(crate) fn by_phase(self) -> impl Iterator<Item = (Option<i32>, OfPhase)> {
        self.0.into_iter()
    }
}

/// The gaps of phases that are alike, of all ranks.
#[derive(Default)]
pub(crate) struct Found(BTreeMap<String, Gaps>);

impl Found {
    pub(crate) fn add(&mut self, names: &Names, gaps: &OfPhase) {
        for (name, gaps) in gaps {
            let sum = self.0.entry(names.get(*name).to_owned()).or_default();
            sum.count += gaps.count;
            sum.ns = sum.ns.saturating_add(gaps.ns);
            sum.max_ns = sum.max_ns.max(gaps.max_ns);
            sum.long_ns = sum.long_ns.saturating_add(gaps.long_ns);
        }
    }

    /// Nothing where there are no gaps on a host.
    pub(crate) fn finish(self) -> Option<Waits> {
        if self.0.is_empty() {
            return None;
        }
        let long_ns = self.0.values().fold(0_i64, |sum, gaps| sum.saturating_add(gaps.long_ns));
        let row = |(before, gaps): (String, Gaps)| Wait {
            before,
            count: gaps.count,
            ns: gaps.ns,
            max_ns: gaps.max_ns,
        };
        let mut rows: Vec<Wait> = self.0.into_iter().map(row).collect();
        rows.sort_by_key(|wait| std::cmp::Reverse(wait.ns));
        rows.truncate(MOST);
        Some(Waits { long_ns, rows })
    }
}
