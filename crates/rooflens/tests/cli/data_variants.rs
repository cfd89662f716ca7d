//! Variants of datasets in a run, transformed data, JSONL samples, and the tree in a dataset's README.

use super::assets::Place;
use super::run::{OUT, ROWS, only_run, project, run_in};
use super::*;

fn planned(folder: &Folder, args: &[&str]) -> Json {
    let mut all = vec!["--dry-run", "--format", "json"];
    all.extend(args);
    let plan = run_in(folder, &all).json();
    plan["steps"][0]["writes"][0]["content"]["config"]["dataset"].clone()
}

fn assets(folder: &Folder, args: &[&str]) -> Answer {
    let mut all = vec!["assets"];
    all.extend(args);
    Answer::of(rooflens_in(&folder.path("p"), &all).output().unwrap())
}

#[test]
fn parity_049_a_variant_is_used_by_its_name() {
    let folder = project("");
    assets(&folder, &["subset", "starter", "subset-2", "--samples", "2"]).fine();
    let dataset = planned(&folder, &["dataset.variant=subset-2"]);
    assert_eq!(dataset["filelist"], "datasets/starter/subset-2/files.txt");
    assert_eq!(dataset["root"], "datasets/starter/source-data");
    assert_eq!(dataset["variant"], Json::Null, "nothing is left to resolve");
    // The paths of a list start where its metadata say.
    folder.write("p/datasets/starter/pages/a.txt", b"a");
    assets(&folder, &["subset", "starter", "subset-pages", "--from", "pages"]).fine();
    let dataset = planned(&folder, &["dataset.variant=subset-pages"]);
    assert_eq!(dataset["root"], "datasets/starter/pages");
    // Data of its own, in data/ or beside metadata.yaml.
    folder.write("p/datasets/starter/cleaned/data/1.txt", b"one");
    folder.write("p/datasets/starter/flat/1.txt", b"one");
    assert_eq!(planned(&folder, &["dataset.variant=cleaned"])["root"], "datasets/starter/cleaned/data");
    let flat = planned(&folder, &["dataset.variant=flat"]);
    assert_eq!((&flat["root"], &flat["filelist"]), (&"datasets/starter/flat".into(), &Json::Null));
}

#[test]
fn parity_049_a_variant_that_cannot_be_used_is_told() {
    let folder = project("");
    assets(&folder, &["subset", "starter", "subset-2", "--samples", "2"]).fine();
    let unknown = run_in(&folder, &["--dry-run", "dataset.variant=subset-1"]);
    unknown.fails(2, "the dataset 'starter' has no variant 'subset-1'; there are subset-2");
    assert_eq!(unknown.hint(), "did you mean 'subset-2'?");
    run_in(&folder, &["--dry-run", "dataset.variant=subset-2", "dataset.filelist=x.txt"])
        .fails(2, "dataset.variant and dataset.filelist cannot both be set")
        .hints("dataset.filelist=null");
    std::fs::create_dir(folder.path("p/datasets/starter/empty")).unwrap();
    for (name, fact) in [("empty", "has neither files.txt nor data"), ("../x", "must not have '/'")] {
        run_in(&folder, &["--dry-run", &format!("dataset.variant={name}")]).fails(2, fact);
    }
}

#[test]
fn parity_049_a_run_records_the_variant_and_the_digests_of_its_files() {
    let rows = ROWS.replace("\"kind\":\"measured\",", "\"kind\":\"measured\",\"sample\":\"s.jsonl:2\",");
    let folder = project(&format!("{OUT}{rows}"));
    // The example of FIPS 180-2.
    folder.write("p/datasets/starter/tokenized-x/data/s.jsonl", b"abc");
    folder
        .write("p/datasets/starter/tokenized-x/metadata.yaml", b"parent: source-data\ntransform: by hand\n");
    let args = ["profiling=none", "dataset.variant=tokenized-x", "dataset.kind=jsonl", "dataset.field=text"];
    run_in(&folder, &args).fine();
    let inputs = std::fs::read_to_string(only_run(&folder).join("report/inputs.yaml")).unwrap();
    for line in [
        "  kind: jsonl\n",
        "  field: text\n",
        "  variant: tokenized-x\n",
        "    transform: by hand\n",
        "path: s.jsonl:2\n",
        "bytes: 3\n",
        "sha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n",
    ] {
        assert!(inputs.contains(line), "{line}: {inputs}");
    }
}

#[test]
fn parity_053_jsonl_is_a_kind_of_dataset_with_a_field() {
    let folder = project("");
    let dataset = planned(&folder, &["dataset.kind=jsonl", "dataset.field=request.text"]);
    assert_eq!((&dataset["kind"], &dataset["field"]), (&"jsonl".into(), &"request.text".into()));
    assert_eq!(planned(&folder, &[])["field"], "prompt");
    let wrong = run_in(&folder, &["--dry-run", "dataset.field=3"]);
    assert!(wrong.stderr.contains("dataset.field is 3, not a string"), "{}", wrong.stderr);
    let unknown = run_in(&folder, &["--dry-run", "dataset.kind=jsonlines"]);
    assert_eq!(unknown.hint(), "one of: auto, text, image, jsonl");
}

const EMPTY: &str = "schema: 1\n";
const UPPER: &str =
    "for f in \"$ROOFLENS_PARENT\"/*.txt; do tr a-z A-Z < \"$f\" > \"$ROOFLENS_OUTPUT/${f##*/}\"; done";

fn read(place: &Place, path: &str) -> String {
    std::fs::read_to_string(place.project().join("datasets/starter").join(path)).unwrap()
}

fn variant(place: &Place, args: &[&str]) -> Answer {
    let mut all = vec!["variant", "starter"];
    all.extend(args);
    place.assets(&all)
}

#[test]
fn parity_052_a_command_makes_transformed_data_and_their_metadata() {
    let place = Place::new(EMPTY);
    let before = tree(&place.project());
    let dry = variant(&place, &["variant-upper", "--dry-run", "--", "sh", "-c", UPPER]).fine();
    assert!(dry.contains("ROOFLENS_PARENT=datasets/starter/source-data"), "{dry}");
    assert_eq!(tree(&place.project()), before);
    let made = variant(&place, &["variant-upper", "--", "sh", "-c", UPPER]).fine();
    assert!(made.starts_with("datasets/starter/variant-upper: 6 files ("), "{made}");
    let (old, new) = (read(&place, "source-data/3-code.txt"), read(&place, "variant-upper/data/3-code.txt"));
    assert_eq!(new, old.to_uppercase());
    let metadata = read(&place, "variant-upper/metadata.yaml");
    for line in
        ["parent: source-data\n", "created: '20", "  kind: command\n", "size:\n  files: 6\n  bytes: 2035\n"]
    {
        assert!(metadata.contains(line), "{line}: {metadata}");
    }
    // Another tool comes to the same digest.
    let script = "cd variant-upper/data && LC_ALL=C sha256sum * | sha256sum | cut -d' ' -f1";
    let mut other = Command::new("sh");
    other.args(["-c", script]).current_dir(place.project().join("datasets/starter"));
    let digest = String::from_utf8(other.output().unwrap().stdout).unwrap();
    assert!(metadata.contains(&format!("  sha256: {digest}")), "{digest}: {metadata}");
    // A variant of a variant: the command gets its list.
    place.assets(&["subset", "starter", "subset-2", "--samples", "2"]).fine();
    let copy = "cp \"$ROOFLENS_PARENT_LIST\" \"$ROOFLENS_OUTPUT\"";
    variant(&place, &["variant-list", "--from", "subset-2", "--", "sh", "-c", copy]).fine();
    assert_eq!(read(&place, "variant-list/data/files.txt"), read(&place, "subset-2/files.txt"));
    // What was drawn from transformed data names samples only.
    place.assets(&["subset", "starter", "subset-up", "--from", "variant-upper", "--samples", "1"]).fine();
    assert_eq!(read(&place, "subset-up/files.txt"), "1-question.txt\n");
}

#[test]
fn parity_052_a_command_that_fails_leaves_nothing() {
    let place = Place::new(EMPTY);
    let before = tree(&place.project());
    for (command, fact, hint) in [
        ("echo half > \"$ROOFLENS_OUTPUT/1\"; exit 3", "exit status: 3", "nothing was kept"),
        ("true", "wrote no file", "ROOFLENS_OUTPUT"),
    ] {
        variant(&place, &["variant-x", "--", "sh", "-c", command]).fails(3, fact).hints(hint);
    }
    let absent = variant(&place, &["variant-x", "--", "no-such-program"]);
    assert!(absent.stderr.contains("'no-such-program' cannot be started"), "{}", absent.stderr);
    let parent = variant(&place, &["variant-x", "--from", "source-dta", "--", "true"]);
    assert_eq!(parent.hint(), "did you mean 'source-data'?");
    assert_eq!(variant(&place, &["variant-x"]).code, 2, "neither command nor --transform");
    assert_eq!(tree(&place.project()), before);
}

#[test]
fn parity_052_data_that_are_there_are_recorded_and_verified() {
    let place = Place::new(EMPTY);
    assert!(place.assets(&["verify"]).fine().contains("nothing to verify"));
    place.folder.write("project/datasets/starter/tokenized-x/data/ids.bin", b"12345");
    let words = ["tokenized-x", "--transform", "by scripts/tokenize.py"];
    variant(&place, &words).fine();
    assert!(read(&place, "tokenized-x/metadata.yaml").contains("  text: by scripts/tokenize.py\n"));
    assert_eq!(variant(&place, &words).code, 3, "it is recorded already");
    place.assets(&["subset", "starter", "subset-2", "--samples", "2"]).fine();
    let sound = place.assets(&["verify"]).fine();
    assert!(sound.contains("starter/subset-2     variant  sound    3 files\n"), "{sound}");
    assert!(sound.contains("starter/tokenized-x  variant  sound    1 file\n"), "{sound}");

    // One dataset by its name, though bootstrap.yaml does not have it.
    assert_eq!(place.assets(&["verify", "starter"]).fine(), sound);
    assert_eq!(place.assets(&["verify", "starte"]).code, 2);

    place.folder.write("project/datasets/starter/tokenized-x/data/ids.bin", b"12346");
    let changed = place.assets(&["verify", "--format", "json"]);
    assert_eq!(changed.code, 1);
    let json: Json = serde_json::from_str(&changed.stdout).unwrap();
    assert_eq!((&json["sound"], &json["variants"][1]["verdict"]), (&false.into(), &"faulty".into()));
    assert_eq!(json["variants"][1]["findings"][0]["problem"], "checksum");
    place.folder.write("project/datasets/starter/tokenized-x/data/more.bin", b"1");
    let larger = place.assets(&["verify"]).stdout;
    assert!(larger.contains("metadata.yaml: has 2 files, but should have 1\n"), "{larger}");
    std::fs::remove_file(place.project().join("datasets/starter/source-data/1-question.txt")).unwrap();
    let list = place.assets(&["verify"]).stdout;
    assert!(list.contains("  1-question.txt: cannot be read\n"), "{list}");
    // As others write it by hand.
    place.folder.write("project/datasets/starter/split-x/data/1", b"1");
    let by_hand =
        b"parent: gone\ncreated: '2024-01-20'\ntransform: some\nsize: {samples: 1000, disk_mb: 47.5}\n";
    place.folder.write("project/datasets/starter/split-x/metadata.yaml", by_hand);
    let hand = place.assets(&["verify"]).stdout;
    assert!(hand.contains("metadata.yaml: names the parent 'gone', which is missing\n"), "{hand}");
}

#[test]
fn parity_052_git_keeps_what_describes_transformed_data() {
    let place = Place::new(EMPTY);
    git(&place.project(), &["init", "--quiet"]);
    let kept = variant(&place, &["tokenized-x", "--", "sh", "-c", UPPER]);
    assert_eq!((kept.code, kept.stderr.as_str()), (0, ""));
    place.folder.write("project/datasets/starter/tokenized-x/README.md", b"# tokens\n");
    let told = variant(&place, &["upper", "--", "sh", "-c", UPPER]);
    assert!(told.stderr.contains("tokenized- or variant-"), "{}", told.stderr);
    git(&place.project(), &["add", "."]);
    let tracked =
        git(&place.project(), &["ls-files", "datasets/starter/tokenized-x", "datasets/starter/upper"]);
    assert_eq!(tracked, "datasets/starter/tokenized-x/README.md\ndatasets/starter/tokenized-x/metadata.yaml");
}

#[test]
fn parity_055_the_readme_has_the_first_level_of_source_data() {
    let place = Place::new(EMPTY);
    let source = "project/datasets/starter/source-data";
    place.folder.write(&format!("{source}/images/a/1.png"), &[0; 1500]);
    place.folder.write(&format!("{source}/images/2.png"), &[0; 500]);
    let own = read(&place, "README.md");
    let readme = |args: &[&str]| {
        let mut all = vec!["readme", "starter"];
        all.extend(args);
        place.assets(&all)
    };
    let check = readme(&["--check"]);
    assert_eq!((check.code, check.stdout.as_str()), (1, "datasets/starter/README.md: not up to date\n"));
    assert_eq!(read(&place, "README.md"), own);
    assert_eq!(readme(&[]).fine(), "datasets/starter/README.md: written\n");
    let written = read(&place, "README.md");
    assert!(written.starts_with(&own), "{written}");
    let line = |branch: &str, name: &str, size: &str| format!("{branch} {name:18}  {size}\n");
    let first = line("├──", "1-question.txt", "40 B");
    assert!(written.contains(&format!("```text\nsource-data/\n{first}")), "{written}");
    let last = line("└──", "images/", "2 files, 2.00 kB");
    assert!(written.contains(&format!("{last}```\n\n8 files, ")), "{written}");
    assert_eq!(readme(&[]).fine(), "datasets/starter/README.md: up to date\n");
    assert_eq!(readme(&["--check"]).code, 0);
    // The user's words stay, before and after.
    let path = "project/datasets/starter/README.md";
    place.folder.write(path, format!("mine\n{written}\nmine, too").as_bytes());
    place.folder.write(&format!("{source}/new.txt"), b"new");
    assert_eq!(readme(&["--check"]).code, 1);
    readme(&[]).fine();
    let again = read(&place, "README.md");
    assert!(again.starts_with("mine\n# starter") && again.ends_with("\nmine, too"), "{again}");
    assert!(again.contains(&line("└──", "new.txt", "3 B")), "{again}");
    // Half of the marks: nothing is guessed.
    place.folder.write(path, again.replace("<!-- <<<", "<!--").as_bytes());
    readme(&[]).fails(2, "are not one pair");
    let json = place.assets(&["readme", "starte", "--format", "json"]);
    assert_eq!((json.code, json.hint()), (2, "did you mean 'starter'?"));
}

#[test]
fn parity_055_a_dataset_without_a_readme_gets_one() {
    let place = Place::new(EMPTY);
    place.folder.write("project/datasets/pages/source-data/labels.json", b"[1, 2]");
    let json = place.assets(&["readme", "pages", "--format", "json"]).json();
    assert_eq!(json["schema"]["name"], "rooflens.assets-readme");
    assert_eq!(
        json["tree"]["entries"][0],
        serde_json::json!({"name": "labels.json", "is_folder": false, "files": 1, "bytes": 6})
    );
    let text = std::fs::read_to_string(place.project().join("datasets/pages/README.md")).unwrap();
    assert!(text.starts_with("# pages\n\n<!-- >>> rooflens source-data >>> -->\n"), "{text}");
}
