//! Everything that has a name and a meaning, gathered from the registries: what `list` lists and
//! `explain` explains. Adding a topic: an entry in [`ALL`].

mod bench;
mod charts;
mod cost;
mod explanation;
mod labels;
mod note_codes;
mod other_screens;
mod runs;
mod terms;

use std::borrow::Cow;
use std::collections::BTreeSet;

use rooflens_analyze::analyses;
use rooflens_analyze::compare::headline;
use rooflens_analyze::kernel_catalog::KernelClass;
use rooflens_collect::project::names;
use rooflens_schema::Severity;
use rooflens_schema::table::{ColumnSchema, TableSpec};
use rooflens_schema::tables::{self, ApiKind, GapCause, PhaseKind, PhaseSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::SchemaTag;
use crate::error::Error;
use crate::exit::Exit;

/// A kind of named things.
pub struct Topic {
    /// What `list` calls it.
    pub name: &'static str,
    /// What one of them is called.
    pub(crate) one: &'static str,
    /// What they are.
    pub(crate) about: &'static str,
    /// All of them, in order.
    pub(crate) entries: fn() -> Vec<GlossaryEntry>,
}

/// A named entry.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GlossaryEntry {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Unit of its values; empty for what has none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub unit: Cow<'static, str>,
    /// How it is made, line by line; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What it consists of: fields or columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<GlossaryEntry>,
}

/// Every topic, in the order of `list`.
pub const ALL: &[Topic] = &[
    Topic { name: "formats", one: "format", about: "inputs that can be read", entries: formats },
    Topic {
        name: "analyses",
        one: "analysis",
        about: "analyses, each answering a question",
        entries: analyses,
    },
    Topic { name: "rules", one: "rule of advice", about: "rules behind `rooflens advise`", entries: rules },
    Topic { name: "runtimes", one: "runtime", about: "programs that can run a model", entries: runtimes },
    Topic { name: "profilers", one: "profiler", about: "profilers that a run can use", entries: profilers },
    Topic { name: "tables", one: "table", about: "tables of a run, as Parquet", entries: table_specs },
    Topic { name: "kernel-classes", one: "kernel class", about: "what kernels do", entries: kernel_classes },
    Topic { name: "gap-causes", one: "gap cause", about: "why a device is idle", entries: gap_causes },
    Topic {
        name: "health-checks",
        one: "health check",
        about: "what may be wrong with a trace",
        entries: health_checks,
    },
    Topic { name: "phase-kinds", one: "phase kind", about: "kinds of phases", entries: phase_kinds },
    Topic {
        name: "phase-sources",
        one: "phase source",
        about: "where a phase comes from",
        entries: phase_sources,
    },
    Topic { name: "api-kinds", one: "runtime call kind", about: "what runtime calls do", entries: api_kinds },
    Topic { name: "severities", one: "severity", about: "how bad a note is", entries: severities },
    Topic {
        name: "notes",
        one: "note code",
        about: "codes of notes in a report",
        entries: note_codes::entries,
    },
    Topic {
        name: "hardware",
        one: "device",
        about: "devices that the cost model knows",
        entries: cost::hardware,
    },
    Topic {
        name: "families",
        one: "model family",
        about: "model families that the cost model knows",
        entries: cost::families,
    },
    Topic {
        name: "metrics",
        one: "metric",
        about: "metrics of a run, for `compare --fail-on` and `trend --key`",
        entries: metrics,
    },
    Topic {
        name: "cost-metrics",
        one: "cost metric",
        about: "metrics of the cost model",
        entries: cost::metrics,
    },
    Topic {
        name: "operator-classes",
        one: "operator class",
        about: "what operators of a model do",
        entries: cost::classes,
    },
    Topic {
        name: "weight-formats",
        one: "weight format",
        about: "formats for --dtype",
        entries: cost::weight_formats,
    },
    Topic { name: "terms", one: "term", about: "labels on screens and pages", entries: terms::entries },
    Topic {
        name: "old-names",
        one: "old name",
        about: "settings of llm-perf-opt and their names in Rooflens",
        entries: old_names,
    },
    Topic { name: "exit-codes", one: "exit code", about: "exit codes of commands", entries: exit_codes },
];

fn rules() -> Vec<GlossaryEntry> {
    let rule = |rule: &&dyn rooflens_analyze::advice::AdviceRule| GlossaryEntry {
        name: rule.name().to_owned(),
        about: rule.about().to_owned(),
        ..GlossaryEntry::default()
    };
    rooflens_analyze::advice::ALL.iter().map(rule).collect()
}

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
        true => Err(Error::UnknownName { name: name.to_owned(), near: near(name) }),
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

/// A thing without unit, detail or parts.
fn plain(name: impl Into<String>, about: impl Into<String>) -> GlossaryEntry {
    GlossaryEntry { name: name.into(), about: about.into(), ..GlossaryEntry::default() }
}

fn runtimes() -> Vec<GlossaryEntry> {
    rooflens_collect::runtimes::ALL.iter().map(|it| plain(it.name(), it.about())).collect()
}

fn profilers() -> Vec<GlossaryEntry> {
    rooflens_collect::profilers::ALL.iter().map(|it| plain(it.name(), it.about())).collect()
}

fn formats() -> Vec<GlossaryEntry> {
    rooflens_ingest::ALL.iter().map(|format| plain(format.name(), format.about())).collect()
}

fn analyses() -> Vec<GlossaryEntry> {
    let entry = |analysis: &&dyn rooflens_analyze::Analysis| GlossaryEntry {
        detail: analysis.explain().trim_end().to_owned(),
        parts: explanation::fields(analysis.explain()),
        ..plain(analysis.name(), analysis.question())
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

/// A column's type in words, with whether it may be missing.
fn sql_type(column: &ColumnSchema) -> String {
    let name = column.data_type.to_string().to_lowercase();
    let name = if name.contains("utf8") { "text".to_owned() } else { name };
    if column.nullable { format!("{name}, may be null") } else { name }
}

fn kernel_classes() -> Vec<GlossaryEntry> {
    KernelClass::ALL.iter().map(|class| plain(class.as_str(), class.definition())).collect()
}

fn gap_causes() -> Vec<GlossaryEntry> {
    GapCause::ALL.iter().map(|cause| plain(cause.as_str(), cause.doc())).collect()
}

fn phase_kinds() -> Vec<GlossaryEntry> {
    PhaseKind::ALL.iter().map(|kind| plain(kind.as_str(), kind.doc())).collect()
}

fn phase_sources() -> Vec<GlossaryEntry> {
    PhaseSource::ALL.iter().map(|source| plain(source.as_str(), source.doc())).collect()
}

fn api_kinds() -> Vec<GlossaryEntry> {
    ApiKind::ALL.iter().map(|kind| plain(kind.as_str(), kind.doc())).collect()
}

fn severities() -> Vec<GlossaryEntry> {
    Severity::ALL.iter().map(|severity| plain(severity.as_str(), severity.doc())).collect()
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
    Exit::ALL.iter().map(|exit| plain(exit.code().to_string(), exit.meaning())).collect()
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
