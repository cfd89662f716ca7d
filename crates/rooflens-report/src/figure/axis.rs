//! An axis as it is asked for.

use crate::figure::unit::FigureUnit;
use crate::format;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Scale {
    #[default]
    Linear,
    /// By their logarithm, with ticks at powers of two.
    Log2,
    /// By their logarithm, with ticks at one, two and five times powers of ten.
    Log10,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) unit: FigureUnit,
    pub(crate) scale: Scale,
}

impl Axis {
    pub(crate) fn linear(label: impl Into<String>, unit: FigureUnit) -> Self {
        Axis { label: label.into(), unit, scale: Scale::Linear }
    }

    pub(crate) fn log2(label: impl Into<String>, unit: FigureUnit) -> Self {
        Axis { label: label.into(), unit, scale: Scale::Log2 }
    }

    pub(crate) fn log10(label: impl Into<String>, unit: FigureUnit) -> Self {
        Axis { label: label.into(), unit, scale: Scale::Log10 }
    }

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A logarithmic axis has no place for zero and below.
    NotPositive,
    /// Not a number, or beyond all bounds.
    NotFinite,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Refused {
    not_positive: usize,
    not_finite: usize,
}

impl Refused {
    pub(crate) fn admits(&mut self, refusals: &[Option<Refusal>]) -> bool {
        if refusals.contains(&Some(Refusal::NotFinite)) {
            self.not_finite += 1;
        } else if refusals.contains(&Some(Refusal::NotPositive)) {
            self.not_positive += 1;
        }
        refusals.iter().all(Option::is_none)
    }

    pub(crate) fn remarks(self, not_positive: &str) -> Vec<String> {
        let of = |number: usize, words: &str| {
            (number > 0).then(|| format!("{} {words}", format::plural(number as i64, "value")))
        };
        [of(self.not_positive, not_positive), of(self.not_finite, "not finite")]
            .into_iter()
            .flatten()
            .collect()
    }
}
