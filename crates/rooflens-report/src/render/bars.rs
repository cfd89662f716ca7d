//! Bars and lines drawn with characters: what the terminal and Markdown have in common.

use crate::block::{Chart, Mark, Tone};

/// The character of a part, so that a bar can be read without colours.
pub(crate) fn glyph(tone: Tone) -> char {
    match tone {
        Tone::Compute | Tone::Attention | Tone::Moe | Tone::Norm | Tone::OtherKernels | Tone::Plain => '█',
        Tone::Communication => '▓',
        Tone::RankWait => '▂',
        Tone::Copy => '▒',
        Tone::Floor => '▆',
        Tone::Unneeded => '▄',
        Tone::LaunchBound => '░',
        Tone::CpuBound => '▚',
        Tone::Sync => '▞',
        Tone::Idle | Tone::Dependency | Tone::Dispatch | Tone::OtherIdle => '·',
    }
}

/// How many of `columns` each share gets. They add up to `columns` where the shares add up to one;
/// what is not nothing gets a column while there are enough.
pub(crate) fn apportion(shares: &[f64], columns: usize) -> Vec<usize> {
    let sane = |share: f64| if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let exact: Vec<f64> = shares.iter().map(|share| sane(*share) * columns as f64).collect();
    let wanted = (exact.iter().sum::<f64>().round() as usize).min(columns);
    let mut given: Vec<usize> =
        exact.iter().map(|share| if *share > 0.0 { (*share as usize).max(1) } else { 0 }).collect();
    // Too many where small parts were rounded up: the largest pays.
    while given.iter().sum::<usize>() > wanted {
        let Some(most) = given.iter_mut().max().filter(|most| **most > 0) else { break };
        *most -= 1;
    }
    // Too few where all were rounded down: the one that lost most gains.
    while given.iter().sum::<usize>() < wanted {
        let lost = |index: &usize| exact[*index] - given[*index] as f64;
        let Some(index) = (0..given.len()).max_by(|a, b| lost(a).total_cmp(&lost(b)).then(b.cmp(a))) else {
            break;
        };
        given[index] += 1;
    }
    given
}

/// A bar of a share, to an eighth of a column; a sliver for what is not nothing.
pub(crate) fn share(share: f64, columns: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let mut eighths = (share * columns as f64 * 8.0).round() as usize;
    if share > 0.0 {
        eighths = eighths.max(1);
    }
    let mut bar = "█".repeat(eighths / 8);
    bar.push(PARTS[eighths % 8]);
    bar.truncate(bar.trim_end().len());
    bar
}

/// Heights of a line.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A chart in one line of at most `columns`: the largest value of each part of it.
pub(crate) fn sparkline(chart: &Chart, columns: usize) -> String {
    let totals = totals(chart);
    let peak = if chart.mark == Mark::Areas { 1.0 } else { extent(&totals).1.max(0.0) };
    line(&totals, columns, |part| {
        if chart.mark == Mark::Levels {
            let mean = part.iter().sum::<f64>() / part.len().max(1) as f64;
            return level_between(&totals, mean);
        }
        let value = part.iter().copied().fold(0.0, f64::max);
        let level = if peak > 0.0 { (value / peak * 8.0).ceil() as usize } else { 0 };
        level.clamp(1, 8) - 1
    })
}

/// The same from the chart's smallest value to its largest.
pub(crate) fn scaled_sparkline(chart: &Chart, columns: usize) -> String {
    let totals = totals(chart);
    line(&totals, columns, |part| level_between(&totals, extent(part).1))
}

fn line(totals: &[f64], columns: usize, level: impl Fn(&[f64]) -> usize) -> String {
    let columns = columns.min(totals.len());
    let part = |column: usize| column * totals.len() / columns..(column + 1) * totals.len() / columns;
    (0..columns).map(|column| LEVELS[level(&totals[part(column)])]).collect()
}

/// The smallest and the largest value.
pub(crate) fn extent(values: &[f64]) -> (f64, f64) {
    let span = (f64::INFINITY, f64::NEG_INFINITY);
    values.iter().fold(span, |(low, high), value| (low.min(*value), high.max(*value)))
}

/// Of eight levels between the lowest and the highest value, 0 to 7; the middle where they are the same.
fn level_between(values: &[f64], value: f64) -> usize {
    let (low, high) = extent(values);
    if high > low { ((value - low) / (high - low) * 7.0).round().clamp(0.0, 7.0) as usize } else { 3 }
}

pub(crate) fn totals(chart: &Chart) -> Vec<f64> {
    let points = chart.series.iter().map(|series| series.points.len()).max().unwrap_or(0);
    let total = |index: usize| {
        let heights = chart.series.iter().filter_map(|series| series.points.get(index));
        heights.map(|point| point.1).filter(|height| height.is_finite()).sum()
    };
    (0..points).map(total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{ChartUnit, Series};

    #[test]
    fn parts_fill_the_bar() {
        assert_eq!(apportion(&[0.5, 0.25, 0.25], 8), [4, 2, 2]);
        assert_eq!(apportion(&[0.98, 0.01, 0.01], 10), [8, 1, 1]);
        assert_eq!(apportion(&[1.0 / 3.0; 3], 10), [4, 3, 3]);
        assert_eq!(apportion(&[0.5], 10), [5]);
        assert_eq!(apportion(&[f64::NAN, 2.0, -1.0], 10), [0, 10, 0]);
        assert_eq!(apportion(&[0.2; 5], 3).iter().sum::<usize>(), 3);
        assert_eq!(apportion(&[], 3), [0_usize; 0]);
    }

    #[test]
    fn newcomer_18_a_change_of_twelve_percent_is_visible() {
        let values = (0..20).map(|i| if i < 10 { 100.0 } else { 112.0 });
        let chart = Chart {
            title: String::new(),
            x: ("".into(), ChartUnit::Index),
            y: ("".into(), ChartUnit::Index),
            mark: Mark::Levels,
            series: vec![Series {
                label: String::new(),
                tone: Tone::Plain,
                points: values.enumerate().map(|(i, value)| (i as f64, value)).collect(),
            }],
            rules: vec![],
        };
        assert_eq!(sparkline(&chart, 20), format!("{}{}", "▁".repeat(10), "█".repeat(10)));
        assert_eq!(sparkline(&chart, 4), "▁▁██");
    }

    #[test]
    fn what_is_not_nothing_shows() {
        assert_eq!(share(0.0, 10), "");
        assert_eq!(share(1e-9, 10), "▏");
        assert_eq!(share(0.55, 10), "█████▌");
        assert_eq!(share(7.0, 10), "██████████");
        assert_eq!(share(f64::NAN, 10), "");
    }
}
