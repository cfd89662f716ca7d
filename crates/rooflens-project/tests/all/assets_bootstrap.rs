//! `bootstrap.yaml`: what is read, and what is refused where.

use std::path::{Path, PathBuf};

use rooflens_project::assets::{
    AssetError, AssetFaultClass, AssetKind, AssetSource, Bootstrap, Disk, StorageRoot,
};

const WHOLE: &str = "\
schema: 1
roots:
  HF_SNAPSHOTS_ROOT: ~/hub
  MODELS_ROOT: /data/models
  DATASETS_ROOT: ../datasets
models:
  - name: tiny
    source: {hub: organisation/tiny-1.1B, revision: refs/pr/1}
    required: [config.json, '*.safetensors']
  - name: großes Modell
    target: models/deep/er
    source: {root: $MODELS_ROOT, path: in house/v3}
    sha256: {config.json: 44136FA355B3678A1146AD16F7E8649E94FB4FC21FE77E8310C060F61CAAFF8A}
datasets:
  - name: coco
    source: {root: DATASETS_ROOT, path: coco2017}
    extract:
      - {archive: val.zip, into: datasets/coco/images, max_bytes: 1_000, max_entries: 10, max_ratio: 5}
";

fn load(text: &str) -> Result<Bootstrap, AssetError> {
    Bootstrap::read(text, "bootstrap.yaml", &|_| panic!("nothing beside"))
}

/// Place, message and hint of an error.
fn refusal(text: &str) -> String {
    let report = load(text).expect_err("a refusal").report();
    assert_eq!(report.class, AssetFaultClass::Config);
    let hint = report.hint.map(|hint| format!(" [{hint}]")).unwrap_or_default();
    format!("{}: {}{hint}", report.place.unwrap_or_default(), report.message)
}

#[test]
fn every_key_is_read() {
    let bootstrap = load(WHOLE).unwrap();
    assert_eq!(bootstrap.roots[&StorageRoot::Models], "/data/models");
    let [tiny, large, coco] = &bootstrap.assets[..] else { panic!("three") };
    assert_eq!((tiny.kind, tiny.target.as_path()), (AssetKind::Model, Path::new("models/tiny")));
    let (repository, revision) = ("organisation/tiny-1.1B".to_owned(), "refs/pr/1".to_owned());
    assert_eq!(tiny.source, AssetSource::Hub { repository, revision });
    assert_eq!(tiny.required, ["config.json", "*.safetensors"]);
    assert_eq!((large.name.as_str(), large.target.as_path()), ("großes Modell", Path::new("models/deep/er")));
    assert_eq!(
        large.source,
        AssetSource::Path { root: StorageRoot::Models, path: PathBuf::from("in house/v3") }
    );
    assert!(large.sha256[0].sha256.starts_with("44136fa3"));
    assert_eq!(coco.target, Path::new("datasets/coco/source-data"));
    assert_eq!(coco.extract[0].limits.max_bytes, 1000);
    assert_eq!(load("schema: 1\nmodels:\ndatasets: []\n").unwrap().assets, []);
}

/// The example in the module's documentation is read as it stands.
#[test]
fn the_documented_example_is_valid() {
    let source = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/assets/mod.rs")).unwrap();
    let lines = source.lines().skip_while(|line| *line != "//! ```yaml").skip(1);
    let lines =
        lines.take_while(|line| *line != "//! ```").map(|line| line[3..].strip_prefix(' ').unwrap_or(""));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    assert_eq!(load(&text).unwrap().assets.len(), 3);
}

#[test]
fn unknown_keys_are_refused_where_they_stand() {
    assert_eq!(
        refusal("schema: 1\nmodles: # the modles\n  # modles, too\n  - name: x\n"),
        "bootstrap.yaml:2:1: bootstrap.yaml has no key 'modles'; it has schema, roots, models, datasets \
         [did you mean 'models'?]"
    );
    assert_eq!(
        refusal("schema: 1\nmodels:\n  - name: x\n    source: {hub: a/b, revison: main}\n"),
        "bootstrap.yaml:4:24: models[0].source has no key 'revison'; it has root, path, hub, revision \
         [did you mean 'revision'?]"
    );
    assert_eq!(
        refusal("schema: 1\nroots:\n  MODEL_ROOT: /x\n"),
        "bootstrap.yaml:3:3: roots has no key 'MODEL_ROOT'; it has HF_SNAPSHOTS_ROOT, MODELS_ROOT, \
         DATASETS_ROOT [did you mean 'MODELS_ROOT'?]"
    );
    assert!(refusal("schema: 1\n1: x\n").starts_with("bootstrap.yaml:2:1: bootstrap.yaml has no key '1'"));
}

fn model(fields: &str) -> String {
    format!("schema: 1\nmodels:\n- name: x\n  source: {{hub: a/b}}\n{fields}\n")
}

fn source(source: &str) -> String {
    format!("schema: 1\nmodels:\n- name: x\n  source: {source}\n")
}

#[test]
fn wrong_values_are_refused_where_they_stand() {
    for (text, expected) in [
        ("models: []".to_owned(), "1:1: bootstrap.yaml needs the key 'schema'"),
        ("schema: 2".to_owned(), "1:9: schema: '2' is not a known version; expected 1"),
        ("schema: one".to_owned(), "1:9: schema must be a whole number of at least 0, but is a string"),
        ("[]".to_owned(), "1:1: bootstrap.yaml must be a mapping, but is a list"),
        ("".to_owned(), "1:1: bootstrap.yaml must be a mapping, but is null"),
        ("schema: 1\nmodels: {}".to_owned(), "2:9: models must be a list, but is a mapping"),
        ("schema: 1\nmodels: [x]".to_owned(), "2:10: models[0] must be a mapping, but is a string"),
        ("schema: 1\nmodels: [{name: x}]".to_owned(), "2:10: models[0] needs the key 'source'"),
        ("schema: 1\nmodels: [{source: {hub: a}}]".to_owned(), "2:10: models[0] needs the key 'name'"),
        (
            "schema: 1\nroots: {MODELS_ROOT: '${x}'}".to_owned(),
            "2:22: roots.MODELS_ROOT: '${x}' is an interpolation, which this file does not support",
        ),
        (
            "schema: 1\nroots: {MODELS_ROOT: '???'}".to_owned(),
            "2:22: roots.MODELS_ROOT: '???' is still to be filled in",
        ),
        (model("  target: ../x"), "5:11: models[0].target: '../x' must not have '..'"),
        (model("  target: /x"), "5:11: models[0].target: '/x' must be a relative path"),
        (model("  target: models"), "5:11: the target 'models' must be below models/"),
        (model("  target: conf/x"), "5:11: the target 'conf/x' must be below models/"),
        (model("  required: ['../x']"), "5:14: models[0].required[0]: '../x' must not have '..'"),
        (model("  required: ['[a']"), "5:14: models[0].required[0]: '[a' invalid range pattern"),
        (model("  required: x"), "5:13: models[0].required must be a list, but is a string"),
        (
            model("  sha256: {a: beef}"),
            "5:15: models[0].sha256.a: 'beef' is not a SHA-256 of 64 hexadecimal digits",
        ),
        (
            model("  extract: [{archive: x.zip, into: datasets/x}]"),
            "5:36: the target 'datasets/x' must be below models/",
        ),
        (
            model("  extract: [{archive: ../x.zip, into: models/y}]"),
            "5:23: models[0].extract[0].archive: '../x.zip' must not have '..'",
        ),
        (
            model("  extract: [{archive: x.zip, into: models/x/y}]"),
            "3:3: 'models/x' and 'models/x/y' would be nested",
        ),
        (model("- name: x\n  source: {hub: a/c}"), "5:3: two models are named 'x'"),
        (
            model("- name: y\n  target: models/x\n  source: {hub: a/c}"),
            "5:3: 'models/x' and 'models/x' would be nested",
        ),
        (
            source("{root: MODEL_ROOT, path: x}"),
            "4:18: models[0].source.root: 'MODEL_ROOT' is not a root; expected HF_SNAPSHOTS_ROOT, \
             MODELS_ROOT or DATASETS_ROOT [did you mean 'MODELS_ROOT'?]",
        ),
        (
            source("{root: MODELS_ROOT, path: a/../../b}"),
            "4:37: models[0].source.path: 'a/../../b' must not have '..'",
        ),
        (source("{root: MODELS_ROOT}"), "4:11: models[0].source needs the key 'path'"),
        (source("{hub: a/b, path: x}"), "4:28: models[0].source.path: 'x' is not allowed with 'hub'"),
        (
            source("{root: MODELS_ROOT, path: x, revision: y}"),
            "4:50: models[0].source.revision: 'y' is only allowed with 'hub'",
        ),
        (
            source("{hub: a/b, revision: ../../x}"),
            "4:32: models[0].source.revision: '../../x' must not have '..'",
        ),
        (source("/data/x"), "4:11: models[0].source must be a mapping, but is a string"),
        (
            "schema: 1\ndatasets: [{name: d, target: datasets/e/source-data, source: {hub: a}}]".to_owned(),
            "2:30: the target 'datasets/e/source-data' must be below datasets/d/source-data/",
        ),
        (
            "schema: 1\ndatasets: [{name: d, source: {hub: a}, extract: [{archive: x, into: datasets/d}]}]"
                .to_owned(),
            "2:69: the target 'datasets/d' must be below datasets/d/",
        ),
        ("schema: 1\nmodels: [".to_owned(), "2:9: not valid YAML:"),
        ("schema: 1\nschema: 1\n".to_owned(), "2:1: the key 'schema' is written twice in one mapping"),
    ] {
        let refusal = refusal(&text);
        let expected = format!("bootstrap.yaml:{expected}");
        assert!(refusal.starts_with(&expected), "{text}\n  is {refusal}\n not {expected}");
    }
    for name in ["../x", "a/b", ".x", "-x", "''", "\"a\\nb\""] {
        let text = format!("schema: 1\nmodels:\n- name: {name}\n  source: {{hub: a/b}}\n");
        assert!(refusal(&text).starts_with("bootstrap.yaml:3:9: models[0].name: "), "{name}");
    }
    for hub in ["a/b/c", "../b", "a--b/c", "/a", "a/", "-a/b", "a b"] {
        assert!(refusal(&source(&format!("{{hub: '{hub}'}}"))).contains("is not a repository id"), "{hub}");
    }
}

#[test]
fn an_error_shows_its_line() {
    let error = load("schema: 1\nmodles: []\n").unwrap_err();
    assert_eq!(error.place.unwrap().excerpt, "modles: []");
}

#[test]
fn checksums_may_stand_in_a_file_beside() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("bootstrap.yaml");
    std::fs::write(&path, model("  sha256: sums.txt")).unwrap();
    let hash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    std::fs::write(folder.path().join("sums.txt"), format!("{hash}  ./config.json\n\n{hash} *a b.bin\n"))
        .unwrap();
    let bootstrap = Bootstrap::load(&path, &Disk).unwrap();
    let files: Vec<_> = bootstrap.assets[0].sha256.iter().map(|sum| sum.file.to_str().unwrap()).collect();
    assert_eq!(files, ["config.json", "a b.bin"]);
    std::fs::write(folder.path().join("sums.txt"), format!("{hash}  ok\n{hash}  ../x\n")).unwrap();
    let report = Bootstrap::load(&path, &Disk).unwrap_err().report();
    assert_eq!(report.place.as_deref(), Some("sums.txt:2:1"));
    let missing = Bootstrap::load(&folder.path().join("none.yaml"), &Disk).unwrap_err();
    assert_eq!(missing.class(), AssetFaultClass::Data);
}

#[test]
fn assets_are_chosen_by_name() {
    let chosen = load(WHOLE).unwrap().select(&["coco".to_owned()]).unwrap();
    assert_eq!(chosen.assets.len(), 1);
    let error = load(WHOLE).unwrap().select(&["cocoo".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "there is no asset 'cocoo'; there are tiny, großes Modell, coco");
    assert_eq!(error.hint().unwrap(), "did you mean 'coco'?");
}
