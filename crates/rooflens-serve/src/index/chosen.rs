//! Some of the runs: by words, by facets, in an order, a page at a time.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use url::form_urlencoded::Serializer;

use super::{ListedRun, RunIndex};

/// What runs can be narrowed by: the column, and its name.
const FACETS: &[(&str, &str)] = &[
    ("model", "Model"),
    ("device", "Device"),
    ("engine", "Engine"),
    ("build", "Build"),
    ("kind", "Kind"),
    ("label", "Tags"),
    ("status", "Status"),
    ("tenant", "Tenant"),
];
/// What lists show of runs and order them by: the column, its title, and whether it holds numbers.
pub(crate) const COLUMNS: &[(&str, &str, bool)] = &[
    ("name", "Run", false),
    ("began", "Began (UTC)", false),
    ("kind", "Kind", false),
    ("model", "Model", false),
    ("device", "Device", false),
    ("engine", "Engine", false),
    ("build", "Build", false),
    ("label", "Tags", false),
    ("status", "Status", false),
    ("tpot_p50_ns", "TPOT p50", true),
    ("ttft_p50_ns", "TTFT p50", true),
    ("output_tokens_per_s", "tokens/s", true),
    ("decode_step_p50_ns", "Decode step p50", true),
    ("prefill_step_p50_ns", "Prefill step p50", true),
    ("step_p50_ns", "Step p50", true),
    ("device_busy_share", "Device busy", true),
];
/// Runs on a page.
const PAGE: usize = 50;
/// Values of a facet that can be chosen.
const MOST_VALUES: usize = 200;
/// Characters of what is searched for.
const MOST_WORDS: usize = 200;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RunChoice {
    pub(crate) words: String,
    pub(crate) facets: BTreeMap<&'static str, String>,
    pub(crate) sort: Option<&'static str>,
    pub(crate) is_turned: bool,
    /// Which page, from 0.
    pub(crate) page: usize,
}

/// A facet: its column, its name, its values with the number of runs that have them, the most frequent first.
pub(crate) struct Facet {
    pub(crate) column: &'static str,
    pub(crate) title: &'static str,
    pub(crate) values: Vec<(String, usize)>,
}

pub(crate) struct ChosenRuns {
    pub(crate) shown: Vec<Arc<ListedRun>>,
    pub(crate) all: usize,
    pub(crate) pages: usize,
    pub(crate) facets: Vec<Facet>,
}

impl RunChoice {
    pub(crate) fn of(pairs: &[(String, String)]) -> Self {
        let mut choice = RunChoice::default();
        for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
            match name.as_str() {
                "q" => choice.words = value.chars().take(MOST_WORDS).collect(),
                "page" => choice.page = value.parse::<usize>().unwrap_or(1).saturating_sub(1),
                "sort" => {
                    let (is_turned, name) =
                        value.strip_prefix('-').map_or((false, value.as_str()), |name| (true, name));
                    choice.sort = COLUMNS.iter().map(|column| column.0).find(|sort| *sort == name);
                    choice.is_turned = is_turned;
                }
                name => {
                    if let Some((column, _)) = FACETS.iter().find(|(column, _)| *column == name) {
                        choice.facets.insert(column, value.clone());
                    }
                }
            }
        }
        choice
    }

    pub(crate) fn address(&self) -> String {
        let mut query = Serializer::new(String::new());
        if !self.words.is_empty() {
            query.append_pair("q", &self.words);
        }
        query.extend_pairs(self.facets.iter());
        if let Some(sort) = self.sort {
            query.append_pair("sort", &format!("{}{sort}", if self.is_turned { "-" } else { "" }));
        }
        if self.page > 0 {
            query.append_pair("page", &(self.page + 1).to_string());
        }
        query.finish()
    }

    /// All runs that are meant, newest first.
    pub fn all(&self, index: &RunIndex) -> Vec<Arc<ListedRun>> {
        let words = self.searched();
        index.runs.iter().filter(|run| takes(run, &words) && self.is_of(run, None)).cloned().collect()
    }

    pub(crate) fn choose(&self, index: &RunIndex) -> ChosenRuns {
        let words = self.searched();
        let with_words: Vec<&Arc<ListedRun>> = index.runs.iter().filter(|run| takes(run, &words)).collect();
        let facets = FACETS.iter().map(|(column, title)| self.facet(column, title, &with_words)).collect();
        let mut meant: Vec<&Arc<ListedRun>> =
            with_words.into_iter().filter(|run| self.is_of(run, None)).collect();
        if let Some(sort) = self.sort {
            meant.sort_by(|a, b| self.compare(sort, a, b));
        }
        let pages = meant.len().div_ceil(PAGE).max(1);
        let begin = self.page.min(pages - 1) * PAGE;
        let shown = meant.iter().skip(begin).take(PAGE).map(|run| Arc::clone(run)).collect();
        ChosenRuns { shown, all: meant.len(), pages, facets }
    }

    fn searched(&self) -> Vec<String> {
        self.words.to_lowercase().split_whitespace().map(str::to_owned).collect()
    }

    fn is_of(&self, run: &ListedRun, but: Option<&str>) -> bool {
        let has = |column: &str, value: &str| run.values(column).any(|word| word == value);
        self.facets.iter().all(|(column, value)| Some(*column) == but || has(column, value))
    }

    fn facet(&self, column: &'static str, title: &'static str, runs: &[&Arc<ListedRun>]) -> Facet {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for run in runs.iter().filter(|run| self.is_of(run, Some(column))) {
            run.values(column).for_each(|value| *counts.entry(value).or_default() += 1);
        }
        let mut values: Vec<(String, usize)> =
            counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect();
        values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        values.truncate(MOST_VALUES);
        Facet { column, title, values }
    }

    /// What is not known comes last, either way round.
    fn compare(&self, sort: &str, a: &ListedRun, b: &ListedRun) -> Ordering {
        let turned = |ordering: Ordering| if self.is_turned { ordering.reverse() } else { ordering };
        match sort {
            "began" => known(a.began_unix_ns, b.began_unix_ns, |a, b| turned(b.cmp(&a))),
            "name" => turned(a.name.cmp(&b.name)),
            column if FACETS.iter().any(|(name, _)| *name == column) => {
                let word =
                    |run: &ListedRun| Some(run.word(column).to_owned()).filter(|word| !word.is_empty());
                known(word(a), word(b), |a, b| turned(a.cmp(&b)))
            }
            metric => known(a.metrics.get(metric), b.metrics.get(metric), |a, b| turned(a.total_cmp(b))),
        }
    }
}

fn known<T>(a: Option<T>, b: Option<T>, compare: impl FnOnce(T, T) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

fn takes(run: &ListedRun, words: &[String]) -> bool {
    words.iter().all(|word| run.searched.contains(word))
}
