//! Models and datasets: reading `bootstrap.yaml`, links, status, verification and subsets.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use rooflens_collect::project::assets::variants::{Subset, SubsetRequest, plan_subset, write_subset};
use rooflens_collect::project::assets::{Action, AssetState, Bootstrap, StepResult, Verdict};
use rooflens_collect::project::{FaultClass, ProjectError};
use rooflens_compose::clock::LocalTime;

use crate::assets_support::{COMMIT, Workplace, everything, load, write, zip_maker};

const LINKED: &str = "schema: 1\nmodels: [{name: m, source: {root: MODELS_ROOT, path: real/m}}]\n";
const HUB: &str = "schema: 1\nmodels: [{name: m, source: {hub: org/name}}]\n";
const ZIPPED: &str = "\
schema: 1
datasets:
  - name: d
    source: {root: DATASETS_ROOT, path: d}
    extract: [{archive: a.zip, into: datasets/d/images}]
";

/// The example in the module's documentation is valid.
#[test]
fn the_documented_bootstrap_is_read() {
    let source =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/project/assets/mod.rs")).unwrap();
    let lines = source.lines().skip_while(|line| *line != "//! ```yaml").skip(1);
    let lines =
        lines.take_while(|line| *line != "//! ```").map(|line| line[3..].strip_prefix(' ').unwrap_or(""));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    assert_eq!(load(&text).unwrap().assets.len(), 3);
    assert_eq!(load("schema: 1\nmodels:\ndatasets: []\n").unwrap().assets.len(), 0);
    let error = load(&text).unwrap().select(&["cocoo".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "there is no asset 'cocoo'; there are tiny-llama, in-house, coco");
    assert_eq!(error.hint.unwrap(), "did you mean 'coco'?");
}

#[test]
fn a_wrong_bootstrap_is_refused() {
    let model = |fields: &str| format!("schema: 1\nmodels:\n- name: x\n  source: {{hub: a/b}}\n{fields}\n");
    let source = |source: &str| format!("schema: 1\nmodels:\n- name: x\n  source: {source}\n");
    let dataset = |fields: &str| format!("schema: 1\ndatasets: [{{name: d, source: {{hub: a}}, {fields}}}]");
    for (text, problem) in [
        ("models: []".to_owned(), "missing field 'schema'"),
        ("schema: 2".to_owned(), "'2' is not a known version"),
        ("schema: one".to_owned(), "schema: invalid type"),
        ("[]".to_owned(), "invalid"),
        ("schema: 1\nmodels: {}".to_owned(), "models: invalid type"),
        ("schema: 1\nmodels: [{name: x}]".to_owned(), "missing field 'source'"),
        ("schema: 1\nroots: {MODEL_ROOT: /x}".to_owned(), "unknown variant 'MODEL_ROOT'"),
        (model("  target: ../x"), "must not have '..'"),
        (model("  target: /x"), "must be a relative path"),
        (model("  target: models"), "'models' must be below models/"),
        (model("  target: conf/x"), "'conf/x' must be below models/"),
        (model("  required: ['../x']"), "must not have '..'"),
        (model("  required: ['[a']"), "'[a' invalid range pattern"),
        (model("  sha256: {a: beef}"), "'beef' is not a SHA-256"),
        (model("  sha256: ../sums.txt"), "must not have '..'"),
        (model("  extract: [{archive: x.zip, into: datasets/x}]"), "'datasets/x' must be below models/"),
        (model("  extract: [{archive: ../x.zip, into: models/y}]"), "must not have '..'"),
        (
            model("  extract: [{archive: x.zip, into: models/x/y}]"),
            "'models/x' and 'models/x/y' would be nested",
        ),
        (model("- name: x\n  source: {hub: a/c}"), "two models are named 'x'"),
        (model("- name: y\n  target: models/x\n  source: {hub: a/c}"), "would be nested"),
        (source("{root: MODEL_ROOT, path: x}"), "unknown variant 'MODEL_ROOT'"),
        (source("{root: MODELS_ROOT, path: a/../../b}"), "must not have '..'"),
        (source("{root: MODELS_ROOT}"), "source needs either"),
        (source("{hub: a/b, path: x}"), "source needs either"),
        (source("{root: MODELS_ROOT, path: x, revision: y}"), "source needs either"),
        (source("{hub: a/b, revision: ../../x}"), "must not have '..'"),
        (dataset("target: datasets/e/source-data"), "must be below datasets/d/source-data/"),
        (dataset("extract: [{archive: x, into: datasets/d}]"), "must be below datasets/d/"),
        ("schema: 1\nmodels: [".to_owned(), "not valid YAML"),
        ("schema: 1\nschema: 1\n".to_owned(), "written twice"),
    ] {
        let error = load(&text).expect_err(&text);
        assert!(error.message.contains(problem), "{text}\n  is {error}\n not {problem}");
    }
    for name in ["../x", "a/b", ".x", "-x", "''", "\"a\\nb\""] {
        let text = format!("schema: 1\nmodels:\n- name: {name}\n  source: {{hub: a/b}}\n");
        assert_eq!(load(&text).unwrap_err().class, FaultClass::Usage, "{name}");
    }
    for hub in ["a/b/c", "../b", "a--b/c", "/a", "a/", "-a/b", "a b"] {
        let error = load(&source(&format!("{{hub: '{hub}'}}"))).unwrap_err();
        assert!(error.message.contains("is not a repository id"), "{hub}: {error}");
    }
    let unknown =
        load("schema: 1\nmodels:\n  - name: x\n    source: {hub: a/b, revison: main}\n").unwrap_err();
    assert_eq!(unknown.hint.as_deref(), Some("did you mean 'revision'?"));
    assert_eq!(unknown.place.unwrap().excerpt, "    source: {hub: a/b, revison: main}");
}

#[test]
fn checksums_can_be_in_a_file_next_to_it() {
    let folder = tempfile::TempDir::new().unwrap();
    let text = "schema: 1\nmodels: [{name: x, source: {hub: a/b}, sha256: sums.txt}]\n";
    let path = write(&folder.path().join("bootstrap.yaml"), text);
    let hash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    write(&folder.path().join("sums.txt"), format!("{hash}  ./config.json\n\n{hash} *a b.bin\n"));
    Bootstrap::load(&path).unwrap();
    write(&folder.path().join("sums.txt"), format!("{hash}  ok\n{hash}  ../x\n"));
    assert!(Bootstrap::load(&path).unwrap_err().message.contains("'../x' must not have '..'"));
}

#[test]
fn a_link_is_made_once_and_kept_if_it_leads_to_the_same_place() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    let before = place.outside();
    assert_eq!(place.step(LINKED).action, Action::Link);
    assert_eq!(everything(&place.project("")), Vec::<String>::new(), "a plan changes nothing");
    assert_eq!(place.link(LINKED), [StepResult::Done]);
    assert_eq!(fs::read_link(place.project("models/m")).unwrap(), place.storage("real/m"));
    assert_eq!(place.link(LINKED), [StepResult::Unchanged]);
    assert_eq!(place.outside(), before);
    symlink(place.storage("real"), place.storage("mount")).unwrap();
    fs::remove_file(place.project("models/m")).unwrap();
    symlink(place.storage("mount/m"), place.project("models/m")).unwrap();
    assert_eq!(place.step(LINKED).action, Action::KeepLink);
    // A single file, and any letters.
    let text = "schema: 1\ndatasets: [{name: Ünï côdé, source: {root: DATASETS_ROOT, path: größe 1/データ}, required: ['*']}]\n";
    place.store("größe 1/データ", "weights");
    assert_eq!(place.link(text), [StepResult::Done]);
    assert_eq!(place.status(text)[0].size.unwrap().bytes, 7);
}

#[test]
fn only_links_are_replaced() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    fs::create_dir(place.project("models")).unwrap();
    let link = place.project("models/m");
    for (from, state) in [
        (place.storage(""), AssetState::LinkedElsewhere),
        (PathBuf::from("gone"), AssetState::BrokenLink),
        (PathBuf::from("m"), AssetState::BrokenLink),
    ] {
        let _ = fs::remove_file(&link);
        symlink(&from, &link).unwrap();
        assert_eq!(place.status(LINKED)[0].state, state);
        let step = place.step(LINKED);
        assert_eq!((step.action, step.from.as_ref()), (Action::Relink, Some(&from)));
        assert_eq!(place.apply(&[step])[0].result, StepResult::Done);
        assert_eq!(fs::read_link(&link).unwrap(), place.storage("real/m"));
        assert_eq!(everything(&place.project("models")).len(), 1, "no temporary link is left");
    }
    // What came since the plan was made is not replaced either.
    let planned = |prepare: &dyn Fn()| {
        let _ = fs::remove_file(&link);
        prepare();
        let steps = place.plan(LINKED);
        let _ = fs::remove_file(&link);
        write(&link, "mine");
        let outcome = place.apply(&steps).remove(0);
        assert_eq!(outcome.result, StepResult::Failed);
        assert!(outcome.error.unwrap().message.contains("has changed"));
        assert_eq!(fs::read(&link).unwrap(), b"mine");
    };
    planned(&|| ());
    planned(&|| symlink("elsewhere", &link).unwrap());
    assert_eq!(place.step(LINKED).action, Action::Conflict);
    assert_eq!(place.link(LINKED), [StepResult::Impossible]);
}

#[test]
fn nothing_is_made_through_a_parent_that_leads_out() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    fs::create_dir(place.storage("elsewhere")).unwrap();
    let before = place.outside();
    let parent = place.project("models");
    for to in ["../storage/elsewhere", "gone", "models", place.storage("elsewhere").to_str().unwrap()] {
        symlink(to, &parent).unwrap();
        let step = place.step(LINKED);
        assert_eq!(step.action, Action::Refused);
        let problem = step.problem.unwrap();
        assert_eq!(problem.class, FaultClass::Environment);
        assert!(problem.message.contains("outside the project"), "{problem}");
        // A plan from before the link came is refused when it is applied.
        fs::remove_file(&parent).unwrap();
        let steps = place.plan(LINKED);
        symlink(to, &parent).unwrap();
        assert_eq!(place.apply(&steps)[0].result, StepResult::Failed);
        fs::remove_file(&parent).unwrap();
    }
    assert_eq!(place.outside(), before);
    // A link that stays inside is fine.
    fs::create_dir(place.project("large")).unwrap();
    symlink("large", &parent).unwrap();
    assert_eq!(place.link(LINKED), [StepResult::Done]);
}

#[test]
fn a_source_around_its_own_link_is_refused() {
    let mut place = Workplace::new();
    write(&place.project("models/m/config.json"), "{}");
    place.set("MODELS_ROOT", &place.project("..").canonicalize().unwrap());
    let around = "schema: 1\nmodels: [{name: n, source: {root: MODELS_ROOT, path: project}}]\n";
    assert_eq!(place.step(around).action, Action::Conflict);
}

#[test]
fn roots_come_from_the_environment_then_the_file() {
    let mut place = Workplace::new();
    place.store("real/m/config.json", "{}");
    place.store("other/real/m/config.json", "{}");
    let with_default = format!("{LINKED}roots: {{MODELS_ROOT: ../storage/other}}\n");
    assert_eq!(place.step(&with_default).to.unwrap(), place.storage("real/m"));
    place.variables.clear();
    let resolved = fs::canonicalize(place.storage("other/real/m")).unwrap();
    assert_eq!(place.step(&with_default).to.unwrap(), resolved);
    place.set("MODELS_ROOT", Path::new(""));
    assert_eq!(place.step(&with_default).to.unwrap(), resolved);
    let step = place.step(LINKED);
    assert_eq!(step.action, Action::MissingSource);
    assert!(step.problem.unwrap().hint.unwrap().starts_with("set MODELS_ROOT to the folder"));
    place.set("HOME", &place.storage("other"));
    let home = format!("{LINKED}roots: {{MODELS_ROOT: '~'}}\n");
    assert_eq!(place.step(&home).to.unwrap(), place.storage("other/real/m"));
}

#[test]
fn hub_caches_are_understood() {
    let mut place = Workplace::new();
    let snapshot = place.cache("models--org--name", &[("config.json", "{}")]);
    let to = |place: &Workplace, text: &str| place.step(text).to.unwrap();
    assert_eq!(to(&place, HUB), snapshot);
    assert_eq!(to(&place, &HUB.replace("org/name", &format!("org/name, revision: {COMMIT}"))), snapshot);
    // A path that is a repository stands for its main snapshot.
    let path =
        "schema: 1\nmodels: [{name: m, source: {root: MODELS_ROOT, path: hf/hub/models--org--name}}]\n";
    assert_eq!(to(&place, path), snapshot);
    for (variable, value) in [
        ("HF_SNAPSHOTS_ROOT", "hf/hub"),
        ("HF_HUB_CACHE", "hf/hub"),
        ("HUGGINGFACE_HUB_CACHE", "hf/hub"),
        ("HF_HOME", "hf"),
    ] {
        place.variables.clear();
        place.set(variable, &place.storage(value));
        assert_eq!(to(&place, HUB), snapshot, "{variable}");
    }
    place.variables.clear();
    let roots = format!("{HUB}roots: {{HF_SNAPSHOTS_ROOT: {}}}\n", place.storage("hf/hub").display());
    assert_eq!(to(&place, &roots), snapshot);
    place.set("HF_HOME", &place.storage("hf"));
    let why = |text: &str| place.step(text).problem.unwrap();
    let missing = why(&HUB.replace("org/name", "org/other"));
    assert!(missing.message.ends_with("/hf/hub/models--org--other"), "{missing}");
    assert_eq!(missing.hint.unwrap(), "hf download org/other --revision main");
    let version = why(&HUB.replace("org/name", "org/name, revision: v2"));
    assert!(version.message.contains(&format!("has no revision 'v2'; it has main, {COMMIT}")), "{version}");
    // The text of a reference becomes part of a path.
    for text in ["../../../../etc", "", "main", "/etc", &format!("{COMMIT}/..")] {
        write(&place.storage("hf/hub/models--org--name/refs/main"), text);
        assert!(why(HUB).message.contains("is not a commit"), "{text}");
    }
}

#[test]
fn archives_are_extracted_once() {
    let place = Workplace::new();
    place.store("d/a.zip", zip_maker::zip(&[zip_maker::file("x/1.png", "png")]));
    let before = place.outside();
    assert_eq!(place.link(ZIPPED), [StepResult::Done, StepResult::Done]);
    assert_eq!(fs::read(place.project("datasets/d/images/x/1.png")).unwrap(), b"png");
    assert_eq!(place.link(ZIPPED), [StepResult::Unchanged, StepResult::Unchanged]);
    assert!(place.status(ZIPPED)[0].is_unpacked());
    assert_eq!(place.outside(), before);
    // Another version of the archive: the folder is not changed.
    place.store("d/a.zip", zip_maker::zip(&[zip_maker::file("x/2.png", "png!")]));
    let action = |place: &Workplace| place.plan(ZIPPED).remove(1).action;
    assert_eq!(action(&place), Action::Conflict);
    fs::remove_file(place.storage("d/a.zip")).unwrap();
    assert_eq!(action(&place), Action::KeepExtracted);
    fs::remove_dir_all(place.project("datasets/d/images")).unwrap();
    assert_eq!(action(&place), Action::MissingSource);
    fs::create_dir(place.project("datasets/d/images")).unwrap();
    assert_eq!(action(&place), Action::Conflict);
    fs::remove_dir(place.project("datasets/d/images")).unwrap();
    // An evil archive fails alone.
    let evil = [zip_maker::file("ok", "1"), zip_maker::file("../../../evil", "2")];
    place.store("d/a.zip", zip_maker::zip(&evil));
    let before = place.outside();
    assert_eq!(place.link(ZIPPED), [StepResult::Unchanged, StepResult::Failed]);
    assert_eq!(place.outside(), before);
    assert_eq!(everything(&place.project("datasets/d")).len(), 1);
    // Extracting through a folder that is a link to the storage would write there.
    fs::remove_dir_all(place.project("datasets")).unwrap();
    fs::create_dir(place.project("datasets")).unwrap();
    symlink(place.storage("d"), place.project("datasets/d")).unwrap();
    assert!(place.plan(ZIPPED).iter().all(|step| step.action == Action::Refused));
}

#[test]
fn git_must_not_track_links() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    let git = |arguments: &[&str]| {
        assert!(
            Command::new("git").args(arguments).current_dir(place.project("")).status().unwrap().success()
        );
    };
    assert_eq!(place.step(LINKED).action, Action::Link, "not a repository");
    git(&["init", "--quiet"]);
    // The pattern of a folder does not match a link.
    write(&place.project(".gitignore"), "models/*/\n");
    let step = place.step(LINKED);
    assert_eq!(step.action, Action::Refused);
    assert_eq!(step.problem.unwrap().hint.unwrap(), "add this line to .gitignore: /models/m");
    write(&place.project(".gitignore"), "/models/m\n");
    assert_eq!(place.link(LINKED), [StepResult::Done]);
    assert_eq!(place.status(LINKED)[0].warnings, Vec::<String>::new());
    // A link that is tracked already is tracked although it is ignored.
    git(&["add", "--force", "models/m"]);
    assert!(place.status(LINKED)[0].warnings[0].starts_with("git would track 'models/m'"));
}

const MODEL: &str = "\
schema: 1
models:
  - name: m
    source: {root: MODELS_ROOT, path: m}
    required: [config.json, '*.safetensors', 'deep/**/x']
";

/// A safetensors file with one tensor of bytes for each name.
fn tensors(names: &[&str]) -> Vec<u8> {
    let entries: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            format!(
                r#""{name}":{{"dtype":"F16","shape":[2,1],"data_offsets":[{},{}]}}"#,
                index * 4,
                index * 4 + 4
            )
        })
        .collect();
    framed(&format!(r#"{{"__metadata__":{{"shape":"pt"}},{}}}"#, entries.join(",")), names.len() * 4)
}

fn framed(header: &str, data_bytes: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data_bytes, 7);
    bytes
}

/// A model of two shards that has nothing wrong with it.
fn sound() -> Workplace {
    let place = Workplace::new();
    place.store("m/config.json", r#"{"model_type": "llama"}"#);
    place.store("m/model-1.safetensors", tensors(&["a", "b"]));
    place.store("m/model-2.safetensors", tensors(&["c"]));
    place.store(
        "m/model.safetensors.index.json",
        r#"{"metadata":{"total_size":12},"weight_map":{"a":"model-1.safetensors","b":"model-1.safetensors","c":"model-2.safetensors"}}"#,
    );
    place.store("m/deep/er/still/x", "1");
    assert_eq!(place.link(MODEL), [StepResult::Done]);
    place
}

/// What is found, as `file: message`.
fn findings(place: &Workplace, text: &str) -> Vec<String> {
    let asset = place.verify(text).remove(0);
    assert_eq!(asset.verdict == Verdict::Sound, asset.findings.is_empty());
    asset.findings.iter().map(|finding| format!("{}: {}", finding.file, finding.message)).collect()
}

#[test]
fn a_sound_model_has_no_findings_and_missing_files_are_found() {
    let place = sound();
    assert_eq!(findings(&place, MODEL), Vec::<String>::new());
    let status = place.status(MODEL).remove(0);
    assert_eq!(status.size.unwrap().files, 5);
    assert_eq!(status.required.iter().map(|it| it.matches).collect::<Vec<_>>(), [1, 2, 1]);
    fs::remove_dir_all(place.storage("m/deep")).unwrap();
    place.store("m/config.json", "");
    let found = findings(&place, MODEL);
    assert_eq!(found[..2], ["config.json: is empty", "deep/**/x: no file matches"]);
    place.store("m/config.json", "{\"a\": ");
    assert!(findings(&place, MODEL)[1].starts_with("config.json: is not JSON: EOF"));
    place.store("m/config.json", "[]");
    assert_eq!(findings(&place, MODEL)[1], "config.json: is not an object");
    fs::remove_dir_all(place.storage("m")).unwrap();
    assert_eq!(place.verify(MODEL)[0].verdict, Verdict::Absent);
    let status = place.status(MODEL).remove(0);
    assert_eq!((status.state, status.size), (AssetState::BrokenLink, None));
}

#[test]
fn shards_and_tensors_are_held_against_the_index() {
    let place = sound();
    place.store("m/model-1.safetensors", tensors(&["a"]));
    assert_eq!(
        findings(&place, MODEL),
        ["model.safetensors.index.json: says that 'b' is in 'model-1.safetensors', which does not have it"]
    );
    fs::remove_file(place.storage("m/model-1.safetensors")).unwrap();
    assert_eq!(
        findings(&place, MODEL),
        ["model.safetensors.index.json: names the shard 'model-1.safetensors', which is missing"]
    );
    for (index, expected) in [
        ("{}", "is not JSON: missing field `weight_map` at line 1 column 2"),
        (r#"{"weight_map":{}}"#, "is not an index with tensors"),
        (r#"{"weight_map":{"a":"../../secret"}}"#, "names the shard '../../secret', which is missing"),
    ] {
        place.store("m/model.safetensors.index.json", index);
        assert_eq!(findings(&place, MODEL), [format!("model.safetensors.index.json: {expected}")]);
    }
}

#[test]
fn the_headers_of_safetensors_are_read() {
    let place = sound();
    fs::remove_file(place.storage("m/model.safetensors.index.json")).unwrap();
    let mut cut = tensors(&["a", "b"]);
    cut.truncate(cut.len() - 3);
    let mut huge = tensors(&["a"]);
    huge[7] = 0x7f;
    let tensor = |dtype: &str, shape: &str, offsets: &str| {
        framed(&format!(r#"{{"t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#), 8)
    };
    for (bytes, expected) in [
        (cut, "its tensors end at 8 bytes of data, but it has 5"),
        (b"short".to_vec(), "its header claims 8 bytes, but the file has 5"),
        (b"\xff\0\0\0\0\0\0\0{}".to_vec(), "its header claims 255 bytes, but the file has 10"),
        (huge, "its header claims 9151"),
        (framed("{", 0), "its header is not valid: EOF"),
        (framed("[]", 0), "its header is not valid: invalid type: sequence"),
        (framed(r#"{"t":{"dtype":"F16"}}"#, 0), "its header is not valid: missing field"),
        (tensor("F16", "[4]", "[0,8]"), ""),
        (tensor("F4", "[16]", "[0,8]"), ""),
        (tensor("SOMETHING_NEW", "[3]", "[0,8]"), ""),
        (tensor("F16", "[5]", "[0,8]"), "the tensor 't' has a length that does not fit its type and shape"),
        (tensor("F16", "[9223372036854775807,9]", "[0,8]"), "the tensor 't' has a length that does not"),
        (tensor("F16", "[4]", "[8,0]"), "the tensor 't' ends before it begins"),
        (tensor("F16", "[2]", "[4,8]"), "the tensor 't' overlaps another or leaves a gap before it"),
        (tensor("F16", "[2]", "[0,4]"), "its tensors end at 4 bytes of data, but it has 8"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n".to_vec(),
            "is a pointer of Git LFS",
        ),
    ] {
        place.store("m/model-1.safetensors", &bytes);
        let found = findings(&place, MODEL).join("\n");
        if expected.is_empty() {
            assert_eq!(found, "");
        } else {
            assert!(found.starts_with(&format!("model-1.safetensors: {expected}")), "{found}");
        }
    }
}

#[test]
fn checksums_are_compared() {
    let place = sound();
    let with = |hash: &str, file: &str| format!("{MODEL}    sha256: {{{file}: {hash}}}\n");
    place.store("m/config.json", "{}");
    // `printf '{}' | sha256sum`
    let right = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(findings(&place, &with(right, "config.json")), Vec::<String>::new());
    let wrong = right.replace('4', "5");
    assert_eq!(
        findings(&place, &with(&wrong, "config.json")),
        [format!("config.json: has the SHA-256 {right}, but should have {wrong}")]
    );
    assert_eq!(findings(&place, &with(right, "none.json")), ["none.json: has a checksum, but is missing"]);
}

#[test]
fn broken_links_circles_and_leftovers_are_shown() {
    let place = sound();
    symlink("..", place.storage("m/deep/up")).unwrap();
    symlink("self", place.storage("m/self")).unwrap();
    assert_eq!(findings(&place, MODEL), ["self: cannot be read"]);
    let status = place.status(MODEL).remove(0);
    assert_eq!(status.size.unwrap().files, 5);
    assert_eq!(status.warnings, ["1 entries cannot be read, 'self' among them"]);
    let real = "schema: 1\nmodels: [{name: r, source: {root: MODELS_ROOT, path: r}, extract: [{archive: a.zip, into: models/x}]}]\n";
    write(&place.project("models/r/config.json"), "{}");
    fs::create_dir(place.project("models/.x.rooflens-partial-1-0")).unwrap();
    let status = place.status(real).remove(0);
    assert_eq!(status.state, AssetState::Real);
    assert!(status.warnings[0].starts_with("'models/.x.rooflens-partial-1-0' is left over"));
}

/// A dataset of ten files behind a link.
fn digits() -> Workplace {
    let place = Workplace::new();
    for digit in 0..10 {
        place.store(&format!("digits/{digit}.png"), vec![0; digit]);
    }
    let text = "schema: 1\ndatasets: [{name: digits, source: {root: DATASETS_ROOT, path: digits}}]\n";
    assert_eq!(place.link(text), [StepResult::Done]);
    place
}

fn request(variant: &str, samples: u64) -> SubsetRequest {
    SubsetRequest {
        dataset: "digits".to_owned(),
        variant: variant.to_owned(),
        parent: "source-data".to_owned(),
        list: None,
        epochs: 1,
        samples_per_epoch: Some(samples),
        shuffle: true,
        seed: 0,
        created: LocalTime::from_unix(1_709_210_096, 0, 0),
    }
}

fn make(place: &Workplace, request: &SubsetRequest) -> Result<Subset, ProjectError> {
    let subset = plan_subset(&place.open(), request)?;
    write_subset(&place.open(), &subset)?;
    Ok(subset)
}

#[test]
fn a_variant_is_written_as_it_always_was() {
    let place = digits();
    let before = place.outside();
    let subset = make(&place, &request("subset-4", 4)).unwrap();
    // The indices 3, 6, 1, 8 are golden values of the sampler.
    assert_eq!(subset.files, ["3.png", "6.png", "1.png", "8.png"]);
    let folder = place.project("datasets/digits/subset-4");
    assert_eq!(fs::read_to_string(folder.join("files.txt")).unwrap(), "3.png\n6.png\n1.png\n8.png\n");
    // Sums by `printf '0.png\\n…' | sha256sum`.
    let metadata = "\
schema: 1
dataset: digits
variant: subset-4
parent: source-data
root: source-data
created: '2024-02-29T12:34:56Z'
transform:
  kind: sample
  generator: splitmix64-fisher-yates-1
  epochs: 1
  samples_per_epoch: 4
  shuffle: true
  parent_files: 10
  parent_sha256: PARENT
size:
  files: 4
  samples: 4
  bytes: 18
seed: 0
files:
  path: files.txt
  sha256: FILES
";
    let metadata = metadata.replace("PARENT", PARENT_SHA256).replace("FILES", FILES_SHA256);
    assert_eq!(fs::read_to_string(folder.join("metadata.yaml")).unwrap(), metadata);
    assert_eq!(place.outside(), before);
}

const PARENT_SHA256: &str = "e3c4ee9620355bb70ef2c3ede78554d8bfe95e3c8ea63303c76aeb0ad1730878";
const FILES_SHA256: &str = "1ed54a859de72b3688e8e5d1d8e6863ca85b1af02d88fcfc503c6f0c3ea6ebb9";

#[test]
fn a_plan_writes_nothing_and_a_second_run_neither() {
    let place = digits();
    let before = everything(&place.project(""));
    let plan = plan_subset(&place.open(), &request("v", 4)).unwrap();
    assert!(!plan.is_there);
    assert_eq!(everything(&place.project("")), before);
    make(&place, &request("v", 4)).unwrap();
    let before = everything(&place.project(""));
    let later = SubsetRequest { created: LocalTime::from_unix(1_800_000_000, 0, 0), ..request("v", 4) };
    let again = make(&place, &later).unwrap();
    assert!(again.is_there);
    assert_eq!(again.metadata.created, "2024-02-29T12:34:56Z");
    assert_eq!(everything(&place.project("")), before);
    let error = make(&place, &request("v", 5)).unwrap_err();
    assert_eq!(error.to_string(), "'datasets/digits/v' already exists and differs from the request");
    write(&place.project("datasets/digits/mine/notes.txt"), "mine");
    assert!(make(&place, &request("mine", 5)).is_err());
    assert_eq!(everything(&place.project("datasets/digits/mine")), ["notes.txt 4"]);
}

#[test]
fn epochs_are_listed_one_after_the_other() {
    let place = digits();
    let mut request = request("epochs", 10);
    request.epochs = 2;
    let subset = make(&place, &request).unwrap();
    let order = |indices: [usize; 10]| indices.map(|index| format!("{index}.png"));
    assert_eq!(subset.files[..10], order([3, 6, 1, 8, 7, 5, 0, 9, 2, 4]));
    assert_eq!(subset.files[10..], order([2, 4, 6, 3, 9, 0, 1, 7, 8, 5]));
    let size = subset.metadata.size;
    assert_eq!((size.files, size.samples, size.bytes), (10, 20, 45));
    request.shuffle = false;
    request.variant = "in-order".to_owned();
    request.samples_per_epoch = Some(2);
    let subset = make(&place, &request).unwrap();
    assert_eq!(subset.files, ["0.png", "1.png", "0.png", "1.png"]);
    assert_eq!(subset.metadata.seed, None);
}

#[test]
fn a_variant_may_come_from_a_variant_or_a_list() {
    let place = digits();
    let mut first = request("first", 6);
    first.epochs = 2;
    make(&place, &first).unwrap();
    let second = SubsetRequest { parent: "first".to_owned(), ..request("second", 2) };
    let subset = make(&place, &second).unwrap();
    assert_eq!((subset.metadata.parent.as_str(), subset.metadata.root.as_str()), ("first", "source-data"));
    let drawn = fs::read_to_string(place.project("datasets/digits/first/files.txt")).unwrap();
    assert!(subset.files.iter().all(|file| drawn.contains(file.as_str())));

    let list = place.storage("list.txt");
    fs::write(&list, "7.png\n\n2.png\n5.png\n").unwrap();
    let mut request = SubsetRequest { list: Some(list.clone()), ..request("listed", 2) };
    request.shuffle = false;
    assert_eq!(make(&place, &request).unwrap().files, ["7.png", "2.png"]);
    request.variant = "wrong".to_owned();
    for (text, line, problem) in [
        ("7.png\n../../secret\n", 2, "'../../secret' must not have '..'"),
        ("/etc/passwd\n", 1, "'/etc/passwd' must be a relative path"),
        ("7.png\n2.png\n7.png\n", 3, "'7.png' is listed twice"),
        ("7.png\n11.png\n", 2, "'11.png' is not a file of the dataset"),
    ] {
        fs::write(&list, text).unwrap();
        let error = make(&place, &request).unwrap_err();
        assert!(error.message.starts_with(problem), "{error}");
        assert!(error.message.ends_with(&format!("list.txt:{line})")), "{error}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let place = digits();
    let refused = |request: SubsetRequest| make(&place, &request).unwrap_err();
    let error = refused(request("v", 11));
    assert_eq!(error.message, "11 samples per epoch were requested, but there are only 10 files");
    assert_eq!(error.hint.unwrap(), "ask for at most 10");
    let error = refused(SubsetRequest { dataset: "digit".to_owned(), ..request("v", 1) });
    assert_eq!(
        (error.message.as_str(), error.hint.as_deref()),
        ("there is no dataset 'digit'; there are digits", Some("did you mean 'digits'?"))
    );
    let error = refused(SubsetRequest { parent: "source".to_owned(), ..request("v", 1) });
    assert_eq!(error.message, "the dataset 'digits' has no 'source'; there are source-data");
    for name in ["../v", "a/b", ".v", "", "-v"] {
        refused(request(name, 1));
        refused(SubsetRequest { dataset: name.to_owned(), ..request("v", 1) });
        refused(SubsetRequest { parent: name.to_owned(), ..request("v", 1) });
    }
    refused(request("source-data", 1));
    let mut many = request("v", 10);
    many.epochs = u64::MAX;
    assert!(refused(many.clone()).message.contains("is longer than 10000000"));
    many.samples_per_epoch = Some(0);
    assert!(refused(many).message.contains("is longer than"));
    // Names that a list cannot hold.
    place.store("digits/a\nb.png", "1");
    assert!(refused(request("v", 1)).message.contains("cannot be in a list"));
    assert_eq!(everything(&place.project("datasets/digits")).len(), 1);
}

#[test]
fn nothing_is_written_into_the_storage() {
    let place = Workplace::new();
    place.store("digits/source-data/1.png", "1");
    fs::create_dir(place.project("datasets")).unwrap();
    symlink(place.storage("digits"), place.project("datasets/digits")).unwrap();
    let before = place.outside();
    let error = make(&place, &request("v", 1)).unwrap_err();
    assert!(error.to_string().contains("outside the project"), "{error}");
    assert_eq!(place.outside(), before);
}
