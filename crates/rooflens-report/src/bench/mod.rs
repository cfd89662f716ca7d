//! A load test: what it measured, where latency goes, whether it can be trusted.

mod levels;

use crate::block::{
    Block, Cell, Chart, ChartUnit, Column, Fact, Field, Grade, Level, Mark, Remark, Series, Stack, StackBar,
    Table, Tone,
};
use crate::charts::{self, ChartData, ChartInputs};
use crate::render::Part;

pub(crate) use self::levels::by_load;
pub use self::levels::{LevelRow, curve};

const MAX_POINTS: usize = 2_000;

/// A load test, for people.
#[derive(Debug, Clone, Default)]
pub struct BenchFacts {
    /// The sentences everything begins with: where latency goes, what was reached, whether it is within the objectives.
    pub lead: Vec<String>,
    /// What was sent where, in a few words.
    pub what: String,
    /// Latencies.
    pub latencies: Vec<LatencyRow>,
    /// Rates, shares and counts.
    pub numbers: Vec<(&'static str, Cell, &'static str)>,
    /// Objectives.
    pub objectives: Vec<ObjectiveRow>,
    /// Failed requests, by kind: how many, and an example.
    pub errors: Vec<(String, u64, String)>,
    /// What may mislead.
    pub remarks: Vec<(Grade, &'static str, String)>,
    /// Client health.
    pub client: Vec<(&'static str, Cell, &'static str)>,
    /// The server's own numbers.
    pub server: Vec<(&'static str, Cell, &'static str)>,
    /// The parts of a request's time, in order.
    pub parts: Vec<(Tone, String)>,
    /// Where the time of a typical and of the slowest requests went: a label, nanoseconds of each part.
    pub waterfall: Vec<(String, Vec<i64>)>,
    /// Things over time.
    pub timelines: Vec<Timeline>,
    /// Levels of a sweep or a search; empty for one.
    pub levels: Vec<LevelRow>,
}

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
    /// The lines, each with its label and color.
    pub series: Vec<TimelineLine>,
}

/// Label and color of a line, and its points: nanoseconds since the start of the test, and the value.
pub type TimelineLine = (&'static str, Tone, Vec<(i64, f64)>);

impl Timeline {
    /// The chart of a page. Of many points, those that stand out are kept: the greatest of each stretch.
    fn chart(&self) -> Chart {
        let series = |(label, tone, points): &TimelineLine| Series {
            label: (*label).to_owned(),
            tone: *tone,
            points: thinned(points).into_iter().map(|(at, value)| (at as f64, value)).collect(),
        };
        Chart {
            title: self.title.clone(),
            x: ("over time".into(), ChartUnit::Time),
            y: (self.what.into(), self.unit.clone()),
            mark: self.mark,
            series: self.series.iter().map(series).collect(),
            rules: Vec::new(),
        }
    }
}

fn thinned(points: &[(i64, f64)]) -> Vec<(i64, f64)> {
    let stretch = points.len().div_ceil(MAX_POINTS).max(1);
    let greatest = |part: &[(i64, f64)]| part.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(stretch).filter_map(greatest).collect()
}

/// A latency, over all measured requests.
#[derive(Debug, Clone)]
pub struct LatencyRow {
    /// What it is.
    pub title: String,
    /// Its definition.
    pub definition: &'static str,
    /// Median, 90th and 99th percentile, greatest, mean; nothing where it was not measured.
    pub values: Option<[f64; 5]>,
    /// 95 % confidence interval of the median.
    pub p50_interval: Option<(f64, f64)>,
    /// 95 % confidence interval of the 99th percentile.
    pub p99_interval: Option<(f64, f64)>,
    /// Why it is missing.
    pub reason: String,
}

/// An objective.
#[derive(Debug, Clone)]
pub struct ObjectiveRow {
    /// As it was typed.
    pub text: String,
    /// What was measured, in the objective's unit.
    pub measured: Cell,
    /// Whether it is met; nothing where it could not be decided.
    pub is_met: bool,
}

const LATENCIES: &[Field<LatencyRow>] = &[
    (Column::text("metric", "Latency"), |row| Cell::text(&row.title)),
    (Column::number("p50_ns", "p50"), |row| time(row, 0)),
    (Column::number("p90_ns", "p90"), |row| time(row, 1)),
    (Column::number("p99_ns", "p99"), |row| time(row, 2)),
    (Column::number("max_ns", "max"), |row| time(row, 3)),
    (Column::number("mean_ns", "mean").at(Level::Screen), |row| time(row, 4)),
    (
        Column::number("p50_interval_ns", "p50, 95 % CI")
            .at(Level::Screen)
            .help("95 % confidence interval of the median; requests near in time may be alike, which is taken into account."),
        |row| interval(row.p50_interval),
    ),
    (
        Column::number("p99_interval_ns", "p99, 95 % CI").at(Level::Screen).help("The same of the 99th percentile."),
        |row| interval(row.p99_interval),
    ),
    (Column::text("definition", "Definition").at(Level::Page), |row| Cell::text(row.definition)),
];

fn time(row: &LatencyRow, place: usize) -> Cell {
    Cell::or(row.values.map(|values| values[place]), Cell::MeanTime, row.reason.clone())
}

fn interval(of: Option<(f64, f64)>) -> Cell {
    let words = |(low, high): (f64, f64)| {
        Cell::text(format!("{} – {}", crate::format::time(low), crate::format::time(high)))
    };
    Cell::or(of, words, "too few independent requests")
}

const OBJECTIVES: &[Field<ObjectiveRow>] = &[
    (Column::text("objective", "Objective"), |row| Cell::code(&row.text)),
    (Column::number("measured", "Measured"), |row| row.measured.clone()),
    (Column::text("met", "Met"), |row| Cell::word(if row.is_met { "yes" } else { "no" })),
];

const ERRORS: &[Field<(String, u64, String)>] = &[
    (Column::text("kind", "Failure"), |row| Cell::code(&row.0)),
    (Column::number("requests", "Requests"), |row| Cell::Count(i64::try_from(row.1).unwrap_or(i64::MAX))),
    (Column::text("example", "Example"), |row| Cell::text(&row.2)),
];

/// What fits a screen.
pub fn screen(facts: &BenchFacts) -> Vec<Part> {
    let (first, rest) =
        facts.lead.split_first().map_or((String::new(), &[][..]), |(first, rest)| (first.clone(), rest));
    let mut blocks = vec![Block::Lead(first)];
    blocks.extend(rest.iter().cloned().map(Block::Text));
    blocks.push(Block::Text(facts.what.clone()));
    let mut parts = vec![Part { name: "verdict", title: "Load test", blocks }];
    parts.extend(levels_part(&facts.levels));
    parts.extend(measured_parts(facts));
    parts
}

/// All of it, for a page.
pub fn page(facts: &BenchFacts) -> Vec<Part> {
    let mut parts = screen(facts);
    if !facts.waterfall.is_empty() {
        let bar = |(label, parts_ns): &(String, Vec<i64>)| StackBar {
            label: label.clone(),
            parts_ns: parts_ns.clone(),
            whole_ns: parts_ns.iter().sum(),
        };
        let stack = Stack { parts: facts.parts.clone(), bars: facts.waterfall.iter().map(bar).collect() };
        let text = "Each bar is one request, from its arrival to its last token; the first is a typical one.";
        let blocks = vec![Block::Text(text.to_owned()), Block::Stack(stack)];
        parts.push(Part { name: "slowest", title: "Slowest requests", blocks });
    }
    let charts: Vec<Block> = facts.timelines.iter().map(|line| Block::Chart(line.chart())).collect();
    if !charts.is_empty() {
        parts.push(Part { name: "timelines", title: "Over time", blocks: charts });
    }
    parts
}

/// The page as HTML.
pub fn html(title: &str, facts: &BenchFacts) -> String {
    let footer = "A dash is a number that was not measured. Latency of an open loop counts from the scheduled \
                  arrival; percentiles are interpolated between ranks (type 7).";
    crate::render::html::charted(title, &page(facts), &living(&facts.levels), footer)
}

/// The charts of levels.
pub fn living(levels: &[LevelRow]) -> Vec<ChartData> {
    let findings = rooflens_analyze::Findings::default();
    let inputs = ChartInputs { findings: &findings, sampled: None, levels };
    charts::find("latency").into_iter().filter_map(|source| charts::of(source, &inputs).ok()).collect()
}

/// The levels, with latency over throughput; nothing for fewer than two.
pub fn levels_part(levels: &[LevelRow]) -> Option<Part> {
    let table = levels::table(levels)?;
    let drawing = curve(levels).map(Block::Drawing);
    let blocks = std::iter::once(Block::Table(table)).chain(drawing).collect();
    Some(Part { name: "levels", title: "Levels", blocks })
}

fn measured_parts(facts: &BenchFacts) -> Vec<Part> {
    let named = |list: &[(&'static str, Cell, &'static str)]| {
        let fact = |(label, value, help): &(&'static str, Cell, &'static str)| {
            Fact::new(*label, value.clone()).help(help)
        };
        Block::Facts(list.iter().map(fact).collect())
    };
    let mut parts = Vec::new();
    let mut blocks = Vec::new();
    if !facts.latencies.is_empty() {
        blocks.push(Block::Table(Table::new("latencies", LATENCIES, &facts.latencies, usize::MAX)));
    }
    if !facts.numbers.is_empty() {
        blocks.push(named(&facts.numbers));
    }
    if !facts.objectives.is_empty() {
        blocks.push(Block::Table(Table::new("objectives", OBJECTIVES, &facts.objectives, usize::MAX)));
    }
    if !facts.errors.is_empty() {
        blocks.push(Block::Table(Table::new("errors", ERRORS, &facts.errors, usize::MAX)));
    }
    if !blocks.is_empty() {
        parts.push(Part { name: "measured", title: "Measured", blocks });
    }
    if !facts.server.is_empty() {
        parts.push(Part { name: "server", title: "Server", blocks: vec![named(&facts.server)] });
    }
    let mut client = Vec::new();
    if !facts.client.is_empty() {
        client.push(named(&facts.client));
    }
    if !facts.remarks.is_empty() {
        let remark = |(grade, code, message): &(Grade, &'static str, String)| Remark {
            grade: *grade,
            code: (*code).to_owned(),
            count: None,
            source: String::new(),
            message: message.clone(),
        };
        client.push(Block::Remarks(facts.remarks.iter().map(remark).collect()));
    }
    if !client.is_empty() {
        parts.push(Part { name: "client", title: "Client", blocks: client });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_value_of_each_stretch_stays() {
        let mut points: Vec<(i64, f64)> = (0..10_000).map(|at| (at, 1.0)).collect();
        points[7_777].1 = 9.0;
        let kept = thinned(&points);
        assert!(kept.len() <= MAX_POINTS && kept.contains(&(7_777, 9.0)));
        assert_eq!(thinned(&points[..3]), points[..3]);
    }
}
