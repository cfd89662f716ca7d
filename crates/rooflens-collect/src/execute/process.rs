//! Starts a step's process, watches it, and sees to it that nothing of it is left.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};

use rooflens_schema::RunDir;
use rustix::io::{FdFlags, fcntl_setfd};

use super::event::{EventSummary, Line, Listener, read_events};
use super::files;
use super::group::Group;
use super::manifest;
use super::outcome::{StepEnd, StepOutcome};
use super::program::find_program;
use super::{Executor, StepObserver, StopRequest};
use crate::error::ExecuteError;
use crate::plan::{PlannedStep, ProcessCommand, RunFolders};
use crate::profilers::SESSION;

const EVENTS: &str = "ROOFLENS_EVENTS_FD";
const LOOK_EVERY: Duration = Duration::from_millis(20);
const TAIL_LINES: usize = 20;

/// Real processes.
#[derive(Debug, Clone, Copy)]
pub struct Processes {
    /// How long a process that was asked to stop may take to save what it has.
    pub grace: Duration,
}

impl Default for Processes {
    fn default() -> Self {
        Self { grace: Duration::from_secs(30) }
    }
}

impl Executor for Processes {
    fn run(
        &self,
        step: &PlannedStep,
        command: &ProcessCommand,
        places: &RunFolders,
        watch: &dyn StepObserver,
    ) -> Result<StepOutcome, ExecuteError> {
        let folder = RunDir::new(&places.run).raw(&step.name);
        prepare(&folder, command, places)?;
        let (started, begin) = (SystemTime::now(), Instant::now());
        let (mut child, lines) = start(&folder, command, places)?;
        watch.started(child.id());
        let group = Group::led_by(child.id());
        let mut listener = Listener { step, watch, heard: EventSummary::default() };
        let deadline = command.timeout_s.map(|seconds| begin + Duration::from_secs(seconds));
        let mut guard = Guard { group, deadline, grace: self.grace, asked: None };
        let status = loop {
            listener.listen(&lines, LOOK_EVERY);
            // Until the leader is waited for nobody else can have its id: signals reach the right group.
            if let Some(status) = wait(&mut child)? {
                break status;
            }
            guard.look(watch);
            watch.tick();
        };
        let left_behind = group.map(Group::end).unwrap_or_default();
        listener.drain(&lines);
        if listener.heard == EventSummary::default() {
            listener.read_file(&folder.join("events.jsonl"));
        }
        let mut outcome = StepOutcome {
            step: step.name.clone(),
            end: StepEnd::Done,
            exit_code: status.code(),
            signal: status.signal(),
            duration_ns: u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
            events: listener.heard,
            missing: missing(command, places),
            left_behind,
            tail: Vec::new(),
            install: install(command, places),
            manifest_error: None,
        };
        outcome.end = end(status, guard.asked.map(|asked| asked.why), &outcome.missing);
        outcome.tail = log_tail(&folder);
        let written = manifest::write(&folder, step, command, places, started, &outcome);
        outcome.manifest_error = written.err().map(|error| error.to_string());
        Ok(outcome)
    }
}

fn prepare(folder: &Path, command: &ProcessCommand, places: &RunFolders) -> Result<(), ExecuteError> {
    fs::create_dir_all(folder).map_err(|source| ExecuteError::unwritable(folder, source))?;
    for file in &command.writes {
        let path = places.run.join(&file.path);
        fs::write(&path, file.text(places)).map_err(|source| ExecuteError::unwritable(path, source))?;
    }
    Ok(())
}

fn start(
    folder: &Path,
    command: &ProcessCommand,
    places: &RunFolders,
) -> Result<(Child, Receiver<Line>), ExecuteError> {
    let program = find_program(command, places)?;
    let log = |name: &str| {
        let path = folder.join(name);
        File::create(&path).map_err(|source| ExecuteError::unwritable(path, source))
    };
    let (stdout, stderr) = (log("stdout.log")?, log("stderr.log")?);
    let unstartable = |source: io::Error| ExecuteError::unstartable(&program.display().to_string(), &source);
    let (reader, writer) = io::pipe().map_err(unstartable)?;
    // The one descriptor that a child shall inherit. Nothing else is started meanwhile, and our own
    // copy is closed as soon as the child has its own: the pipe ends with the workload.
    fcntl_setfd(&writer, FdFlags::empty()).map_err(|error| unstartable(error.into()))?;
    let child = std::process::Command::new(&program)
        .args(command.argv[1..].iter().map(|word| word.resolve(places)))
        .envs(command.env.iter().map(|(name, value)| (name, value.resolve(places))))
        .env(EVENTS, writer.as_raw_fd().to_string())
        .env(SESSION, session())
        .current_dir(command.cwd.resolve(places))
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        // Ctrl-C of the terminal reaches us alone; we tell the workload.
        .process_group(0)
        .spawn()
        .map_err(unstartable)?;
    drop(writer);
    Ok((child, read_events(reader)))
}

/// Unlike that of any other step, on this machine and at any time.
fn session() -> String {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("{}-{}", std::process::id(), since.as_micros())
}

fn wait(child: &mut Child) -> Result<Option<ExitStatus>, ExecuteError> {
    let unknown = |source| ExecuteError::unstartable("the workload", &source);
    child.try_wait().map_err(unknown)
}

/// Ends a process that takes too long or is not wanted any more: asks first, then kills.
struct Guard {
    group: Option<Group>,
    deadline: Option<Instant>,
    grace: Duration,
    asked: Option<Asked>,
}

#[derive(Clone, Copy)]
struct Asked {
    why: StepEnd,
    at: Instant,
}

impl Guard {
    fn look(&mut self, watch: &dyn StepObserver) {
        let now = Instant::now();
        let wish = watch.stop_request();
        let Some(group) = self.group else { return };
        match self.asked {
            None => {
                let why = match wish {
                    StopRequest::GoOn if self.deadline.is_some_and(|deadline| now >= deadline) => {
                        StepEnd::TimedOut
                    }
                    StopRequest::GoOn => return,
                    StopRequest::Stop | StopRequest::Kill => StepEnd::Stopped,
                };
                self.asked = Some(Asked { why, at: now });
                if wish == StopRequest::Kill { group.kill() } else { group.interrupt() }
            }
            Some(asked) if wish == StopRequest::Kill || now >= asked.at + self.grace => group.kill(),
            Some(_) => {}
        }
    }
}

fn end(status: ExitStatus, asked: Option<StepEnd>, missing: &[String]) -> StepEnd {
    match (asked, status.code()) {
        (Some(why), _) => why,
        (None, Some(0)) if missing.is_empty() => StepEnd::Done,
        (None, Some(0)) => StepEnd::Incomplete,
        (None, Some(_)) => StepEnd::Failed,
        (None, None) => StepEnd::Crashed,
    }
}

pub(super) fn missing(command: &ProcessCommand, places: &RunFolders) -> Vec<String> {
    command.expects.iter().filter(|path| !files::is_there(&places.run.join(path))).cloned().collect()
}

fn install(command: &ProcessCommand, places: &RunFolders) -> Option<String> {
    if command.packages.is_empty() || command.install.is_empty() {
        return None;
    }
    let words = command.install.iter().map(|word| word.resolve(places).to_string_lossy().into_owned());
    Some(words.chain(command.packages.iter().cloned()).collect::<Vec<String>>().join(" "))
}

fn log_tail(folder: &Path) -> Vec<String> {
    let complaints = files::tail(&folder.join("stderr.log"), TAIL_LINES);
    if complaints.is_empty() { files::tail(&folder.join("stdout.log"), TAIL_LINES) } else { complaints }
}
