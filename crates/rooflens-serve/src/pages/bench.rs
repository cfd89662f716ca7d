//! A load test, from the numbers that it left.

use rooflens_compare::headline;
use rooflens_core::bench::{BenchDocument, LevelDocument};
use rooflens_report::Part;
use rooflens_report::block::{Block, Cell, Column, Fact, Field, Grade, Remark, Table};

/// A metric with its interval.
struct Measured {
    metric: &'static headline::HeadlineMetric,
    value: Option<f64>,
    interval: Option<[f64; 2]>,
}

fn in_unit(metric: &headline::HeadlineMetric, value: f64) -> Cell {
    match metric.key.ends_with("_ns") {
        true => Cell::MeanTime(value),
        false => Cell::amount(value, ""),
    }
}

const MEASURED: &[Field<Measured>] = &[
    (Column::text("metric", "Metric"), |row| Cell::text(row.metric.title)),
    (Column::number("value", "Value"), |row| {
        Cell::or(row.value, |value| in_unit(row.metric, value), "it was not measured")
    }),
    (Column::number("low", "95 % CI, low"), |row| {
        Cell::or(row.interval, |[low, _]| in_unit(row.metric, low), "too few independent requests")
    }),
    (Column::number("high", "95 % CI, high"), |row| {
        Cell::or(row.interval, |[_, high]| in_unit(row.metric, high), "too few independent requests")
    }),
    (Column::text("definition", "Definition"), |row| Cell::text(row.metric.definition)),
];

/// A level: its words, and the metrics that are weighed against each other.
struct Level(LevelDocument);

impl Level {
    fn metric(&self, key: &str) -> Option<f64> {
        self.0.headline.get(key).copied().flatten()
    }

    fn time(&self, key: &str) -> Cell {
        Cell::or(self.metric(key), Cell::MeanTime, "it was not measured")
    }
}

const LEVELS: &[Field<Level>] = &[
    (Column::text("offered", "Offered"), |level| Cell::text(&level.0.offered)),
    (Column::number("ttft_p50_ns", "TTFT p50"), |level| level.time("ttft_p50_ns")),
    (Column::number("ttft_p99_ns", "TTFT p99"), |level| level.time("ttft_p99_ns")),
    (Column::number("tpot_p50_ns", "TPOT p50"), |level| level.time("tpot_p50_ns")),
    (Column::number("tpot_p99_ns", "TPOT p99"), |level| level.time("tpot_p99_ns")),
    (Column::number("output_tokens_per_s", "tokens/s"), |level| {
        Cell::or(level.metric("output_tokens_per_s"), |rate| Cell::amount(rate, ""), "it was not measured")
    }),
    (Column::number("error_rate", "Errors"), |level| {
        Cell::or(level.0.error_rate, Cell::Share, "no request was sent")
    }),
    (Column::text("valid", "Client kept up"), |level| Cell::word(if level.0.valid { "yes" } else { "no" })),
    (Column::text("pareto", "Pareto front"), |level| Cell::word(if level.0.pareto { "yes" } else { "no" })),
];

/// The parts of its page.
pub fn parts(document: &BenchDocument) -> Vec<Part> {
    let count = |count: u64| Cell::Count(i64::try_from(count).unwrap_or(i64::MAX));
    let lead = match &document.why {
        Some(why) => why.sentence.clone(),
        None => format!("{} at {}.", document.server.model, document.load.offered),
    };
    let mut facts = vec![
        Fact::new("Server", Cell::text(document.server.kind.as_deref().unwrap_or("unknown"))),
        Fact::new("Model", Cell::text(&document.server.model)),
        Fact::new("Offered", Cell::text(&document.load.offered)),
        Fact::new("Workload", Cell::text(&document.workload)),
        Fact::new("Sent", count(document.requests.sent)),
        Fact::new("Completed", count(document.requests.completed)),
        Fact::new("Failed", count(document.requests.failed)),
    ];
    facts.extend(
        document.slo_met.map(|is_met| Fact::new("SLO met", Cell::word(if is_met { "yes" } else { "no" }))),
    );
    let mut parts = vec![Part {
        name: "verdict",
        title: "Verdict",
        blocks: vec![Block::Lead(lead), Block::Facts(facts)],
    }];
    let measured: Vec<Measured> = headline::ALL
        .iter()
        .filter_map(|metric| {
            let value = *document.headline.get(metric.key)?;
            Some(Measured { metric, value, interval: document.intervals.get(metric.key).copied() })
        })
        .collect();
    let table = Table::new("headline", MEASURED, &measured, usize::MAX);
    parts.push(Part { name: "headline", title: "Headline metrics", blocks: vec![Block::Table(table)] });
    let levels: Vec<Level> = document.levels.iter().cloned().map(Level).collect();
    if !levels.is_empty() {
        let table = Block::Table(Table::new("levels", LEVELS, &levels, usize::MAX));
        parts.push(Part { name: "levels", title: "Levels", blocks: vec![table] });
    }
    let mut remarks: Vec<Remark> = Vec::new();
    let client = document.client.reasons.iter().filter(|_| !document.client.valid);
    remarks.extend(client.map(|reason| remark(Grade::Warning, "client", None, reason)));
    remarks.extend(document.errors.iter().map(|error| {
        remark(Grade::Warning, &error.kind, i64::try_from(error.requests).ok(), &error.example)
    }));
    remarks.extend(document.not_computed.iter().map(|(name, why)| remark(Grade::Info, name, None, why)));
    if !remarks.is_empty() {
        parts.push(Part { name: "notes", title: "Notes", blocks: vec![Block::Remarks(remarks)] });
    }
    parts
}

fn remark(grade: Grade, code: &str, count: Option<i64>, message: &str) -> Remark {
    Remark { grade, code: code.to_owned(), count, source: String::new(), message: message.to_owned() }
}
