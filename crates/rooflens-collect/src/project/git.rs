//! Starts git: no shell, no prompts, no hooks, no surprises from the environment.

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

const MAX_SAID_LINES: usize = 4;
const MAX_SAID_CHARS: usize = 600;

#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("git cannot be started: {0}")]
    NotStarted(io::Error),
    #[error("{path}: {source}", path = path.display())]
    NoFolder { path: PathBuf, source: io::Error },
    #[error("`git {command}` failed: {said}")]
    Refused { command: String, said: String },
}

impl From<GitError> for ProjectError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::NotStarted(_) => {
                Self::environment(error.to_string()).hint("install git and put it on PATH")
            }
            GitError::NoFolder { path, source } => Self::io(&path)(source),
            GitError::Refused { .. } => Self::environment(error.to_string())
                .hint("nothing was committed; `rooflens externals status` shows the current state"),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Git {
    folder: PathBuf,
    protocols: &'static str,
    index: Option<PathBuf>,
    own_repository: bool,
    user_hooks: bool,
    literal_paths: bool,
}

impl Git {
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            protocols: NO_PROTOCOL,
            index: None,
            own_repository: false,
            user_hooks: false,
            literal_paths: true,
        }
    }

    pub(crate) fn reaching(mut self, protocols: &'static str) -> Self {
        self.protocols = protocols;
        self
    }

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

    pub(crate) fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.run_with_input(arguments, b"")
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let output = self.output(arguments, input)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(GitError::Refused { command: arguments.join(" "), said: said(&output.stderr) }),
        }
    }

    pub(crate) fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        Ok(text_line(&self.run(arguments)?))
    }

    /// The one line it prints; `None` if it fails, for questions whose answer can be no.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<Option<String>, GitError> {
        let output = self.output(arguments, b"")?;
        Ok(output.status.success().then(|| text_line(&output.stdout)))
    }

    pub(crate) fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        self.ask(&["rev-parse", "--verify", "--quiet", name])
    }

    pub(crate) fn code(&self, arguments: &[&str]) -> Result<Option<i32>, GitError> {
        Ok(self.output(arguments, b"")?.status.code())
    }

    fn output(&self, arguments: &[&str], input: &[u8]) -> Result<Output, GitError> {
        let mut child = self
            .command()?
            .args(arguments)
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| self.cannot_start(source))?;
        let stdin = child.stdin.take();
        // Written while it is read: git answers while it reads, and either pipe may fill up.
        std::thread::scope(|scope| {
            if let Some(mut stdin) = stdin {
                // A git that stopped reading has said why on stderr, and its exit code counts.
                scope.spawn(move || drop(stdin.write_all(input)));
            }
            child.wait_with_output()
        })
        .map_err(GitError::NotStarted)
    }

    /// The system says "not found" of a missing git and of a missing folder alike.
    fn cannot_start(&self, source: io::Error) -> GitError {
        if self.folder.is_dir() {
            GitError::NotStarted(source)
        } else {
            GitError::NoFolder { path: self.folder.clone(), source }
        }
    }

    fn command(&self) -> Result<Command, GitError> {
        let mut command = Command::new("git");
        // Other variables point git at another repository, as they do within a hook.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let is_kept = text.starts_with("GIT_SSL_") || KEPT.contains(&text.as_ref());
            if text.starts_with("GIT_") && !is_kept {
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
            .env("GIT_ALLOW_PROTOCOL", self.protocols)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("GIT_TEMPLATE_DIR", "");
        if self.protocols == NO_PROTOCOL {
            command.env("GIT_NO_LAZY_FETCH", "1");
            // Ctrl-C is for fetches. A git that is interrupted as it opens a lock file leaves the file behind, and the
            // project's repository then refuses every change. What git does on this machine alone ends by itself.
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
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
        for setting in SETTINGS.iter().filter(|it| !(self.user_hooks && it.starts_with("core.hooksPath"))) {
            command.arg("-c").arg(setting);
        }
        Ok(command)
    }

    /// The user's ssh, told not to ask for anything. Ssh asks on the terminal itself, past git.
    fn batch_ssh(&self) -> Result<Option<String>, GitError> {
        if self.protocols == "file"
            || ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| std::env::var_os(name).is_some())
        {
            return Ok(None);
        }
        let configured = Git::at(&self.folder).ask(&["config", "--get", "core.sshCommand"])?;
        let ssh = configured.filter(|ssh| !ssh.is_empty()).unwrap_or_else(|| "ssh".to_owned());
        Ok(Some(format!("{ssh} -o BatchMode=yes")))
    }
}

fn text_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

/// Git's complaint, shortened, on one line. A server writes part of it, so that control characters
/// (which a terminal obeys) are dropped.
fn said(stderr: &[u8]) -> String {
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
}
