//! The files around a run: what it ran on, on which inputs, what its numbers rest on, and a page for
//! those who will read only one.

mod assumptions;
mod env;
mod grounding;
mod inputs;
pub(crate) mod predictions;
mod stakeholder;
#[cfg(test)]
mod tests;

use std::path::Path;

use rooflens_analyze::Findings;
use rooflens_collect::RunSettings;
use rooflens_compose::yaml;
use rooflens_report::block::Block;
use rooflens_schema::RunDir;
use serde_json::Value as Json;

pub(crate) use self::env::RunEnvironment;
use super::config::{config, settings};
use super::document::{RunDocument, RunMetrics};
use super::samples;
use crate::error::Error;
use crate::{project, saved};

/// Writes all of them, once `metrics.json` is there.
pub(crate) fn write(run: &RunDir, settings: &RunSettings, project: &Path) -> Result<(), Error> {
    saved::make(&run.report())?;
    saved::write_json(run.report().join("env.json"), &env::environment(run, settings, project))?;
    let config = config(run);
    if let Some(config) = &config {
        // A variant that went away meanwhile: its samples are told, their digests are not.
        let located = samples::located(config, &settings.dataset, project).unwrap_or_else(|_| config.clone());
        let text = yaml::dump(&inputs::inputs(run, config, &located, project));
        saved::write(run.report().join("inputs.yaml"), text.as_bytes())?;
    }
    pages(run, settings, project)
}

/// Writes those that follow from what is in the run already. The machine and the files of the dataset may
/// be others by now, so that what tells of them stays. False where it is no run of `rooflens run`.
pub(crate) fn rewrite(run: &RunDir) -> Result<bool, Error> {
    let Some(settings) = settings(run) else { return Ok(false) };
    let project = project::around(run.root()).unwrap_or_else(|| run.root().to_owned());
    saved::make(&run.report())?;
    pages(run, &settings, &project).map(|()| true)
}

fn pages(run: &RunDir, settings: &RunSettings, project: &Path) -> Result<(), Error> {
    let has = |format: &str| settings.output.formats.iter().any(|known| known == format);
    let numbers = std::fs::read_to_string(run.report().join(saved::METRICS)).unwrap_or_default();
    let Ok(numbers) = PageNumbers::parse(&numbers) else { return Ok(()) };
    if has("md") {
        let pages = [
            ("assumptions.md", assumptions::page(run, &numbers)),
            ("stakeholder_summary.md", stakeholder::page(&settings.label(), &numbers)),
        ];
        for (name, text) in pages {
            saved::write(run.report().join(name), text.as_bytes())?;
        }
    }
    predictions::write(run, settings, project, &numbers.run)
}

struct PageNumbers {
    run: RunDocument,
    analysis: Findings,
    /// Everything that the document says it did not compute, wherever it says so: what, and why.
    missing: Vec<(String, String)>,
}

impl PageNumbers {
    fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let RunMetrics { run, analysis } = serde_json::from_str(json)?;
        let mut missing = Vec::new();
        collect_missing(&serde_json::from_str(json)?, "", &mut missing);
        Ok(PageNumbers { run, analysis: analysis.unwrap_or_default(), missing })
    }
}

fn collect_missing(node: &Json, path: &str, found: &mut Vec<(String, String)>) {
    let Json::Object(fields) = node else { return };
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("not_computed", Json::Object(reasons)) => {
                let told =
                    reasons.iter().filter_map(|(what, why)| Some((below(what), why.as_str()?.to_owned())));
                found.extend(told);
            }
            ("not_computed", Json::Array(reasons)) => {
                let told = reasons.iter().filter_map(|reason| {
                    let (what, why) = (reason["analysis"].as_str()?, reason["reason"].as_str()?);
                    Some((below(what), why.to_owned()))
                });
                found.extend(told);
            }
            _ => collect_missing(value, &below(key), found),
        }
    }
}

fn device(run: &RunDocument) -> Option<&str> {
    text(&run.model, "device_name").or_else(|| text(&run.model, "device"))
}

fn text<'a>(object: &'a Option<Json>, key: &str) -> Option<&'a str> {
    object.as_ref()?.get(key)?.as_str()
}

fn lines(sentences: impl IntoIterator<Item = String>) -> Vec<Block> {
    let sentences: Vec<String> = sentences.into_iter().collect();
    if sentences.is_empty() { Vec::new() } else { vec![Block::Lines(sentences)] }
}

fn json_lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read(path).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}
