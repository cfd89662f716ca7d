//! What users of the crate see: errors with places and suggestions, origins, sweeps, times, and
//! hostile configs.

use std::sync::Arc;

use rooflens_compose::clock::LocalTime;
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::value::{Int, Value, ValueSource as Written};
use rooflens_compose::{
    ComposeError, ComposeRequest, Composer, Composition, CompositionView, Host, Mode, yaml,
};

const TREE: &[(&str, &str)] = &[
    ("config.yaml", "defaults:\n  - _self_\n  - model: small\n\nlr: 0.1\nout: ${now:%Y}/${model.name}\n"),
    ("model/small.yaml", "name: small\nlayers: 2\n"),
    ("model/large.yaml", "name: large\nlayers: 9\n"),
];

/// 2024-02-29 12:34:56.
const NOON: i64 = 1_709_210_096;

pub(crate) fn composer(files: &[(&str, &str)]) -> Composer {
    let source = ConfigSource::memory(files.iter().copied());
    Composer::new(SearchPath::new(source)).with_host(Host::fixed(LocalTime::from_unix(NOON, 0, 0)))
}

fn compose(files: &[(&str, &str)], overrides: &[&str]) -> Result<Composition, ComposeError> {
    composer(files).compose(&ComposeRequest::new("config", overrides.iter().copied()))
}

fn config(text: &str) -> Result<Composition, ComposeError> {
    compose(&[("config.yaml", text)], &[])
}

/// An error as a user sees it: place, line, message, hint.
fn told(error: &ComposeError) -> (String, String, String, Option<String>) {
    let place = error.place.as_deref();
    (
        place.map(ToString::to_string).unwrap_or_default(),
        place.map(|place| place.excerpt.clone()).unwrap_or_default(),
        error.to_string(),
        error.hint(),
    )
}

#[test]
fn errors_name_place_line_and_nearest_choice() {
    let wrong = compose(&[TREE[1], ("config.yaml", "a: 1\ndefaults:\n  - model: smal\n")], &[]);
    let (place, line, message, hint) = told(&wrong.unwrap_err());
    assert_eq!(place, "config.yaml:3:5");
    assert_eq!(line, "  - model: smal");
    assert!(
        message.starts_with("in 'config': there is no config 'model/smal'\noptions of 'model':\n  small")
    );
    assert_eq!(hint.as_deref(), Some("did you mean 'small'?"));

    let (place, line, message, hint) = told(&compose(TREE, &["model=lrage"]).unwrap_err());
    assert_eq!((place.as_str(), line.as_str()), ("command line", "model=lrage"));
    assert!(message.contains("there is no config 'model/lrage'"));
    assert_eq!(hint.as_deref(), Some("did you mean 'large'?"));

    let (_, line, message, hint) = told(&compose(TREE, &["model.layer=3"]).unwrap_err());
    assert_eq!(line, "model.layer=3");
    assert_eq!(message, "there is no key 'model.layer' to change");
    assert_eq!(hint.as_deref(), Some("did you mean 'layers'?"));

    let (_, _, _, hint) = told(&compose(TREE, &["layers=3"]).unwrap_err());
    assert_eq!(hint.as_deref(), Some("did you mean 'model.layers'?"));

    let (_, _, message, hint) = told(&compose(TREE, &["momentum=3"]).unwrap_err());
    assert_eq!(message, "there is no key 'momentum' to change");
    assert_eq!(hint.as_deref(), Some("to add it use +momentum=3"));

    let (_, _, _, hint) = told(&compose(TREE, &["+lr=3"]).unwrap_err());
    assert_eq!(hint.as_deref(), Some("to change it use lr=3; to add or change it use ++lr=3"));

    let clash = [("config.yaml", "defaults:\n  - base\n  - _self_\nd:\n  p: 1\n"), ("base.yaml", "d: [3]\n")];
    let (place, line, message, _) = told(&compose(&clash, &[]).unwrap_err());
    assert_eq!((place.as_str(), line.as_str()), ("config.yaml:5:3", "  p: 1"));
    assert_eq!(message, "in 'config': 'd' is a list and cannot be merged with a mapping");

    let (place, line, message, hint) = told(&config("a: 1\nhydra:\n  job: {nmae: x}\n").unwrap_err());
    assert_eq!((place.as_str(), line.as_str()), ("config.yaml:3:15", "  job: {nmae: x}"));
    assert_eq!(message, "'hydra.job' has no field 'nmae'");
    assert_eq!(hint.as_deref(), Some("did you mean 'name'?"));

    let (place, _, message, _) = told(&config("ok: 1\nbad: ${x\n").unwrap_err());
    assert_eq!(place, "config.yaml:2:6");
    assert!(message.contains("unexpected end of text"), "{message}");
}

#[test]
fn every_value_knows_where_it_was_written() {
    let made = compose(TREE, &["model=large", "model.layers=7", "+extra={a: [1]}"]).unwrap();
    let origin = |keys: &[&str]| made.config.get(keys).unwrap().origin.clone();
    let name = origin(&["model", "name"]);
    assert_eq!((name.source, name.line, name.column), (Written::File("model/large.yaml".into()), 1, 7));
    assert_eq!(origin(&["lr"]).line, 5);
    assert_eq!(origin(&["model", "layers"]).source, Written::CommandLine("model.layers=7".into()));
    assert_eq!(origin(&["extra", "a"]).source, Written::CommandLine("+extra={a: [1]}".into()));
    assert_eq!(made.hydra.get(&["verbose"]).unwrap().origin.source, Written::BuiltIn);
}

#[test]
fn a_sweep_has_every_combination_and_one_time() {
    let composer = composer(TREE);
    let request = ComposeRequest::new(
        "config",
        ["model=small,large", "lr=range(1,3)", "hydra.run.dir=x", "out='a,${lr}'"],
    );
    let hint = composer.compose(&request).unwrap_err().hint().unwrap();
    assert!(hint.starts_with("for a list write key=[a,b]"), "{hint}");
    let plan = composer.multirun(&request).unwrap();
    let jobs: Vec<String> = plan.batches.concat().iter().map(|job| job.overrides.join(" ")).collect();
    assert_eq!(
        jobs,
        [
            "model=small lr=1 out='a,${lr}'",
            "model=small lr=2 out='a,${lr}'",
            "model=large lr=1 out='a,${lr}'",
            "model=large lr=2 out='a,${lr}'",
        ]
    );
    let job = composer.job(&plan, &plan.batches[0][2]).unwrap();
    assert_eq!(job.hydra.get(&["job", "num"]).unwrap().value, Value::Int(Int::Small(2)));
    assert_eq!(job.overrides.hydra, ["hydra.run.dir=x"]);
    assert_eq!(
        job.value_at("hydra.job.override_dirname").unwrap().unwrap().as_str(),
        Some("lr=1,model=large,out='a,1'")
    );
    assert_eq!(
        job.value_at("hydra.sweep.dir").unwrap().unwrap().as_str(),
        Some("multirun/2024-02-29/12-34-56")
    );
    assert_eq!(job.value_at("hydra.sweep.subdir").unwrap().unwrap().value, Value::Int(Int::Small(2)));

    let batched = ComposeRequest::new("config", ["lr=1,2,3", "hydra.sweeper.max_batch_size=2"]);
    let sizes: Vec<usize> = composer.multirun(&batched).unwrap().batches.iter().map(Vec::len).collect();
    assert_eq!(sizes, [2, 1]);
}

#[test]
fn the_clock_is_read_once_in_a_run() {
    let ticks = Arc::new(std::sync::atomic::AtomicI64::new(0));
    let shared = Arc::clone(&ticks);
    let mut host = Host::fixed(LocalTime::from_unix(0, 0, 0));
    host.clock = Arc::new(move || {
        LocalTime::from_unix(shared.fetch_add(1, std::sync::atomic::Ordering::Relaxed), 0, 0)
    });
    let source = ConfigSource::memory([("config.yaml", "a: ${now:%S}\nb: ${now:%S}\n")]);
    let composer = Composer::new(SearchPath::new(source)).with_host(host);
    let request = ComposeRequest::new("config", ["a=1,${now:%S}"]);
    let plan = composer.multirun(&ComposeRequest { mode: Mode::Multirun, ..request }).unwrap();
    let job = composer.job(&plan, &plan.batches[0][0]).unwrap();
    assert_eq!(job.value_at("b").unwrap().unwrap().as_str(), Some("00"));
    let again = composer.job(&plan, &plan.batches[0][0]).unwrap();
    assert_eq!(again.value_at("b").unwrap().unwrap().as_str(), Some("00"));
    let other = composer.compose(&ComposeRequest::new("config", ["+c=1"])).unwrap();
    assert_eq!(yaml::dump(&other.resolved().unwrap()), "a: '01'\nb: '01'\nc: 1\n");
}

#[test]
fn info_is_printed_as_hydra_prints_it() {
    let made = compose(TREE, &["model=large"]).unwrap();
    let tree = made.defaults_tree_text();
    assert!(tree.starts_with(
        "\nDefaults Tree\n*************\n<root>:\n  hydra/config:\n    hydra/output: default\n"
    ));
    assert!(tree.ends_with("    hydra/callbacks: null\n    hydra/env: default\n    _self_\n  config:\n    _self_\n    model: large\n"));
    let table = made.defaults_text();
    assert!(
        table.contains("| config                      |                     | True   | <root>       |\n"),
        "{table}"
    );
    assert!(made.search_path_text().starts_with(
        "\nConfig search path\n******************\n| Provider | Search path      |\n-------------------------------\n| hydra    | pkg://hydra.conf |\n"
    ));
}

#[test]
fn a_package_is_shown_alone() {
    let made = compose(TREE, &[]).unwrap();
    let show = |package, resolve| made.show(CompositionView::Job, Some(package), resolve);
    assert_eq!(show("model", false).unwrap(), "# @package model\nname: small\nlayers: 2\n");
    assert_eq!(show("model.layers", false).unwrap(), "2\n");
    assert_eq!(show("out", false).unwrap(), "2024/small\n");
    assert_eq!(
        show("_global_", true).unwrap(),
        "lr: 0.1\nout: 2024/small\nmodel:\n  name: small\n  layers: 2\n"
    );
    assert_eq!(show("modle", false).unwrap_err().to_string(), "there is no package 'modle' in the config");
    assert!(
        made.show(CompositionView::Hydra, None, false)
            .unwrap()
            .starts_with("hydra:\n  run:\n    dir: outputs/${now:%Y-%m-%d}")
    );
}

#[test]
fn resolvers_of_a_project_are_called() {
    let sum = |arguments: &[Value]| {
        let add = |total: i64, value: &Value| match value {
            Value::Int(Int::Small(small)) => Ok(total + small),
            other => Err(format!("cannot add {}", other.kind())),
        };
        arguments.iter().try_fold(0, add).map(|total| Value::Int(Int::Small(total)))
    };
    let files = [("config.yaml", "a: 2\nb: ${sum:${a},40}\n")];
    let made = composer(&files)
        .with_resolver("sum", Arc::new(sum))
        .compose(&ComposeRequest::new("config", ["+c=${sum:x}"]))
        .unwrap();
    assert_eq!(made.value_at("b").unwrap().unwrap().value, Value::Int(Int::Small(42)));
    assert_eq!(made.resolved().unwrap_err().to_string(), "'c': sum: cannot add a string");
    let error = config("a: ${python_version:}\n").unwrap().resolved().unwrap_err();
    assert_eq!(error.to_string(), "'a': there is no resolver 'python_version'");
    let made = config("old: ${oc.deprecated:new}\nnew: 1\n").unwrap();
    assert_eq!(made.value_at("old").unwrap().unwrap().value, Value::Int(Int::Small(1)));
}

#[test]
fn hostile_configs_end_in_an_error() {
    let fails = |text: &str| config(text).and_then(|made| made.resolved()).unwrap_err().to_string();
    assert!(fails("a: ${b}\nb: ${a}\n").contains("refers to itself"));
    assert!(fails("a: ${a.b}\n").contains("deeper than 100"));
    assert!(fails("a:\n  b: ${a}\n").contains("contains it"));
    assert!(fails("a:\n  x: ${b}\nb:\n  y: ${a}\n").contains("deeper than 100"));
    assert!(fails("a: ${oc.select:a}\n").contains("deeper than 100"));
    assert!(fails("a: ${oc.decode:${b}}\nb: '${oc.decode:${b}}'\n").len() > 1);

    // Forty doublings: a billion values, or a terabyte of text.
    let doubled = |line: &dyn Fn(usize) -> String| {
        (1..40).fold("k0: [x]\n".to_owned(), |text, level| text + &line(level))
    };
    let lists = doubled(&|level| format!("k{level}: ['${{k{}}}', '${{k{}}}']\n", level - 1, level - 1));
    assert!(fails(&lists).contains("more than 1000000"));
    let texts = doubled(&|level| format!("k{level}: ${{k{}}}${{k{}}}\n", level - 1, level - 1));
    assert!(fails(&texts).contains("more than"));

    let circle =
        [("config.yaml", "defaults: [a]\n"), ("a.yaml", "defaults: [b]\n"), ("b.yaml", "defaults: [a]\n")];
    assert!(compose(&circle, &[]).unwrap_err().to_string().contains("deeper than 100"));
    let levels: Vec<(String, String)> = (0..30)
        .map(|level| (format!("l{level}.yaml"), format!("defaults: [l{0}@a, l{0}@b]\n", level + 1)))
        .chain([("l30.yaml".into(), "x: 1\n".into()), ("config.yaml".into(), "defaults: [l0]\n".into())])
        .collect();
    let levels: Vec<(&str, &str)> =
        levels.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert!(compose(&levels, &[]).unwrap_err().to_string().contains("more than 100000 configs"));

    let jobs = ComposeRequest::new("config", ["a=range(1000)", "+b=range(1000)"]);
    let error = composer(&[("config.yaml", "a: 1\n")]).multirun(&jobs).unwrap_err();
    assert_eq!(error.to_string(), "the sweep has more than 100000 jobs");

    // As deep as a file may be, through every step.
    let deep = format!("a: {}1{}\n", "[".repeat(240), "]".repeat(240));
    config(&deep).unwrap().resolved().unwrap();
    let deep = format!("a: {}1{}\nb: ${{a}}\n", "{k: ".repeat(240), "}".repeat(240));
    let again = [("config.yaml", "defaults: [base, _self_, base]\nb: 1\n"), ("base.yaml", deep.as_str())];
    compose(&again, &[]).unwrap().resolved().unwrap();
}
