//! A process group: everything that a step started, as long as it does not leave the group on purpose.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

const FAREWELL: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Group(Pid);

impl Group {
    pub(crate) fn led_by(process: u32) -> Option<Self> {
        Pid::from_raw(i32::try_from(process).ok()?).map(Group)
    }

    /// Asks everybody in it to stop, as Ctrl-C would.
    pub(crate) fn interrupt(self) {
        // It may be gone already.
        let _ = kill_process_group(self.0, Signal::INT);
    }

    pub(crate) fn terminate(self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }

    pub(crate) fn is_alive(self) -> bool {
        test_kill_process_group(self.0).is_ok() && !self.living().is_empty()
    }

    pub(crate) fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Kills whoever is left, and waits until they are gone. Answers who could not be ended.
    pub(crate) fn end(self) -> Vec<i32> {
        let until = Instant::now() + FAREWELL;
        loop {
            self.kill();
            if test_kill_process_group(self.0).is_err() {
                return Vec::new();
            }
            let living = self.living();
            if living.is_empty() || Instant::now() >= until {
                return living;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Who is in it and not dead. The dead whom nobody buries stay in a group forever.
    fn living(self) -> Vec<i32> {
        let group = self.0.as_raw_nonzero().get();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        processes.filter(|process| lives_in(*process, group)).collect()
    }
}

/// Whether a process lives in a group. `/proc/PID/stat` is `PID (NAME) STATE PARENT GROUP …`, and a
/// name may hold anything, also parentheses.
fn lives_in(process: i32, group: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let mut words = rest.split_whitespace();
    let state = words.next();
    words.nth(1).and_then(|word| word.parse().ok()) == Some(group) && !matches!(state, Some("Z" | "X"))
}
