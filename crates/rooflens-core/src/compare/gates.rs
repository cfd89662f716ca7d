//! `--fail-on 'tpot_p50>+3%'`: a metric, `>` or `<`, and a bound: a signed change in percent, or a value of B.

use rooflens_analyze::compare::Headline;
use rooflens_analyze::compare::headline::{self, HeadlineMetric};

use crate::error::CompareError;

/// What must not be.
pub struct Gate {
    pub(crate) text: String,
    pub(crate) metric: &'static HeadlineMetric,
    is_above: bool,
    bound: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// Relative to A, as 0.03.
    Change(f64),
    /// Of B, in the unit of the metric.
    Value(f64),
}

impl Gate {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, CompareError> {
        let wrong = || CompareError::Gate { text: text.to_owned() };
        let at = text.find(['>', '<']).ok_or_else(wrong)?;
        let (name, bound) = (text[..at].trim(), text[at + 1..].trim());
        let metric = headline::find(name).ok_or_else(|| CompareError::metric(name))?;
        Ok(Gate {
            text: text.to_owned(),
            metric,
            is_above: text[at..].starts_with('>'),
            bound: bound_of(bound).map(|found| of_share(metric, bound, found)).ok_or_else(wrong)?,
        })
    }

    /// Whether it fails. A change fails only where it is beyond the bound and more than chance.
    pub(crate) fn fails(&self, found: &Headline) -> bool {
        let beyond = |value: f64, bound: f64| if self.is_above { value > bound } else { value < bound };
        match self.bound {
            Bound::Value(bound) => found.b.is_some_and(|value| beyond(value, bound)),
            Bound::Change(bound) => {
                found.is_change && found.ratio.as_ref().is_some_and(|ratio| beyond(ratio.ratio - 1.0, bound))
            }
        }
    }

    /// Whether a change of the size of its bound is beyond the noise of the rounds.
    pub(crate) fn could_tell(&self, found: &Headline) -> Option<bool> {
        let Bound::Change(bound) = self.bound else { return None };
        let ratio = found.ratio.as_ref()?;
        Some(found.is_change || ratio.least_change?.max(ratio.drift) <= bound.abs())
    }

    pub(crate) fn is_judged(&self, found: &Headline) -> bool {
        match self.bound {
            Bound::Value(_) => found.b.is_some(),
            Bound::Change(_) => found.ratio.is_some(),
        }
    }
}

/// A share without a sign, as in `error_rate>1%`, is a value.
fn of_share(metric: &HeadlineMetric, text: &str, bound: Bound) -> Bound {
    match bound {
        Bound::Change(share) if metric.key == "error_rate" && !text.starts_with(['+', '-']) => {
            Bound::Value(share)
        }
        bound => bound,
    }
}

fn bound_of(text: &str) -> Option<Bound> {
    let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    if let Some(percent) = text.strip_suffix('%') {
        return finite(percent).map(|percent| Bound::Change(percent / 100.0));
    }
    let units = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("", 1.0)];
    units
        .iter()
        .find_map(|(unit, scale)| finite(text.strip_suffix(unit)?).map(|value| Bound::Value(value * scale)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        assert_eq!(bound_of("+3%"), Some(Bound::Change(0.03)));
        assert_eq!(bound_of("-2.5 %"), Some(Bound::Change(-0.025)));
        assert_eq!(bound_of("12.5ms"), Some(Bound::Value(12.5e6)));
        assert_eq!(
            (bound_of("1s"), bound_of("7"), bound_of("ms"), bound_of("nan%")),
            (Some(Bound::Value(1e9)), Some(Bound::Value(7.0)), None, None)
        );
        assert_eq!(Gate::parse("error_rate>1%").unwrap().bound, Bound::Value(0.01));
        assert_eq!(Gate::parse("error_rate>+1%").unwrap().bound, Bound::Change(0.01));
        assert!(Gate::parse("tpot_p50>+3%").is_ok() && Gate::parse("tpot_p50").is_err());
        assert!(
            matches!(Gate::parse("tpot_p5>+3%"), Err(CompareError::Metric { near, .. }) if near.contains(&"tpot_p50".to_owned()))
        );
    }

    #[test]
    fn a_change_fails_only_where_it_is_sure_and_beyond() {
        let gate = Gate::parse("tpot_p50>+3%").unwrap();
        let row = |a: &[f64], b: &[f64]| {
            let [a, b] = [a, b].map(headline::MetricSample::median);
            Headline::of(gate.metric.key, false, a.as_ref(), b.as_ref())
        };
        let of = |factor: f64, spread: f64| {
            let sample =
                |level: f64| (0..12).map(|i| level * (1.0 + spread * f64::from(i - 6))).collect::<Vec<f64>>();
            row(&sample(100.0), &sample(100.0 * factor))
        };
        assert!(gate.fails(&of(1.05, 0.001)));
        assert!(!gate.fails(&of(1.02, 0.001)), "sure, yet within");
        assert!(!gate.fails(&of(1.05, 0.1)), "beyond, yet chance");
        assert!(!gate.fails(&of(0.9, 0.001)));
        let few = row(&[1.0], &[2.0]);
        assert!(!gate.fails(&few) && !gate.is_judged(&few));
        assert!(Gate::parse("tpot_p50>1.5ns").unwrap().fails(&few));
    }
}
