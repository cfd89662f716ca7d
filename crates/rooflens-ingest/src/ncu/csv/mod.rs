//! What `ncu --csv` prints: `--page raw` (a row a launch, a column a metric, units in the second row) and
//! `--page details` (a row a metric or a rule's remark), whole or section by section.
//!
//! Values come out as in the `.ncu-rep` file: in base units, under the metric's own name. A printed value
//! has only the digits that were printed.
//!
//! * `unit`: numbers and units; `names`: what the details page calls a metric.

mod names;
pub(crate) mod unit;

use std::collections::{BTreeMap, BTreeSet};

use rooflens_schema::{Notes, Severity, Stage};

use super::base_unit::base_unit;
use super::{MetricValue, NcuLaunch, NcuMetric, NcuRule, RuleGrade, Speedup};
use crate::csv;

/// Which launch a row is of, among the files of one folder. For comparison only: it is shown nowhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaunchKey {
    process: String,
    id: String,
    name: String,
}

/// Columns that are not metrics, on either page.
const OWN: &[&str] = &[
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];

/// Whether a file begins as `ncu --csv` prints, after what the tool says before it.
pub fn is_csv(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
    let talk = |line: &&str| line.starts_with("==") || line.trim().is_empty();
    let first = head.trim_start_matches('\u{feff}').lines().find(|line| !talk(line));
    first.is_some_and(|line| line.starts_with("\"ID\",") && line.contains("\"Kernel Name\""))
}

/// The launches of a file, each with what tells it from others. Empty where there is no header.
pub fn read(bytes: &[u8], source: &str, notes: &Notes) -> Vec<(LaunchKey, NcuLaunch)> {
    let text = String::from_utf8_lossy(bytes);
    let mut rows = csv::rows(text.trim_start_matches('\u{feff}')).into_iter();
    let Some(head) = rows.find(|row| row.first().is_some_and(|cell| cell == "ID")) else { return Vec::new() };
    let mut page = Page { head, launches: Vec::new(), places: BTreeMap::new(), unknown: BTreeSet::new() };
    if page.column("Metric Name").is_some() {
        rows.for_each(|row| page.details(&row));
    } else {
        let units = rows.next().unwrap_or_default();
        rows.for_each(|row| page.raw(&row, &units));
    }
    for unit in &page.unknown {
        let message = format!("unit {unit:?} is not known: its values are kept as text");
        notes.add(Stage::Ingest, Severity::Warning, "unknown_unit", source, message);
    }
    page.launches
}

struct Page {
    head: Vec<String>,
    launches: Vec<(LaunchKey, NcuLaunch)>,
    places: BTreeMap<LaunchKey, usize>,
    unknown: BTreeSet<String>,
}

impl Page {
    fn column(&self, name: &str) -> Option<usize> {
        self.head.iter().position(|head| head == name)
    }

    fn cell<'r>(&self, row: &'r [String], column: &str) -> &'r str {
        self.column(column).and_then(|at| row.get(at)).map_or("", String::as_str)
    }

    fn launch(&mut self, row: &[String]) -> Option<&mut NcuLaunch> {
        let id = self.cell(row, "ID").to_owned();
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let name = self.cell(row, "Kernel Name").to_owned();
        let key = LaunchKey { process: self.cell(row, "Process ID").to_owned(), id, name };
        let at = match self.places.get(&key) {
            Some(at) => *at,
            None => {
                let launch = self.begun(row, &key.name);
                self.places.insert(key.clone(), self.launches.len());
                self.launches.push((key, launch));
                self.launches.len() - 1
            }
        };
        self.launches.get_mut(at).map(|(_, launch)| launch)
    }

    fn begun(&self, row: &[String], name: &str) -> NcuLaunch {
        let mut launch = NcuLaunch {
            name: name.to_owned(),
            grid: size(self.cell(row, "Grid Size")),
            block: size(self.cell(row, "Block Size")),
            ..NcuLaunch::default()
        };
        let capability = self.cell(row, "CC").split_once('.');
        if let Some((major, minor)) = capability.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))) {
            for (part, value) in [("major", major), ("minor", minor)] {
                let metric = NcuMetric { value: Some(MetricValue::Whole(value)), unit: None };
                launch.metrics.insert(format!("device__attribute_compute_capability_{part}"), metric);
            }
        }
        launch
    }

    fn raw(&mut self, row: &[String], units: &[String]) {
        let metrics: Vec<(String, Option<MetricValue>, &str)> = (self.head.iter().enumerate())
            // Columns of NVTX ranges hold names of threads and domains.
            .filter(|(_, name)| !OWN.contains(&name.as_str()) && !name.contains("Domain:"))
            .filter_map(|(at, name)| {
                let unit = units.get(at).map_or("", String::as_str);
                Some((name.clone(), value(row.get(at)?, unit, &mut self.unknown), unit))
            })
            .collect();
        let Some(launch) = self.launch(row) else { return };
        for (name, value, unit) in metrics {
            put(launch, name, value, unit);
        }
    }

    fn details(&mut self, row: &[String]) {
        let name = self.cell(row, "Metric Name");
        let unit = self.cell(row, "Metric Unit").to_owned();
        let metric =
            (!name.is_empty()).then(|| names::metric(name, &unit, self.cell(row, "Body Item Label")));
        let value = value(self.cell(row, "Metric Value"), &unit, &mut self.unknown);
        let rule = self.rule(row);
        let Some(launch) = self.launch(row) else { return };
        if let Some(metric) = metric {
            put(launch, metric, value, &unit);
        }
        let Some(rule) = rule else { return };
        // A rule's remarks stand on rows of their own.
        match launch.rules.last_mut().filter(|last| last.id == rule.id && last.section == rule.section) {
            Some(last) => {
                last.messages.extend(rule.messages);
                last.speedup = last.speedup.or(rule.speedup);
            }
            None => launch.rules.push(rule),
        }
    }

    fn rule(&self, row: &[String]) -> Option<NcuRule> {
        let id = self.cell(row, "Rule Name");
        if id.is_empty() {
            return None;
        }
        let grade = match self.cell(row, "Rule Type") {
            "OPT" => RuleGrade::Optimization,
            "WRN" => RuleGrade::Warning,
            "ERR" => RuleGrade::Error,
            "OK" => RuleGrade::Ok,
            _ => RuleGrade::Info,
        };
        let percent = unit::number(self.cell(row, "Estimated Speedup"));
        let is_global = self.cell(row, "Estimated Speedup Type") == "global";
        let section = self.cell(row, "Section Name");
        Some(NcuRule {
            id: id.to_owned(),
            section: (!section.is_empty()).then(|| section.to_owned()),
            messages: vec![(grade, self.cell(row, "Rule Description").to_owned())],
            speedup: percent.map(|percent| Speedup { is_global, percent }),
        })
    }
}

fn put(launch: &mut NcuLaunch, name: String, value: Option<MetricValue>, unit: &str) {
    if value.is_some() {
        let unit = unit::base(unit).or_else(|| base_unit(&name)).map(str::to_owned);
        launch.metrics.insert(name, NcuMetric { value, unit });
    }
}

/// A printed value in its base unit; `None` for one that is not there.
fn value(printed: &str, unit: &str, unknown: &mut BTreeSet<String>) -> Option<MetricValue> {
    if matches!(printed, "" | "n/a" | "no data" | "nan" | "-nan" | "inf" | "-inf") {
        return None;
    }
    let Some(number) = unit::number(printed) else { return Some(MetricValue::Text(printed.to_owned())) };
    let Some(scale) = unit::scale(unit) else {
        unknown.insert(unit.to_owned());
        return Some(MetricValue::Text(format!("{printed} {unit}")));
    };
    match printed.replace(',', "").parse() {
        Ok(whole) if scale == 1.0 => Some(MetricValue::Whole(whole)),
        _ => Some(MetricValue::Number(number * scale)),
    }
}

/// `(128, 1, 1)`.
fn size(text: &str) -> Option<[u64; 3]> {
    let mut parts =
        text.strip_prefix('(')?.strip_suffix(')')?.split(',').map(|part| part.trim().parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// Puts what several files tell of one launch together. The last word counts.
pub(crate) fn merge(into: &mut NcuLaunch, from: NcuLaunch) {
    into.metrics.extend(from.metrics);
    for rule in from.rules {
        if !into.rules.contains(&rule) {
            into.rules.push(rule);
        }
    }
}

#[cfg(test)]
mod tests;
