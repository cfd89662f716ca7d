//! Levels over time, a small chart each.

use std::borrow::Cow;

use rooflens_analyze::sampled::SubjectSampled;
use rooflens_schema::tables::CounterSource;

use crate::block::{Chart, ChartUnit, Mark, Series, Tone};

/// Points of a line; a chart is not wider.
const POINTS: usize = 400;

/// A level that is drawn.
struct Drawn {
    column: &'static str,
    title: &'static str,
    unit: ChartUnit,
    /// From the column's unit to that of the axis.
    scale: f64,
}

const fn drawn(column: &'static str, title: &'static str, unit: ChartUnit, scale: f64) -> Drawn {
    Drawn { column, title, unit, scale }
}

const HOST: &[Drawn] = &[
    drawn("cpu_busy_pct", "CPU", ChartUnit::Share, 0.01),
    drawn("watched_mem_bytes", "memory of the run", ChartUnit::Bytes, 1.0),
];

const DEVICE: &[Drawn] = &[
    drawn("power_mw", "power", ChartUnit::Amount(Cow::Borrowed("W")), 1e-3),
    drawn("gpu_util_pct", "busy", ChartUnit::Share, 0.01),
    drawn("sm_clock_mhz", "SM clock", ChartUnit::Amount(Cow::Borrowed("Hz")), 1e6),
    drawn("mem_used_bytes", "memory", ChartUnit::Bytes, 1.0),
    drawn("temperature_c", "temperature", ChartUnit::Amount(Cow::Borrowed("°C")), 1.0),
];

/// The levels that are drawn of a device or of the host: column, title, base unit, and the factor to it.
pub(crate) fn levels_of(source: CounterSource) -> Vec<(&'static str, &'static str, &'static str, f64)> {
    let wanted = match source {
        CounterSource::Host => HOST,
        CounterSource::Device => DEVICE,
    };
    let unit = |unit: &'static ChartUnit| match unit {
        ChartUnit::Time => "ns",
        ChartUnit::Bytes => "B",
        ChartUnit::Share | ChartUnit::Index => "1",
        ChartUnit::Amount(unit) => unit,
    };
    wanted.iter().map(|level| (level.column, level.title, unit(&level.unit), level.scale)).collect()
}

/// The charts of the host or of a device; a level that was told once or never has none.
pub(super) fn of(subject: &SubjectSampled) -> Vec<Chart> {
    let (wanted, whose) = match subject.source {
        CounterSource::Host => (HOST, "host".to_owned()),
        CounterSource::Device => {
            (DEVICE, subject.device.map_or_else(|| "device".to_owned(), |device| format!("device {device}")))
        }
    };
    // All charts of a subject begin at the same moment.
    let Some(first) = subject.series.values().filter_map(|points| points.first()).map(|point| point.0).min()
    else {
        return Vec::new();
    };
    let chart = |drawn: &Drawn| {
        let points = subject.series.get(drawn.column).filter(|points| points.len() > 1)?;
        let points = thinned(points)
            .into_iter()
            .map(|(ts_ns, value)| ((ts_ns - first) as f64, value * drawn.scale))
            .collect();
        Some(Chart {
            title: whose.clone(),
            x: ("over time".into(), ChartUnit::Time),
            y: (drawn.title.into(), drawn.unit.clone()),
            mark: Mark::Steps,
            series: vec![Series { label: drawn.title.to_owned(), tone: Tone::Plain, points }],
            rules: vec![],
        })
    };
    wanted.iter().filter_map(chart).collect()
}

/// Few enough points: the least and the most of each slice, in their order, so that no peak is lost.
pub(crate) fn thinned(points: &[(i64, f64)]) -> Vec<(i64, f64)> {
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
