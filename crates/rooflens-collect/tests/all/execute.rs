//! Real processes: how they end, what is kept of them, and that nothing is left.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rooflens_collect::execute::{
    Executor, Processes, Scripted, StepEnd, StepFault, StepObserver, StepOutcome, StopRequest, WorkloadEvent,
};
use rooflens_collect::plan::{
    CommandWord, PlanRoot, PlannedStep, ProcessCommand, RunFolders, StepWork, WrittenFile,
};
use rooflens_collect::{ExecuteError, RunStage};
use serde_json::json;

/// Hears everything, and may want to stop.
#[derive(Default)]
struct Listener {
    heard: RefCell<Vec<String>>,
    /// Wants to stop once this file is there.
    stops_with: Option<PathBuf>,
    /// How often it asks to stop before it wants to kill.
    patience: Option<u32>,
    asked: Cell<u32>,
    ticks: Cell<u32>,
}

impl StepObserver for Listener {
    fn event(&self, _: &PlannedStep, event: &WorkloadEvent) {
        self.heard.borrow_mut().push(event.name.clone());
    }

    fn stop_request(&self) -> StopRequest {
        if !self.stops_with.as_ref().is_some_and(|file| file.exists()) {
            return StopRequest::GoOn;
        }
        self.asked.set(self.asked.get() + 1);
        let is_patient = self.patience.is_none_or(|asks| self.asked.get() <= asks);
        if is_patient { StopRequest::Stop } else { StopRequest::Kill }
    }

    fn tick(&self) {
        self.ticks.set(self.ticks.get() + 1);
    }
}

fn command(script: &str, timeout_s: Option<u64>) -> ProcessCommand {
    let file = WrittenFile {
        path: "raw/measure/spec.json".to_owned(),
        paths: BTreeMap::from([("output".into(), CommandWord::In(PlanRoot::Run, "raw/measure".to_owned()))]),
        content: json!({ "pass": "measure" }),
    };
    ProcessCommand {
        // Not sh, which may be dash: tests at the same time have more than ten files open, and it has one digit for them.
        argv: ["bash", "-c", script].map(CommandWord::plain).to_vec(),
        env: BTreeMap::from([("ADDED".to_owned(), CommandWord::plain("here"))]),
        cwd: CommandWord::In(PlanRoot::Project, String::new()),
        writes: vec![file],
        expects: vec!["raw/measure/left.txt".to_owned()],
        timeout_s,
        packages: vec!["torch".to_owned()],
        install: ["python3", "-m", "pip", "install"].map(CommandWord::plain).to_vec(),
    }
}

fn take(folder: &Path, command: ProcessCommand, watch: &Listener) -> Result<StepOutcome, ExecuteError> {
    take_within(Duration::from_millis(700), folder, command, watch)
}

fn take_within(
    grace: Duration,
    folder: &Path,
    command: ProcessCommand,
    watch: &Listener,
) -> Result<StepOutcome, ExecuteError> {
    let places =
        RunFolders { run: folder.join("run"), project: folder.to_owned(), package: folder.join("package") };
    let step = step_of(&command);
    Processes { grace }.run(&step, &command, &places, watch)
}

fn step_of(command: &ProcessCommand) -> PlannedStep {
    PlannedStep {
        name: "measure".to_owned(),
        stage: RunStage::Measure,
        purpose: "a test".to_owned(),
        work: StepWork::Process(Box::new(command.clone())),
    }
}

fn run(script: &str) -> (tempfile::TempDir, StepOutcome) {
    let folder = tempfile::tempdir().unwrap();
    let outcome = take(folder.path(), command(script, Some(60)), &Listener::default()).unwrap();
    (folder, outcome)
}

fn manifest(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder.join("run/raw/measure/manifest.json")).unwrap()).unwrap()
}

/// Processes with this in their environment.
fn marked(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let has = |path: &Path| {
        std::fs::read(path.join("environ"))
            .is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()))
    };
    entries
        .map(|entry| entry.path())
        .filter(|path| has(path))
        .map(|path| path.display().to_string())
        .collect()
}

#[test]
fn a_step_that_ends_well_leaves_a_manifest() {
    let script = r#"echo out; echo err >&2; printf '{"event":"hello","t_ns":1,"python":"3","versions":{"torch":"2","vllm":null}}\n' >&$ROOFLENS_EVENTS_FD
        test "$ADDED" = here && test -f run/raw/measure/spec.json && echo kept > run/raw/measure/left.txt"#;
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::default();
    let outcome = take(folder.path(), command(script, None), &listener).unwrap();
    assert_eq!((outcome.end, outcome.exit_code), (StepEnd::Done, Some(0)), "{:?}", outcome.tail);
    assert_eq!(*listener.heard.borrow(), ["hello"]);
    let manifest = manifest(folder.path());
    assert_eq!(manifest["end"], "done");
    assert_eq!(manifest["versions"], json!({ "python": "3", "torch": "2" }));
    assert_eq!(manifest["env"], json!({ "ADDED": "here" }));
    let files: Vec<&str> =
        manifest["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(files, ["left.txt", "spec.json", "stderr.log", "stdout.log"]);
    // echo kept | sha256sum
    let digest = "78051faade059d70866df6a3fb83ef348721fd74a87e93ef95c493f87d0d236b";
    assert_eq!(manifest["files"][0]["bytes"], 5);
    assert_eq!(manifest["files"][0]["sha256"], digest);
    let text = std::fs::read_to_string(folder.path().join("run/raw/measure/spec.json")).unwrap();
    let output = folder.path().join("run/raw/measure");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["output"], output.to_str().unwrap());
}

#[test]
fn a_failure_shows_the_end_of_the_log() {
    let (folder, outcome) = run("for i in $(seq 50); do echo line $i >&2; done; exit 3");
    assert_eq!(
        (outcome.end, outcome.exit_code, outcome.fault()),
        (StepEnd::Failed, Some(3), StepFault::Workload)
    );
    assert_eq!(outcome.verdict(), "ended with exit code 3");
    assert_eq!((outcome.tail.len(), outcome.tail.last().unwrap().as_str()), (20, "line 50"));
    assert_eq!(manifest(folder.path())["exit_code"], 3);
}

#[test]
fn crashes_are_told_apart() {
    let (folder, outcome) = run("kill -SEGV $$");
    assert_eq!((outcome.end, outcome.signal), (StepEnd::Crashed, Some(11)));
    assert_eq!(outcome.verdict(), "was killed by signal 11 (SIGSEGV)");
    assert_eq!(manifest(folder.path())["signal"], 11);
    let (_, outcome) = run("kill -9 $$");
    assert_eq!(
        (outcome.end, outcome.signal, outcome.fault()),
        (StepEnd::Crashed, Some(9), StepFault::Workload)
    );
    assert!(outcome.hint().unwrap().contains("memory"));
}

#[test]
fn what_is_missing_is_told() {
    let (_, outcome) = run("exit 0");
    assert_eq!(outcome.end, StepEnd::Incomplete);
    assert_eq!(outcome.verdict(), "ended, but did not write raw/measure/left.txt");
}

#[test]
fn garbage_is_counted_and_no_more() {
    let script = r#"head -c 3000000 /dev/zero >&$ROOFLENS_EVENTS_FD; printf '\nnot an event\n{"no": "name"}\n[1]\n' >&$ROOFLENS_EVENTS_FD
        head -c 2000 /dev/urandom | tr -d '\n' >&$ROOFLENS_EVENTS_FD; printf '\n{"event":"done","t_ns":1}\n' >&$ROOFLENS_EVENTS_FD
        echo x > run/raw/measure/left.txt"#;
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::default();
    let outcome = take(folder.path(), command(script, Some(60)), &listener).unwrap();
    assert_eq!((outcome.end, outcome.events.garbage_lines), (StepEnd::Done, 5));
    assert!(outcome.events.garbage.unwrap().chars().all(|char| !char.is_control()));
    assert_eq!(*listener.heard.borrow(), ["done"]);
}

#[test]
fn a_file_that_grows_too_large_is_a_structured_end() {
    // The shell's own default: the signal kills.
    let (_, outcome) = run("ulimit -f 8; head -c 1000000 /dev/zero > run/raw/measure/left.txt");
    assert!(matches!(outcome.end, StepEnd::Failed | StepEnd::Crashed), "{:?}", outcome.end);
    assert_eq!(outcome.fault(), StepFault::Workload);
    // A full disk, as the workload tells of it.
    let (_, outcome) = run(
        r#"printf '{"event":"error","t_ns":1,"stage":"decode","class":"OSError","message":"[Errno 28] No space left on device","hint":null}\n' >&$ROOFLENS_EVENTS_FD; exit 1"#,
    );
    assert_eq!(outcome.verdict(), "failed at decode: OSError: [Errno 28] No space left on device");
    assert_eq!(outcome.hint().unwrap(), "df -h . shows the free space");
}

#[test]
fn what_is_not_installed_is_the_environments_fault() {
    let (_, outcome) = run(
        r#"printf '{"event":"error","t_ns":1,"stage":"loading","class":"ModuleNotFoundError","message":"No module","hint":"x"}\n' >&$ROOFLENS_EVENTS_FD; exit 1"#,
    );
    assert_eq!(outcome.fault(), StepFault::Environment);
    assert!(outcome.hint().unwrap().starts_with("python3 -m pip install torch"));
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command("exit 0", None);
    command.argv[0] = CommandWord::plain("no-such-program");
    let error = take(folder.path(), command, &Listener::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no program 'no-such-program'");
}

#[test]
fn a_step_that_hangs_is_stopped_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let mark = format!("MARK={}", folder.path().display());
    // A child that hears nothing, and a leader that hears nothing either.
    let script =
        "trap '' INT TERM; (trap '' INT TERM; while :; do sleep 1; done) & while :; do sleep 1; done";
    let mut command = command(script, Some(1));
    command.env.insert("MARK".to_owned(), CommandWord::plain(folder.path().to_str().unwrap()));
    let outcome = take(folder.path(), command, &Listener::default()).unwrap();
    assert_eq!((outcome.end, outcome.signal), (StepEnd::TimedOut, Some(9)));
    assert_eq!(outcome.left_behind, [0; 0]);
    assert_eq!(marked(&mark), [""; 0]);
}

#[test]
fn whoever_outlives_its_leader_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mark = format!("MARK={}", folder.path().display());
    let mut command = command("sleep 600 & sleep 600 & echo x > run/raw/measure/left.txt", None);
    command.env.insert("MARK".to_owned(), CommandWord::plain(folder.path().to_str().unwrap()));
    let outcome = take(folder.path(), command, &Listener::default()).unwrap();
    assert_eq!(outcome.end, StepEnd::Done);
    assert_eq!(marked(&mark), [""; 0]);
}

#[test]
fn a_wish_to_stop_lets_it_save() {
    let folder = tempfile::tempdir().unwrap();
    // Asked only once it can hear, and given all the time that a busy machine needs. No shell: where these tests run
    // in the background of a script, the signal is ignored from the start, and a shell cannot change that.
    let script = r#"exec python3 -c '
import signal, sys, time
def save(*_):
    open("run/raw/measure/left.txt", "w").write("saved")
    sys.exit(130)
signal.signal(signal.SIGINT, save)
open("ready", "w").close()
while True:
    time.sleep(0.05)
'"#;
    let watch = Listener { stops_with: Some(folder.path().join("ready")), ..Listener::default() };
    let outcome = take_within(Duration::from_secs(60), folder.path(), command(script, None), &watch).unwrap();
    let found = (outcome.end, outcome.exit_code, outcome.signal, outcome.fault());
    assert_eq!(found, (StepEnd::Stopped, Some(130), None, StepFault::User));
    assert!(folder.path().join("run/raw/measure/left.txt").is_file());
    assert!(watch.ticks.get() > 0);
}

#[test]
fn a_wish_to_kill_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let watch = Listener { stops_with: Some(ready), patience: Some(3), ..Listener::default() };
    let deaf = command("trap '' INT; touch ready; while :; do sleep 0.1; done", None);
    // A grace that nobody would wait for.
    let outcome = take_within(Duration::from_secs(100_000), folder.path(), deaf, &watch).unwrap();
    assert_eq!((outcome.end, outcome.signal), (StepEnd::Stopped, Some(9)));
}

#[test]
fn a_script_stands_for_processes() {
    let folder = tempfile::tempdir().unwrap();
    let places = RunFolders {
        run: folder.path().join("run"),
        project: folder.path().to_owned(),
        package: folder.path().into(),
    };
    let command = command("exit 1", None);
    let step = step_of(&command);
    let files = vec![
        ("left.txt".to_owned(), b"x".to_vec()),
        ("events.jsonl".to_owned(), b"{\"event\":\"done\",\"t_ns\":1}\n".to_vec()),
    ];
    let scripted = Scripted { files: BTreeMap::from([("measure".to_owned(), files)]), ..Scripted::default() };
    let listener = Listener::default();
    let outcome = scripted.run(&step, &command, &places, &listener).unwrap();
    assert_eq!(outcome.end, StepEnd::Done);
    assert_eq!(*listener.heard.borrow(), ["done"]);
    assert_eq!(manifest(folder.path())["files"].as_array().unwrap().len(), 2);
}
