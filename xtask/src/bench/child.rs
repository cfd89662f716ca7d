//! A program run to its end, and what it took.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// How often memory is looked at.
const EVERY: Duration = Duration::from_millis(10);
/// Clock ticks of `/proc` a second: fixed at 100 in the kernel's interface to programs.
const TICKS: f64 = 100.0;

#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    /// Most memory of its own at once: pages that belong to no file.
    pub(crate) private_bytes: u64,
    /// Its standard output, where asked for.
    pub(crate) stdout: String,
}

/// Runs a command; `keep` says whether its standard output is kept or thrown away.
pub(crate) fn run(command: &mut Command, keep: bool) -> Result<Taken> {
    let before = children_cpu_s()?;
    let start = Instant::now();
    command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(if keep {
        Stdio::piped()
    } else {
        Stdio::null()
    });
    let child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
    let status_file = format!("/proc/{}/status", child.id());
    let ended = AtomicBool::new(false);
    let (done, private_bytes) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !ended.load(Ordering::Relaxed) {
                most = most.max(private_bytes(&status_file));
                thread::sleep(EVERY);
            }
            most
        });
        let done = child.wait_with_output();
        let wall_s = start.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        (done.map(|done| (done, wall_s)), watch.join().unwrap_or_default())
    });
    let (done, wall_s) = done?;
    if !done.status.success() {
        bail!("{command:?} ended with {}\n{}", done.status, String::from_utf8_lossy(&done.stderr));
    }
    let stdout = String::from_utf8(done.stdout)?;
    Ok(Taken { wall_s, cpu_s: children_cpu_s()? - before, private_bytes, stdout })
}

/// Pages of the process that belong to no file; nothing once it has ended.
fn private_bytes(status_file: &str) -> u64 {
    let text = fs::read_to_string(status_file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

/// Processor time of all children that have ended, in user and system.
fn children_cpu_s() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("measuring needs Linux's /proc")?;
    // The second field is a name in brackets, which may hold blanks; the children's times are the 16th
    // and 17th, counted from 1.
    let behind_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = behind_name.split_whitespace().skip(16 - 3).take(2);
    let ticks: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
    ensure!(ticks.len() == 2, "/proc/self/stat tells no times of children");
    Ok(ticks.iter().sum::<f64>() / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_takes_time_and_memory() {
        let mut busy = Command::new("bash");
        busy.args([
            "-c",
            "x=$(printf 'a%.0s' {1..300000}); for i in {1..50000}; do :; done; sleep 1; echo done",
        ]);
        let taken = run(&mut busy, true).unwrap();
        assert_eq!(taken.stdout, "done\n");
        assert!(taken.wall_s > 1.0 && taken.private_bytes > 100_000, "{taken:?}");
        assert!(run(Command::new("bash").args(["-c", "exit 3"]), false).is_err());
    }
}
