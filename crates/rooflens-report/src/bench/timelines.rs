//! Things over time.

use crate::block::{Chart, ChartUnit, Mark, Series, Tone};

/// Most points of a series on a page.
const POINTS: usize = 2_000;

/// Values over the time of a load test.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// What it shows.
    pub title: String,
    /// What the values are.
    pub what: &'static str,
    /// Their unit.
    pub unit: ChartUnit,
    /// How they are drawn.
    pub mark: Mark,
    /// The values.
    pub series: Vec<TimelineSeries>,
    /// Values worth a line across the chart.
    pub rules: Vec<(String, f64)>,
}

/// One set of values.
#[derive(Debug, Clone)]
pub struct TimelineSeries {
    /// What they are.
    pub label: String,
    /// What they stand for.
    pub tone: Tone,
    /// Nanoseconds since the begin, and the value.
    pub points: Vec<(i64, f64)>,
}

impl Timeline {
    /// The chart of a page. Of many points, those that stand out are kept: the greatest of each stretch.
    #[must_use]
    pub(crate) fn chart(&self) -> Chart {
        let series = |one: &TimelineSeries| Series {
            label: one.label.clone(),
            tone: one.tone,
            points: thinned(&one.points).into_iter().map(|(at, value)| (at as f64, value)).collect(),
        };
        Chart {
            title: self.title.clone(),
            x: ("over time".into(), ChartUnit::Time),
            y: (self.what.into(), self.unit.clone()),
            mark: self.mark,
            series: self.series.iter().map(series).collect(),
            rules: self.rules.iter().map(|(label, at)| (label.clone().into(), *at)).collect(),
        }
    }
}

fn thinned(points: &[(i64, f64)]) -> Vec<(i64, f64)> {
    let stretch = points.len().div_ceil(POINTS).max(1);
    let greatest = |part: &[(i64, f64)]| part.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(stretch).filter_map(greatest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_value_of_each_stretch_stays() {
        let mut points: Vec<(i64, f64)> = (0..10_000).map(|at| (at, 1.0)).collect();
        points[7_777].1 = 9.0;
        let kept = thinned(&points);
        assert!(kept.len() <= POINTS && kept.contains(&(7_777, 9.0)));
        assert_eq!(thinned(&points[..3]), points[..3]);
    }
}
