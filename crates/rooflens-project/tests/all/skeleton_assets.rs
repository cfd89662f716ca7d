//! The skeleton's `bootstrap.yaml` and lock are what the other rooms of this crate read and write.

use std::process::Command;

use rooflens_project::assets::{AssetKind, Bootstrap, Git, Ignored, Tracking};
use rooflens_project::externals::Lock;
use rooflens_project::skeleton::{self, SkeletonOptions};

fn text(path: &str) -> &'static str {
    skeleton::files(&SkeletonOptions::default()).into_iter().find(|file| file.path == path).unwrap().contents
}

fn read(text: &str) -> Bootstrap {
    Bootstrap::read(text, "bootstrap.yaml", &|path| panic!("{} is not there", path.display())).unwrap()
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
    assert_eq!(bootstrap.roots.len(), 3);
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
    for asset in with_examples().assets {
        assert_eq!(Git.ignored(place.path(), &asset.target, false), Ignored::Yes, "{}", asset.name);
        for extraction in asset.extract {
            assert_eq!(Git.ignored(place.path(), &extraction.into, true), Ignored::Yes, "{}", asset.name);
        }
    }
}

#[test]
fn the_lock_is_as_an_empty_one_is_written() {
    assert_eq!(text("third_party/externals.lock"), Lock::default().to_text());
}
