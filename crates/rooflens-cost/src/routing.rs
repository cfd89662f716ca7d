//! How tokens choose experts, and so how many experts a batch touches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of tokens over experts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    /// Every expert as often as every other, by turns: the most that can be touched.
    Balanced,
    /// Every expert equally likely, each token by itself.
    Uniform,
    /// The i-th most popular expert as likely as `i^-alpha`: what real routers come near to.
    PowerLaw {
        /// Steepness: 0 is uniform.
        alpha: f64,
    },
    /// Measured shares of the experts, in any order and unit.
    Histogram {
        /// Visits of each expert.
        visits: Vec<f64>,
    },
}

/// Which end of a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Touch {
    /// All tokens choose the same experts.
    Min,
    /// What the distribution makes of it.
    Expected,
    /// No two tokens share an expert while there is another.
    Max,
}

/// A number that depends on the routing: least, expected and most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// All tokens choose alike.
    pub min: f64,
    /// By the distribution.
    pub expected: f64,
    /// As different as can be.
    pub max: f64,
}

impl Band {
    pub(crate) fn of(&self, touch: Touch) -> f64 {
        match touch {
            Touch::Min => self.min,
            Touch::Expected => self.expected,
            Touch::Max => self.max,
        }
    }
}

impl Routing {
    /// How many of `count` experts at least one of `tokens` tokens visits, each visiting `top_k`.
    ///
    /// Expected: `Σ 1 - (1 - p_e)^T` with `Σ p_e = k`, as if tokens chose each expert by itself.
    ///
    /// ```
    /// use rooflens_cost::routing::Routing;
    /// let band = Routing::Uniform.touched(128, 8, 16);
    /// assert_eq!((band.min, band.max), (8.0, 128.0));
    /// assert!((band.expected - 82.4).abs() < 0.1); // 128·(1 - (1 - 8/128)^16)
    /// ```
    pub fn touched(&self, count: u64, top_k: u64, tokens: u128) -> Band {
        let (experts, chosen) = (count as f64, top_k.min(count) as f64);
        if tokens == 0 || count == 0 {
            return Band { min: 0.0, expected: 0.0, max: 0.0 };
        }
        let tokens = tokens as f64;
        let max = (chosen * tokens).min(experts);
        let expected = match self {
            Routing::Balanced => max,
            Routing::Uniform => experts * touch(chosen / experts, tokens),
            Routing::PowerLaw { alpha } => {
                let shares: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-alpha)).collect();
                spread(shares, chosen).iter().map(|share| touch(*share, tokens)).sum()
            }
            Routing::Histogram { visits } => {
                let shares = (0..count as usize).map(|expert| visits.get(expert).copied().unwrap_or(0.0));
                spread(shares.collect(), chosen).iter().map(|share| touch(*share, tokens)).sum()
            }
        };
        Band { min: chosen, expected: expected.clamp(chosen, max), max }
    }
}

/// The chance that one of `tokens` tokens makes a choice of chance `share`.
fn touch(share: f64, tokens: f64) -> f64 {
    // By logarithms, so that tiny shares and many tokens keep their digits.
    -(tokens * (-share.min(1.0)).ln_1p()).exp_m1()
}

/// Scales `shares` to a sum of `total` with none above 1: what a share has too much goes to the others.
fn spread(mut shares: Vec<f64>, total: f64) -> Vec<f64> {
    for share in &mut shares {
        if !share.is_finite() || *share < 0.0 {
            *share = 0.0;
        }
    }
    let mut full = vec![false; shares.len()];
    loop {
        let open: f64 = shares.iter().zip(&full).filter(|(_, full)| !**full).map(|(share, _)| share).sum();
        let left = total - full.iter().filter(|full| **full).count() as f64;
        if open <= 0.0 || left <= 0.0 {
            break;
        }
        let scale = left / open;
        let mut overflowed = false;
        for (share, full) in shares.iter_mut().zip(&mut full) {
            if !*full && *share * scale >= 1.0 {
                (*share, *full, overflowed) = (1.0, true, true);
            }
        }
        if !overflowed {
            for (share, full) in shares.iter_mut().zip(&full) {
                if !*full {
                    *share *= scale;
                }
            }
            break;
        }
    }
    shares
}
