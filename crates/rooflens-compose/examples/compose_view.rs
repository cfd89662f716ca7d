//! Composes what JSON lines on stdin ask for and writes what came of it to stdout, for
//! `oracles/compose/compose_diff.py`.
//!
//! A line has `dir`, `config`, `overrides` and `multirun`. `ROOFLENS_PLANT` makes the example
//! compose wrongly on purpose, to show that the comparison notices.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::{
    ComposeError, ComposeRequest, ComposeWarning, Composer, Composition, CompositionView, Host, yaml,
};
use serde_json::{Value as Json, json};

fn main() {
    let plant = std::env::var("ROOFLENS_PLANT").unwrap_or_default();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let case: Json = serde_json::from_str(&line.unwrap()).unwrap();
        writeln!(out, "{}", answer(&case, &plant)).unwrap();
    }
}

fn answer(case: &Json, plant: &str) -> Json {
    let folder = PathBuf::from(case["dir"].as_str().unwrap());
    let mut overrides: Vec<String> = serde_json::from_value(case["overrides"].clone()).unwrap();
    let source = match plant {
        "" | "override-order" => ConfigSource::folder(folder),
        plant => ConfigSource::memory(planted(&folder, plant)),
    };
    if plant == "override-order" {
        overrides.reverse();
    }
    let composer = Composer::new(SearchPath::new(source)).with_host(Host::system());
    let request = ComposeRequest::new(case["config"].as_str().unwrap(), overrides);
    let made = if case["multirun"] == json!(true) {
        multirun(&composer, &request)
    } else {
        composer.compose(&request).map(|made| view(&made))
    };
    made.unwrap_or_else(|error| {
        json!({
            "err": error.to_string(),
            "hint": error.hint(),
            "place": error.place.map(|place| json!([place.to_string(), place.excerpt])),
        })
    })
}

fn multirun(composer: &Composer, request: &ComposeRequest) -> Result<Json, ComposeError> {
    let plan = composer.multirun(request)?;
    let jobs: Vec<_> = plan.batches.iter().flatten().collect();
    let overrides: Vec<&Vec<String>> = jobs.iter().map(|job| &job.overrides).collect();
    let first: Vec<Json> = jobs
        .iter()
        .take(4)
        .map(|job| match composer.job(&plan, job) {
            Ok(made) => view(&made),
            Err(error) => json!({ "err": error.to_string() }),
        })
        .collect();
    let batches: Vec<usize> = plan.batches.iter().map(Vec::len).collect();
    Ok(json!({ "batches": batches, "overrides": overrides, "jobs": first }))
}

fn view(made: &Composition) -> Json {
    let defaults: Vec<Json> = made
        .defaults
        .iter()
        .map(|it| json!([it.config_path, it.package, it.is_self, it.parent, it.primary]))
        .collect();
    let choices: Vec<Json> = made.choices.iter().map(|(key, it)| json!([key, it])).collect();
    let resolved = |view| made.resolved_view(view).map(|node| yaml::dump(&node)).ok();
    let no_self = made.warnings.iter().any(|it| matches!(it, ComposeWarning::NoSelf { .. }));
    json!({
        "job": made.job_yaml(),
        "hydra": yaml::dump(&made.view(CompositionView::Hydra)),
        "resolved": resolved(CompositionView::Job),
        "defaults": defaults,
        "choices": choices,
        "tree": made.defaults_tree_text(),
        "defaults_text": made.defaults_text(),
        "search_path_text": made.search_path_text(),
        "no_self": no_self,
    })
}

/// The files of a folder with a mistake in the reading of each.
fn planted(folder: &Path, plant: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(folder, "", &mut files);
    for text in files.values_mut() {
        *text = match plant {
            "header" => text.replace("# @package", "# package"),
            "self-last" => text.replace("- _self_\n", ""),
            "optional" => text.replace("optional ", ""),
            other => panic!("no plant '{other}'"),
        };
    }
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}
