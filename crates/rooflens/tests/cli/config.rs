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
    let groups = text(&["config", "groups", "--config-dir", &folder.text("conf")]);
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
        answer.fails(2, fact).hints(hint);
        assert!(answer.stdout.is_empty());
    }
    run(&["config", "show", "--config-dir", &folder.text("nowhere")]).fails(2, "").hints("rooflens init");
}

#[test]
fn a_new_project_works_at_once() {
    let folder = Folder::new();
    let project = folder.text("first");
    text(&["init", &project]);
    let conf = format!("{project}/conf");
    let text = text(&["config", "show", "--config-dir", &conf]);
    assert!(text.contains("name: tiny-random"), "{text}");
    let cost = json(&["cost", &format!("{project}/models/tiny-random")]);
    assert!(cost["params"]["total"].as_u64().unwrap() > 0);
    // Nothing is overwritten.
    run(&["init", &project]).fails(2, "").hints("--force");
    let kept = json(&["init", &project, "--force"]);
    assert_eq!(kept["made"].as_array().unwrap().len(), 0);
}

fn write(folder: &Folder, args: &[&str]) -> Answer {
    let all: Vec<&str> = ["config", "write"].iter().chain(args).copied().collect();
    Answer::of(rooflens(&all).current_dir(folder.path("")).output().unwrap())
}

#[test]
fn a_job_has_a_folder_that_says_how_it_was_composed() {
    let folder = tree();
    let out = write(&folder, &["seed=4", "hydra.run.dir=out/${model.layers}"]).fine();
    assert!(out.ends_with("/out/2\n"), "{out}");
    let job = folder.path("out/2");
    assert_eq!(files(&job), [".rooflens/config.yaml", ".rooflens/overrides.yaml", ".rooflens/rooflens.yaml"]);
    let read = |name: &str| std::fs::read_to_string(job.join(".rooflens").join(name)).unwrap();
    assert_eq!(read("config.yaml"), "model:\n  layers: 2\nseed: 4\nname: run-2\n");
    assert_eq!(read("overrides.yaml"), "- seed=4\n");
    let provenance = read("rooflens.yaml");
    assert!(provenance.contains("  model: small\n"), "{provenance}");
    assert!(provenance.contains("  seed: 'command line: seed=4'\n"), "{provenance}");
    assert!(provenance.contains("model/small.yaml:1:9\n"), "{provenance}");
    // A config that was written is a config to start from.
    let again = text(&["config", "show", "--config-dir", job.join(".rooflens").to_str().unwrap()]);
    assert_eq!(again, read("config.yaml"));
}

#[test]
fn the_jobs_of_a_sweep_are_numbered() {
    let folder = tree();
    let sweep = ["-m", "model=small,big", "seed=1,2", "hydra.sweep.dir=all", "--hydra", "--format", "json"];
    let made = write(&folder, &sweep).json();
    let jobs = made["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 4);
    for (number, job) in jobs.iter().enumerate() {
        assert_eq!(job["number"], number);
        assert!(job["folder"].as_str().unwrap().ends_with(&format!("/all/{number}")));
    }
    assert_eq!(jobs[1]["overrides"], serde_json::json!(["model=small", "seed=2"]));
    let all = files(&folder.path("all"));
    assert_eq!(all.len(), 4 * 6 + 1);
    assert!(all.contains(&"3/.hydra/hydra.yaml".to_owned()) && all.contains(&"multirun.yaml".to_owned()));
    let text = std::fs::read_to_string(folder.path("all/3/.hydra/config.yaml")).unwrap();
    assert_eq!(text, "model:\n  layers: 96\nseed: 2\nname: run-${model.layers}\n");
}

#[test]
fn a_sweep_with_a_mistake_makes_no_folder() {
    let folder = tree();
    let answer = write(&folder, &["-m", "model=small,bigg", "hydra.sweep.dir=all"]);
    assert_eq!(answer.code, 2);
    assert!(!folder.path("all").exists());
    write(&folder, &["hydra.run.dir=null"]).fails(2, "hydra.run.dir");
}

#[test]
fn a_sweep_for_programs_is_one_document() {
    let folder = tree();
    let json = config(&folder, &["-m", "seed=1,2", "--format", "json"]).json();
    assert_eq!(json["jobs"][1]["number"], 1);
    assert_eq!(json["jobs"][1]["config"]["seed"], 2);
    assert_eq!(json["jobs"][1]["overrides"], serde_json::json!(["seed=2"]));
}

#[test]
fn paths_are_whole_for_hydra_and_short_for_people() {
    let folder = tree();
    let here = |args: &[&str]| Answer::of(rooflens(args).current_dir(folder.path("")).output().unwrap());
    let sources = here(&["config", "show", "--info", "searchpath"]).fine();
    let conf = std::fs::canonicalize(folder.path("conf")).unwrap();
    assert!(sources.contains(&format!("file://{}", conf.display())), "{sources}");
    let origins = here(&["config", "show", "--origins"]).fine();
    assert!(origins.contains("# conf/model/small.yaml:1:9\n"), "{origins}");
    folder.write("conf/model/small.yaml", b"layers: [2\n");
    let wrong = here(&["config", "show"]);
    wrong.fails(2, "  --> conf/model/small.yaml:").fails(2, " | layers: [2\n");
}
