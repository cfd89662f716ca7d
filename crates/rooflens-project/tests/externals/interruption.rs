//! Ctrl-C at any moment: the next sync ends what was begun, without force.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rooflens_project::externals::{Condition, Externals, SyncRequest};

use crate::support::{GIT_KINDS, World, files, git};

/// Not a test: what the test below starts and stops.
#[test]
#[ignore = "started and interrupted by another test"]
fn the_sync_that_is_stopped() {
    Externals::open(Path::new(".")).unwrap().sync(&SyncRequest::default()).unwrap();
}

/// Starts a sync in a process group of its own, and interrupts that group as a terminal does.
fn interrupted_sync(project: &Path, after: Duration) {
    let mark = format!("ROOFLENS_INTERRUPTED={}-{after:?}", project.display());
    let (name, value) = mark.split_once('=').unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "interruption::the_sync_that_is_stopped"])
        .current_dir(project)
        .env(name, value)
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    // It fails where all is over already. Not INT, which a shell has its background jobs ignore.
    Command::new("kill")
        .args(["-TERM", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    child.wait().unwrap();
    // Git outlives its parent by a moment.
    while is_running(&mark) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process has a variable in its environment.
fn is_running(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("environ")).ok())
        .any(|environment| environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()))
}

#[test]
fn whenever_it_comes_the_next_sync_ends_it() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        world.commit("pin");
        let whole = files(&world.place());
        let mut seen = Vec::new();
        for millis in (0..240).step_by(40) {
            let colleague = world.colleague();
            git(
                &colleague.project,
                &["rm", "-r", "-q", "--cached", "--ignore-unmatch", "third_party/github"],
            );
            drop(std::fs::remove_dir_all(colleague.place()));
            interrupted_sync(&colleague.project, Duration::from_millis(millis));
            seen.push(colleague.condition());
            let report = colleague.sync();
            assert!(report.succeeded, "{kind} after {millis} ms: {:?}", report.sources[0].error);
            assert_eq!(colleague.condition(), Condition::InSync);
            assert_eq!(files(&colleague.place()), whole);
            assert_eq!(git(&colleague.project, &["status", "--porcelain"]), "", "{kind} after {millis} ms");
        }
        assert!(
            seen.iter().any(|condition| *condition != Condition::InSync),
            "{kind}: never in time: {seen:?}"
        );
    }
}
