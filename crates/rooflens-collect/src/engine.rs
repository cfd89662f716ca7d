//! A query engine: a program of its own beside this one, as git and cargo have them.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// Where a program is: beside this one, or on the path.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(program)));
    let on_path = std::env::var_os("PATH");
    let folders = on_path.iter().flat_map(std::env::split_paths).map(|folder| folder.join(program));
    beside.into_iter().chain(folders).find(|path| path.is_file())
}

/// A running engine. It ends when this is dropped.
pub struct EngineProcess {
    child: Child,
}

impl EngineProcess {
    /// Starts it.
    pub fn start(program: &Path) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(EngineProcess { child: command.spawn()? })
    }

    /// Where its request goes.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Where its answer comes from.
    pub fn take_output(&mut self) -> Option<BufReader<ChildStdout>> {
        self.child.stdout.take().map(BufReader::new)
    }

    /// Where it tells what happens.
    pub fn take_errors(&mut self) -> Option<BufReader<ChildStderr>> {
        self.child.stderr.take().map(BufReader::new)
    }

    /// Ends it; one that has ended already stays so.
    pub fn stop(&mut self) {
        drop(self.child.kill());
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        self.stop();
        drop(self.child.wait());
    }
}
