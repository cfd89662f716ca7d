//! The skeleton: its files are whole and consistent, its config composes and is explained, its commands work, and a
//! project is made in a new or empty folder, never over something.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use rooflens_collect::project::assets::{AssetKind, Bootstrap, Ignored, ignored};
use rooflens_collect::project::externals::Lock;
use rooflens_collect::project::skeleton::{self, Existing, PackageManager, SkeletonFile, SkeletonOptions};
use rooflens_compose::clock::LocalTime;
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::value::Value;
use rooflens_compose::{ComposeRequest, Composer, Composition, Host, Mode};
use tempfile::TempDir;

use crate::assets_support::read;

/// Commands that a page may show.
const COMMANDS: [&str; 8] = ["doctor", "config", "assets", "cost", "run", "externals", "hardware", "list"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("skeleton")
}

fn with(environment: Option<PackageManager>) -> Vec<SkeletonFile> {
    skeleton::files(&SkeletonOptions { environment, ..SkeletonOptions::default() })
}

fn text(path: &str) -> &'static str {
    with(None).into_iter().find(|file| file.path == path).unwrap().contents
}

fn collect(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name);
        }
    }
}

#[test]
fn the_list_has_every_file_of_the_folder() {
    let mut on_disk = BTreeSet::new();
    collect(&folder(), "", &mut on_disk);
    let environments = [PackageManager::Pixi, PackageManager::Pyproject];
    let listed: BTreeSet<String> =
        environments.into_iter().flat_map(|it| with(Some(it))).map(|file| file.path.to_owned()).collect();
    let missing: Vec<String> = on_disk.difference(&listed).map(|path| format!("file!(\"{path}\")")).collect();
    assert!(missing.is_empty(), "add to FILES in src/project/skeleton.rs: {}", missing.join(", "));
}

#[test]
fn files_are_sorted_and_whole() {
    let files = with(None);
    assert!(files.is_sorted_by(|a, b| a.path < b.path));
    for file in &files {
        assert!(file.contents.is_empty() || file.contents.ends_with('\n'), "{}: no end of line", file.path);
        assert!(!file.contents.contains('\r') && !file.contents.contains('\t'), "{}", file.path);
        for place in [concat!("/ho", "me/"), "/root", "/work", concat!("/Us", "ers/")] {
            assert!(!file.contents.contains(place), "{} names {place}", file.path);
        }
    }
}

#[test]
fn an_environment_adds_one_file() {
    let plain = with(None).len();
    for (environment, name) in
        [(PackageManager::Pixi, "pixi.toml"), (PackageManager::Pyproject, "pyproject.toml")]
    {
        let files = with(Some(environment));
        assert_eq!(files.len(), plain + 1);
        assert!(files.iter().any(|file| file.path == name));
        assert!(files.is_sorted_by(|a, b| a.path < b.path));
    }
}

#[test]
fn links_of_pages_lead_somewhere() {
    let files = with(None);
    let mut links = 0;
    for page in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (_, rest) in
            page.contents.match_indices("](").map(|(at, it)| page.contents.split_at(at + it.len()))
        {
            let target = rest.split(')').next().unwrap();
            if !target.contains("://") {
                let at = folder().join(page.path).parent().unwrap().join(target);
                assert!(at.exists(), "{}: {target}", page.path);
                links += 1;
            }
        }
    }
    assert!(links > 5);
}

/// The commands that pages show as ones to paste, and those of the tasks, each with its place.
fn commands() -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    for file in with(Some(PackageManager::Pixi)).into_iter().chain(with(Some(PackageManager::Pyproject))) {
        let mut pasted = false;
        for line in file.contents.lines() {
            let trimmed = line.trim();
            if trimmed.starts_with("```") {
                pasted = trimmed == "```sh";
            }
            let command = match line.split_once("cmd = \"") {
                Some((_, rest)) => rest.split('"').next(),
                None => Some(trimmed).filter(|_| pasted && !trimmed.starts_with("```")),
            };
            found.extend(command.filter(|it| !it.is_empty()).map(|command| (file.path, command)));
        }
    }
    found
}

#[test]
fn commands_of_pages_and_tasks_are_ours_and_compose() {
    let composer = Composer::new(SearchPath::new(ConfigSource::folder(folder().join("conf"))));
    let commands = commands();
    assert!(commands.len() > 20, "{commands:?}");
    for (path, command) in commands {
        let words: Vec<&str> = command.split(' ').collect();
        // What only a build of its own can give is set up by pip, in the task's environment.
        if command.starts_with("python -m pip install ") {
            continue;
        }
        assert_eq!(words[0], "rooflens", "{path}: {command}");
        assert!(COMMANDS.contains(&words[1]), "{path}: {command}");
        if words[1] != "run" && words[1] != "config" {
            continue;
        }
        let mut request = ComposeRequest::new("config", words.iter().filter(|it| it.contains('=')).copied());
        if words.contains(&"-m") {
            request.mode = Mode::Multirun;
        }
        composer.compose(&request).unwrap_or_else(|error| panic!("{path}: {command}: {error}"));
    }
}

/// The manifests as tables of keys: the lines below each `[table]`.
fn section(environment: PackageManager, table: &str) -> Vec<&'static str> {
    let name = if environment == PackageManager::Pixi { "pixi.toml" } else { "pyproject.toml" };
    let file = with(Some(environment)).into_iter().find(|file| file.path == name).unwrap();
    let header = format!("[{table}]");
    let lines = file.contents.lines().skip_while(|line| *line != header).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| line.contains(" = ")).collect()
}

#[test]
fn parity_004_tasks_have_the_names_that_users_know() {
    for (environment, table) in
        [(PackageManager::Pixi, "tasks"), (PackageManager::Pyproject, "tool.pixi.tasks")]
    {
        let tasks = section(environment, table);
        for name in
            ["stage1-run", "stage1-run-no-static", "stage2-profile", "nsys", "ncu", "direct-infer-dev20"]
        {
            let task = tasks.iter().find(|task| task.starts_with(&format!("{name} = ")));
            assert!(task.is_some_and(|task| task.contains("cmd = \"rooflens run ")), "{name}: {tasks:?}");
        }
    }
}

#[test]
fn parity_005_every_environment_pins_its_packages() {
    let pins = |lines: &[&str]| {
        let packages = lines.iter().filter(|line| !line.starts_with("pytorch-triton-rocm"));
        packages.filter(|line| !line.contains("==")).copied().collect::<Vec<&str>>().join("; ")
    };
    for name in ["cpu", "cu124", "cu128", "rocm", "vllm"] {
        let pixi = section(PackageManager::Pixi, &format!("feature.{name}.pypi-dependencies"));
        assert!(!pixi.is_empty(), "{name}");
        assert_eq!(pins(&pixi), "", "{name}");
        let environments = section(PackageManager::Pixi, "environments");
        assert!(environments.iter().any(|line| line.starts_with(&format!("{name} = "))), "{name}");
    }
    let extras = section(PackageManager::Pyproject, "project.optional-dependencies");
    assert_eq!(pins(&extras), "");
    let cu124 = extras.iter().find(|line| line.starts_with("cu124 = ")).unwrap();
    assert!(cu124.contains("torch==2.5.1"), "{cu124}");
    assert!(section(PackageManager::Pixi, "environments").contains(&"default = [\"cu124\", \"pip\"]"));
}

#[test]
fn parity_006_an_environment_for_blackwell_is_set_up_and_verified_by_tasks() {
    let tasks = section(PackageManager::Pixi, "feature.cu128.tasks");
    assert!(tasks.iter().any(|task| task.starts_with("setup-rtx5090 = ")), "{tasks:?}");
    for (environment, table) in [
        (PackageManager::Pixi, "feature.cu128.tasks"),
        (PackageManager::Pyproject, "tool.pixi.feature.cu128.tasks"),
    ] {
        let tasks = section(environment, table);
        let verify = tasks.iter().find(|task| task.starts_with("verify-rtx5090 = ")).unwrap();
        assert!(verify.contains("rooflens doctor --deep"), "{verify}");
    }
}

#[test]
fn the_example_dataset_is_as_large_as_it_says() {
    let files = with(None);
    let samples: Vec<&SkeletonFile> =
        files.iter().filter(|file| file.path.starts_with("datasets/starter/source-data/")).collect();
    let bytes: usize = samples.iter().map(|file| file.contents.len()).sum();
    let metadata = text("datasets/starter/metadata.yaml");
    assert!(metadata.contains(&format!("samples: {}\n", samples.len())), "{}", samples.len());
    assert!(metadata.contains(&format!("bytes: {bytes}\n")), "{bytes}");
}

#[test]
fn the_example_model_fits_its_tokenizer() {
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(text(&format!("models/tiny-random/{name}"))).unwrap()
    };
    let (config, tokenizer) = (json("config.json"), json("tokenizer.json"));
    let vocabulary = tokenizer["model"]["vocab"].as_object().unwrap();
    assert_eq!(config["vocab_size"], vocabulary.len());
    for (token, key) in
        [("<|bos|>", "bos_token_id"), ("<|eos|>", "eos_token_id"), ("<|pad|>", "pad_token_id")]
    {
        assert_eq!(config[key], vocabulary[token]);
    }
    assert_eq!(config["max_position_embeddings"], json("tokenizer_config.json")["model_max_length"]);
}

/// The file with its examples instead of the empty lists.
fn with_examples() -> Bootstrap {
    let mut lines = Vec::new();
    let mut examples: Vec<String> = Vec::new();
    for line in text("bootstrap.yaml").lines() {
        match (line.strip_prefix("#   "), line.strip_suffix(": []")) {
            (Some(example), _) if !example.starts_with("rooflens ") => examples.push(example.to_owned()),
            (_, Some(section)) => {
                lines.push(format!("{section}:"));
                lines.append(&mut examples);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    read(&lines.join("\n"))
}

#[test]
fn nothing_has_to_be_linked_for_the_first_run() {
    assert!(read(text("bootstrap.yaml")).assets.is_empty());
    assert_eq!(Lock::parse(text("third_party/externals.lock")).unwrap(), Lock::default());
}

#[test]
fn its_examples_can_be_taken_as_they_are() {
    let assets = with_examples().assets;
    let names: Vec<(AssetKind, &str)> = assets.iter().map(|it| (it.kind, it.name.as_str())).collect();
    let (model, dataset) = (AssetKind::Model, AssetKind::Dataset);
    let models = ["qwen3-0.6b", "in-house", "deepseek_ocr", "qwen2_5_7b", "llama3_70b"];
    let datasets = ["pages", "omnidocbench"];
    let expected = models.map(|name| (model, name)).into_iter().chain(datasets.map(|name| (dataset, name)));
    assert_eq!(names, expected.collect::<Vec<_>>());
}

#[test]
fn git_tracks_nothing_that_is_linked_or_unpacked() {
    let place = temporary();
    skeleton::write(place.path(), &PLAIN).unwrap();
    git(place.path(), &["init", "-q"]);
    for asset in with_examples().assets {
        let link = match asset.kind {
            AssetKind::Model => Path::new("models").join(&asset.name),
            AssetKind::Dataset => Path::new("datasets").join(&asset.name).join("source-data"),
        };
        assert_eq!(ignored(place.path(), &link, false), Ignored::Yes, "{}", asset.name);
    }
    assert_eq!(ignored(place.path(), Path::new("datasets/pages/images"), true), Ignored::Yes);
}

const STAGES: [&str; 5] = ["torch_profiler", "static_analysis", "nsys", "ncu", "direct_inference"];

fn configs() -> BTreeMap<&'static str, &'static str> {
    let conf =
        with(None).into_iter().filter_map(|file| Some((file.path.strip_prefix("conf/")?, file.contents)));
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
    let readme = text("conf/README.md");
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

const PLAIN: SkeletonOptions = SkeletonOptions { environment: None, existing: Existing::Refuse };
const COMPLETE: SkeletonOptions = SkeletonOptions { environment: None, existing: Existing::Complete };

fn temporary() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_folder_gets_every_file() {
    let place = temporary();
    let folder = place.path().join("some/new/project");
    let options = SkeletonOptions { environment: Some(PackageManager::Pixi), ..PLAIN };
    let written = skeleton::write(&folder, &options).unwrap();
    let files = skeleton::files(&options);
    assert_eq!(written.made, files.iter().map(|file| file.path).collect::<Vec<_>>());
    assert!(written.kept.is_empty());
    for file in files {
        assert_eq!(fs::read_to_string(folder.join(file.path)).unwrap(), file.contents);
    }
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let place = temporary();
    for name in ["a", "b", "c", "d", "e"] {
        fs::write(place.path().join(name), "mine").unwrap();
    }
    let error = skeleton::write(place.path(), &PLAIN).unwrap_err();
    assert!(error.to_string().ends_with("is not empty: it has a, b, c and 2 more"), "{error}");
    assert!(error.hint.unwrap().contains("--force"));
    assert_eq!(entries(place.path()), ["a", "b", "c", "d", "e"]);
}

#[test]
fn completing_keeps_what_is_there() {
    let place = temporary();
    fs::write(place.path().join("README.md"), "mine").unwrap();
    let written = skeleton::write(place.path(), &COMPLETE).unwrap();
    assert_eq!(written.kept, ["README.md"]);
    assert_eq!(written.made.len() + 1, skeleton::files(&COMPLETE).len());
    assert_eq!(fs::read_to_string(place.path().join("README.md")).unwrap(), "mine");

    let again = skeleton::write(place.path(), &COMPLETE).unwrap();
    assert!(again.made.is_empty());
    assert_eq!(again.kept.len(), skeleton::files(&COMPLETE).len());
}

#[test]
fn a_file_or_folder_in_the_place_of_the_other_is_in_the_way() {
    let refused = |folder: &Path, options: &SkeletonOptions, why: &str| {
        let error = skeleton::write(folder, options).unwrap_err();
        assert!(error.message.contains(why), "{error}");
    };
    let place = temporary();
    fs::write(place.path().join("conf"), "mine").unwrap();
    refused(place.path(), &COMPLETE, "found a file");
    refused(&place.path().join("conf"), &PLAIN, "expected a folder");
    assert_eq!(entries(place.path()), ["conf"]);
    let place = temporary();
    fs::create_dir(place.path().join("bootstrap.yaml")).unwrap();
    refused(place.path(), &COMPLETE, "expected a file");
    assert_eq!(entries(place.path()), ["bootstrap.yaml"]);
}

#[test]
fn nothing_is_written_through_a_link() {
    let (place, outside) = (temporary(), temporary());
    symlink(outside.path(), place.path().join("conf")).unwrap();
    let error = skeleton::write(place.path(), &COMPLETE).unwrap_err();
    assert!(error.message.contains("found a link"), "{error}");
    assert!(entries(outside.path()).is_empty());

    fs::remove_file(place.path().join("conf")).unwrap();
    symlink(outside.path().join("elsewhere.md"), place.path().join("README.md")).unwrap();
    let written = skeleton::write(place.path(), &COMPLETE).unwrap();
    assert_eq!(written.kept, ["README.md"]);
    assert!(entries(outside.path()).is_empty());
}

#[test]
fn the_project_itself_may_be_a_link() {
    let (place, outside) = (temporary(), temporary());
    let folder = place.path().join("project");
    symlink(outside.path(), &folder).unwrap();
    skeleton::write(&folder, &PLAIN).unwrap();
    assert!(outside.path().join("conf/config.yaml").is_file());
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    // Whatever the machine's git is set to ignore must not matter here.
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn untracked(folder: &Path) -> Vec<String> {
    git(folder, &["ls-files", "--others", "--exclude-standard"]).lines().map(str::to_owned).collect()
}

#[test]
fn git_tracks_the_project_and_nothing_that_is_linked_or_made() {
    let (place, outside) = (temporary(), temporary());
    fs::write(outside.path().join("sample.txt"), "").unwrap();
    let written = skeleton::write(place.path(), &PLAIN).unwrap();
    git(place.path(), &["init", "-q"]);
    assert_eq!(untracked(place.path()), written.made);
    git(place.path(), &["add", "--all"]);

    let at = |path: &str| {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    symlink(outside.path(), at("models/linked")).unwrap();
    symlink(outside.path(), at("datasets/whole")).unwrap();
    symlink(outside.path(), at("datasets/linked/source-data")).unwrap();
    symlink(outside.path(), at("datasets/linked/deeper/link")).unwrap();
    fs::write(at("datasets/linked/images/1.png"), "").unwrap();
    fs::write(at("models/tiny-random/model.safetensors"), "").unwrap();
    fs::write(at("runs/first/tiny-random/20261115-063000/plan.json"), "").unwrap();
    fs::write(at("conf/local/default.yaml"), "").unwrap();
    assert_eq!(untracked(place.path()), Vec::<String>::new());

    fs::write(at("datasets/linked/metadata.yaml"), "").unwrap();
    fs::write(at("datasets/linked/subset-1k/metadata.yaml"), "").unwrap();
    fs::write(at("datasets/linked/subset-1k/files.txt"), "").unwrap();
    symlink(outside.path(), at("datasets/linked/subset-1k/link")).unwrap();
    fs::write(at("models/own/config.json"), "").unwrap();
    let wanted = [
        "datasets/linked/metadata.yaml",
        "datasets/linked/subset-1k/files.txt",
        "datasets/linked/subset-1k/metadata.yaml",
        "models/own/config.json",
    ];
    assert_eq!(untracked(place.path()), wanted);

    // The example's own samples may be replaced by a link, too.
    git(place.path(), &["rm", "-q", "-r", "--cached", "datasets/starter/source-data"]);
    fs::remove_dir_all(place.path().join("datasets/starter/source-data")).unwrap();
    symlink(outside.path(), at("datasets/starter/source-data")).unwrap();
    assert_eq!(untracked(place.path()), wanted);
}
