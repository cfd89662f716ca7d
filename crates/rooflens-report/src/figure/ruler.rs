//! Where values lie along a line of pixels, and which of them are named.

use crate::figure::axis::Scale;
use crate::figure::svg;
use crate::figure::unit::FigureUnit;

#[derive(Debug, Clone)]
pub(crate) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    pixels: (f64, f64),
    pub(crate) ticks: Vec<(f64, String)>,
    pub(crate) minor: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Values,
    /// At a tick; nothing is part of the axis where values come near it.
    Ticks,
}

/// Values that differ by less than this share of their size are equal.
const EQUAL: f64 = 1e-9;
/// Free pixels between the names of two ticks.
const GAP: f64 = 14.0;
/// Pixels between ticks of an upright axis.
const APART: f64 = 36.0;
/// Minor ticks need this many pixels a decade.
const DECADE: f64 = 45.0;
/// How many decades or doublings to go to the next tick.
const STRIDES: &[i32] = &[1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 50, 100, 200];

impl Ruler {
    /// Over the values' span, between pixels; upright where these go up.
    pub(crate) fn new(
        unit: FigureUnit,
        scale: Scale,
        span: (f64, f64),
        ends: Ends,
        pixels: (f64, f64),
    ) -> Self {
        let (low, high) = widened(span, scale, ends);
        let mut ruler = Ruler { scale, low, high, pixels, ticks: vec![], minor: vec![] };
        if scale == Scale::Linear && ends == Ends::Ticks {
            let step = unit_step((high - low) / (ruler.length() / 50.0).clamp(2.0, 6.0), unit);
            ruler.low = (low / step + EQUAL).floor() * step;
            ruler.high = (high / step - EQUAL).ceil() * step;
        }
        ruler.ticks = ruler.named(unit);
        ruler.minor = ruler.between();
        ruler
    }

    /// Where a value lies; what lies outside is put at the edge.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let (low, high) = (self.place(self.low), self.place(self.high));
        let share = (self.place(value) - low) / (high - low);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    fn place(&self, value: f64) -> f64 {
        if self.scale == Scale::Linear { value } else { value.log10() }
    }

    pub(crate) fn bare(self) -> Self {
        Ruler { ticks: vec![], minor: vec![], ..self }
    }

    pub(crate) fn widest(&self, size: f64) -> f64 {
        self.ticks.iter().map(|(_, name)| svg::width(name, size)).fold(0.0, f64::max)
    }

    fn length(&self) -> f64 {
        (self.pixels.1 - self.pixels.0).abs()
    }

    fn named(&self, unit: FigureUnit) -> Vec<(f64, String)> {
        let mut sets = match self.scale {
            Scale::Linear => vec![],
            Scale::Log2 => self.powers(2.0, unit),
            Scale::Log10 => self.powers(10.0, unit),
        };
        // Within a decade a logarithmic axis is nearly even.
        if sets.first().is_none_or(|ticks| ticks.len() < 3) {
            sets = self.even(unit);
        }
        let fitting = sets.iter().find(|ticks| ticks.len() > 1 && self.are_apart(ticks));
        match fitting.or(sets.first()) {
            Some(ticks) => self.thinned(ticks),
            None => vec![],
        }
    }

    /// Multiples of a round step; of a power of two for bytes.
    fn even(&self, unit: FigureUnit) -> Vec<Vec<(f64, String)>> {
        let most = (self.length() / 50.0).clamp(2.0, if self.is_upright() { 6.0 } else { 12.0 });
        let largest = self.low.abs().max(self.high.abs());
        let mut step = unit_step((self.high - self.low) / most, unit);
        let mut sets = vec![];
        while sets.len() < 8 {
            let first = (self.low / step - EQUAL).ceil();
            let count = ((self.high / step + EQUAL).floor() - first).clamp(0.0, 40.0) as usize;
            let ticks = (0..=count).map(|index| (first + index as f64) * step);
            let ticks = ticks.filter(|tick| (self.low..=self.high * (1.0 + EQUAL)).contains(tick));
            sets.push(ticks.map(|tick| (tick, unit.even_tick(tick, step, largest))).collect());
            step = unit_step(step * 1.5, unit);
        }
        sets
    }

    fn powers(&self, base: f64, unit: FigureUnit) -> Vec<Vec<(f64, String)>> {
        let log = base.log10();
        let first = (self.low.log10() / log).floor() as i32;
        let last = (self.high.log10() / log).ceil() as i32;
        let set = |stride: i32, rounds: &[f64]| -> Vec<(f64, String)> {
            (first..=last)
                .filter(|power| power.rem_euclid(stride) == 0)
                .flat_map(|power| rounds.iter().map(move |round| round * base.powi(power)))
                .filter(|tick| (self.low * (1.0 - EQUAL)..=self.high * (1.0 + EQUAL)).contains(tick))
                .map(|tick| (tick, unit.tick(tick, base == 2.0)))
                .collect()
        };
        let fine = (base == 10.0).then(|| set(1, &[1.0, 2.0, 5.0]));
        fine.into_iter().chain(STRIDES.iter().map(|stride| set(*stride, &[1.0]))).collect()
    }

    fn is_upright(&self) -> bool {
        self.pixels.1 < self.pixels.0
    }

    fn are_apart(&self, ticks: &[(f64, String)]) -> bool {
        ticks.windows(2).all(|pair| self.distance(&pair[0], &pair[1]))
    }

    fn distance(&self, one: &(f64, String), other: &(f64, String)) -> bool {
        let between = (self.at(one.0) - self.at(other.0)).abs();
        let needed = if self.is_upright() {
            APART
        } else {
            (svg::width(&one.1, svg::SMALL) + svg::width(&other.1, svg::SMALL)) / 2.0 + GAP
        };
        between >= needed
    }

    fn thinned(&self, ticks: &[(f64, String)]) -> Vec<(f64, String)> {
        let mut kept: Vec<(f64, String)> = vec![];
        for tick in ticks {
            if kept.last().is_none_or(|last| self.distance(last, tick)) {
                kept.push(tick.clone());
            }
        }
        kept
    }

    fn between(&self) -> Vec<f64> {
        let decades = self.place(self.high) - self.place(self.low);
        if self.scale != Scale::Log10 || self.length() / decades < DECADE {
            return vec![];
        }
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        (first..=last)
            .flat_map(|power| (2..10).map(move |round| f64::from(round) * 10_f64.powi(power)))
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

fn widened((low, high): (f64, f64), scale: Scale, ends: Ends) -> (f64, f64) {
    let logarithmic = scale != Scale::Linear;
    if !(low.is_finite() && high.is_finite() && low <= high) {
        return if logarithmic { (1.0, 100.0) } else { (0.0, 1.0) };
    }
    if high - low <= EQUAL * low.abs().max(high.abs()) {
        return match (logarithmic, low) {
            (true, _) => (low / 8.0, low * 8.0),
            (_, 0.0) => (0.0, 1.0),
            (_, below) if below < 0.0 => (low * 2.0, 0.0),
            _ => (0.0, low * 2.0),
        };
    }
    if ends == Ends::Values {
        return (low, high);
    }
    if logarithmic {
        let margin = (high / low).powf(0.06).max(1.1);
        return (low / margin, high * margin);
    }
    if low > 0.0 && low < high * 0.7 {
        (0.0, high)
    } else if high < 0.0 && high > low * 0.7 {
        (low, 0.0)
    } else {
        (low, high)
    }
}

fn unit_step(rough: f64, unit: FigureUnit) -> f64 {
    if unit != FigureUnit::Bytes {
        return round_step(rough);
    }
    let step = 2_f64.powf((rough * 0.999).log2().ceil());
    if step.is_finite() && step > 0.0 { step } else { 1.0 }
}

fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|round| round * power >= rough * 0.999);
    let step = round.unwrap_or(10.0) * power;
    if step.is_finite() && step > 0.0 { step } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ruler: &Ruler) -> Vec<String> {
        ruler.ticks.iter().map(|(_, name)| name.replace('\u{a0}', " ")).collect()
    }

    #[test]
    fn ticks_are_round() {
        let upright = |unit, scale, span| names(&Ruler::new(unit, scale, span, Ends::Ticks, (300.0, 0.0)));
        assert_eq!(
            upright(FigureUnit::Si("s"), Scale::Linear, (1e-3, 21e-3)),
            ["0", "5 ms", "10 ms", "15 ms", "20 ms", "25 ms"]
        );
        assert_eq!(upright(FigureUnit::Number, Scale::Log10, (1.0, 1e4)), ["1", "10", "100", "1k", "10k"]);
        let level = Ruler::new(FigureUnit::Number, Scale::Log2, (1.0, 512.0), Ends::Values, (0.0, 700.0));
        assert_eq!(names(&level), ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512"]);
        assert_eq!((level.at(1.0), level.at(512.0)), (0.0, 700.0));
    }

    #[test]
    fn any_span_has_ticks_that_do_not_touch() {
        let edges = [1e-120, 1e-9, 0.3, 0.5, 1.0, 1.000_001, 7.0, 1e3, 12_345.678, 1e12, 1e120];
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            for (index, low) in edges.iter().enumerate() {
                for high in &edges[index..] {
                    for (ends, pixels) in [(Ends::Ticks, (300.0, 0.0)), (Ends::Values, (0.0, 600.0))] {
                        let ruler = Ruler::new(FigureUnit::Si("FLOP/s"), scale, (*low, *high), ends, pixels);
                        assert!(ruler.are_apart(&ruler.ticks), "{scale:?} {low} {high} {:?}", ruler.ticks);
                        assert!((1..=20).contains(&ruler.ticks.len()), "{scale:?} {low} {high}");
                        assert!(ruler.at(*low).is_finite() && ruler.at(*high).is_finite());
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_has_ticks_too() {
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            let span = (f64::INFINITY, f64::NEG_INFINITY);
            let ruler = Ruler::new(FigureUnit::Number, scale, span, Ends::Ticks, (300.0, 0.0));
            assert!(ruler.ticks.len() > 1 && ruler.at(f64::NAN).is_finite());
        }
    }
}
