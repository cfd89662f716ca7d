//! Ctrl-C at any moment: the next sync ends what was begun, without force.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rooflens_project::externals::{Condition, Externals, SyncRequest};

use super::support::{GIT_KINDS, World, files, git};

/// Not a test: what the test below starts and stops.
#[test]
#[ignore = "started and interrupted by another test"]
fn started_by_a_test() {
    Externals::open(Path::new(".")).unwrap().sync(&SyncRequest::default()).unwrap();
}

/// A git that starts what it is asked for and, when it is called for the `INTERRUPT_AT`-th time, interrupts its
/// process group meanwhile, as a terminal does. Not INT, which a shell has its background jobs ignore.
const GIT: &str = r#"#!/bin/sh
calls=$(($(cat "$INTERRUPT_CALLS") + 1))
echo "$calls" > "$INTERRUPT_CALLS"
if [ "$calls" -eq "$INTERRUPT_AT" ]; then
  "$INTERRUPT_GIT" "$@" &
  kill -TERM 0
fi
exec "$INTERRUPT_GIT" "$@"
"#;

fn real_git() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap()
}

/// Starts a sync in a process group of its own, which is interrupted when it calls git for the nth time. Whether
/// it was.
fn interrupted_sync(project: &Path, at: u32) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (git, calls) = (folder.path().join("git"), folder.path().join("calls"));
    std::fs::write(&git, GIT).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(&calls, "0").unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let path =
        std::env::join_paths(std::iter::once(folder.path().to_owned()).chain(std::env::split_paths(&path)));
    let mark = format!("INTERRUPT_CALLS={}", calls.display());
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "externals::interruption::started_by_a_test"])
        .current_dir(project)
        .env("PATH", path.unwrap())
        .env("INTERRUPT_CALLS", &calls)
        .env("INTERRUPT_AT", at.to_string())
        .env("INTERRUPT_GIT", real_git())
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    // Git outlives its parent by a moment.
    while is_running(&mark) {
        std::thread::sleep(Duration::from_millis(2));
    }
    !ended.success()
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
        let mut at = 0;
        loop {
            at += 1;
            let colleague = world.colleague();
            git(
                &colleague.project,
                &["rm", "-r", "-q", "--cached", "--ignore-unmatch", "third_party/github"],
            );
            drop(std::fs::remove_dir_all(colleague.place()));
            let was_interrupted = interrupted_sync(&colleague.project, at);
            // It asks before it changes anything.
            assert!(at > 1 || colleague.condition() != Condition::InSync, "{kind}: never in time");
            let report = colleague.sync();
            assert!(report.succeeded, "{kind} at call {at}: {:?}", report.sources[0].error);
            assert_eq!(colleague.condition(), Condition::InSync);
            assert_eq!(files(&colleague.place()), whole);
            assert_eq!(git(&colleague.project, &["status", "--porcelain"]), "", "{kind} at call {at}");
            if !was_interrupted {
                break;
            }
        }
    }
}
