//! Status and verification of what is there.

use std::fs;
use std::os::unix::fs::symlink;

use rooflens_project::assets::{AssetWarning, LinkState, Problem, VerificationResult};

use crate::assets_support::{Workplace, write};

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
    assert!(place.link(MODEL).is_complete());
    place
}

/// What is found, as `file: message`.
fn findings(place: &Workplace, text: &str) -> Vec<String> {
    let verification = place.verify(text);
    let asset = &verification.assets[0];
    assert_eq!(asset.verdict == VerificationResult::Sound, asset.findings.is_empty());
    asset.findings.iter().map(|finding| format!("{}: {}", finding.file, finding.problem)).collect()
}

#[test]
fn a_sound_model_has_no_findings() {
    let place = sound();
    assert_eq!(findings(&place, MODEL), Vec::<String>::new());
    assert!(place.verify(MODEL).is_sound());
    let status = place.status(MODEL).assets.remove(0);
    assert!(status.is_fine());
    assert_eq!(status.state, LinkState::Linked { to: place.storage("m") });
    let size = status.size.unwrap();
    assert_eq!((size.files, size.is_complete), (5, true));
    let matches: Vec<usize> = status.required.iter().map(|required| required.matches).collect();
    assert_eq!(matches, [1, 2, 1]);
}

#[test]
fn what_is_missing_or_empty_is_found() {
    let place = sound();
    fs::remove_dir_all(place.storage("m/deep")).unwrap();
    place.store("m/config.json", "");
    let found = findings(&place, MODEL);
    assert_eq!(found[..2], ["config.json: is empty", "deep/**/x: no file matches"]);
    assert!(!place.status(MODEL).assets[0].is_fine());
    place.store("m/config.json", "{\"a\": ");
    assert!(findings(&place, MODEL)[1].starts_with("config.json: is not JSON: EOF"));
    place.store("m/config.json", "[]");
    assert_eq!(findings(&place, MODEL)[1], "config.json: is not an object");
    fs::remove_dir_all(place.storage("m")).unwrap();
    let verification = place.verify(MODEL);
    assert_eq!(verification.assets[0].verdict, VerificationResult::Absent);
    assert!(!verification.is_sound());
    let status = place.status(MODEL).assets.remove(0);
    assert!(matches!(status.state, LinkState::BrokenLink { .. }));
    assert_eq!(status.size, None);
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
fn a_download_that_was_interrupted_is_found() {
    let place = Workplace::new();
    let snapshot = place.cache("models--org--name", &[("config.json", "{}")]);
    symlink("../../blobs/never-came", snapshot.join("model.safetensors")).unwrap();
    let text = "schema: 1\nmodels: [{name: m, source: {hub: org/name}, required: ['*.safetensors']}]\n";
    assert!(place.link(text).is_complete());
    assert_eq!(
        findings(&place, text),
        ["*.safetensors: no file matches", "model.safetensors: cannot be read"]
    );
    let warnings = place.status(text).assets.remove(0).warnings;
    assert_eq!(warnings, [AssetWarning::Unreadable { count: 1, first: "model.safetensors".to_owned() }]);
}

#[test]
fn circles_of_links_end() {
    let place = sound();
    symlink("..", place.storage("m/deep/up")).unwrap();
    symlink("self", place.storage("m/self")).unwrap();
    assert_eq!(findings(&place, MODEL), ["self: cannot be read"]);
    assert_eq!(place.status(MODEL).assets[0].size.unwrap().files, 5);
}

#[test]
fn real_folders_are_looked_into_and_leftovers_shown() {
    let place = Workplace::new();
    write(&place.project("models/m/config.json"), "{}");
    let text = "schema: 1\nmodels: [{name: m, source: {root: MODELS_ROOT, path: m}, extract: [{archive: a.zip, into: models/x}]}]\n";
    fs::create_dir(place.project("models/.x.rooflens-partial-1-0")).unwrap();
    let status = place.status(text).assets.remove(0);
    assert!(matches!(status.state, LinkState::Real { .. }));
    assert_eq!(
        status.warnings[0].to_string(),
        "'models/.x.rooflens-partial-1-0' is left over from an interrupted extraction"
    );
    assert!(place.verify(text).is_sound());
    let json = serde_json::to_value(place.status(text)).unwrap();
    assert_eq!(json["assets"][0]["state"], "real");
    assert_eq!(json["assets"][0]["extractions"][0]["state"], "missing");
    let problem = serde_json::to_value(Problem::ShardMissing { shard: "s".to_owned() }).unwrap();
    assert_eq!(problem, serde_json::json!({"problem": "shard_missing", "shard": "s"}));
}
