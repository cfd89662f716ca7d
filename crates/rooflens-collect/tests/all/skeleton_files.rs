//! The skeleton's files: those of the folder, whole, consistent, and with commands that work.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rooflens_collect::project::skeleton::{self, PackageManager, SkeletonFile, SkeletonOptions};
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::{ComposeRequest, Composer, Mode};

/// Commands that a page may show.
const COMMANDS: [&str; 8] = ["doctor", "config", "assets", "cost", "run", "externals", "hardware", "list"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("skeleton")
}

fn with(environment: Option<PackageManager>) -> Vec<SkeletonFile> {
    skeleton::files(&SkeletonOptions { environment, ..SkeletonOptions::default() })
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
    assert!(missing.is_empty(), "add to FILES in src/skeleton/files.rs: {}", missing.join(", "));
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
    let metadata = files.iter().find(|file| file.path == "datasets/starter/metadata.yaml").unwrap().contents;
    assert!(metadata.contains(&format!("samples: {}\n", samples.len())), "{}", samples.len());
    assert!(metadata.contains(&format!("bytes: {bytes}\n")), "{bytes}");
}

#[test]
fn the_example_model_fits_its_tokenizer() {
    let files = with(None);
    let json = |name: &str| -> serde_json::Value {
        let path = format!("models/tiny-random/{name}");
        serde_json::from_str(files.iter().find(|file| file.path == path).unwrap().contents).unwrap()
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
