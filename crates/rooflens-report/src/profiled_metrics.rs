//! Every metric of profiled launches, as comma-separated values.

use rooflens_analyze::kernels::ProfiledLaunch;
use rooflens_schema::tables::ProfiledMetricRow;

use crate::block::{Cell, Column, Row, Table};
use crate::{render, text};

/// The longest name or text of a report that is written.
pub(crate) const LONGEST: usize = 400;

/// The metrics of a launch, by name. Texts come from a report: they are cleaned and cut.
pub fn lines(at: usize, short_name: &str, launch: &ProfiledLaunch) -> Vec<ProfiledMetricRow> {
    let plain = |words: &str| text::clip(&text::clean(words), LONGEST);
    let line = |metric: &str, value: Option<f64>, words: &str| ProfiledMetricRow {
        launch: i64::try_from(at).unwrap_or(i64::MAX),
        short_name: plain(short_name),
        metric: plain(metric),
        value,
        text: plain(words),
        unit: plain(launch.units.get(metric).map_or("", String::as_str)),
    };
    let numbers = launch.numbers.iter().filter(|(_, value)| value.is_finite());
    let numbers = numbers.map(|(metric, value)| line(metric, Some(*value), ""));
    let texts = launch.texts.iter().map(|(metric, words)| line(metric, None, words));
    let mut lines: Vec<ProfiledMetricRow> = numbers.chain(texts).collect();
    lines.sort_by(|a, b| a.metric.cmp(&b.metric));
    lines
}

/// The header, and a line for each metric.
pub fn csv(lines: &[ProfiledMetricRow]) -> String {
    const MISSING: &str = "a text";
    let columns = vec![
        Column::number("launch", "Launch"),
        Column::text("short_name", "Kernel"),
        Column::text("metric", "Metric"),
        Column::number("value", "Value"),
        Column::text("text", "Text"),
        Column::text("unit", "Unit"),
    ];
    let row = |line: &ProfiledMetricRow| {
        Row::new(vec![
            Cell::Count(line.launch),
            Cell::text(line.short_name.clone()),
            Cell::text(line.metric.clone()),
            Cell::or(line.value, Cell::Mean, MISSING),
            Cell::text(line.text.clone()),
            Cell::text(line.unit.clone()),
        ])
    };
    let rows = lines.iter().map(row).collect();
    render::csv::table(&Table::of_rows("metrics", columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_098_a_line_for_each_metric_of_a_launch() {
        let mut launch = ProfiledLaunch::default();
        launch.numbers.insert("dram__bytes.sum".to_owned(), 2_330_000.0);
        launch.numbers.insert("bad.ratio".to_owned(), f64::NAN);
        launch.units.insert("dram__bytes.sum".to_owned(), "byte".to_owned());
        launch.texts.insert("device__x".to_owned(), format!("\u{1b}[31m{}", "y".repeat(9000)));
        let lines = lines(3, "k<\"x\", 1>", &launch);
        assert_eq!(lines.len(), 2, "a number that is none is left out");
        // What was cut off is counted behind it.
        assert!(lines[0].text.chars().count() < LONGEST + 40 && !lines[0].text.contains('\u{1b}'));
        let text = csv(&lines[1..]);
        assert_eq!(
            text,
            "launch,short_name,metric,value,text,unit\r\n3,\"k<\"\"x\"\", 1>\",dram__bytes.sum,2330000,,byte\r\n"
        );
    }
}
