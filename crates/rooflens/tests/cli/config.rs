//! Projects and their configs.

use super::*;

fn tree() -> Folder {
    let folder = Folder::new();
    folder.write(
        "conf/config.yaml",
        b"defaults:\n  - model: small\n  - _self_\nseed: 3\nname: run-${model.layers}\n",
    );
    folder.write("conf/model/small.yaml", b"layers: 2\n");
    folder.write("conf/model/big.yaml", b"layers: 96\n");
    folder
}

fn config(folder: &Folder, args: &[&str]) -> Answer {
    let conf = folder.text("conf");
    let mut all = vec!["config", "show", "--config-dir", &conf];
    all.extend(args);
    run(&all)
}

#[test]
fn a_config_is_composed() {
    let folder = tree();
    assert_eq!(config(&folder, &[]).fine(), "model:\n  layers: 2\nseed: 3\nname: run-${model.layers}\n");
    assert_eq!(
        config(&folder, &["model=big", "seed=4", "+new=[1,a]", "--resolve"]).fine(),
        "model:\n  layers: 96\nseed: 4\nname: run-96\nnew:\n- 1\n- a\n"
    );
    assert_eq!(config(&folder, &["--package", "model"]).fine(), "# @package model\nlayers: 2\n");
    let groups = run(&["config", "groups", "--config-dir", &folder.text("conf")]).fine();
    assert_eq!(groups, "model: big, small\n");
}

#[test]
fn every_value_knows_its_place() {
    let folder = tree();
    let text = config(&folder, &["seed=4", "--origins"]).fine();
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
    assert!(line("model.layers: 2").ends_with("model/small.yaml:1:9"), "{text}");
    assert!(line("seed: 4").ends_with("# command line: seed=4"), "{text}");
    let json = config(&folder, &["--origins", "--format", "json"]).json();
    assert_eq!(json["config"]["model"]["layers"], 2);
    assert_eq!(json["choices"]["model"], "small");
    assert!(json["origins"]["seed"].as_str().unwrap().ends_with("config.yaml:4:7"));
}

#[test]
fn a_sweep_has_its_jobs_in_order() {
    let folder = tree();
    let text = config(&folder, &["--multirun", "model=small,big", "seed=1,2", "--package", "seed"]).fine();
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(
        heads,
        [
            "# job 0: model=small seed=1",
            "# job 1: model=small seed=2",
            "# job 2: model=big seed=1",
            "# job 3: model=big seed=2"
        ]
    );
}

#[test]
fn what_is_wrong_is_told_with_what_helps() {
    let folder = tree();
    for (args, fact, hint) in [
        (vec!["model=bigg"], "model/bigg", "did you mean 'big'?"),
        (vec!["sede=4"], "sede", "did you mean 'seed'?"),
        (vec!["seed=1,2"], "seed=1,2", "--multirun"),
    ] {
        let answer = config(&folder, &args);
        assert_eq!(answer.code, 2, "{}", answer.stderr);
        assert!(answer.stderr.contains(fact), "{}", answer.stderr);
        assert!(answer.hint().contains(hint), "{}", answer.stderr);
        assert!(answer.stdout.is_empty());
    }
    let answer = run(&["config", "show", "--config-dir", &folder.text("nowhere")]);
    assert_eq!(answer.code, 2);
    assert!(answer.hint().contains("rooflens init"));
}

#[test]
fn a_new_project_works_at_once() {
    let folder = Folder::new();
    let project = folder.text("first");
    run(&["init", &project]).fine();
    let conf = format!("{project}/conf");
    let text = run(&["config", "show", "--config-dir", &conf]).fine();
    assert!(text.contains("name: tiny-random"), "{text}");
    let cost = run(&["cost", &format!("{project}/models/tiny-random"), "--format", "json"]).json();
    assert!(cost["params"]["total"].as_u64().unwrap() > 0);
    // Nothing is overwritten.
    let again = run(&["init", &project]);
    assert_eq!(again.code, 2);
    assert!(again.hint().contains("--force"));
    let kept = run(&["init", &project, "--force", "--format", "json"]).json();
    assert_eq!(kept["made"].as_array().unwrap().len(), 0);
}
