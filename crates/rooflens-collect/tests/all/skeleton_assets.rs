//! The skeleton's `bootstrap.yaml` and lock are what the other modules of this crate read and write.

use std::path::Path;
use std::process::Command;

use rooflens_collect::project::assets::{AssetKind, Bootstrap, Ignored, ignored};
use rooflens_collect::project::externals::Lock;
use rooflens_collect::project::skeleton::{self, SkeletonOptions};

use crate::assets_support::read;

fn text(path: &str) -> &'static str {
    skeleton::files(&SkeletonOptions::default()).into_iter().find(|file| file.path == path).unwrap().contents
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
    let bootstrap = read(text("bootstrap.yaml"));
    assert!(bootstrap.assets.is_empty());
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
    let place = tempfile::tempdir().unwrap();
    skeleton::write(place.path(), &SkeletonOptions::default()).unwrap();
    let made = Command::new("git").args(["init", "-q"]).current_dir(place.path()).status();
    assert!(made.unwrap().success());
    for folder in ["models", "datasets"] {
        let examples = with_examples()
            .assets
            .into_iter()
            .filter(|asset| asset.kind.name() == folder.trim_end_matches('s'));
        for asset in examples {
            let link = match asset.kind {
                AssetKind::Model => Path::new(folder).join(&asset.name),
                AssetKind::Dataset => Path::new(folder).join(&asset.name).join("source-data"),
            };
            assert_eq!(ignored(place.path(), &link, false), Ignored::Yes, "{}", asset.name);
        }
    }
    assert_eq!(ignored(place.path(), Path::new("datasets/pages/images"), true), Ignored::Yes);
}

#[test]
fn the_lock_has_no_sources() {
    assert_eq!(Lock::parse(text("third_party/externals.lock")).unwrap(), Lock::default());
}
