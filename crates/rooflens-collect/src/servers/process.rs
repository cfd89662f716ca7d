//! Starts a server, waits until it is ready, and stops it so that nothing of it is left.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::plan::{HOST, ServerPlan, ServerSpec};
use crate::execute::{Group, log_lines, named_program};

const LOOK_EVERY: Duration = Duration::from_millis(50);
const TAIL_LINES: usize = 20;

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The program is not there.
    #[error("there is no program '{program}'")]
    NoProgram {
        /// As the plan has it.
        program: String,
    },
    /// It cannot be started.
    #[error("cannot start {program}: {source}")]
    Unstartable {
        /// The program.
        program: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// There is no free port.
    #[error("no free port: {0}")]
    NoPort(std::io::Error),
    /// It ended before it was ready.
    #[error("the server ended before it was ready ({how})")]
    Ended {
        /// Exit code or signal.
        how: String,
        /// The last lines of its log.
        tail: Vec<String>,
    },
    /// It is not ready in time.
    #[error("the server is not ready after {} s: {url} {answer}", .after.as_secs())]
    NotReady {
        /// How long it was waited for.
        after: Duration,
        /// What was asked.
        url: String,
        /// What it answers.
        answer: String,
        /// The last lines of its log.
        tail: Vec<String>,
    },
    /// The user does not want to wait any more.
    #[error("stopped while the server was starting")]
    Stopped,
}

impl ServerError {
    /// The last lines of the server's log.
    pub fn tail(&self) -> &[String] {
        match self {
            ServerError::Ended { tail, .. } | ServerError::NotReady { tail, .. } => tail,
            _ => &[],
        }
    }
}

impl ServerSpec {
    /// The same with a free port, if its port is 0.
    pub fn with_free_port(mut self) -> Result<Self, ServerError> {
        if self.port == 0 {
            self.port = free_port().map_err(ServerError::NoPort)?;
        }
        Ok(self)
    }
}

/// How a server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerExit {
    /// Exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it had to be killed.
    pub killed: bool,
    /// Processes that could not be ended.
    pub left_behind: Vec<i32>,
}

/// A server that was started, in a process group of its own. Dropped, it is killed.
#[derive(Debug)]
pub struct ServerProcess {
    /// None for a server that runs already.
    child: Option<(Child, Group)>,
    ready_url: String,
    log_file: PathBuf,
}

impl ServerProcess {
    /// Starts what the plan says; nothing for a server that runs already.
    pub fn start(plan: &ServerPlan) -> Result<Self, ServerError> {
        let mut process =
            ServerProcess { child: None, ready_url: plan.ready_url.clone(), log_file: plan.log_file.clone() };
        let Some((name, arguments)) = plan.argv.split_first() else { return Ok(process) };
        let program =
            named_program(Path::new(name)).ok_or_else(|| ServerError::NoProgram { program: name.clone() })?;
        let unwritable = |path: &Path| {
            let path = path.to_owned();
            move |source| ServerError::Unwritable { path, source }
        };
        for folder in [plan.log_file.parent(), plan.profile.traces()].into_iter().flatten() {
            fs::create_dir_all(folder).map_err(unwritable(folder))?;
        }
        for (path, content) in &plan.writes {
            fs::write(path, content).map_err(unwritable(path))?;
        }
        let log = File::create(&plan.log_file).map_err(unwritable(&plan.log_file))?;
        let both = log.try_clone().map_err(unwritable(&plan.log_file))?;
        let unstartable = |source| ServerError::Unstartable { program: name.clone(), source };
        let child = Command::new(&program)
            .args(arguments)
            .envs(&plan.env)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(both)
            // Ctrl-C of the terminal reaches us alone; we stop the server when it is no longer needed.
            .process_group(0)
            .spawn()
            .map_err(unstartable)?;
        let group = Group::led_by(child.id())
            .ok_or_else(|| unstartable(std::io::Error::other("its process id is out of range")))?;
        process.child = Some((child, group));
        Ok(process)
    }

    /// Its process id; none for one that was not started here.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(|(child, _)| child.id())
    }

    /// Waits until it is ready, and answers how long that took. A secure address of a server that runs already is not
    /// looked at.
    pub fn wait_until_ready(
        &mut self,
        timeout: Duration,
        wants_stop: &dyn Fn() -> bool,
    ) -> Result<Duration, ServerError> {
        let begin = Instant::now();
        if self.child.is_none() && self.ready_url.starts_with("https://") {
            return Ok(Duration::ZERO);
        }
        loop {
            let status = status_of(&self.ready_url);
            // Another server may answer at the port of one that has ended.
            self.still_running()?;
            if status == Some(200) {
                return Ok(begin.elapsed());
            }
            if wants_stop() {
                return Err(ServerError::Stopped);
            }
            if begin.elapsed() >= timeout {
                let answer =
                    status.map_or("does not answer".to_owned(), |status| format!("answers {status}"));
                let (url, tail) = (self.ready_url.clone(), self.tail());
                return Err(ServerError::NotReady { after: begin.elapsed(), url, answer, tail });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether it has not ended.
    pub fn still_running(&mut self) -> Result<(), ServerError> {
        match self.child.as_mut().map(|(child, _)| child.try_wait()) {
            None | Some(Ok(None)) => Ok(()),
            Some(Ok(Some(status))) => Err(ServerError::Ended { how: how(status), tail: self.tail() }),
            Some(Err(error)) => Err(ServerError::Ended { how: error.to_string(), tail: self.tail() }),
        }
    }

    /// Asks everybody in its group to stop (SIGTERM), and kills whoever is left after some time. None for a server that
    /// was not started here: it goes on.
    pub fn stop(mut self, grace: Duration) -> Option<ServerExit> {
        let (mut child, group) = self.child.take()?;
        let until = Instant::now() + grace;
        group.terminate();
        // The leader is waited for only at the end: as long as it is not, nobody else can have its id.
        while group.is_alive() && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
        let killed = group.is_alive();
        let (left_behind, status) = end(&mut child, group);
        Some(ServerExit {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            killed,
            left_behind,
        })
    }

    fn tail(&self) -> Vec<String> {
        log_lines(&self.log_file, TAIL_LINES)
    }
}

fn end(child: &mut Child, group: Group) -> (Vec<i32>, Option<ExitStatus>) {
    let left_behind = group.end();
    (left_behind, child.try_wait().ok().flatten())
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "for no known reason".to_owned(),
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some((mut child, group)) = self.child.take() {
            end(&mut child, group);
        }
    }
}

/// How long an answer may take.
const WITHIN: Duration = Duration::from_secs(5);

/// The status by which a plain HTTP address answers; `None` if it does not.
fn status_of(url: &str) -> Option<u16> {
    let rest = url.strip_prefix("http://")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let address: SocketAddr = match authority.to_socket_addrs() {
        Ok(mut addresses) => addresses.next()?,
        Err(_) => (authority, 80).to_socket_addrs().ok()?.next()?,
    };
    let mut socket = TcpStream::connect_timeout(&address, WITHIN).ok()?;
    socket.set_read_timeout(Some(WITHIN)).ok()?;
    socket.set_write_timeout(Some(WITHIN)).ok()?;
    write!(socket, "GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n").ok()?;
    let mut head = Vec::new();
    // `HTTP/1.1 200` is all that is wanted.
    socket.take(12).read_to_end(&mut head).ok()?;
    let head = String::from_utf8(head).ok()?;
    head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((HOST, 0))?.local_addr()?.port())
}
