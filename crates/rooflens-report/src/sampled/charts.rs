//! Levels over time, a small chart each.

use std::borrow::Cow;

use rooflens_analyze::sampled::SubjectSampled;
use rooflens_schema::tables::CounterSource;

use crate::block::{Chart, ChartUnit, Mark, Series, Tone};

/// Points of a line; a chart is not wider.
const POINTS: usize = 400;
/// Devices with charts.
const DEVICES: usize = 4;

/// A level that is drawn.
pub(crate) struct DrawnLevel {
    pub(crate) column: &'static str,
    pub(crate) title: &'static str,
    unit: ChartUnit,
    /// From the column's unit to the base unit.
    scale: f64,
}

impl DrawnLevel {
    pub(crate) fn base_unit(&'static self) -> &'static str {
        match &self.unit {
            ChartUnit::Time => "ns",
            ChartUnit::Bytes => "B",
            ChartUnit::Share | ChartUnit::Index => "1",
            ChartUnit::Amount(unit) => unit,
        }
    }
}

const fn level(column: &'static str, title: &'static str, unit: ChartUnit, scale: f64) -> DrawnLevel {
    DrawnLevel { column, title, unit, scale }
}

static HOST: &[DrawnLevel] = &[
    level("cpu_busy_pct", "CPU", ChartUnit::Share, 0.01),
    level("watched_mem_bytes", "memory of the run", ChartUnit::Bytes, 1.0),
];

static DEVICE: &[DrawnLevel] = &[
    level("power_mw", "power", ChartUnit::Amount(Cow::Borrowed("W")), 1e-3),
    level("gpu_util_pct", "busy", ChartUnit::Share, 0.01),
    level("sm_clock_mhz", "SM clock", ChartUnit::Amount(Cow::Borrowed("Hz")), 1e6),
    level("mem_used_bytes", "memory", ChartUnit::Bytes, 1.0),
    level("temperature_c", "temperature", ChartUnit::Amount(Cow::Borrowed("°C")), 1.0),
];

pub(crate) fn name_of(subject: &SubjectSampled) -> String {
    match (subject.source, subject.device) {
        (CounterSource::Host, _) => "host".to_owned(),
        (CounterSource::Device, Some(device)) => format!("device {device}"),
        (CounterSource::Device, None) => "device".to_owned(),
    }
}

/// The devices that drew most power, since on a machine with many only some may work; and the host.
pub(crate) fn with_charts<'a>(
    subjects: impl Iterator<Item = &'a SubjectSampled>,
) -> (Vec<&'a SubjectSampled>, Vec<&'a SubjectSampled>) {
    let (mut devices, host): (Vec<_>, Vec<_>) =
        subjects.partition(|subject| subject.source == CounterSource::Device);
    // What is not known comes last.
    let power = |subject: &SubjectSampled| {
        subject.levels.get("power_mw").copied().flatten().map_or(f64::NEG_INFINITY, |level| level.mean)
    };
    devices.sort_by(|a, b| power(b).total_cmp(&power(a)));
    devices.truncate(DEVICES);
    (devices, host)
}

/// The levels of the host or of a device with their values in base units since a moment; a level that was told once or
/// never has none.
pub(crate) fn levels_of(
    subject: &SubjectSampled,
    since_ns: i64,
) -> impl Iterator<Item = (&'static DrawnLevel, Vec<(i64, f64)>)> {
    let wanted = if subject.source == CounterSource::Host { HOST } else { DEVICE };
    wanted.iter().filter_map(move |level| {
        let points = subject.series.get(level.column).filter(|points| points.len() > 1)?;
        let points = thinned(points).into_iter();
        Some((level, points.map(|(ts_ns, value)| (ts_ns - since_ns, value * level.scale)).collect()))
    })
}

pub(super) fn of(subject: &SubjectSampled) -> Vec<Chart> {
    // All charts of a subject begin at the same moment.
    let first = subject.series.values().filter_map(|points| points.first()).map(|point| point.0).min();
    let chart = |(level, points): (&DrawnLevel, Vec<(i64, f64)>)| Chart {
        title: name_of(subject),
        x: ("over time".into(), ChartUnit::Time),
        y: (level.title.into(), level.unit.clone()),
        mark: Mark::Steps,
        series: vec![Series {
            label: level.title.to_owned(),
            tone: Tone::Plain,
            points: points.into_iter().map(|(ns, value)| (ns as f64, value)).collect(),
        }],
        rules: vec![],
    };
    first.into_iter().flat_map(|first| levels_of(subject, first)).map(chart).collect()
}

/// Few enough points: the least and the most of each slice, in their order, so that no peak is lost.
fn thinned(points: &[(i64, f64)]) -> Vec<(i64, f64)> {
    if points.len() <= POINTS {
        return points.to_vec();
    }
    let slice = (2 * points.len()).div_ceil(POINTS);
    let mut kept = Vec::with_capacity(POINTS);
    for slice in points.chunks(slice) {
        let by_value = |a: &&(i64, f64), b: &&(i64, f64)| a.1.total_cmp(&b.1);
        let (Some(least), Some(most)) = (slice.iter().min_by(by_value), slice.iter().max_by(by_value)) else {
            continue;
        };
        let (early, late) = if least.0 <= most.0 { (least, most) } else { (most, least) };
        kept.push(*early);
        if early.0 != late.0 {
            kept.push(*late);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_peak_is_lost() {
        let mut points: Vec<(i64, f64)> = (0..10_000).map(|at| (at, 1.0)).collect();
        (points[3_333].1, points[7_777].1) = (9.0, -9.0);
        let kept = thinned(&points);
        assert!(kept.len() <= POINTS, "{}", kept.len());
        assert!(kept.contains(&(3_333, 9.0)) && kept.contains(&(7_777, -9.0)));
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(thinned(&points[..3]), points[..3]);
    }
}
