//! A server over a folder of runs, and a client that sends exactly what it is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rooflens_serve::{Dashboard, DashboardLimits, DashboardSettings};
use tempfile::TempDir;

/// A guard against hangs; nothing is judged by it.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A server and the folder that it serves.
pub struct Site {
    pub folder: TempDir,
    pub dashboard: Dashboard,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub fn settings(folder: &Path) -> DashboardSettings {
    DashboardSettings {
        source: folder.display().to_string(),
        listen: "127.0.0.1:0".parse().unwrap(),
        token: None,
        hosts: Vec::new(),
        limits: DashboardLimits {
            refresh: Duration::from_millis(50),
            live_beat: Duration::from_millis(20),
            farewell: Duration::from_millis(500),
            ..DashboardLimits::default()
        },
    }
}

impl Site {
    /// Serves what `fill` puts into a folder.
    pub fn new(fill: impl FnOnce(&Path)) -> Self {
        Site::with(fill, |_| {})
    }

    /// The same, with other settings.
    pub fn with(fill: impl FnOnce(&Path), change: impl FnOnce(&mut DashboardSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir(&root).unwrap();
        fill(&root);
        let mut settings = settings(&root);
        change(&mut settings);
        let dashboard = Dashboard::start(settings).unwrap();
        Site { folder, dashboard }
    }

    pub fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("root")
    }

    pub fn address(&self) -> SocketAddr {
        self.dashboard.address()
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.address().port())
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes and reads until the server closes the connection.
    pub fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may refuse before it has read everything.
        let _ = stream.write_all(bytes);
        read_answer(stream)
    }

    /// A request with these lines beside those that every browser sends.
    pub fn ask(&self, method: &str, path: &str, lines: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        if !lines.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request.push_str(&format!("Host: {}\r\n", self.host()));
        }
        lines.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        if !body.is_empty() {
            let kind = "application/x-www-form-urlencoded";
            request.push_str(&format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len()));
        }
        request.push_str("Connection: close\r\n\r\n");
        request.push_str(body);
        self.send(request.as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    /// A form as a page of this server would send it.
    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[("Origin", &format!("http://{}", self.host()))], body)
    }

    /// Still serves. On a busy machine a request may itself be too slow for a server that is asked to be strict.
    pub fn check(&self) {
        wait_for("an answer", || {
            let answer = self.get("/healthz");
            (answer.status == 200 && answer.body == "ok\n").then_some(())
        });
    }

    /// The address of the page of a run, by its name.
    pub fn run_address(&self, name: &str) -> String {
        wait_for(&format!("the run {name}"), || {
            let list = self.get("/?sort=name").body;
            let at = list.find(&format!("\">{name}</a>"))?;
            let begin = list[..at].rfind("href=\"")? + 6;
            Some(list[begin..at].to_owned())
        })
    }
}

pub fn read_answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A connection that is reset has said what it had to say.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Waits until there is something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not come");
}
