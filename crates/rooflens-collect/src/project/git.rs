//! Starts git: no shell, no prompts, no hooks, no surprises from the environment.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::project::error::ProjectError;

/// A value of `GIT_ALLOW_PROTOCOL` that no protocol has: git may not reach anything.
pub(crate) const NO_PROTOCOL: &str = "none";

/// Settings that hold over the user's own. The rest of the user's configuration stays (proxies,
/// credential helpers, `insteadOf`), without which many could fetch nothing.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
    // Protocol 2 serves any commit by its id, not only the tips of branches.
    "protocol.version=2",
    // A server that sends nothing for a minute is given up.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
];

/// What is kept of the `GIT_*` variables: how to reach a server, and where the user's settings are.
/// The others point git at some other repository, as they do within a hook.
const KEPT: &[&str] = &[
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_PROXY_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// How much of git's complaint is passed on.
const MAX_SAID_LINES: usize = 4;
const MAX_SAID_CHARS: usize = 600;

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// It cannot be started.
    #[error("git cannot be started: {source}")]
    NotStarted {
        /// The system's answer.
        source: io::Error,
    },
    /// The folder to start it in is not there.
    #[error("{path}: {source}", path = path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It refused.
    #[error("`git {command}` failed: {said}")]
    Refused {
        /// What it was asked.
        command: String,
        /// What it said.
        said: String,
    },
}

impl From<GitError> for ProjectError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::NotStarted { .. } => {
                Self::environment(error.to_string()).hint("install git and put it on PATH")
            }
            GitError::NoFolder { path, source } => Self::io(&path)(source),
            GitError::Refused { .. } => Self::environment(error.to_string())
                .hint("nothing was committed; `rooflens externals status` shows the current state"),
        }
    }
}

/// Git in a folder.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    folder: PathBuf,
    protocols: Cow<'static, str>,
    index: Option<PathBuf>,
    own_repository: bool,
    user_hooks: bool,
    literal_paths: bool,
}

impl Git {
    /// Git in a folder, cut off from every remote.
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            protocols: NO_PROTOCOL.into(),
            index: None,
            own_repository: false,
            user_hooks: false,
            literal_paths: true,
        }
    }

    /// Lets git use some protocols.
    pub(crate) fn reaching(mut self, protocols: impl Into<Cow<'static, str>>) -> Self {
        self.protocols = protocols.into();
        self
    }

    /// Uses another index than the repository's own.
    pub(crate) fn with_index(mut self, index: Option<PathBuf>) -> Self {
        self.index = index;
        self
    }

    /// Never takes the repository around the folder for the folder's own.
    pub(crate) fn own_repository(mut self) -> Self {
        self.own_repository = true;
        self
    }

    /// Leaves `core.hooksPath` as the user has it, for asking where hooks are.
    pub(crate) fn with_user_hooks(mut self) -> Self {
        self.user_hooks = true;
        self
    }

    /// Lets paths be patterns, for a command that refuses to be told that they are none.
    pub(crate) fn with_patterns(mut self) -> Self {
        self.literal_paths = false;
        self
    }

    /// Runs it and gives what it printed.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Vec<u8>, GitError> {
        self.run_with_input(arguments, b"")
    }

    /// The same, with something to read.
    pub(crate) fn run_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: &[A],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let output = self.output(arguments, input)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(GitError::Refused { command: shown(arguments), said: said(&output.stderr) })
    }

    /// The one line it prints, without its end.
    pub(crate) fn line<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<String, GitError> {
        Ok(text_line(&self.run(arguments)?))
    }

    /// The one line it prints, or nothing where it fails: for questions whose answer may be no.
    pub fn ask<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Option<String>, GitError> {
        let output = self.output(arguments, b"")?;
        Ok(output.status.success().then(|| text_line(&output.stdout)))
    }

    /// The code it ends with, for questions that it answers by that; none where a signal ended it.
    pub(crate) fn code<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Option<i32>, GitError> {
        Ok(self.output(arguments, b"")?.status.code())
    }

    fn output<A: AsRef<OsStr>>(&self, arguments: &[A], input: &[u8]) -> Result<Output, GitError> {
        let mut command = self.command()?;
        command.args(arguments.iter().map(AsRef::as_ref));
        let mut child = command
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| self.cannot_start(source))?;
        let stdin = child.stdin.take();
        // Written beside the reading: git answers while it reads, and either pipe may fill up.
        std::thread::scope(|scope| {
            if let Some(mut stdin) = stdin {
                // A git that stopped reading has said why on stderr, and its exit code counts.
                scope.spawn(move || drop(stdin.write_all(input)));
            }
            child.wait_with_output()
        })
        .map_err(|source| GitError::NotStarted { source })
    }

    /// The system says "not found" of a missing git and of a missing folder alike.
    fn cannot_start(&self, source: io::Error) -> GitError {
        if self.folder.is_dir() {
            GitError::NotStarted { source }
        } else {
            GitError::NoFolder { path: self.folder.clone(), source }
        }
    }

    fn command(&self) -> Result<Command, GitError> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if is_dropped(&name) {
                command.env_remove(name);
            }
        }
        command
            .current_dir(&self.folder)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("GCM_INTERACTIVE", "never")
            .env("GIT_ALLOW_PROTOCOL", &*self.protocols)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("GIT_TEMPLATE_DIR", "");
        if self.protocols == NO_PROTOCOL {
            command.env("GIT_NO_LAZY_FETCH", "1");
            out_of_reach_of_the_terminal(&mut command);
        } else if let Some(ssh) = self.batch_ssh()? {
            command.env("GIT_SSH_COMMAND", ssh);
        }
        if self.literal_paths {
            command.env("GIT_LITERAL_PATHSPECS", "1");
        }
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let (true, Some(parent)) = (self.own_repository, self.folder.parent()) {
            command.env("GIT_CEILING_DIRECTORIES", parent);
        }
        for setting in SETTINGS.iter().skip(usize::from(self.user_hooks)) {
            command.arg("-c").arg(setting);
        }
        Ok(command)
    }

    /// The user's ssh, told not to ask for anything. Ssh asks on the terminal itself, past git.
    fn batch_ssh(&self) -> Result<Option<String>, GitError> {
        if self.protocols == "file" || ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| is_set(name)) {
            return Ok(None);
        }
        let configured = Git::at(&self.folder).ask(&["config", "--get", "core.sshCommand"])?;
        let ssh = configured.filter(|ssh| !ssh.is_empty()).unwrap_or_else(|| "ssh".to_owned());
        Ok(Some(format!("{ssh} -o BatchMode=yes")))
    }
}

/// Ctrl-C is for fetches. A git that is interrupted as it opens a lock file leaves it behind, and the
/// project's repository then refuses every change; what git does on this machine alone ends by itself.
fn out_of_reach_of_the_terminal(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

fn is_dropped(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("GIT_") && !name.starts_with("GIT_SSL_") && !KEPT.contains(&name.as_ref())
}

fn text_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

/// The command as a message shows it.
pub(crate) fn shown<A: AsRef<OsStr>>(arguments: &[A]) -> String {
    let words: Vec<_> = arguments.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    words.join(" ")
}

/// Git's complaint, shortened, on one line. A server writes part of it, so that control characters
/// (which a terminal obeys) are dropped.
pub(crate) fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let noise = |line: &&str| line.is_empty() || line.starts_with("hint:") || line.starts_with("warning:");
    let mut lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| !noise(line)).collect();
    lines.drain(..lines.len().saturating_sub(MAX_SAID_LINES));
    let joined: String =
        lines.join("; ").chars().filter(|char| !char.is_control()).take(MAX_SAID_CHARS).collect();
    if joined.is_empty() { "git gave no reason".to_owned() } else { joined }
}

/// The records of a `-z` answer.
pub(crate) fn records(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes
        .split(|byte| *byte == 0)
        .filter(|record| !record.is_empty())
        .map(|record| String::from_utf8_lossy(record).into_owned())
}

/// A path as a pattern of git (`.gitignore`, sparse checkouts) that matches nothing else.
pub(crate) fn literal(path: &str) -> String {
    let mut pattern = String::new();
    for char in path.chars() {
        if matches!(char, '\\' | '*' | '?' | '[' | ']') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    // A space at the end would be dropped.
    match pattern.strip_suffix(' ') {
        Some(rest) => format!("{rest}\\ "),
        None => pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_short_and_cannot_steer_a_terminal() {
        let stderr = b"warning: x\nremote: \x1b[31mred\x07\nfatal: no\nhint: y\n\n";
        assert_eq!(said(stderr), "remote: [31mred; fatal: no");
        assert_eq!(said(b""), "git gave no reason");
        assert!(said("x".repeat(5000).as_bytes()).len() <= MAX_SAID_CHARS);
    }

    #[test]
    fn a_missing_folder_is_no_missing_git() {
        let gone = Path::new("/nonexistent/folder");
        let error = Git::at(gone).run(&["--version"]).unwrap_err();
        assert!(matches!(error, GitError::NoFolder { path, .. } if path == gone));
    }

    #[test]
    fn hooks_are_the_first_setting() {
        // `with_user_hooks` leaves out the first.
        assert!(SETTINGS[0].starts_with("core.hooksPath="));
    }
}
