//! Everything that has a name and a meaning, gathered from the registries: what `list` lists and
//! `explain` explains. Adding a topic: an entry in [`ALL`].

mod cost;
mod entry;
mod explanation;
mod note_codes;
mod terms;

use std::collections::BTreeSet;

use rooflens_analyze::compare::headline;
use rooflens_analyze::kernel_catalog::KernelClass;
use rooflens_analyze::{advice, analyses};
use rooflens_collect::project::names;
use rooflens_collect::{profilers, runtimes};
use rooflens_schema::Severity;
use rooflens_schema::table::{ColumnSchema, TableSpec};
use rooflens_schema::tables::{self, ApiKind, GapCause, PhaseKind, PhaseSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::entry::GlossaryEntry;
use self::entry::plain;
use crate::document::SchemaTag;
use crate::error::{Error, Hint};
use crate::exit::Exit;

/// A kind of named things.
pub struct Topic {
    /// What `list` calls it.
    pub name: &'static str,
    pub(crate) one: &'static str,
    pub(crate) about: &'static str,
    pub(crate) entries: fn() -> Vec<GlossaryEntry>,
}

macro_rules! words {
    ($kind:ty) => {
        || <$kind>::ALL.iter().map(|it| plain(it.as_str(), it.doc())).collect()
    };
}

const fn topic(
    name: &'static str,
    one: &'static str,
    about: &'static str,
    entries: fn() -> Vec<GlossaryEntry>,
) -> Topic {
    Topic { name, one, about, entries }
}

/// Every topic, in the order of `list`.
pub const ALL: &[Topic] = &[
    topic("formats", "format", "inputs that can be read", || {
        rooflens_ingest::ALL.iter().map(|it| plain(it.name(), it.about())).collect()
    }),
    topic("analyses", "analysis", "analyses, each answering a question", analyses),
    topic("rules", "rule of advice", "rules behind `rooflens advise`", || {
        advice::ALL.iter().map(|rule| plain(rule.name, rule.about)).collect()
    }),
    topic("runtimes", "runtime", "programs that can run a model", || {
        runtimes::ALL.iter().map(|it| plain(it.name, it.about)).collect()
    }),
    topic("profilers", "profiler", "profilers that a run can use", || {
        profilers::ALL.iter().map(|it| plain(it.name(), it.about)).collect()
    }),
    topic("tables", "table", "tables of a run, as Parquet", table_specs),
    topic("kernel-classes", "kernel class", "what kernels do", kernel_classes),
    topic("gap-causes", "gap cause", "why a device is idle", words!(GapCause)),
    topic("health-checks", "health check", "what may be wrong with a trace", health_checks),
    topic("phase-kinds", "phase kind", "kinds of phases", words!(PhaseKind)),
    topic("phase-sources", "phase source", "where a phase comes from", words!(PhaseSource)),
    topic("api-kinds", "runtime call kind", "what runtime calls do", words!(ApiKind)),
    topic("severities", "severity", "how bad a note is", words!(Severity)),
    topic("notes", "note code", "codes of notes in a report", note_codes::entries),
    topic("hardware", "device", "devices that the cost model knows", cost::hardware),
    topic("families", "model family", "model families that the cost model knows", cost::families),
    topic("metrics", "metric", "metrics of a run, for `compare --fail-on` and `trend --key`", metrics),
    topic("cost-metrics", "cost metric", "metrics of the cost model", cost::metrics),
    topic("operator-classes", "operator class", "what operators of a model do", cost::classes),
    topic("weight-formats", "weight format", "formats for --dtype", cost::weight_formats),
    topic("terms", "term", "labels on screens and pages", terms::entries),
    topic("old-names", "old name", "settings of llm-perf-opt and their names in Rooflens", old_names),
    topic("exit-codes", "exit code", "exit codes of commands", exit_codes),
];

fn metrics() -> Vec<GlossaryEntry> {
    let entry = |metric: &headline::HeadlineMetric| plain(metric.name(), metric.definition);
    headline::ALL.iter().map(entry).collect()
}

fn health_checks() -> Vec<GlossaryEntry> {
    // What a check counts is broken into lines, as all that analyses explain.
    let in_a_line = |about: &str| about.split_whitespace().collect::<Vec<_>>().join(" ");
    analyses::HEALTH_CHECKS.iter().map(|(name, about)| plain(*name, in_a_line(about))).collect()
}

/// A meaning of a name: the same word may be a table and an analysis.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Meaning {
    /// What kind of entry it is, as "gap cause".
    pub kind: String,
    /// The thing.
    #[serde(flatten)]
    pub entry: GlossaryEntry,
}

/// The JSON document of an explanation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// `rooflens.explanation`.
    pub(crate) schema: SchemaTag,
    /// The requested word.
    pub(crate) name: String,
    /// What it means.
    pub meanings: Vec<Meaning>,
}

impl Explanation {
    /// Of a word.
    pub fn new(name: String, meanings: Vec<Meaning>) -> Self {
        Explanation { schema: SchemaTag::new("explanation"), name, meanings }
    }
}

/// The JSON document of a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// `rooflens.list`.
    pub(crate) schema: SchemaTag,
    /// The list's name; `lists` for that of the lists.
    pub(crate) list: String,
    /// What is in it, in order.
    pub items: Vec<ListItem>,
}

impl Listing {
    /// Of a topic; of the topics themselves where there is none.
    pub fn of(topic: Option<&Topic>) -> Self {
        let items = match topic {
            Some(topic) => {
                let entries = (topic.entries)();
                entries.into_iter().map(|entry| ListItem { name: entry.name, about: entry.about }).collect()
            }
            None => {
                let item =
                    |topic: &Topic| ListItem { name: topic.name.to_owned(), about: topic.about.to_owned() };
                ALL.iter().map(item).collect()
            }
        };
        let list = topic.map_or("lists", |topic| topic.name).to_owned();
        Listing { schema: SchemaTag::new("list"), list, items }
    }
}

/// An item of a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListItem {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
}

/// Explains a word or number of a report, by every meaning that it has.
pub fn explain(name: &str) -> Result<Vec<Meaning>, Error> {
    let found = meanings(name);
    match found.is_empty() {
        true => Err(Error::usage(format!("{name:?} is not known")).hinted(match near(name).as_slice() {
            [] => Hint::words("rooflens list shows what can be explained"),
            near @ [first, ..] => Hint::leading(
                format!("did you mean {}?", near.join(", ")),
                format!("rooflens explain {first}"),
            ),
        })),
        false => Ok(found),
    }
}

/// Every meaning of `name`: an entry, a part of one (`table.column`), or a whole topic. Words may be
/// written as on the screen: `launch bound` is `launch_bound`, `TTFT` is `ttft`, `MFU ≤` is `mfu`, `Share A` is `share`.
pub fn meanings(name: &str) -> Vec<Meaning> {
    let small = name.trim().trim_end_matches(['≤', '≥', ' ']).to_lowercase();
    let of_side = small.strip_suffix(" a").or(small.strip_suffix(" b")).unwrap_or(&small).to_owned();
    let mut found = exactly(name);
    for written in [small.clone(), small.replace(' ', "_"), small.replace(['_', '-'], " "), of_side] {
        if written != name {
            let known: BTreeSet<String> = found.iter().map(|meaning| meaning.kind.clone()).collect();
            found.extend(exactly(&written).into_iter().filter(|meaning| !known.contains(&meaning.kind)));
        }
    }
    found
}

fn exactly(name: &str) -> Vec<Meaning> {
    let mut found = Vec::new();
    for topic in ALL {
        let entries = (topic.entries)();
        if topic.name == name {
            let entry = GlossaryEntry {
                name: name.to_owned(),
                about: topic.about.to_owned(),
                parts: entries,
                ..GlossaryEntry::default()
            };
            found.push(Meaning { kind: "list".to_owned(), entry });
            continue;
        }
        for entry in entries {
            if entry.name == name || note_codes::is_variant(&entry.name, name) {
                found.push(Meaning { kind: topic.one.to_owned(), entry });
            } else if let Some(part) = part(&entry, name) {
                found.push(Meaning { kind: format!("part of {} {}", topic.one, entry.name), entry: part });
            }
        }
    }
    if found.is_empty() {
        let device = cost::device_called(name).map(|entry| Meaning { kind: "device".to_owned(), entry });
        found.extend(device);
    }
    found
}

/// Known names like `name`, best first.
pub fn near(name: &str) -> Vec<String> {
    let mut names = BTreeSet::new();
    for topic in ALL {
        names.insert(topic.name.to_owned());
        for entry in (topic.entries)() {
            names.extend(entry.parts.iter().map(|part| format!("{}.{}", entry.name, part.name)));
            names.insert(entry.name);
        }
    }
    rooflens_compose::near(name, names.iter().map(String::as_str))
}

/// The part that `name` (as `kernels.dur_ns`) names, and the formulas that speak of it.
fn part(entry: &GlossaryEntry, name: &str) -> Option<GlossaryEntry> {
    let wanted = name.strip_prefix(entry.name.as_str())?.strip_prefix('.')?;
    let own = || entry.parts.iter().find(|part| part.name == wanted).cloned();
    let mut part = own().or_else(|| explanation::mention(&entry.detail, wanted))?;
    part.detail = explanation::formulas(&entry.detail, wanted);
    part.name = name.to_owned();
    Some(part)
}

fn analyses() -> Vec<GlossaryEntry> {
    let entry = |analysis: &rooflens_analyze::Analysis| GlossaryEntry {
        detail: analysis.explain.trim_end().to_owned(),
        parts: explanation::fields(analysis.explain),
        ..plain(analysis.name, analysis.question)
    };
    analyses::ALL.iter().map(entry).collect()
}

fn table_specs() -> Vec<GlossaryEntry> {
    let entry = |spec: TableSpec| {
        let rank = spec
            .per_rank
            .then(|| GlossaryEntry { unit: "id".into(), ..plain("rank", "Rank of the job (int32).") });
        let columns = spec.columns.iter().map(|column| GlossaryEntry {
            unit: column.unit.into(),
            ..plain(column.name, format!("{} ({})", column.doc, sql_type(column)))
        });
        GlossaryEntry { parts: rank.into_iter().chain(columns).collect(), ..plain(spec.name, spec.doc) }
    };
    tables::specs().into_iter().map(entry).collect()
}

fn sql_type(column: &ColumnSchema) -> String {
    let name = column.data_type.to_string().to_lowercase();
    let name = if name.contains("utf8") { "text".to_owned() } else { name };
    if column.nullable { format!("{name}, may be null") } else { name }
}

fn kernel_classes() -> Vec<GlossaryEntry> {
    KernelClass::ALL.iter().map(|class| plain(class.as_str(), class.definition())).collect()
}

fn old_names() -> Vec<GlossaryEntry> {
    let table = names::table();
    let keys = table.keys.iter().map(|row| {
        let why = row.why.clone().unwrap_or_default();
        let about = match &row.new {
            Some(new) => format!("renamed to {} in Rooflens {}", new.replace("{1}", "*"), row.since),
            None => format!("not needed: {why}"),
        };
        GlossaryEntry { name: row.old.clone(), about, ..GlossaryEntry::default() }
    });
    let groups = table.groups.iter().map(|group| GlossaryEntry {
        name: group.old.clone(),
        about: format!("chosen by {}", group.new),
        ..GlossaryEntry::default()
    });
    keys.chain(groups).collect()
}

fn exit_codes() -> Vec<GlossaryEntry> {
    Exit::all().map(|(code, meaning)| plain(code.to_string(), meaning)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_entries_with_a_meaning() {
        for topic in ALL {
            let entries = (topic.entries)();
            assert!(!entries.is_empty(), "{}", topic.name);
            for entry in entries {
                assert!(!entry.name.is_empty() && !entry.about.is_empty(), "{}: {entry:?}", topic.name);
            }
        }
    }

    #[test]
    fn a_name_may_have_several_meanings() {
        let kinds = |name| meanings(name).into_iter().map(|meaning| meaning.kind).collect::<Vec<_>>();
        assert_eq!(kinds("kernels"), ["analysis", "table", "term"]);
        assert_eq!(kinds("kernels.dur_ns"), ["part of table kernels"]);
        assert_eq!(kinds("devices.busy_ns"), ["part of analysis devices"]);
        assert_eq!(kinds("launch_bound"), ["gap cause", "term"]);
        assert_eq!(kinds("Launch bound"), ["term", "gap cause"]);
        assert_eq!(kinds("TTFT"), ["term"]);
        assert_eq!(kinds("unread_gpu_user_annotation"), ["note code"]);
        assert_eq!(kinds("exit-codes"), ["list"]);
        assert!(kinds("nothing").is_empty());
    }
}
