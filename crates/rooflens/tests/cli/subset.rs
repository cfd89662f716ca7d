//! Variants of datasets.

use super::assets::Place;
use super::*;

const EMPTY: &str = "schema: 1\n";

fn subset(place: &Place, args: &[&str]) -> Answer {
    let mut all = vec!["subset", "starter"];
    all.extend(args);
    place.assets(&all)
}

fn list(place: &Place, variant: &str) -> Vec<String> {
    let path = place.project().join("datasets/starter").join(variant).join("files.txt");
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_subset_is_drawn_once_and_says_where_it_comes_from() {
    let place = Place::new(EMPTY);
    let before = tree(&place.project());
    let words = ["subset-a", "--samples", "3", "--epochs", "2", "--shuffle", "--seed", "7"];
    let dry = subset(&place, &[&words[..], &["--dry-run"]].concat()).fine();
    assert!(dry.contains("\nvariant: subset-a\n"), "{dry}");
    assert_eq!(tree(&place.project()), before);
    let text = subset(&place, &words).fine();
    assert!(text.starts_with("datasets/starter/subset-a: 6 samples in 2 epochs of "), "{text}");
    assert!(text.ends_with("shuffled by seed 7, from 6 files of source-data\n"), "{text}");
    assert_eq!(list(&place, "subset-a").len(), 6);

    let json = subset(&place, &["subset-two", "--samples", "2", "--format", "json"]).json();
    assert_eq!(json["schema"]["name"], "rooflens.assets-subset");
    assert_eq!(json["files"], serde_json::json!(["1-question.txt", "2-instruction.txt"]));
    assert_eq!(json["metadata"]["parent"], "source-data");
    subset(&place, &["subset-one", "--from", "subset-two", "--samples", "1"]).fine();
    assert_eq!(list(&place, "subset-one"), ["1-question.txt"]);
    let own = place.folder.write("own.txt", b"3-code.txt\n6-report.txt\n");
    subset(&place, &["subset-own", "--list", &own]).fine();
    assert_eq!(list(&place, "subset-own"), ["3-code.txt", "6-report.txt"]);

    let made = tree(&place.project());
    subset(&place, &words).fails(0, "already exists");
    subset(&place, &["subset-a", "--samples", "3"]).fails(3, "").hints("another variant name");
    assert_eq!(tree(&place.project()), made);
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let place = Place::new(EMPTY);
    for (args, fact, hint) in [
        (&["x", "--samples", "7"][..], "there are only 6 files", "ask for at most 6"),
        (&["../x"], "variant: '../x'", ""),
        (&["x", "--from", "source-dta"], "has no 'source-dta'", "did you mean 'source-data'?"),
        (&["x", "--seed", "3"], "--shuffle", ""),
    ] {
        let answer = subset(&place, args);
        answer.fails(2, fact).hints(hint);
        assert_eq!(answer.stdout, "", "{args:?}");
    }
}

#[test]
fn git_keeps_a_subset_and_says_where_it_does_not() {
    let place = Place::new(EMPTY);
    git(&place.project(), &["init", "--quiet"]);
    let kept = subset(&place, &["subset-a", "--samples", "1"]);
    assert_eq!(kept.stderr, "");
    let ignored = subset(&place, &["few", "--samples", "1"]);
    assert!(ignored.stderr.contains("subset-few"), "{}", ignored.stderr);
    git(&place.project(), &["add", "."]);
    let tracked = git(&place.project(), &["ls-files", "datasets/starter"]);
    assert!(tracked.contains("subset-a/files.txt") && !tracked.contains("few/"), "{tracked}");
}
