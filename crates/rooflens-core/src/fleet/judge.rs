//! Which differences between two builds are more than chance: the statistics of `compare`, over runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use rooflens_compare::{FEWEST, IndependentRatios, Ratio, adjusted, median};
use rooflens_queries::QueryJudge;
use serde_json::Value as Json;

use super::answer::{AnswerColumn, AnswerHead, rows};

/// Above it a difference may be chance.
const SIGNIFICANT: f64 = 0.05;

/// Runs of both builds that one line is about.
#[derive(Default)]
struct TwoBuilds {
    base: Vec<f64>,
    other: Vec<f64>,
    shares: Vec<f64>,
}

/// A judged line.
struct JudgedLine {
    key: Vec<Json>,
    runs: [i64; 2],
    medians: [f64; 2],
    ratio: Option<Ratio>,
    p: Option<f64>,
    share: f64,
}

impl JudgedLine {
    fn verdict(&self) -> &'static str {
        let Some(ratio) = &self.ratio else { return "too few runs" };
        let is_change =
            self.p.is_some_and(|p| p < SIGNIFICANT) && ratio.excludes_same() && ratio.exceeds_drift();
        match (is_change, ratio.ratio > 1.0) {
            (false, _) => "no change",
            (true, true) => "slower",
            (true, false) => "faster",
        }
    }

    /// What the change comes to, as a share of device time.
    fn weight(&self) -> f64 {
        let change = self.ratio.as_ref().map_or(0.0, |ratio| (ratio.ratio - 1.0).abs());
        change * self.share
    }
}

/// One line for each group of rows: both medians, their ratio, and whether it is more than chance.
pub(super) fn judged(
    head: AnswerHead,
    batches: Vec<RecordBatch>,
    judge: &QueryJudge,
) -> (AnswerHead, Vec<RecordBatch>) {
    let QueryJudge::TwoSamples { value, side, share, by } = judge;
    let at = |name: &String| head.columns.iter().position(|column| column.name == *name);
    let (Some(value), Some(side), Some(share)) = (at(value), at(side), at(share)) else {
        return (head, batches);
    };
    let keys: Vec<usize> = by.iter().filter_map(at).collect();
    let mut order: Vec<String> = Vec::new();
    let mut groups: BTreeMap<String, (Vec<Json>, TwoBuilds)> = BTreeMap::new();
    let run = head.columns.iter().position(|column| column.name == "run_id");
    let mut seen: BTreeSet<(String, String, String)> = BTreeSet::new();
    for row in batches.iter().flat_map(rows) {
        let key: Vec<Json> = keys.iter().map(|&at| row[at].clone()).collect();
        let name = Json::from(key.clone()).to_string();
        // A run that two tenants have is one run.
        let (side_word, run_word) = (row[side].to_string(), run.map_or(Json::Null, |at| row[at].clone()));
        if run.is_some() && !seen.insert((name.clone(), side_word, run_word.to_string())) {
            continue;
        }
        let group = groups.entry(name.clone()).or_insert_with(|| {
            order.push(name);
            (key, TwoBuilds::default())
        });
        let number = |at: usize| row[at].as_f64().unwrap_or(f64::NAN);
        let samples = if row[side] == "base" { &mut group.1.base } else { &mut group.1.other };
        samples.push(number(value));
        group.1.shares.push(number(share));
    }
    let mut ratios = IndependentRatios::default();
    let mut lines: Vec<JudgedLine> = order
        .iter()
        .filter_map(|name| groups.remove(name))
        .map(|(key, two)| JudgedLine {
            key,
            runs: [two.base.len(), two.other.len()].map(|runs| i64::try_from(runs).unwrap_or(i64::MAX)),
            medians: [middle(&two.base), middle(&two.other)],
            // Runs are made on their own: their order tells nothing.
            ratio: ratios.of(&two.base, &two.other),
            p: None,
            share: middle(&two.shares),
        })
        .collect();
    let known: Vec<f64> = lines.iter().filter_map(|line| line.ratio.as_ref().map(|ratio| ratio.p)).collect();
    let corrected = adjusted(&known);
    let with_ratio = lines.iter_mut().filter(|line| line.ratio.is_some());
    with_ratio.zip(corrected).for_each(|(line, p)| line.p = Some(p));
    lines.sort_by(|a, b| {
        let rank = |line: &JudgedLine| match line.verdict() {
            "slower" => 0,
            "faster" => 1,
            "no change" => 2,
            _ => 3,
        };
        rank(a).cmp(&rank(b)).then(b.weight().total_cmp(&a.weight()))
    });
    table(&head, &keys, &lines)
}

/// What the lines come to; those that can be judged come first.
fn summary(lines: &[JudgedLine]) -> (String, usize) {
    let count = |verdict: &str| lines.iter().filter(|line| line.verdict() == verdict).count();
    let (slower, faster, same, few) =
        (count("slower"), count("faster"), count("no change"), count("too few runs"));
    let mut words = format!("{slower} slower, {faster} faster, {same} without a significant change.");
    if few > 0 {
        words += &format!(
            " {few} more cannot be judged: a kernel needs at least {FEWEST} runs of each build (--format csv has them)."
        );
    }
    (words, slower + faster + same)
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median(&sorted)
}

const ADDED: [(&str, &str, &str); 10] = [
    (
        "verdict",
        "word",
        "`slower` or `faster` where the difference is significant, else `no change`; `too few runs` with fewer than four per build.",
    ),
    ("change", "change", "Median of the other build / median of the base − 1."),
    ("low", "change", "Lower end of the 95 % confidence interval of the change."),
    ("high", "change", "Upper end of it."),
    ("p", "probability", "p-value, corrected for the number of lines (Benjamini–Hochberg)."),
    ("base_ns", "ns", "Median over runs of the base, of the mean time per call."),
    ("other_ns", "ns", "The same of the other build."),
    ("base_runs", "count", "Runs of the base."),
    ("other_runs", "count", "Runs of the other build."),
    ("share", "share", "Share of the device time of a run: median over runs."),
];

fn table(head: &AnswerHead, keys: &[usize], lines: &[JudgedLine]) -> (AnswerHead, Vec<RecordBatch>) {
    let mut columns: Vec<AnswerColumn> = keys.iter().map(|&at| head.columns[at].clone()).collect();
    let mut fields: Vec<Field> =
        keys.iter().map(|&at| head.schema.field(at).clone().with_nullable(true)).collect();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (at, field) in fields.iter_mut().enumerate() {
        let values = lines.iter().map(|line| &line.key[at]);
        let array: ArrayRef = match field.data_type() {
            DataType::Int64 => Arc::new(values.map(Json::as_i64).collect::<Int64Array>()),
            DataType::Float64 => Arc::new(values.map(Json::as_f64).collect::<Float64Array>()),
            _ => Arc::new(values.map(Json::as_str).collect::<StringArray>()),
        };
        *field = Field::new(field.name(), array.data_type().clone(), true);
        arrays.push(array);
    }
    let double = |of: &dyn Fn(&JudgedLine) -> Option<f64>| -> ArrayRef {
        Arc::new(
            lines
                .iter()
                .map(of)
                .map(|value| value.filter(|value| value.is_finite()))
                .collect::<Float64Array>(),
        )
    };
    let change =
        |of: fn(&Ratio) -> f64| move |line: &JudgedLine| line.ratio.as_ref().map(|ratio| of(ratio) - 1.0);
    let whole = |side: usize| -> ArrayRef {
        Arc::new(lines.iter().map(|line| Some(line.runs[side])).collect::<Int64Array>())
    };
    let added: [ArrayRef; 10] = [
        Arc::new(lines.iter().map(|line| Some(line.verdict())).collect::<StringArray>()),
        double(&change(|ratio| ratio.ratio)),
        double(&change(|ratio| ratio.low)),
        double(&change(|ratio| ratio.high)),
        double(&|line| line.p),
        double(&|line| Some(line.medians[0])),
        double(&|line| Some(line.medians[1])),
        whole(0),
        whole(1),
        double(&|line| Some(line.share)),
    ];
    for ((name, unit, meaning), array) in ADDED.into_iter().zip(added) {
        let (unit, meaning) = (Some(unit.to_owned()), Some(meaning.to_owned()));
        columns.push(AnswerColumn { name: name.to_owned(), unit, meaning });
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
    let batches = batch.into_iter().collect();
    let (query, title) = (head.query.clone(), head.title.clone());
    (AnswerHead { query, title, columns, schema, summary: Some(summary(lines)) }, batches)
}
