//! The runs below a folder, each from two small files.

use std::cmp::Reverse;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::thread;

use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::Runs;
use serde_json::{Map, Value as Json};

use super::IndexedRun;
use super::folders::{RunFolder, RunFolderKind, run_at, runs_below};
use super::numbers::KeptNumbers;
use super::tags;
use crate::error::{Error, Hint};
use crate::in_order::{Turns, in_order};
use crate::shell::word;

const UNFINISHED: &str = "tables/runs.parquet is missing: the run has not ended, or was interrupted";

/// The runs below a folder, or at it: newest first, then those that do not say when they began, by folder.
///
/// Links are not followed. A run that is damaged is listed, with what is wrong.
pub fn scan(root: &Path) -> Result<Vec<IndexedRun>, Error> {
    let root = canonical(root)?;
    let folders = runs_below(&root);
    let mut runs = read_all(&root, &folders);
    runs.sort_by_cached_key(|run| {
        let start = run.start_unix_ns();
        (start.is_none(), Reverse(start), run.folder.clone())
    });
    Ok(runs)
}

/// The same, for a question that needs a run.
pub fn listed(root: &Path) -> Result<Vec<IndexedRun>, Error> {
    let runs = scan(root)?;
    if runs.is_empty() {
        Err(without_runs(format!("there is no run directory in {}", root.display())))
    } else {
        Ok(runs)
    }
}

/// Puts runs in the order of time; of those that began together, by build, then by name. Where some do not say when they
/// began, that is the order of their folders; answers whether it is. Numbers in names go by their value.
pub fn oldest_first(runs: &mut [IndexedRun]) -> bool {
    let is_by_name = runs.iter().any(|run| run.start_unix_ns().is_none());
    let named = |run: &IndexedRun| natural(run.folder.as_deref().unwrap_or_default());
    match is_by_name {
        true => runs.sort_by_cached_key(named),
        false => runs.sort_by_cached_key(|run| {
            (run.start_unix_ns(), natural(&run.build()), named(run), run.run_id.clone())
        }),
    }
    is_by_name
}

/// A key that sorts `run-9` before `run-10`.
pub fn natural(name: &str) -> Vec<(u8, u64, String)> {
    let mut parts: Vec<(u8, u64, String)> = Vec::new();
    for part in name.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let digits = part.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        if let Ok(number) = digits.parse() {
            parts.push((0, number, digits.to_owned()));
        } else if !digits.is_empty() {
            parts.push((0, u64::MAX, digits.to_owned()));
        }
        let rest = &part[digits.len()..];
        if !rest.is_empty() {
            parts.push((1, 0, rest.to_owned()));
        }
    }
    parts
}

pub(super) fn canonical(root: &Path) -> Result<PathBuf, Error> {
    match root.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(path) => Err(Error::data(format!("{} is a file, not a folder of runs", path.display()))
            .command(format!("rooflens analyze {}", word(&path)))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(without_runs(format!("there is no folder {}", root.display())))
        }
        Err(source) => Err(unreadable(root, &source)),
    }
}

fn without_runs(message: String) -> Error {
    let hint = Hint::leading("of a trace, write a run directory:", "rooflens analyze TRACE -o runs/one");
    Error::data(message).hinted(hint)
}

pub(super) fn unreadable(path: &Path, source: &std::io::Error) -> Error {
    Error::environment(format!("cannot read {}: {source}", path.display()))
        .command(format!("ls -ld {}", word(path)))
}

/// Whether a folder itself is a run, or what is left of one.
pub fn is_run(folder: &Path) -> bool {
    run_at(folder).is_some()
}

/// The id of the run in a folder; nothing where there is none.
pub fn id_at(folder: &Path) -> Option<String> {
    let root = canonical(folder).ok()?;
    read_one(&root, &root)?.run_id
}

pub(super) fn read_one(root: &Path, folder: &Path) -> Option<IndexedRun> {
    run_at(folder).map(|found| indexed(root, &found))
}

/// Reads runs with one thread per core; the order is that of the folders.
fn read_all(root: &Path, folders: &[RunFolder]) -> Vec<IndexedRun> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let read = |at: usize, _: &Turns| indexed(root, &folders[at]);
    let mut runs = Vec::new();
    let take = |run| {
        runs.push(run);
        Ok::<(), Infallible>(())
    };
    in_order((folders.len(), threads), || true, read, take).ok();
    runs
}

fn below(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    let parts: Vec<String> = parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// What a folder below a canonical root tells.
pub fn indexed(root: &Path, found: &RunFolder) -> IndexedRun {
    let mut problems = Vec::new();
    let mut note = |problem: Result<(), String>| problems.extend(problem.err());
    let folder = RunDir::new(&found.path);
    let (tags, tags_problem) = tags::read(&found.path);
    let mut row = Map::new();
    note(match found.kind {
        RunFolderKind::Listed => row_of(&folder).map(|read| row = read),
        RunFolderKind::LeftOver => Err(UNFINISHED.to_owned()),
        RunFolderKind::Report => Ok(()),
    });
    note(KeptNumbers::read(&folder).map(|numbers| complete(&mut row, numbers)));
    note(tags_problem.map_or(Ok(()), Err));
    if found.path.strip_prefix(root).is_ok_and(|path| path.to_str().is_none()) {
        note(Err("the name of its folder is not UTF-8".to_owned()));
    }
    let run_id = row.get("run_id").and_then(Json::as_str).filter(|id| !id.is_empty()).map(str::to_owned);
    let start = row.get("start_unix_ns").and_then(Json::as_i64);
    IndexedRun {
        run_id,
        folder: Some(below(root, &found.path)),
        sweep: found.sweep.as_deref().map(|sweep| below(root, sweep)),
        tenant: None,
        day: start.map(rooflens_store::day_of),
        added_unix_ns: None,
        tags,
        problem: (!problems.is_empty()).then(|| problems.join("; ")),
        row,
    }
}

fn row_of(run: &RunDir) -> Result<Map<String, Json>, String> {
    let cannot = |why: String| format!("tables/runs.parquet cannot be read: {why}");
    let table = read_table::<Runs>(&run.table("runs")).map_err(|error| cannot(error.to_string()))?;
    let known = table.row(0).ok_or_else(|| cannot("it has no row".to_owned()))?;
    let none = std::collections::BTreeMap::new();
    let mut row =
        rooflens_store::row_of_run(&known, None, &none).map_err(|error| cannot(error.to_string()))?;
    row.insert("source".to_owned(), known.source.into());
    let metrics =
        known.metrics.as_deref().and_then(|text| serde_json::from_str::<Map<String, Json>>(text).ok());
    row.insert("metrics".to_owned(), Json::Object(metrics.unwrap_or_default()));
    Ok(row)
}

/// Adds to a row what the report knows. The run's own row counts where both have a metric: it is renewed with the report.
fn complete(row: &mut Map<String, Json>, numbers: Option<KeptNumbers>) {
    let Some(numbers) = numbers else { return };
    for (name, value) in numbers.columns() {
        if row.get(&name).is_none_or(Json::is_null) {
            row.insert(name, value.parse::<i64>().map_or_else(|_| value.clone().into(), Json::from));
        }
    }
    let metrics = row.entry("metrics").or_insert_with(|| Json::Object(Map::new()));
    if let Json::Object(metrics) = metrics {
        for (key, value) in numbers.headline().into_iter().chain(numbers.further()) {
            metrics.entry(key).or_insert_with(|| value.into());
        }
        metrics.sort_keys();
    }
}

/// Fewest characters of an id that name a run: a typing error is not to cost one.
const LEAST_OF_AN_ID: usize = 8;

#[derive(Debug, Clone)]
pub(crate) struct FoundRun {
    pub(crate) path: PathBuf,
    pub(crate) run: IndexedRun,
}

/// The run of a folder that a name means: its folder, as it is listed or as it is seen from the working directory, or at
/// least eight characters of its id. What is a link, lies outside the folder or is no run is refused.
pub(crate) fn find(root: &Path, name: &str) -> Result<FoundRun, Error> {
    let folder = canonical(root)?;
    let places = [root.join(name), PathBuf::from(name)];
    match places.iter().find(|place| !name.is_empty() && place.symlink_metadata().is_ok()) {
        Some(path) => at(&folder, path),
        None => by_id(&folder, root, name),
    }
}

fn at(root: &Path, path: &Path) -> Result<FoundRun, Error> {
    if path.is_symlink() {
        return Err(is_link(path));
    }
    let place = path.canonicalize().map_err(|source| unreadable(path, &source))?;
    if !place.starts_with(root) {
        let message = format!("{} is not in {}", path.display(), root.display());
        let parent = word(path.parent().unwrap_or(path));
        return Err(Error::usage(message).words(format!("name the folder that it is in with --in {parent}")));
    }
    match read_one(root, &place) {
        Some(run) => Ok(FoundRun { path: place, run }),
        None => Err(no_run(path)),
    }
}

pub(super) fn is_link(path: &Path) -> Error {
    Error::usage(format!("{} is a symbolic link: links are not followed", path.display()))
        .words("name the run by its own folder")
}

pub(super) fn no_run(path: &Path) -> Error {
    let above = path.parent().filter(|_| !path.is_dir()).unwrap_or(path);
    Error::usage(format!("{} is not a run directory: nothing was changed", path.display()))
        .hinted(Hint::leading("the runs in it:", format!("rooflens runs {}", word(above))))
}

fn by_id(folder: &Path, root: &Path, name: &str) -> Result<FoundRun, Error> {
    let runs = scan(folder)?;
    let is_long_enough = name.len() >= LEAST_OF_AN_ID;
    let is_meant = |run: &&IndexedRun| run.run_id.as_deref().is_some_and(|id| id.starts_with(name));
    let found: Vec<&IndexedRun> = runs.iter().filter(|_| is_long_enough).filter(is_meant).collect();
    match found.as_slice() {
        [run] => Ok(FoundRun { path: folder.join(run.text("folder")), run: (*run).clone() }),
        [] => {
            let names: Vec<String> = runs.iter().map(|run| run.text("folder")).collect();
            let near = rooflens_compose::near(name, names.iter().map(String::as_str));
            Err(Error::usage(format!("no run in {} is called {name:?}", root.display()))
                .hinted(Hint::near(&near, || Hint::command(format!("rooflens runs {}", word(root))))))
        }
        several => {
            let found: Vec<String> = several.iter().map(|run| run.text("folder")).collect();
            Err(Error::usage(format!("{name:?} is ambiguous, these runs match: {}", found.join(", ")))
                .words("give more characters, or the folder of the run"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rooflens_schema::RunId;
    use rooflens_schema::parquet_io::edit_run_row;

    use super::*;

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
}
