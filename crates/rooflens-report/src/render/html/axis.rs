//! Where values lie on an axis, and which of them are named.

use crate::block::ChartUnit;

/// Values beyond this ratio need a logarithmic axis to be told apart.
const LARGE_RATIO: f64 = 2.0;

/// From values to pixels.
#[derive(Debug, Clone)]
pub(crate) struct PixelScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
    /// Values to name.
    pub(crate) ticks: Vec<f64>,
}

impl PixelScale {
    /// From `low` to `high`, both shown; `ticks` is how many names there is room for.
    pub(crate) fn exact(low: f64, high: f64, (from, to): (f64, f64), unit: &ChartUnit, ticks: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = step((high - low) / ticks.max(1) as f64, unit);
        let first = (low / step).ceil();
        let number = ((high / step).floor() - first).clamp(0.0, 50.0) as usize;
        let ticks = (0..=number).map(|index| (first + index as f64) * step).collect();
        PixelScale { low, high, from, to, logarithmic: false, ticks }
    }

    /// From nothing to a round number above `high`.
    pub(crate) fn upward(high: f64, pixels: (f64, f64), unit: &ChartUnit, ticks: usize) -> Self {
        let step = step(high.max(f64::MIN_POSITIVE) / ticks.max(1) as f64, unit);
        PixelScale::exact(0.0, ((high / step).ceil() * step).max(step), pixels, unit, ticks)
    }

    /// From about `low` to about `high`: logarithmic where some values would vanish beside others.
    pub(crate) fn fitting(low: f64, high: f64, pixels: (f64, f64), unit: &ChartUnit, ticks: usize) -> Self {
        if low.is_nan() || low <= 0.0 {
            return PixelScale::upward(high, pixels, unit, ticks);
        }
        if high / low <= LARGE_RATIO {
            let margin = ((high - low) * 0.1).max(high * 0.01);
            return PixelScale::exact((low - margin).max(0.0), high + margin, pixels, unit, ticks);
        }
        let (low, high) = (low / 1.15, high * 1.15);
        let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        // As many names a decade as there is room.
        let rounds: &[f64] = match high / low {
            ratio if ratio < 6.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            ratio if ratio < 100.0 => &[1.0, 2.0, 5.0],
            ratio if ratio < 10_000.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let ticks = decades
            .flat_map(|decade| rounds.iter().map(move |round| round * 10_f64.powi(decade)))
            .filter(|tick| (low..=high).contains(tick))
            .collect();
        PixelScale { low, high, from: pixels.0, to: pixels.1, logarithmic: true, ticks }
    }

    /// Where a value lies; what lies outside is put at the edge.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if value.is_finite() { value.clamp(self.low, self.high) } else { self.low };
        let share = if self.logarithmic {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }
}

/// A round number of at least `rough`.
fn step(rough: f64, unit: &ChartUnit) -> f64 {
    let rough = if rough.is_finite() && rough > 0.0 { rough } else { 1.0 };
    match unit {
        ChartUnit::Bytes => 2_f64.powf(rough.log2().ceil()),
        ChartUnit::Time | ChartUnit::Share | ChartUnit::Index | ChartUnit::Amount(_) => {
            let power = 10_f64.powf(rough.log10().floor());
            let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|round| round * power >= rough * 0.999);
            let step = round.unwrap_or(10.0) * power;
            if *unit == ChartUnit::Index { step.max(1.0) } else { step }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let axis = PixelScale::upward(21.3e6, (100.0, 0.0), &ChartUnit::Time, 4);
        assert_eq!(axis.ticks, [0.0, 10e6, 20e6, 30e6]);
        assert_eq!((axis.at(0.0), axis.at(30e6), axis.at(15e6)), (100.0, 0.0, 50.0));
        assert_eq!(
            PixelScale::upward(3.0 * 1024.0, (0.0, 1.0), &ChartUnit::Bytes, 3).ticks,
            [0.0, 1024.0, 2048.0, 3072.0]
        );
    }

    #[test]
    fn nothing_has_an_axis_too() {
        for axis in [
            PixelScale::upward(0.0, (0.0, 1.0), &ChartUnit::Time, 4),
            PixelScale::exact(5.0, 5.0, (0.0, 1.0), &ChartUnit::Index, 4),
            PixelScale::upward(f64::NAN, (0.0, 1.0), &ChartUnit::Time, 4),
        ] {
            assert!(axis.at(5.0).is_finite() && axis.at(f64::NAN).is_finite());
        }
    }

    #[test]
    fn an_outlier_makes_it_logarithmic() {
        let axis = PixelScale::fitting(7.0, 70.0, (0.0, 90.0), &ChartUnit::Time, 4);
        assert_eq!(axis.ticks, [10.0, 20.0, 50.0]);
        let middle = (axis.at(7.0) + axis.at(70.0)) / 2.0;
        assert_eq!(axis.at(70.0_f64.sqrt() * 7.0_f64.sqrt()).round(), middle.round());
        assert_eq!(PixelScale::fitting(100.0, 110.0, (0.0, 1.0), &ChartUnit::Time, 2).ticks, [100.0, 110.0]);
    }
}
