//! Variants of datasets.

use std::fs;
use std::os::unix::fs::symlink;

use rooflens_compose::clock::LocalTime;
use rooflens_project::assets::AssetError;
use rooflens_project::assets::subset::{Subset, SubsetRequest, SubsetSampling, plan_subset, write_subset};

use crate::assets_support::{Workplace, everything, write};

/// A dataset of ten files behind a link.
fn digits() -> Workplace {
    let place = Workplace::new();
    for digit in 0..10 {
        place.store(&format!("digits/{digit}.png"), vec![0; digit]);
    }
    let text = "schema: 1\ndatasets: [{name: digits, source: {root: DATASETS_ROOT, path: digits}}]\n";
    assert!(place.link(text).is_complete());
    place
}

fn request(variant: &str, samples: u64) -> SubsetRequest {
    SubsetRequest {
        dataset: "digits".to_owned(),
        variant: variant.to_owned(),
        parent: "source-data".to_owned(),
        list: None,
        sampling: SubsetSampling { epochs: 1, samples_per_epoch: Some(samples), shuffle: true, seed: 0 },
        created: LocalTime::from_unix(1_709_210_096, 0, 0),
    }
}

fn make(place: &Workplace, request: &SubsetRequest) -> Result<Subset, AssetError> {
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
    serde_json::to_string(&plan).unwrap();
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
    request.sampling.epochs = 2;
    let subset = make(&place, &request).unwrap();
    let order = |indices: [usize; 10]| indices.map(|index| format!("{index}.png"));
    assert_eq!(subset.files[..10], order([3, 6, 1, 8, 7, 5, 0, 9, 2, 4]));
    assert_eq!(subset.files[10..], order([2, 4, 6, 3, 9, 0, 1, 7, 8, 5]));
    let size = subset.metadata.size;
    assert_eq!((size.files, size.samples, size.bytes), (10, 20, 45));
    request.sampling.shuffle = false;
    request.variant = "in-order".to_owned();
    request.sampling.samples_per_epoch = Some(2);
    let subset = make(&place, &request).unwrap();
    assert_eq!(subset.files, ["0.png", "1.png", "0.png", "1.png"]);
    assert_eq!(subset.metadata.seed, None);
}

#[test]
fn a_variant_may_come_from_a_variant_or_a_list() {
    let place = digits();
    let mut first = request("first", 6);
    first.sampling.epochs = 2;
    make(&place, &first).unwrap();
    let second = SubsetRequest { parent: "first".to_owned(), ..request("second", 2) };
    let subset = make(&place, &second).unwrap();
    assert_eq!((subset.metadata.parent.as_str(), subset.metadata.root.as_str()), ("first", "source-data"));
    let drawn = fs::read_to_string(place.project("datasets/digits/first/files.txt")).unwrap();
    assert!(subset.files.iter().all(|file| drawn.contains(file.as_str())));

    let list = place.storage("list.txt");
    fs::write(&list, "7.png\n\n2.png\n5.png\n").unwrap();
    let mut request = SubsetRequest { list: Some(list.clone()), ..request("listed", 2) };
    request.sampling.shuffle = false;
    assert_eq!(make(&place, &request).unwrap().files, ["7.png", "2.png"]);
    request.variant = "wrong".to_owned();
    for (text, line, problem) in [
        ("7.png\n../../secret\n", 2, "'../../secret' must not have '..'"),
        ("/etc/passwd\n", 1, "'/etc/passwd' must be a relative path"),
        ("7.png\n2.png\n7.png\n", 3, "'7.png' is listed twice"),
        ("7.png\n11.png\n", 2, "'11.png' is not a file of the dataset"),
    ] {
        fs::write(&list, text).unwrap();
        let report = make(&place, &request).unwrap_err().report();
        assert_eq!(report.message, problem);
        assert!(report.place.unwrap().ends_with(&format!("list.txt:{line}:1")));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let place = digits();
    let refused = |request: SubsetRequest| make(&place, &request).unwrap_err().report();
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
    many.sampling.epochs = u64::MAX;
    assert!(refused(many.clone()).message.contains("is longer than 10000000"));
    many.sampling.samples_per_epoch = Some(0);
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
