//! Runs that are started at the same time.

use super::run::{OUT, ROWS, project, start};
use super::*;

#[test]
fn house_04_twenty_runs_of_one_second_have_twenty_folders() {
    let folder = project(&format!("{OUT}{ROWS}"));
    let begin = || {
        let mut command = start(&folder, &["runtime.python=./fake", "profiling=none", "--quiet"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..20).map(|_| begin()).collect();
    for child in running {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let inside = |folder: PathBuf| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let runs: Vec<PathBuf> = inside(folder.path("p/runs/first")).into_iter().flat_map(inside).collect();
    assert_eq!(runs.len(), 20, "{runs:?}");
    for run in runs {
        assert!(run.join("report/metrics.json").is_file(), "{}", run.display());
    }
}
