//! Links: planned, made, kept, refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rooflens_project::assets::{
    Action, AssetFaultClass, Consent, FileKind, LinkState, StepResult, Unwatched, apply,
};

use crate::assets_support::{Workplace, everything, write};

const MODEL: &str = "schema: 1\nmodels: [{name: m, source: {root: MODELS_ROOT, path: real/m}}]\n";

#[test]
fn a_link_is_made_once() {
    let place = Workplace::new();
    let config = place.store("real/m/config.json", "{}");
    let model = config.parent().unwrap();
    let before = place.outside();
    let first = place.link(MODEL);
    assert_eq!((first.changes(), first.is_complete()), (1, true));
    assert_eq!(fs::read_link(place.project("models/m")).unwrap(), model);
    let second = place.link(MODEL);
    assert_eq!((second.changes(), second.is_complete()), (0, true));
    assert_eq!(second.outcomes[0].result, StepResult::Unchanged);
    assert_eq!(place.outside(), before);
}

#[test]
fn a_plan_changes_nothing_and_is_json() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    let plan = place.plan(MODEL);
    assert_eq!(everything(&place.project("")), Vec::<String>::new());
    let json = serde_json::to_value(&plan).unwrap();
    let step = &json["steps"][0];
    assert_eq!(json["schema_version"], 1);
    assert_eq!(
        (&step["asset"], &step["kind"], &step["action"]),
        (&"m".into(), &"model".into(), &"link".into())
    );
    assert_eq!(step["link"], "models/m");
    assert_eq!(step["consent"], serde_json::json!([]));
    serde_json::to_string(&place.apply(&plan)).unwrap();
    serde_json::to_string(&place.status(MODEL)).unwrap();
    serde_json::to_string(&place.verify(MODEL)).unwrap();
}

#[test]
fn a_single_file_may_be_linked() {
    let place = Workplace::new();
    place.store("real/m", "weights");
    assert!(place.link(MODEL).is_complete());
    assert_eq!(fs::read(place.project("models/m")).unwrap(), b"weights");
    assert_eq!(place.status(MODEL).assets[0].size.unwrap().bytes, 7);
}

#[test]
fn a_link_that_leads_to_the_same_place_is_right() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    symlink(place.storage("real"), place.storage("mount")).unwrap();
    fs::create_dir(place.project("models")).unwrap();
    symlink(place.storage("mount/m"), place.project("models/m")).unwrap();
    assert!(matches!(place.action(MODEL), Action::KeepLink { .. }));
}

#[test]
fn a_link_elsewhere_is_replaced_with_consent_only() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    fs::create_dir(place.project("models")).unwrap();
    for (from, is_broken) in
        [(place.storage(""), false), (PathBuf::from("gone"), true), (PathBuf::from("m"), true)]
    {
        let _ = fs::remove_file(place.project("models/m"));
        symlink(&from, place.project("models/m")).unwrap();
        let state = place.status(MODEL).assets.remove(0).state;
        assert_eq!(matches!(state, LinkState::BrokenLink { .. }), is_broken, "{state:?}");
        assert_eq!(matches!(state, LinkState::LinkedElsewhere { .. }), !is_broken);
        let plan = place.plan(MODEL);
        assert_eq!(plan.steps[0].consent, [Consent::ReplacesLink]);
        let refused = apply(&place.open(), &plan, &mut |_| false, &mut Unwatched);
        assert_eq!(refused.outcomes[0].result, StepResult::NotAllowed);
        assert_eq!(fs::read_link(place.project("models/m")).unwrap(), from);
        assert!(place.apply(&plan).is_complete());
        assert_eq!(fs::read_link(place.project("models/m")).unwrap(), place.storage("real/m"));
        assert_eq!(everything(&place.project("models")).len(), 1, "no temporary link is left");
    }
}

#[test]
fn real_things_are_never_replaced() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    write(&place.project("models/m/mine.txt"), "mine");
    let before = everything(&place.project(""));
    let applied = place.link(MODEL);
    assert_eq!(applied.outcomes[0].result, StepResult::Impossible);
    assert!(matches!(applied.outcomes[0].step.action, Action::Conflict { found: FileKind::Folder, .. }));
    assert_eq!(everything(&place.project("")), before);

    // What has come since the plan was made is not replaced either.
    fs::remove_dir_all(place.project("models")).unwrap();
    let made = place.plan(MODEL);
    write(&place.project("models/m"), "mine");
    assert!(
        matches!(&place.apply(&made).outcomes[0].result, StepResult::Failed { error } if error.message.contains("has changed"))
    );
    fs::remove_file(place.project("models/m")).unwrap();
    symlink("elsewhere", place.project("models/m")).unwrap();
    let replaced = place.plan(MODEL);
    fs::remove_file(place.project("models/m")).unwrap();
    write(&place.project("models/m"), "mine");
    assert!(
        matches!(&place.apply(&replaced).outcomes[0].result, StepResult::Failed { error } if error.message.contains("has changed"))
    );
    assert_eq!(fs::read(place.project("models/m")).unwrap(), b"mine");
}

#[test]
fn nothing_is_made_through_a_parent_that_leads_out() {
    let place = Workplace::new();
    place.store("real/m/config.json", "{}");
    fs::create_dir(place.storage("elsewhere")).unwrap();
    let before = place.outside();
    for to in [
        place.storage("elsewhere"),
        PathBuf::from("../storage/elsewhere"),
        PathBuf::from("gone"),
        PathBuf::from("models"),
    ] {
        symlink(&to, place.project("models")).unwrap();
        let Action::Refused { error, .. } = place.action(MODEL) else { panic!("{to:?}") };
        assert_eq!(error.class, AssetFaultClass::Environment);
        assert!(error.message.contains("outside the project"), "{}", error.message);
        // A plan from before the link came is refused when it is applied.
        fs::remove_file(place.project("models")).unwrap();
        let plan = place.plan(MODEL);
        symlink(&to, place.project("models")).unwrap();
        assert!(matches!(place.apply(&plan).outcomes[0].result, StepResult::Failed { .. }));
        fs::remove_file(place.project("models")).unwrap();
    }
    assert_eq!(place.outside(), before);
    // A link that stays inside is fine.
    fs::create_dir(place.project("large")).unwrap();
    symlink("large", place.project("models")).unwrap();
    assert!(place.link(MODEL).is_complete());
    fs::remove_file(place.project("models")).unwrap();
    write(&place.project("models"), "a file");
    assert!(matches!(place.action(MODEL), Action::Refused { .. }));
}

#[test]
fn a_source_around_its_own_link_is_refused() {
    let mut place = Workplace::new();
    write(&place.project("models/m/config.json"), "{}");
    place.set("MODELS_ROOT", &place.project("..").canonicalize().unwrap());
    let around = "schema: 1\nmodels: [{name: n, source: {root: MODELS_ROOT, path: project}}]\n";
    assert!(matches!(place.action(around), Action::Conflict { .. }));
    let circle = "schema: 1\nmodels: [{name: c, source: {root: MODELS_ROOT, path: project/models/c}}]\n";
    symlink("c", place.project("models/c")).unwrap();
    assert!(matches!(place.action(circle), Action::MissingSource { .. }));
}

#[test]
fn names_with_blanks_and_letters_of_any_kind_work() {
    let place = Workplace::new();
    place.store("größe 1/データ/x", "1");
    let text = "schema: 1\ndatasets: [{name: Ünï côdé, source: {root: DATASETS_ROOT, path: größe 1/データ}, required: ['*']}]\n";
    assert!(place.link(text).is_complete());
    assert!(place.project("datasets/Ünï côdé/source-data/x").is_file());
    assert!(place.status(text).assets[0].is_fine());
}
