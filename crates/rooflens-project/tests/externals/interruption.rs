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
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "interruption::the_sync_that_is_stopped"])
        .current_dir(project)
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    // It fails where all is over already.
    Command::new("kill")
        .args(["-INT", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    child.wait().unwrap();
    // Git outlives its parent by a moment, in which it deletes what it had begun.
    while is_alive(child.id()) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process of the group still runs. What has ended stays listed until someone asks for its
/// exit code, which nobody may do in a container.
fn is_alive(group: u32) -> bool {
    let stats = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("stat"));
    stats.filter_map(|stat| std::fs::read_to_string(stat).ok()).any(|stat| {
        // `pid (name) state parent group …`, where the name may have spaces.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = fields.next();
        state != Some("Z") && fields.nth(1) == Some(group.to_string().as_str())
    })
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
