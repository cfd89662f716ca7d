use std::fs;
use std::os::unix::fs::symlink;

use rooflens_schema::RunId;
use rooflens_schema::parquet_io::edit_run_row;

use super::*;

/// A run with a row and the top of a report.
fn make_run(folder: &Path, start_unix_ns: Option<i64>, tpot_ns: f64) {
    let run = RunDir::new(folder);
    run.create().expect("folders");
    edit_run_row(&run, "run", |row| {
        row.run_id = RunId::new();
        row.start_unix_ns = start_unix_ns.into();
        row.model = Some("/models/tiny".to_owned());
        row.status = "complete".to_owned();
    })
    .expect("a row");
    let numbers = serde_json::json!({"measured": {"tpot_ns": {"p50": tpot_ns}}});
    fs::write(run.report().join("metrics.json"), numbers.to_string()).expect("numbers");
}

fn folders(runs: &[IndexedRun]) -> Vec<&str> {
    runs.iter().filter_map(|run| run.folder.as_deref()).collect()
}

#[test]
fn runs_are_found_at_any_depth_newest_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    make_run(&root.join("b"), Some(86_400_000_000_000), 2.0);
    // A folder that is no run may have any name.
    make_run(&root.join("raw/a"), Some(1), 1.0);
    make_run(&root.join("deep/er/undated"), None, 4.0);
    make_run(&root.join("sweep/0"), Some(2), 3.0);
    fs::write(root.join("sweep/sweep.json"), "{}").expect("a sweep");
    // A part of a run is no run, nor is a store.
    make_run(&root.join("b/raw/inner"), Some(1), 1.0);
    make_run(&root.join("store/tenant=default/x"), Some(1), 1.0);
    fs::write(root.join("store/store.json"), "{}").expect("a store");
    let runs = scan(root).expect("runs");
    assert_eq!(folders(&runs), ["b", "sweep/0", "raw/a", "deep/er/undated"]);
    assert_eq!(runs[1].sweep.as_deref(), Some("sweep"));
    assert_eq!((runs[0].day.as_deref(), runs[3].day.as_deref()), (Some("1970-01-02"), None));
    assert_eq!((runs[0].metric("tpot_p50_ns"), runs[0].text("model")), (Some(2.0), "tiny".to_owned()));
    assert!(runs.iter().all(|run| run.problem.is_none() && run.run_id.is_some()));
    let only = scan(&root.join("b")).expect("a run");
    assert_eq!(folders(&only), ["."]);
}

#[test]
fn damaged_runs_are_listed_with_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    make_run(&root.join("cut"), Some(1), 1.0);
    fs::write(root.join("cut/tables/runs.parquet"), "PAR1").expect("a file");
    make_run(&root.join("numbers"), Some(1), 1.0);
    fs::write(root.join("numbers/report/metrics.json"), "{\"measured\":").expect("a file");
    fs::create_dir_all(root.join("begun/.rooflens")).expect("a folder");
    fs::write(root.join("begun/plan.json"), "{}").expect("a file");
    fs::create_dir_all(root.join("nothing/here")).expect("a folder");
    let runs = scan(root).expect("runs");
    let problem = |folder: &str| {
        let run = runs.iter().find(|run| run.folder.as_deref() == Some(folder));
        run.and_then(|run| run.problem.clone()).unwrap_or_default()
    };
    assert!(problem("cut").starts_with("tables/runs.parquet cannot be read: "), "{}", problem("cut"));
    assert!(problem("numbers").starts_with("report/metrics.json cannot be read: "));
    assert_eq!(problem("begun"), UNFINISHED);
    // What is damaged keeps what is left: the row of one, the numbers of the other.
    let cut = runs.iter().find(|run| run.folder.as_deref() == Some("cut")).expect("listed");
    assert_eq!((cut.run_id.as_deref(), cut.metric("tpot_p50_ns")), (None, Some(1.0)));
    assert_eq!(runs.len(), 3, "{:?}", folders(&runs));
}

#[test]
fn links_are_not_followed() {
    let (folder, elsewhere) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (root, outside) = (folder.path(), elsewhere.path());
    make_run(&outside.join("secret"), Some(1), 1.0);
    make_run(&root.join("own"), Some(1), 1.0);
    symlink(outside.join("secret"), root.join("linked")).expect("a link");
    symlink(root, root.join("loop")).expect("a link");
    // A run whose parts are links to those of another.
    fs::create_dir(root.join("hollow")).expect("a folder");
    symlink(outside.join("secret/tables"), root.join("hollow/tables")).expect("a link");
    fs::create_dir_all(root.join("file/tables")).expect("a folder");
    symlink(outside.join("secret/tables/runs.parquet"), root.join("file/tables/runs.parquet"))
        .expect("a link");
    symlink(outside.join("secret/report"), root.join("file/report")).expect("a link");
    let runs = scan(root).expect("runs");
    assert_eq!(folders(&runs), ["own", "file"]);
    assert_eq!((runs[1].problem.as_deref(), runs[1].row.len()), (Some(UNFINISHED), 0));
    assert!(scan(&root.join("absent")).is_err());
    // Who names a link means where it leads.
    assert_eq!(folders(&scan(&root.join("linked")).expect("a run")), ["."]);
}
