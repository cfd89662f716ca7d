//! Sentences that carry the numbers they are made of.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sentence::{percent, time};
use crate::statistics::share;

/// A number in a sentence, and where the findings have it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// As it is printed: `56.1%`, `352 ms`.
    pub(crate) text: String,
    /// Whether it is in the `sentence` or in `next`.
    pub(crate) place: Cow<'static, str>,
    /// What it is the time or share of, as `idle` or `cpu_bound`.
    pub(crate) what: String,
    /// The time; null for a share that is no time.
    pub(crate) ns: Option<f64>,
    /// The share, 0 to 1; null for a time alone.
    pub(crate) share: Option<f64>,
    /// The fields whose sum `ns` is; without `ns`, the field that `share` is. As `gaps[0].examples[0].dur_ns`,
    /// `devices[*].busy_ns` for the sum over all rows, `ledger.lines[line=sync].ns` for the row with that line.
    pub(crate) from: Vec<String>,
    /// The field that `share` is a share of, written alike.
    pub(crate) of: Option<String>,
    /// The claim that it is a part of, by its `what`: the parts of a claim add up to it.
    pub(crate) part_of: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(crate) text: String,
    pub(crate) claims: Vec<Claim>,
}

/// A time and the fields that it is the sum of.
#[derive(Debug, Clone)]
pub(super) struct Amount {
    pub(crate) what: String,
    pub(crate) ns: i64,
    pub(crate) from: Vec<String>,
}

impl Amount {
    pub(crate) fn new(what: impl Into<String>, ns: i64, from: impl Into<String>) -> Self {
        Amount { what: what.into(), ns, from: vec![from.into()] }
    }
}

impl Said {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Said { text: text.into(), claims: Vec::new() }
    }

    pub(crate) fn say(mut self, text: impl AsRef<str>) -> Self {
        self.text.push_str(text.as_ref());
        self
    }

    pub(crate) fn then(mut self, other: Said) -> Self {
        self.text.push_str(&other.text);
        self.claims.extend(other.claims);
        self
    }

    pub(crate) fn time(self, what: &str, ns: f64, from: impl Into<String>) -> Self {
        let claim = Claim { ns: Some(ns), ..claim(what, time(ns), vec![from.into()]) };
        self.claim(claim)
    }

    pub(crate) fn cites(mut self, what: &str, ns: i64, from: impl Into<String>) -> Self {
        let ns = ns as f64;
        self.claims.push(Claim { ns: Some(ns), ..claim(what, time(ns), vec![from.into()]) });
        self
    }

    pub(crate) fn cites_ratio(mut self, what: &str, share: f64, from: impl Into<String>) -> Self {
        self.claims.push(Claim { share: Some(share), ..claim(what, percent(share), vec![from.into()]) });
        self
    }

    pub(crate) fn share(self, amount: &Amount, whole: &Amount) -> Self {
        self.part(amount, whole, None)
    }

    pub(crate) fn part(self, amount: &Amount, whole: &Amount, part_of: Option<&str>) -> Self {
        let share = share(amount.ns, whole.ns);
        let claim = Claim {
            ns: Some(amount.ns as f64),
            share: Some(share),
            of: whole.from.first().cloned(),
            part_of: part_of.map(str::to_owned),
            ..claim(&amount.what, shown(share), amount.from.clone())
        };
        self.claim(claim)
    }

    /// Adds a share that the findings have as such.
    pub(crate) fn ratio(self, what: &str, share: f64, from: impl Into<String>) -> Self {
        let claim = Claim { share: Some(share), ..claim(what, percent(share), vec![from.into()]) };
        self.claim(claim)
    }

    fn claim(mut self, claim: Claim) -> Self {
        self.text.push_str(&claim.text);
        self.claims.push(claim);
        self
    }

    pub(crate) fn claims_in(self, place: &'static str) -> impl Iterator<Item = Claim> {
        self.claims.into_iter().map(move |claim| Claim { place: place.into(), ..claim })
    }
}

/// As tables have it: what is not nothing is not shown as nothing.
fn shown(share: f64) -> String {
    if share > 0.0 && share < 0.0005 { "<0.1%".to_owned() } else { percent(share) }
}

fn claim(what: &str, text: String, from: Vec<String>) -> Claim {
    Claim { text, place: "sentence".into(), what: what.to_owned(), from, ..Claim::default() }
}
