//! Which differences between two builds are more than chance: the statistics of `compare`, over runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use rooflens_analyze::compare::{FEWEST, IndependentRatios, Ratio, adjusted, least_rank_sum, median};
use rooflens_queries::QueryJudge;
use serde_json::Value as Json;

use super::answer::{AnswerColumn, AnswerHead, rows};

/// Above it a difference may be chance.
const SIGNIFICANT: f64 = 0.05;
/// A change below it need not be seen for "no change".
const SMALL: f64 = 0.05;

#[derive(Default)]
struct TwoBuilds {
    base: Vec<f64>,
    other: Vec<f64>,
    shares: Vec<f64>,
}

struct JudgedLine {
    key: Vec<Json>,
    runs: [usize; 2],
    medians: [f64; 2],
    ratio: Option<Ratio>,
    p: Option<f64>,
    /// Whether so many runs could tell a change at all, among so many lines.
    is_tellable: bool,
    share: f64,
}

impl JudgedLine {
    fn verdict(&self) -> &'static str {
        let Some(ratio) = &self.ratio else { return "too few runs" };
        let is_change =
            self.p.is_some_and(|p| p < SIGNIFICANT) && ratio.excludes_same() && ratio.exceeds_drift();
        let is_small = ratio.low > 1.0 - SMALL && ratio.high < 1.0 + SMALL;
        match (is_change, ratio.ratio > 1.0) {
            (true, true) => "slower",
            (true, false) => "faster",
            (false, _) if self.is_tellable || is_small => "no change",
            (false, _) => "too few runs",
        }
    }

    /// Where it comes: what changed first, then what may have.
    fn rank(&self) -> u8 {
        match (self.verdict(), &self.ratio) {
            ("slower", _) => 0,
            ("faster", _) => 1,
            ("too few runs", Some(ratio)) if ratio.excludes_same() => 2,
            ("no change", _) => 3,
            (_, Some(_)) => 4,
            (_, None) => 5,
        }
    }

    fn change(&self, of: fn(&Ratio) -> f64) -> Json {
        self.ratio.as_ref().map(|ratio| of(ratio) - 1.0).into()
    }

    fn weight(&self) -> f64 {
        let change = self.ratio.as_ref().map_or(0.0, |ratio| (ratio.ratio - 1.0).abs());
        change * self.share
    }
}

/// Runs of each build with which one changed kernel of so many can be told from chance.
fn runs_needed(lines: usize) -> usize {
    (FEWEST..).find(|&runs| least_rank_sum(runs, runs) * lines as f64 <= SIGNIFICANT).unwrap_or(FEWEST)
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
    let run = head.columns.iter().position(|column| column.name == "run_id");
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(Vec<Json>, TwoBuilds)> = Vec::new();
    let mut seen: BTreeSet<(usize, String, String)> = BTreeSet::new();
    for row in batches.iter().flat_map(rows) {
        let key: Vec<Json> = keys.iter().map(|&at| row[at].clone()).collect();
        let place = *places.entry(Json::from(key.clone()).to_string()).or_insert_with(|| {
            groups.push((key, TwoBuilds::default()));
            groups.len() - 1
        });
        // A run that two tenants have is one run.
        let run_word = run.map_or(Json::Null, |at| row[at].clone());
        if run.is_some() && !seen.insert((place, row[side].to_string(), run_word.to_string())) {
            continue;
        }
        let number = |at: usize| row[at].as_f64().unwrap_or(f64::NAN);
        let two = &mut groups[place].1;
        let samples = if row[side] == "base" { &mut two.base } else { &mut two.other };
        samples.push(number(value));
        two.shares.push(number(share));
    }
    table(&head, &keys, &lines(groups))
}

fn lines(groups: Vec<(Vec<Json>, TwoBuilds)>) -> Vec<JudgedLine> {
    let mut ratios = IndependentRatios::default();
    let mut lines: Vec<JudgedLine> = groups
        .into_iter()
        .map(|(key, two)| JudgedLine {
            key,
            runs: [two.base.len(), two.other.len()],
            medians: [middle(&two.base), middle(&two.other)],
            // Runs are made on their own: their order tells nothing.
            ratio: ratios.of(&two.base, &two.other),
            p: None,
            is_tellable: false,
            share: middle(&two.shares),
        })
        .collect();
    let known: Vec<f64> = lines.iter().filter_map(|line| line.ratio.as_ref().map(|ratio| ratio.p)).collect();
    let corrected = adjusted(&known);
    let with_ratio = lines.iter_mut().filter(|line| line.ratio.is_some());
    with_ratio.zip(corrected).for_each(|(line, p)| {
        line.p = Some(p);
        let least = least_rank_sum(line.runs[0], line.runs[1]);
        line.is_tellable = least * known.len() as f64 <= SIGNIFICANT;
    });
    lines.sort_by(|a, b| a.rank().cmp(&b.rank()).then(b.weight().total_cmp(&a.weight())));
    lines
}

fn summary(lines: &[JudgedLine]) -> (String, usize) {
    if lines.is_empty() {
        let words = "The two builds have no kernel in common on the same hardware, with the same model, runtime, dtype \
                     and workload: nothing can be compared.";
        return (words.to_owned(), 0);
    }
    let count = |verdict: &str| lines.iter().filter(|line| line.verdict() == verdict).count();
    let (slower, faster, same, few) =
        (count("slower"), count("faster"), count("no change"), count("too few runs"));
    let judged = lines.iter().filter(|line| line.ratio.is_some()).count();
    let mut words = format!("{slower} slower, {faster} faster, {same} without a significant change.");
    if few > 0 {
        words += &format!(
            " {few} cannot be judged: to tell one changed kernel of {} from chance takes at least {} runs of each build.",
            judged.max(1),
            runs_needed(judged.max(1)),
        );
    }
    (words, judged)
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median(&sorted)
}

/// A column that judging adds: name, unit, meaning, and the value of a line.
type Added = (&'static str, &'static str, &'static str, fn(&JudgedLine) -> Json);

const ADDED: &[Added] = &[
    (
        "verdict",
        "word",
        "`slower` or `faster` where the difference is significant; `too few runs` where so few could not tell a change from chance; else `no change`.",
        |line| line.verdict().into(),
    ),
    ("change", "change", "Median of the other build / median of the base − 1.", |line| {
        line.change(|ratio| ratio.ratio)
    }),
    ("low", "change", "Lower end of the 95 % confidence interval of the change.", |line| {
        line.change(|ratio| ratio.low)
    }),
    ("high", "change", "Upper end of it.", |line| line.change(|ratio| ratio.high)),
    ("p", "probability", "p-value, corrected for the number of lines (Benjamini–Hochberg).", |line| {
        line.p.into()
    }),
    ("base_ns", "ns", "Median over runs of the base, of the mean time per call.", |line| {
        line.medians[0].into()
    }),
    ("other_ns", "ns", "The same of the other build.", |line| line.medians[1].into()),
    ("base_runs", "count", "Runs of the base.", |line| line.runs[0].into()),
    ("other_runs", "count", "Runs of the other build.", |line| line.runs[1].into()),
    ("share", "share", "Share of the device time of a run: median over runs.", |line| line.share.into()),
];

fn table(head: &AnswerHead, keys: &[usize], lines: &[JudgedLine]) -> (AnswerHead, Vec<RecordBatch>) {
    let mut columns: Vec<AnswerColumn> = keys.iter().map(|&at| head.columns[at].clone()).collect();
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    let mut add = |name: &str, array: ArrayRef| {
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    };
    for (at, &key) in keys.iter().enumerate() {
        let field = head.schema.field(key);
        add(field.name(), array(field.data_type(), lines.iter().map(|line| line.key[at].clone())));
    }
    for (name, unit, meaning, value) in ADDED {
        let kind = match *unit {
            "word" => DataType::Utf8,
            "count" => DataType::Int64,
            _ => DataType::Float64,
        };
        add(name, array(&kind, lines.iter().map(value)));
        let (unit, meaning) = (Some((*unit).to_owned()), Some((*meaning).to_owned()));
        columns.push(AnswerColumn { name: (*name).to_owned(), unit, meaning });
    }
    let schema = Arc::new(Schema::new(fields));
    let batches = RecordBatch::try_new(Arc::clone(&schema), arrays).into_iter().collect();
    let (query, title) = (head.query.clone(), head.title.clone());
    (AnswerHead { query, title, columns, schema, summary: Some(summary(lines)) }, batches)
}

fn array(kind: &DataType, values: impl Iterator<Item = Json>) -> ArrayRef {
    match kind {
        DataType::Int64 => Arc::new(values.map(|value| value.as_i64()).collect::<Int64Array>()),
        DataType::Float64 => Arc::new(values.map(|value| value.as_f64()).collect::<Float64Array>()),
        _ => Arc::new(values.map(|value| value.as_str().map(str::to_owned)).collect::<StringArray>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty-nine kernels in so many runs of each build, the first of which takes twice as long in the other; noise of
    /// one percent.
    fn one_doubled(runs: usize) -> Vec<JudgedLine> {
        let value = |kernel: usize, run: usize| 100.0 + ((kernel * 7 + run * 13) % 11) as f64 / 5.0;
        let group = |kernel: usize| {
            let factor = if kernel == 0 { 2.0 } else { 1.0 };
            let two = TwoBuilds {
                base: (0..runs).map(|run| value(kernel, run)).collect(),
                other: (0..runs).map(|run| factor * value(kernel, run + 5)).collect(),
                shares: vec![0.01],
            };
            (vec![Json::from(kernel)], two)
        };
        lines((0..29).map(group).collect())
    }

    #[test]
    fn what_so_few_runs_could_not_tell_is_not_called_unchanged() {
        // Of four and four, 2 of 70 orders are the rarest: among 29 kernels that is chance.
        let lines = one_doubled(4);
        assert_eq!((lines[0].key[0].as_u64(), lines[0].verdict()), (Some(0), "too few runs"));
        assert!(lines[0].p.unwrap() > SIGNIFICANT && lines[0].ratio.as_ref().unwrap().low > 1.9);
        let (words, shown) = summary(&lines);
        assert!(words.contains("at least 7 runs of each build") && shown == 29, "{words}");
        // That the others differ by less than 5 % is known.
        assert!(lines[1..].iter().all(|line| line.verdict() == "no change"));
    }

    #[test]
    fn enough_runs_tell() {
        assert_eq!(runs_needed(29), 7); // 29 × 2 / 3,432 is 0.017; of six and six, 29 × 2 / 924 is 0.063
        let lines = one_doubled(7);
        assert_eq!((lines[0].key[0].as_u64(), lines[0].verdict()), (Some(0), "slower"));
        assert!(summary(&lines).0.starts_with("1 slower, 0 faster, 28 without"));
    }

    #[test]
    fn fewer_than_four_runs_and_no_kernels_at_all() {
        let lines = one_doubled(3);
        assert!(lines.iter().all(|line| line.verdict() == "too few runs" && line.p.is_none()));
        assert!(summary(&[]).0.contains("no kernel in common"));
    }
}
