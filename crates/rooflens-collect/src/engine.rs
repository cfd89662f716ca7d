//! A query engine: a program of its own beside this one, as git and cargo have them.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// Where a program is: beside this one, or on the path.
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

    /// Limits the address space of its process; what asks for more fails. Where the system cannot, nothing is limited.
    #[cfg(target_os = "linux")]
    pub fn limit_memory(&self, bytes: u64) {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        if let Some(process) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // Where that is not allowed, the engine bounds itself.
            let _ = prlimit(Some(process), Resource::As, limit);
        }
    }

    /// Limits the address space of its process; this system cannot, and nothing is limited.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn limit_memory(&self, _bytes: u64) {}

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
