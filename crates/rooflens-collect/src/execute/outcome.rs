//! What became of a step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::EventSummary;
use crate::profilers::ncu::{NcuRefusal, refusal};

/// What became of a step.
#[derive(Debug, Clone)]
pub struct StepOutcome {
    /// The step.
    pub step: String,
    /// How it ended.
    pub end: StepEnd,
    /// The exit code, where it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal, where it ended by one.
    pub signal: Option<i32>,
    /// How long it took.
    pub duration_ns: u64,
    /// What it told.
    pub events: EventSummary,
    /// Expected files that it did not write, from the run's folder.
    pub(crate) missing: Vec<String>,
    /// Processes of its group that could not be ended.
    pub left_behind: Vec<i32>,
    /// The end of what it printed.
    pub tail: Vec<String>,
    pub(crate) install: Option<String>,
    /// Why its manifest could not be written.
    pub manifest_error: Option<String>,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    /// All expected files exist.
    Done,
    /// Ended with another code than 0.
    Failed,
    /// Ended by a signal that was not ours.
    Crashed,
    /// Took too long and was stopped.
    TimedOut,
    /// The user wanted it to stop.
    Stopped,
    /// Exited with code 0, but expected files are missing.
    Incomplete,
}

/// Whose fault a failed step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepFault {
    /// Something is not installed.
    Environment,
    /// The workload's own.
    Workload,
    /// Nobody's: it was stopped.
    User,
}

impl StepOutcome {
    /// Whether all went well.
    pub fn is_done(&self) -> bool {
        self.end == StepEnd::Done
    }

    /// Whose fault it is.
    pub fn fault(&self) -> StepFault {
        let class = self.events.error.as_ref().and_then(|error| error.text("class"));
        match (self.end, class) {
            (StepEnd::Stopped, _) => StepFault::User,
            // It profiled nothing: no device, no permission, or no such launch.
            (StepEnd::Failed | StepEnd::Incomplete, _) if self.refusal().is_some() => StepFault::Environment,
            (StepEnd::Failed, Some("ModuleNotFoundError" | "ImportError" | "DeviceError")) => {
                StepFault::Environment
            }
            _ => StepFault::Workload,
        }
    }

    /// What happened, in a sentence without its subject: `was killed by signal 9 (SIGKILL)`.
    pub fn verdict(&self) -> String {
        match self.end {
            StepEnd::Done => "ended well".to_owned(),
            StepEnd::TimedOut => {
                format!("timed out after {} s", self.duration_ns / 1_000_000_000)
            }
            StepEnd::Stopped => "was stopped".to_owned(),
            StepEnd::Incomplete => format!("ended, but did not write {}", self.missing.join(", ")),
            StepEnd::Crashed => match self.signal {
                Some(signal) => format!("was killed by signal {signal}{}", signal_name(signal)),
                None => "ended with an unknown status".to_owned(),
            },
            StepEnd::Failed => {
                let code = self.exit_code.unwrap_or(-1);
                match &self.events.error {
                    Some(error) => {
                        let at = error.text("stage").unwrap_or("an unknown stage");
                        let message = error.text("message").unwrap_or("");
                        let class = error.text("class").unwrap_or("error");
                        format!("failed at {at}: {class}: {message}")
                    }
                    None => format!("ended with exit code {code}"),
                }
            }
        }
    }

    /// What helps, where that is known.
    pub fn hint(&self) -> Option<String> {
        if let Some(refusal) = self.refusal() {
            return Some(refusal.hint().to_owned());
        }
        // No package gives a machine the device that it lacks.
        let is_device =
            self.events.error.as_ref().is_some_and(|error| error.text("class") == Some("DeviceError"));
        if self.fault() == StepFault::Environment && self.install.is_some() && !is_device {
            return self.install.as_ref().map(|install| {
                format!("{install}; or name an interpreter that has it: runtime.python=PATH")
            });
        }
        let told = self.events.error.as_ref().and_then(|error| error.text("hint")).map(str::to_owned);
        told.or_else(|| {
            match (self.end, self.signal) {
            (StepEnd::TimedOut, _) => {
                Some("runtime.timeout_s=SECONDS gives it more time; null removes the limit".to_owned())
            }
            (StepEnd::Crashed, Some(9)) => {
                Some("was memory full? check dmesg | tail; runtime.batch_size=1 needs less".to_owned())
            }
            (StepEnd::Crashed, Some(25)) => {
                Some("ulimit -f shows the largest file size, df -h . the free space".to_owned())
            }
            // Nsight Systems ends with code 0 where what it waited for never began.
            (StepEnd::Incomplete, _) if self.missing.iter().any(|file| file.ends_with(".nsys-rep")) => Some(
                "nsys recorded nothing: the phase to capture never began. pipeline.nsys.capture=null records \
                 everything; your own program marks phases with rooflens.probe"
                    .to_owned(),
            ),
            _ if self.is_disk_full() => Some("df -h . shows the free space".to_owned()),
            _ => None,
        }
        })
    }

    /// Why Nsight Compute left no report, where it said so.
    fn refusal(&self) -> Option<NcuRefusal> {
        let without = self.missing.iter().any(|file| file.ends_with(".ncu-rep"));
        without.then(|| refusal(&self.tail.join("\n"))).flatten()
    }

    fn is_disk_full(&self) -> bool {
        let message = self.events.error.as_ref().and_then(|error| error.text("message")).unwrap_or("");
        message.contains("No space left") || message.contains("File too large") || message.contains("quota")
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        25 => " (SIGXFSZ)",
        _ => "",
    }
}
