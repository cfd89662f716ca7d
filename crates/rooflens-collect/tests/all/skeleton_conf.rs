//! The skeleton's config: it composes, all of it is used, and all of it is explained.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_collect::project::skeleton::{self, SkeletonOptions};
use rooflens_compose::clock::LocalTime;
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::value::Value;
use rooflens_compose::{ComposeRequest, Composer, Composition, Host};

const STAGES: [&str; 5] = ["torch_profiler", "static_analysis", "nsys", "ncu", "direct_inference"];

fn configs() -> BTreeMap<&'static str, &'static str> {
    let files = skeleton::files(&SkeletonOptions::default()).into_iter();
    let conf = files.filter_map(|file| Some((file.path.strip_prefix("conf/")?, file.contents)));
    conf.filter(|(path, _)| path.ends_with(".yaml")).collect()
}

fn composer() -> Composer {
    // 2026-11-15 06:30:00 UTC.
    let host = Host::fixed(LocalTime::from_unix(1_794_724_200, 0, 0));
    Composer::new(SearchPath::new(ConfigSource::memory(configs()))).with_host(host)
}

fn compose(overrides: &[&str]) -> Composition {
    let composed = composer().compose(&ComposeRequest::new("config", overrides.iter().copied()));
    composed.unwrap_or_else(|error| panic!("{overrides:?}: {error}"))
}

/// The groups with their options, by the key that chooses one; a group may be mounted twice.
fn choices() -> Vec<(String, Vec<String>)> {
    let groups: BTreeMap<_, _> = composer().search_path().groups().into_iter().collect();
    let keys = compose(&[]).choices.into_iter().map(|(key, _)| key);
    keys.filter(|key| !key.starts_with("hydra/") && key != "local")
        .map(|key| {
            let group = key.split('@').next().unwrap();
            let options = groups.get(group).unwrap_or_else(|| panic!("no option in {group}")).clone();
            (key, options)
        })
        .collect()
}

#[test]
fn every_option_composes_and_every_file_is_used() {
    let mut unused: BTreeSet<String> = configs().keys().map(|path| (*path).to_owned()).collect();
    for (key, options) in choices() {
        for option in options {
            let made = compose(&[&format!("{key}={option}")]);
            made.resolved().unwrap_or_else(|error| panic!("{key}={option}: {error}"));
            assert!(made.warnings.is_empty(), "{key}={option}: {:?}", made.warnings);
            for entry in &made.defaults {
                unused.remove(&format!("{}.yaml", entry.config_path));
            }
        }
    }
    assert!(unused.is_empty(), "no choice leads to {unused:?}");
}

#[test]
fn presets_switch_stages_on() {
    let presets = [
        ("minimal", "torch_profiler static_analysis"),
        ("torch", "torch_profiler static_analysis"),
        ("none", ""),
        ("nsys", "static_analysis nsys"),
        ("ncu", "static_analysis nsys ncu"),
        ("full", "torch_profiler static_analysis nsys ncu direct_inference"),
        ("roofline-only", "static_analysis"),
    ];
    for (preset, expected) in presets {
        let made = compose(&[&format!("profiling={preset}")]);
        let on = |stage: &&str| {
            let key = format!("pipeline.{stage}.enable");
            made.value_at(&key).unwrap().unwrap().value == Value::Bool(true)
        };
        let enabled: Vec<&str> = STAGES.into_iter().filter(on).collect();
        assert_eq!(enabled.join(" "), expected, "{preset}");
    }
}

#[test]
fn the_command_line_wins_over_presets_and_experiments() {
    let made = compose(&["experiment=long-decode", "profiling=full", "pipeline/nsys=prefill", "repeats=9"]);
    let text = |key: &str| made.value_at(key).unwrap().map(|node| node.value);
    assert_eq!(text("pipeline.nsys.capture"), Some(Value::Str("prefill".to_owned())));
    assert_eq!(text("pipeline.ncu.enable"), Some(Value::Bool(true)));
    assert_eq!(text("experiment_name"), Some(Value::Str("long-decode".to_owned())));
    assert_eq!(text("repeats").map(|value| format!("{value:?}")), Some("Int(Small(9))".to_owned()));
}

#[test]
fn a_run_has_a_directory_of_its_own() {
    let directory = |overrides: &[&str], key| compose(overrides).value_at(key).unwrap().unwrap().value;
    let text = |text: &str| Value::Str(text.to_owned());
    assert_eq!(directory(&[], "hydra.run.dir"), text("runs/first/tiny-random/20261115-063000"));
    assert_eq!(
        directory(&["experiment=long-decode"], "hydra.run.dir"),
        text("runs/long-decode/tiny-random/20261115-063000")
    );
    assert_eq!(directory(&[], "hydra.sweep.dir"), text("runs/first/sweeps/20261115-063000"));
}

#[test]
fn the_sweep_experiment_makes_three_jobs() {
    let request = ComposeRequest::new("config", ["experiment=batch-sweep"]);
    let plan = composer().multirun(&request).unwrap();
    let jobs: Vec<&str> = plan.batches.iter().flatten().map(|job| job.overrides[0].as_str()).collect();
    assert_eq!(jobs, ["runtime.batch_size=1", "runtime.batch_size=2", "runtime.batch_size=4"]);
}

/// The keys of a file that have a value, and whether a comment beside or above explains them.
fn keys(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let (mut above, mut in_defaults) = (false, false);
    for line in text.lines() {
        in_defaults =
            line.starts_with("defaults:") || (in_defaults && !line.starts_with(char::is_alphabetic));
        let trimmed = line.trim_start();
        let value_of =
            |(key, value): (&str, &str)| (key.rsplit('.').next().unwrap().to_owned(), value.to_owned());
        let key =
            trimmed.split_once(':').filter(|_| !in_defaults && trimmed.starts_with(char::is_alphabetic));
        if let Some((key, value)) = key.map(value_of) {
            let explained = above || value.contains(" #");
            // A key without a value is explained by those below it, unless it is a list.
            if !value.trim().is_empty() || above {
                found.push((key, explained));
            }
        }
        above = trimmed.starts_with('#') && !trimmed.starts_with("# @");
    }
    found
}

#[test]
fn every_value_is_explained_somewhere() {
    let all: Vec<(String, bool)> = configs().values().flat_map(|text| keys(text)).collect();
    let explained: BTreeSet<&String> = all.iter().filter(|(_, it)| *it).map(|(key, _)| key).collect();
    let silent: BTreeSet<&String> =
        all.iter().map(|(key, _)| key).filter(|key| !explained.contains(key)).collect();
    assert!(silent.is_empty(), "no comment explains {silent:?}");
    assert!(explained.len() > 50, "the reader of comments is broken: {explained:?}");
}

#[test]
fn the_readme_lists_every_group_and_option() {
    let files = skeleton::files(&SkeletonOptions::default());
    let readme = files.iter().find(|file| file.path == "conf/README.md").unwrap().contents;
    for (group, mut options) in composer().search_path().groups() {
        if group.split('/').next() == Some("hydra") || group.starts_with("model/") {
            continue;
        }
        let row = readme.lines().find(|line| line.starts_with(&format!("| `{group}` |")));
        let cell = row.unwrap_or_else(|| panic!("conf/README.md has no row for {group}")).split('|').nth(2);
        let mut listed: Vec<&str> = cell.unwrap().split(',').map(|it| it.trim().trim_matches('`')).collect();
        listed.sort_unstable();
        options.sort_unstable();
        assert_eq!(listed, options, "the row of {group} in conf/README.md");
    }
}
