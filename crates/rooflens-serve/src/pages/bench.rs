//! A load test, from the numbers that it left.

use rooflens_analyze::compare::headline;
use rooflens_core::bench::BenchDocument;
use rooflens_report::Part;
use rooflens_report::bench::{LevelRow, levels_part};
use rooflens_report::block::{Block, Cell, Column, Fact, Field, Grade, Remark, Table};

struct Measured {
    metric: &'static headline::HeadlineMetric,
    value: f64,
    interval: Option<[f64; 2]>,
}

const MEASURED: &[Field<Measured>] = &[
    (Column::text("metric", "Metric"), |row| Cell::text(row.metric.title)),
    (Column::number("value", "Value"), |row| Cell::metric(row.metric.key, row.value)),
    (Column::number("low", "95 % CI, low"), |row| {
        Cell::or(row.interval, |[low, _]| Cell::metric(row.metric.key, low), "too few independent requests")
    }),
    (Column::number("high", "95 % CI, high"), |row| {
        Cell::or(row.interval, |[_, high]| Cell::metric(row.metric.key, high), "too few independent requests")
    }),
    (Column::text("definition", "Definition"), |row| Cell::text(row.metric.definition)),
];

pub(crate) fn parts(document: &BenchDocument, levels: Vec<LevelRow>) -> Vec<Part> {
    let lead = match &document.why {
        Some(why) => why.sentence.clone(),
        None => format!("{} at {}.", document.server.model, document.load.offered),
    };
    let mut facts = vec![
        Fact::new("Server", Cell::text(document.server.kind.as_deref().unwrap_or("unknown"))),
        Fact::new("Model", Cell::text(&document.server.model)),
        Fact::new("Offered", Cell::text(&document.load.offered)),
        Fact::new("Workload", Cell::text(&document.workload)),
        Fact::new("Sent", Cell::count(document.requests.sent)),
        Fact::new("Completed", Cell::count(document.requests.completed)),
        Fact::new("Failed", Cell::count(document.requests.failed)),
    ];
    facts.extend(
        document.slo_met.map(|is_met| Fact::new("SLO met", Cell::word(if is_met { "yes" } else { "no" }))),
    );
    let mut parts = vec![Part {
        name: "verdict",
        title: "Verdict",
        blocks: vec![Block::Lead(lead), Block::Facts(facts)],
    }];
    // Their own reports are files, which are not served.
    let levels = levels.into_iter().map(|row| LevelRow { report: None, ..row });
    parts.extend(levels_part(&levels.collect::<Vec<_>>()));
    let measured: Vec<Measured> = headline::ALL
        .iter()
        .filter_map(|metric| {
            let value = (*document.headline.get(metric.key)?)?;
            Some(Measured { metric, value, interval: document.intervals.get(metric.key).copied() })
        })
        .collect();
    let table = Table::new("headline", MEASURED, &measured, usize::MAX);
    parts.push(Part { name: "headline", title: "Headline metrics", blocks: vec![Block::Table(table)] });
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
