//! What a run can be chosen and sorted by: columns of `runs`, its folder and tags, and its metrics.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rooflens_analyze::compare::headline;
use rooflens_store::ColumnValue;

use super::IndexedRun;
use super::numbers::further_metrics;
use crate::error::{Error, Hint};

const OWN: &[&str] = &["folder", "sweep", "tenant", "day", "problem", "source"];
/// The column of tags; a run may have several.
pub(crate) const TAG: &str = "tag";

/// What lists and pages call columns that have another name in the table.
const ALSO: [(&str, &str); 4] = [
    ("device", "hardware"),
    ("engine", "runtime"),
    ("version", "runtime_version"),
    ("build", "runtime_build"),
];

/// A column of a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunColumn {
    name: String,
    kind: RunColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunColumnKind {
    Text,
    Number,
    Tag,
    Metric,
}

impl RunColumn {
    /// The column of a name. Metrics may be given without their unit, as `tpot_p50`.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let name = ALSO.iter().find(|(also, _)| *also == name).map_or(name, |(_, column)| column);
        let column = |name: &str, kind| Ok(RunColumn { name: name.to_owned(), kind });
        let table = rooflens_store::tables::table("runs");
        let stored = table.and_then(|table| table.columns.get(table.position(name)?));
        if name == TAG || name == "tags" {
            return column(TAG, RunColumnKind::Tag);
        }
        if let Some(stored) = stored {
            let is_text = matches!(stored.value, ColumnValue::Text);
            return column(name, if is_text { RunColumnKind::Text } else { RunColumnKind::Number });
        }
        if OWN.contains(&name) {
            return column(name, RunColumnKind::Text);
        }
        if let Some(metric) = headline::find(name) {
            return column(metric.key, RunColumnKind::Metric);
        }
        let is_one = |known: &&String| *known == name || known.strip_suffix("_ns") == Some(name);
        if let Some(known) = further_metrics().iter().find(is_one) {
            return column(known, RunColumnKind::Metric);
        }
        let names = Self::names();
        let near = rooflens_compose::near(name, names.iter().map(String::as_str));
        let all = || Hint::words(format!("columns: {}", names.join(", ")));
        Err(Error::usage(format!("runs have no column {name:?}")).hinted(Hint::near(&near, all)))
    }

    pub(crate) fn names() -> Vec<String> {
        let table = rooflens_store::tables::table("runs");
        let stored = table.into_iter().flat_map(|table| &table.columns).map(|column| column.name.to_owned());
        let own = OWN.iter().chain([&TAG]).map(|name| (*name).to_owned());
        let metrics = headline::ALL.iter().map(|metric| metric.key.to_owned());
        stored.chain(own).chain(metrics).chain(further_metrics()).collect()
    }

    /// Its name, as keys of documents have it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its values are numbers.
    pub fn is_number(&self) -> bool {
        matches!(self.kind, RunColumnKind::Number | RunColumnKind::Metric)
    }

    /// Whether it is the column of tags.
    pub fn is_tag(&self) -> bool {
        self.kind == RunColumnKind::Tag
    }

    pub(super) fn is_day(&self) -> bool {
        self.name == "day"
    }

    /// Its values as text: several of tags; none where it is null.
    pub fn words(&self, run: &IndexedRun) -> Vec<String> {
        let words = match self.kind {
            RunColumnKind::Tag => run.tags.clone(),
            RunColumnKind::Metric => {
                run.metric(&self.name).map(|value| value.to_string()).into_iter().collect()
            }
            RunColumnKind::Text | RunColumnKind::Number => vec![run.text(&self.name)],
        };
        words.into_iter().filter(|word| !word.is_empty()).collect()
    }

    /// Its value as a number; nothing where it is null or no number.
    pub(crate) fn number(&self, run: &IndexedRun) -> Option<f64> {
        match self.kind {
            RunColumnKind::Metric => run.metric(&self.name),
            RunColumnKind::Number => run.row.get(&self.name)?.as_f64(),
            RunColumnKind::Text | RunColumnKind::Tag => None,
        }
    }
}

/// How to sort a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOrder {
    column: RunColumn,
    is_descending: bool,
}

impl RunOrder {
    /// Reads `COLUMN`, `COLUMN:asc` or `COLUMN:desc`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (name, is_descending) = match text.rsplit_once(':') {
            None => (text, false),
            Some((name, "asc")) => (name, false),
            Some((name, "desc")) => (name, true),
            Some((_, other)) => {
                let message = format!("{text:?} is not an order: it goes asc or desc, not {other:?}");
                return Err(
                    Error::usage(message).words("as in --sort tpot_p50_ns or --sort tpot_p50_ns:desc")
                );
            }
        };
        Ok(RunOrder { column: RunColumn::parse(name)?, is_descending })
    }

    /// What is sorted by.
    pub fn column(&self) -> &RunColumn {
        &self.column
    }

    /// Sorts runs; those without a value come last either way, and what is equal stays in its order.
    pub fn sort(&self, runs: &mut [IndexedRun]) {
        runs.sort_by(|a, b| match self.column.is_number() {
            true => self.order(self.column.number(a), self.column.number(b), |a, b| a.total_cmp(b)),
            false => {
                let word = |run| Some(self.column.words(run).join(" ")).filter(|word| !word.is_empty());
                self.order(word(a), word(b), |a, b| a.cmp(b))
            }
        });
    }

    fn order<T>(&self, a: Option<T>, b: Option<T>, order: impl Fn(&T, &T) -> Ordering) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if self.is_descending => order(&b, &a),
            (Some(a), Some(b)) => order(&a, &b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

const NAMED: usize = 8;

/// Operators, longer ones first.
const OPERATORS: &[(&str, Comparison)] = &[
    ("!=", Comparison::IsNot),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("=", Comparison::Is),
    ("~", Comparison::Contains),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Is,
    IsNot,
    Contains,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// A condition on a column, as `model=Qwen/Qwen3-8B`, `model~qwen` or `tpot_p50_ns<20ms`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCondition {
    column: RunColumn,
    comparison: Comparison,
    value: String,
    /// The same in the unit of the column, where that has numbers.
    number: Option<f64>,
}

impl RunCondition {
    /// Reads one. Times may have a unit (`20ms`), shares a percent sign; nothing behind `=` means that there is no value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::usage(format!("{text:?} is not a condition: {why}")).words(
                "as in --where model=Qwen/Qwen3-8B, --where model~qwen, --where tag=baseline or --where \
                 'tpot_p50_ns<20ms'",
            )
        };
        let end = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        let (name, rest) = text.split_at(end.unwrap_or(text.len()));
        let operator = OPERATORS.iter().find_map(|(sign, comparison)| {
            rest.trim_start().strip_prefix(sign).map(|value| (*comparison, value.trim()))
        });
        let Some((comparison, value)) = operator.filter(|_| !name.is_empty()) else {
            return Err(wrong("write COLUMN=VALUE, COLUMN!=VALUE, COLUMN~TEXT or COLUMN<NUMBER"));
        };
        let column = RunColumn::parse(name)?;
        let number = column.is_number().then(|| number_of(column.name(), value)).flatten();
        let is_order = !matches!(comparison, Comparison::Is | Comparison::IsNot | Comparison::Contains);
        if is_order && !column.is_number() && !column.is_day() {
            return Err(wrong(&format!("{name} is text, compare it with =, != or ~")));
        }
        if column.is_number() && comparison == Comparison::Contains {
            return Err(wrong(&format!("{name} is a number, compare it with =, !=, <, <=, > or >=")));
        }
        if column.is_number() && number.is_none() && (is_order || !value.is_empty()) {
            let units = if column.name().ends_with("_ns") { ", as 20ms" } else { "" };
            return Err(wrong(&format!("{name} is compared with a number{units}")));
        }
        Ok(RunCondition { column, comparison, value: value.to_owned(), number })
    }

    /// What it is about.
    pub fn column(&self) -> &RunColumn {
        &self.column
    }

    /// Whether it holds for a run. Only `!=` holds for one without a value, or `=` with nothing behind it.
    pub(crate) fn holds(&self, run: &IndexedRun) -> bool {
        use Comparison::{AtLeast, AtMost, Contains, Is, IsNot, Less, More};
        let words = self.column.words(run);
        let is_absent = self.value.is_empty() && words.is_empty();
        match (self.number, self.comparison) {
            (_, Is) if self.value.is_empty() => is_absent,
            (_, IsNot) if self.value.is_empty() => !is_absent,
            (None, Is) => words.contains(&self.value),
            (None, IsNot) => !words.contains(&self.value),
            (None, Contains) => {
                let part = self.value.to_lowercase();
                words.iter().any(|word| word.to_lowercase().contains(&part))
            }
            (None, Less) => words.iter().any(|word| *word < self.value),
            (None, AtMost) => words.iter().any(|word| *word <= self.value),
            (None, More) => words.iter().any(|word| *word > self.value),
            (None, AtLeast) => words.iter().any(|word| *word >= self.value),
            (Some(bound), comparison) => {
                let value = self.column.number(run);
                value.is_some_and(|value| match comparison {
                    Is => value == bound,
                    IsNot => value != bound,
                    Less => value < bound,
                    AtMost => value <= bound,
                    More => value > bound,
                    AtLeast => value >= bound,
                    Contains => false,
                }) || (comparison == IsNot && value.is_none())
            }
        }
    }

    fn nothing(&self, runs: &[IndexedRun]) -> Option<String> {
        let known: BTreeSet<String> = runs.iter().flat_map(|run| self.column.words(run)).collect();
        if self.comparison != Comparison::Is || self.value.is_empty() || known.contains(&self.value) {
            return None;
        }
        Some(no_such_value(self.column.name(), &[self.column.name()], &self.value, &known))
    }
}

/// A number with a unit of time or a percent sign, where the column has such.
fn number_of(column: &str, text: &str) -> Option<f64> {
    let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    if let Some(percent) = text.strip_suffix('%') {
        return finite(percent).map(|percent| percent / 100.0);
    }
    const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let units: &[(&str, f64)] = if column.ends_with("_ns") { &UNITS } else { &[] };
    let with_unit = |(unit, scale): &(&str, f64)| Some(finite(text.strip_suffix(unit)?)? * scale);
    units.iter().find_map(with_unit).or_else(|| finite(text))
}

pub(crate) fn no_such_value(name: &str, columns: &[&str], wanted: &str, known: &BTreeSet<String>) -> String {
    let some: Vec<&str> = known.iter().take(NAMED).map(String::as_str).collect();
    match (some.is_empty(), known.len() > NAMED) {
        (true, _) => format!("no run has {name}={wanted}: none has a value of {}", columns.join(", ")),
        (false, more) => {
            let more = if more { ", …" } else { "" };
            format!("no run has {name}={wanted}; there are {}{more}", some.join(", "))
        }
    }
}

/// Columns that runs must agree in to be compared.
pub const COMPARED: [&str; 8] = ["kind", "hardware", "model", "runtime", "dtype", "tp", "workload", "format"];

/// In what runs differ that should be compared, in words, as `2 values of model`; columns have the names of the caller.
pub fn mixed_columns<R>(
    runs: impl IntoIterator<Item = R> + Clone,
    text: impl Fn(&R, &str) -> String,
    name: impl Fn(&'static str) -> &'static str,
) -> Vec<String> {
    let different = |column: &&'static str| {
        let known: BTreeSet<String> = runs.clone().into_iter().map(|run| text(&run, column)).collect();
        (known.len() > 1).then(|| format!("{} values of {}", known.len(), name(column)))
    };
    COMPARED.iter().filter_map(different).collect()
}

/// Which runs: those for which all of this holds.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Conditions.
    pub conditions: Vec<RunCondition>,
    /// First day; runs that do not say when they began are left out.
    pub since: Option<String>,
    /// Last day, likewise.
    pub until: Option<String>,
}

impl RunFilter {
    /// Reads conditions.
    pub fn parse(conditions: &[String]) -> Result<Self, Error> {
        let conditions =
            conditions.iter().map(|text| RunCondition::parse(text)).collect::<Result<_, Error>>()?;
        Ok(RunFilter { conditions, since: None, until: None })
    }

    /// Whether it takes every run.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.since.is_none() && self.until.is_none()
    }

    pub(crate) fn takes(&self, run: &IndexedRun) -> bool {
        let day = run.day.as_deref();
        self.conditions.iter().all(|condition| condition.holds(run))
            && self.since.as_deref().is_none_or(|since| day.is_some_and(|day| day >= since))
            && self.until.as_deref().is_none_or(|until| day.is_some_and(|day| day <= until))
    }

    /// The runs that match, in their order. It is an error where there are runs and none of them does.
    pub fn choose(&self, place: &str, mut runs: Vec<IndexedRun>) -> Result<Vec<IndexedRun>, Error> {
        if !runs.is_empty() && !runs.iter().any(|run| self.takes(run)) {
            return Err(self.nothing_meant(place, &runs));
        }
        runs.retain(|run| self.takes(run));
        Ok(runs)
    }

    pub(crate) fn nothing_meant(&self, place: &str, runs: &[IndexedRun]) -> Error {
        let why = self.conditions.iter().find_map(|condition| condition.nothing(runs));
        Error::usage(why.unwrap_or_else(|| format!("no run in {place} matches all these options")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(model: &str, tpot: Option<f64>, tags: &[&str]) -> IndexedRun {
        let row = serde_json::json!({"model": model, "tp": 8, "metrics": {"tpot_p50_ns": tpot}});
        IndexedRun {
            run_id: Some(model.to_owned()),
            folder: Some(model.to_owned()),
            sweep: None,
            tenant: None,
            day: Some("2026-11-17".to_owned()),
            added_unix_ns: None,
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            problem: None,
            row: row.as_object().cloned().unwrap_or_default(),
        }
    }

    fn holds(text: &str, run: &IndexedRun) -> bool {
        RunCondition::parse(text).expect(text).holds(run)
    }

    #[test]
    fn conditions() {
        let one = run("Qwen/Qwen3-8B", Some(19e6), &["base", "fp8"]);
        for text in [
            "model=Qwen/Qwen3-8B",
            "model~qwen3",
            "model!=tiny",
            "tpot_p50_ns<20ms",
            "tpot_p50<=19ms",
            "tpot_p50_ns>0.018s",
            "tpot_p50_ns>=19000000",
            "tpot_p50_ns=19ms",
            "tag=fp8",
            "tag~FP",
            "tag!=main",
            "tp=8",
            "tp>4",
            "day>=2026-11-01",
            "label=",
            "tag!=",
            "ttft_p50_ns=",
            "ttft_p50_ns!=3ms",
            "folder~Qwen",
            "tpot_p50_ns < 20 ms",
        ] {
            assert!(holds(text, &one), "{text}");
        }
        for text in [
            "model=qwen",
            "tpot_p50_ns<10ms",
            "tag=main",
            "tag!=base",
            "ttft_p50_ns<1s",
            "tag=",
            "day<2026-11-17",
            "tp!=8",
        ] {
            assert!(!holds(text, &one), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_asked_is_said() {
        let why = |text: &str| RunCondition::parse(text).expect_err(text).to_string();
        assert_eq!(why("modle=x"), "runs have no column \"modle\"");
        assert_eq!(
            why("model<x"),
            "\"model<x\" is not a condition: model is text, compare it with =, != or ~"
        );
        assert_eq!(
            why("tpot_p50_ns<fast"),
            "\"tpot_p50_ns<fast\" is not a condition: tpot_p50_ns is compared with a number, as 20ms"
        );
        assert!(why("tpot_p50_ns~1").contains("is a number"));
        assert!(why("model").contains("write COLUMN=VALUE"));
        // A time for what is no time.
        assert!(why("output_tokens_per_s<20ms").contains("is compared with a number"));
        let near = RunCondition::parse("modle=x").expect_err("no column").hint().expect("a hint");
        assert!(near.to_string().starts_with("did you mean model"), "{near}");
    }

    #[test]
    fn runs_without_a_value_are_sorted_last() {
        let sorted = |by: &str| {
            let mut runs = vec![run("b", Some(2.0), &[]), run("a", None, &["x"]), run("c", Some(1.0), &[])];
            RunOrder::parse(by).expect(by).sort(&mut runs);
            runs.iter().map(|run| run.text("model")).collect::<Vec<_>>().join("")
        };
        assert_eq!([sorted("tpot_p50"), sorted("tpot_p50:desc")], ["cba", "bca"]);
        assert_eq!([sorted("model:desc"), sorted("tag"), sorted("tp")], ["cba", "abc", "bac"]);
        assert!(RunOrder::parse("model:up").is_err() && RunOrder::parse("colour").is_err());
    }

    #[test]
    fn a_value_that_no_run_has_is_said_with_those_there_are() {
        let runs = vec![run("a", Some(2.0), &[]), run("b", None, &[])];
        let choose = |text: &str| {
            let filter = RunFilter::parse(&[text.to_owned()]).expect(text);
            filter.choose("runs", runs.clone()).map_err(|error| error.to_string())
        };
        assert_eq!(choose("model=a").map(|runs| runs.len()), Ok(1));
        assert_eq!(choose("model=c").unwrap_err(), "no run has model=c; there are a, b");
        assert_eq!(choose("tpot_p50_ns>3").unwrap_err(), "no run in runs matches all these options");
    }
}
