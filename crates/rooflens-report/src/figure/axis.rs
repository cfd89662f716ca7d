//! An axis as it is asked for.

use crate::figure::unit::FigureUnit;

/// How values lie along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithm, with ticks at powers of two.
    Log2,
    /// By their logarithm, with ticks at one, two and five times powers of ten.
    Log10,
}

/// An axis.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// What the values are.
    pub label: String,
    /// In which unit.
    pub unit: FigureUnit,
    /// How they lie along it.
    pub scale: Scale,
}

impl Axis {
    /// An even axis.
    pub fn linear(label: impl Into<String>, unit: FigureUnit) -> Self {
        Axis { label: label.into(), unit, scale: Scale::Linear }
    }

    /// A logarithmic axis with ticks at powers of two.
    pub fn log2(label: impl Into<String>, unit: FigureUnit) -> Self {
        Axis { label: label.into(), unit, scale: Scale::Log2 }
    }

    /// A logarithmic axis with ticks at powers of ten.
    pub fn log10(label: impl Into<String>, unit: FigureUnit) -> Self {
        Axis { label: label.into(), unit, scale: Scale::Log10 }
    }

    /// Whether and why a value has no place on it.
    pub(super) fn refuses(&self, value: f64) -> Option<Refusal> {
        if !value.is_finite() || value.abs() > LARGEST {
            Some(Refusal::NotFinite)
        } else if self.scale != Scale::Linear && value < 1.0 / LARGEST {
            Some(Refusal::NotPositive)
        } else {
            None
        }
    }
}

/// Sums, products and quotients of drawn values stay finite.
const LARGEST: f64 = 1e120;

/// Why a value is not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A logarithmic axis has no place for zero and below.
    NotPositive,
    /// Not a number, or beyond all bounds.
    NotFinite,
}

/// How many values were not drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Refused {
    not_positive: usize,
    not_finite: usize,
}

impl Refused {
    /// Whether a value is drawn; counts it where it is not.
    pub(crate) fn admits(&mut self, refusals: &[Option<Refusal>]) -> bool {
        if refusals.contains(&Some(Refusal::NotFinite)) {
            self.not_finite += 1;
        } else if refusals.contains(&Some(Refusal::NotPositive)) {
            self.not_positive += 1;
        }
        refusals.iter().all(Option::is_none)
    }

    /// What the note says; `not_positive` names those.
    pub(crate) fn remarks(self, not_positive: &str) -> Vec<String> {
        let of = |number: usize, words: &str| (number > 0).then(|| format!("{} {words}", values(number)));
        [of(self.not_positive, not_positive), of(self.not_finite, "not finite")]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn values(number: usize) -> String {
    crate::format::plural(i64::try_from(number).unwrap_or(i64::MAX), "value")
}
