//! Where assets are found: roots, hub caches, disks that cannot be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rooflens_project::assets::{Absence, Action, Disk, FileKind, FileSystem, Surroundings, Untracked, plan};

use crate::assets_support::{COMMIT, Workplace, read, write};

const MODEL: &str = "schema: 1\nmodels: [{name: m, source: {root: MODELS_ROOT, path: real/m}}]\n";
const HUB: &str = "schema: 1\nmodels: [{name: m, source: {hub: org/name}}]\n";

#[test]
fn roots_come_from_the_environment_then_the_file() {
    let mut place = Workplace::new();
    place.store("real/m/config.json", "{}");
    place.store("other/real/m/config.json", "{}");
    let with_default = format!("{MODEL}roots: {{MODELS_ROOT: ../storage/other}}\n");
    let target = |action| match action {
        Action::Link { to, .. } => to,
        other => panic!("{other:?}"),
    };
    assert_eq!(target(place.action(&with_default)), place.storage("real/m"));
    place.variables.clear();
    let resolved = fs::canonicalize(place.storage("other/real/m")).unwrap();
    assert_eq!(target(place.action(&with_default)), resolved);
    place.set("MODELS_ROOT", Path::new(""));
    assert_eq!(target(place.action(&with_default)), resolved);
    let step = place.plan(MODEL).steps.remove(0);
    assert!(matches!(&step.action, Action::MissingSource { absence: Absence::RootUnknown { .. }, .. }));
    assert_eq!(
        step.hint.unwrap(),
        "set MODELS_ROOT to the folder, or write roots.MODELS_ROOT in bootstrap.yaml"
    );
    place.set("HOME", &place.storage("other"));
    let home = format!("{MODEL}roots: {{MODELS_ROOT: '~'}}\n");
    assert_eq!(target(place.action(&home)), place.storage("other/real/m"));
}

#[test]
fn hub_caches_are_understood() {
    let mut place = Workplace::new();
    let snapshot = place.cache("models--org--name", &[("config.json", "{}")]);
    let to = |place: &Workplace, text: &str| match place.action(text) {
        Action::Link { to, .. } => to,
        other => panic!("{other:?}"),
    };
    assert_eq!(to(&place, HUB), snapshot);
    let pinned = HUB.replace("org/name", &format!("org/name, revision: {COMMIT}"));
    assert_eq!(to(&place, &pinned), snapshot);
    write(&place.storage("hf/hub/models--org--name/refs/refs/pr/1"), format!("{COMMIT}\n"));
    assert_eq!(to(&place, &HUB.replace("org/name", "org/name, revision: refs/pr/1")), snapshot);
    // A path that is a repository stands for its main snapshot.
    let path =
        "schema: 1\nmodels: [{name: m, source: {root: MODELS_ROOT, path: hf/hub/models--org--name}}]\n";
    assert_eq!(to(&place, path), snapshot);

    place.variables.clear();
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
    assert_eq!(
        to(&place, &format!("{HUB}roots: {{HF_SNAPSHOTS_ROOT: {}}}\n", place.storage("hf/hub").display())),
        snapshot
    );
    fs::create_dir_all(place.storage("home/.cache")).unwrap();
    fs::rename(place.storage("hf"), place.storage("home/.cache/huggingface")).unwrap();
    place.set("HOME", &place.storage("home"));
    assert!(to(&place, HUB).starts_with(place.storage("home/.cache/huggingface/hub")));
    place.variables.clear();
    place.set("XDG_CACHE_HOME", &place.storage("home/.cache"));
    assert!(to(&place, HUB).ends_with(COMMIT));
}

#[test]
fn a_cache_without_the_revision_says_what_it_has() {
    let place = Workplace::new();
    let missing = |text: &str| match place.plan(text).steps.remove(0) {
        step if matches!(step.action, Action::MissingSource { .. }) => {
            let Action::MissingSource { absence, looked_at, .. } = step.action else { unreachable!() };
            (absence.to_string(), looked_at, step.hint.unwrap())
        }
        other => panic!("{other:?}"),
    };
    let (why, looked_at, hint) = missing(HUB);
    assert_eq!((why.as_str(), hint.as_str()), ("it does not exist", "hf download org/name --revision main"));
    assert_eq!(looked_at, [place.storage("hf/hub/models--org--name")]);
    place.cache("models--org--name", &[]);
    let (why, ..) = missing(&HUB.replace("org/name", "org/name, revision: v2"));
    assert_eq!(why, format!("the cache has no revision 'v2'; it has main, {COMMIT}"));
    let other = COMMIT.replace('0', "f");
    let (why, ..) = missing(&HUB.replace("org/name", &format!("org/name, revision: {other}")));
    assert_eq!(why, format!("the cache has no snapshot of the commit {other}"));
    // What stands in a reference becomes part of a path.
    for text in ["../../../../etc", "", "main", "/etc", &format!("{COMMIT}/..")] {
        write(&place.storage("hf/hub/models--org--name/refs/main"), text);
        assert!(missing(HUB).0.ends_with("is not a commit"), "{text}");
    }
    // A dataset is looked for among datasets.
    assert!(
        missing("schema: 1\ndatasets: [{name: m, source: {hub: org/name}}]\n").1[0]
            .ends_with("datasets--org--name")
    );
}

/// A disk on which some paths cannot be looked at.
struct Locked(PathBuf);

impl FileSystem for Locked {
    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        if path.starts_with(&self.0) { Err(io::ErrorKind::PermissionDenied.into()) } else { Disk.kind(path) }
    }
    fn kind_behind(&self, path: &Path) -> io::Result<FileKind> {
        self.kind(path)
    }
    fn link_text(&self, path: &Path) -> io::Result<PathBuf> {
        Disk.link_text(path)
    }
    fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        Disk.resolved(path)
    }
    fn names(&self, folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
        Disk.names(folder)
    }
    fn head(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        Disk.head(path, most)
    }
}

#[test]
fn what_cannot_be_looked_at_is_not_guessed() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    let environment = place.environment();
    let plan_on = |files: &dyn FileSystem| {
        let around = Surroundings { files, environment: &environment, tracking: &Untracked };
        plan(&place.open(), &read(MODEL), &around).steps.remove(0).action
    };
    let storage = Locked(place.storage("real"));
    assert!(matches!(plan_on(&storage), Action::MissingSource { absence: Absence::Unreadable { .. }, .. }));
    let target = Locked(place.open().root().join("models"));
    assert!(matches!(plan_on(&target), Action::Refused { .. }));
}
