//! A short question to a program: what it prints, if it answers in time.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::execute::Group;

const LOOK_EVERY: Duration = Duration::from_millis(5);
const LONGEST: u64 = 1 << 16;

/// What a program prints to standard output, or why there is no answer. Whatever it started is ended.
pub fn ask(program: &Path, args: &[&str], within: Duration) -> Result<String, String> {
    ask_with(program, args, &[], within)
}

/// The same, with environment variables beside those that are inherited.
pub fn ask_with(
    program: &Path,
    args: &[&str],
    env: &[(String, OsString)],
    within: Duration,
) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(args)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let group = Group::led_by(child.id());
    // Read on threads of their own: a pipe that is full would stop it.
    let stdout = child.stdout.take().map(|pipe| std::thread::spawn(move || read(pipe)));
    let stderr = child.stderr.take().map(|pipe| std::thread::spawn(move || read(pipe)));
    let until = Instant::now() + within;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            Ok(None) => break Err(format!("did not answer within {} s", within.as_secs())),
            Err(error) => break Err(format!("cannot be waited for: {error}")),
        }
    };
    if status.is_err() {
        if let Some(group) = group {
            group.kill();
        }
        // It is dead by now, or nobody can end it.
        let _ = child.wait();
    }
    group.map(Group::end);
    let text = |reader: Option<std::thread::JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    let (answer, complaint) = (text(stdout), text(stderr));
    match status? {
        status if status.success() => Ok(answer),
        status => {
            let last = complaint.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
            let how = status
                .code()
                .map_or_else(|| "was killed".to_owned(), |code| format!("ended with exit code {code}"));
            Err(if last.is_empty() { how } else { format!("{how}: {last}") })
        }
    }
}

fn read(pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // What was read until an error is still an answer.
    let _ = pipe.take(LONGEST).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, within: Duration) -> Result<String, String> {
        ask(Path::new("/bin/sh"), &["-c", script], within)
    }

    #[test]
    fn an_answer_or_why_not() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo 1.2.3; echo noise >&2", long).as_deref(), Ok("1.2.3\n"));
        assert_eq!(shell("echo why >&2; exit 7", long).unwrap_err(), "ended with exit code 7: why");
        assert_eq!(shell("kill -9 $$", long).unwrap_err(), "was killed");
        assert!(ask(Path::new("/nowhere"), &[], long).unwrap_err().starts_with("cannot be started"));
        let begin = Instant::now();
        assert_eq!(
            shell("sleep 600 & sleep 600", Duration::from_secs(1)).unwrap_err(),
            "did not answer within 1 s"
        );
        assert!(begin.elapsed() < Duration::from_secs(300), "what it started holds the pipe, and was ended");
    }
}
