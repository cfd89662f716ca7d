//! Archives, git and permissions, by way of a plan.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rooflens_project::assets::{Action, AssetFaultClass, Consent, Git, StepResult, Unwatched, apply};

use crate::assets_support::{Workplace, everything, write, zip_maker};

const MODEL: &str = "schema: 1\nmodels: [{name: m, source: {root: MODELS_ROOT, path: real/m}}]\n";
const ZIPPED: &str = "\
schema: 1
datasets:
  - name: d
    source: {root: DATASETS_ROOT, path: d}
    extract: [{archive: a.zip, into: datasets/d/images}]
";

#[test]
fn archives_are_extracted_once_and_with_consent() {
    let place = Workplace::new();
    place.store("d/a.zip", zip_maker::zip(&[zip_maker::file("x/1.png", "png")]));
    let plan = place.plan(ZIPPED);
    assert_eq!(plan.steps[1].consent, [Consent::Extracts]);
    let before = place.outside();
    let refused =
        apply(&place.open(), &plan, &mut |step| !step.consent.contains(&Consent::Extracts), &mut Unwatched);
    assert_eq!(refused.outcomes[1].result, StepResult::NotAllowed);
    assert!(!refused.is_complete());
    let applied = place.link(ZIPPED);
    assert_eq!((applied.changes(), applied.is_complete()), (1, true));
    assert_eq!(fs::read(place.project("datasets/d/images/x/1.png")).unwrap(), b"png");
    assert_eq!(place.link(ZIPPED).changes(), 0);
    assert!(place.status(ZIPPED).assets[0].is_fine());
    assert_eq!(place.outside(), before);

    // Another version of the archive: the folder is left alone.
    place.store("d/a.zip", zip_maker::zip(&[zip_maker::file("x/2.png", "png!")]));
    let step = place.plan(ZIPPED).steps.remove(1);
    assert!(matches!(step.action, Action::Conflict { .. }));
    assert_eq!(step.hint.unwrap(), "move 'datasets/d/images' away and run again");
    // Without the archive it stays as it is.
    fs::remove_file(place.storage("d/a.zip")).unwrap();
    assert!(matches!(place.plan(ZIPPED).steps[1].action, Action::KeepExtracted { .. }));
    // A folder of the user's own is not touched.
    fs::remove_dir_all(place.project("datasets/d/images")).unwrap();
    assert!(matches!(place.plan(ZIPPED).steps[1].action, Action::MissingSource { .. }));
    fs::create_dir(place.project("datasets/d/images")).unwrap();
    assert!(matches!(place.plan(ZIPPED).steps[1].action, Action::Conflict { .. }));
}

#[test]
fn an_evil_archive_fails_alone_and_leaves_nothing() {
    let place = Workplace::new();
    place.store(
        "d/a.zip",
        zip_maker::zip(&[zip_maker::file("ok", "1"), zip_maker::file("../../../evil", "2")]),
    );
    let before = place.outside();
    let applied = place.link(ZIPPED);
    assert!(matches!(applied.outcomes[0].result, StepResult::Done { .. }));
    let StepResult::Failed { error } = &applied.outcomes[1].result else { panic!("{applied:?}") };
    assert!(error.message.ends_with("'../../../evil' has '..' in its path"), "{}", error.message);
    assert_eq!(place.outside(), before);
    assert_eq!(everything(&place.project("datasets/d")).len(), 1);
    // Extracting through a folder that is a link to the storage would write there.
    fs::remove_dir_all(place.project("datasets")).unwrap();
    fs::create_dir(place.project("datasets")).unwrap();
    symlink(place.storage("d"), place.project("datasets/d")).unwrap();
    assert!(place.plan(ZIPPED).steps.iter().all(|step| matches!(step.action, Action::Refused { .. })));
}

#[test]
fn git_must_not_track_links() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    let git = |arguments: &[&str]| {
        let status = Command::new("git").args(arguments).current_dir(place.project("")).status().unwrap();
        assert!(status.success());
    };
    assert_eq!(place.plan_tracked(MODEL, &Git).steps[0].consent, [], "not a repository");
    git(&["init", "--quiet"]);
    assert_eq!(place.plan_tracked(MODEL, &Git).steps[0].consent, [Consent::GitWouldTrack]);
    // The pattern of a folder does not match a link.
    write(&place.project(".gitignore"), "models/*/\n");
    assert!(place.link(MODEL).is_complete());
    let warnings = place.status_tracked(MODEL, &Git).assets.remove(0).warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].to_string(), "git would track 'models/m'");
    write(&place.project(".gitignore"), "/models/m\n");
    assert_eq!(place.status_tracked(MODEL, &Git).assets[0].warnings, []);
    assert_eq!(place.plan_tracked(MODEL, &Git).steps[0].consent, []);
    // One that is tracked already is not saved by being ignored.
    git(&["add", "--force", "models/m"]);
    assert_eq!(place.status_tracked(MODEL, &Git).assets[0].warnings.len(), 1);
}

/// Permissions do not bind root, so root runs this test again as nobody.
#[test]
fn a_read_only_project_fails_with_its_reason() {
    const NOBODY: u32 = 65_534;
    let probe = tempfile::TempDir::new().unwrap();
    fs::set_permissions(probe.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let is_bound = fs::write(probe.path().join("x"), "").is_err();
    if !is_bound {
        let folder = tempfile::TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let copy = folder.path().join("test");
        fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        let mut command = Command::new(copy);
        command.args(["--exact", "assets_extract::a_read_only_project_fails_with_its_reason"]);
        command.current_dir("/").uid(NOBODY).gid(NOBODY);
        // A process that another test has just forked may hold the copy open for a moment.
        let output = loop {
            match command.output() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                ended => break ended.unwrap(),
            }
        };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    place.store("d/a.zip", zip_maker::zip(&[zip_maker::file("x", "1")]));
    let both = format!("{MODEL}{}", ZIPPED.strip_prefix("schema: 1\n").unwrap());
    fs::set_permissions(place.project(""), fs::Permissions::from_mode(0o555)).unwrap();
    let applied = place.link(&both);
    fs::set_permissions(place.project(""), fs::Permissions::from_mode(0o755)).unwrap();
    for outcome in &applied.outcomes {
        let StepResult::Failed { error } = &outcome.result else { panic!("{outcome:?}") };
        assert_eq!(error.class, AssetFaultClass::Environment);
        assert!(error.message.contains("cannot be written"), "{}", error.message);
    }
    assert_eq!(everything(&place.project("")), Vec::<String>::new());
}
