//! What is served, to whom, and how much of it at once.

use std::net::SocketAddr;
use std::time::Duration;

/// Fewest characters of a token.
const SHORTEST_TOKEN: usize = 16;

/// What is served, and to whom.
#[derive(Debug, Clone)]
pub struct DashboardSettings {
    /// A folder of runs, or the address of a store.
    pub source: String,
    /// Where to listen.
    pub listen: SocketAddr,
    /// What everybody must know who is not to be refused.
    pub token: Option<String>,
    /// Names that the server is reached by, beside those of this machine itself.
    pub hosts: Vec<String>,
    /// Bounds.
    pub limits: DashboardLimits,
}

/// How much at once, and how long.
#[derive(Debug, Clone)]
pub struct DashboardLimits {
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Time in which the head of a request must be here.
    pub header_time: Duration,
    /// Time in which a request must be answered.
    pub request_time: Duration,
    /// Time in which a client must take the next part of an answer.
    pub write_time: Duration,
    /// Connections at once.
    pub connections: usize,
    /// Followers of runs in progress at once.
    pub subscribers: usize,
    /// Bytes of pages that are kept.
    pub cache_bytes: u64,
    /// Pages that are computed at once.
    pub renders: usize,
    /// Queries that run at once.
    pub queries: usize,
    /// Time that a query may take.
    pub query_time: Duration,
    /// Memory that a query may take.
    pub query_bytes: u64,
    /// Rows of an answer that are shown.
    pub query_rows: usize,
    /// How often the runs are looked through.
    pub refresh: Duration,
    /// How often a run in progress is looked at.
    pub live_beat: Duration,
    /// How long requests in progress are waited for at the end.
    pub farewell: Duration,
}

impl Default for DashboardLimits {
    fn default() -> Self {
        DashboardLimits {
            body_bytes: 64 << 10,
            header_time: Duration::from_secs(10),
            request_time: Duration::from_secs(60),
            write_time: Duration::from_secs(30),
            connections: 512,
            subscribers: 64,
            cache_bytes: 64 << 20,
            renders: 2,
            queries: 2,
            query_time: Duration::from_secs(20),
            query_bytes: 1 << 30,
            query_rows: 1_000,
            refresh: Duration::from_secs(3),
            live_beat: Duration::from_millis(200),
            farewell: Duration::from_secs(5),
        }
    }
}

/// Why a server cannot be started.
#[derive(Debug)]
pub enum DashboardError {
    /// Strangers could come in, or there is nothing to serve.
    Settings {
        /// What is wrong.
        fact: String,
        /// What helps.
        hint: &'static str,
    },
    /// What is to be served cannot be read.
    Source(Box<rooflens_core::Error>),
    /// The address cannot be listened at.
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

impl DashboardError {
    pub(crate) fn settings(fact: impl Into<String>, hint: &'static str) -> Self {
        DashboardError::Settings { fact: fact.into(), hint }
    }

    /// What helps.
    pub fn hint(&self) -> Option<String> {
        match self {
            DashboardError::Settings { hint, .. } => Some((*hint).to_owned()),
            DashboardError::Source(error) => error.hint().map(|hint| hint.to_string()),
            DashboardError::Listen { .. } => {
                Some("another server may use this port; --listen 127.0.0.1:0 takes a free one".to_owned())
            }
        }
    }
}

impl std::fmt::Display for DashboardError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DashboardError::Settings { fact, .. } => f.write_str(fact),
            DashboardError::Source(error) => error.fmt(f),
            DashboardError::Listen { address, source } => write!(f, "cannot listen at {address}: {source}"),
        }
    }
}

impl std::error::Error for DashboardError {}

const MAKE_A_TOKEN: &str = "write a token to a file and name the file:\n  head -c 24 /dev/urandom | base64 > token && chmod 600 token\n  \
                            rooflens serve … --listen ADDRESS --token-file token --allow-host NAME";

impl DashboardSettings {
    /// Refuses what would let strangers in.
    pub(crate) fn check(&self) -> Result<(), DashboardError> {
        let is_open = !self.listen.ip().is_loopback();
        if self.token.as_ref().is_some_and(|token| token.len() < SHORTEST_TOKEN) {
            let fact = format!("the token is too short: at least {SHORTEST_TOKEN} characters are needed");
            return Err(DashboardError::settings(fact, "head -c 24 /dev/urandom | base64"));
        }
        let is_name = |name: &String| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
        };
        if let Some(name) = self.hosts.iter().find(|name| !is_name(name)) {
            let hint = "give a name as gpu-box.example.org or 10.0.0.7, without http://";
            return Err(DashboardError::settings(format!("'{name}' cannot be the name of a server"), hint));
        }
        match (is_open, &self.token, self.hosts.is_empty()) {
            (true, None, _) => Err(DashboardError::settings(
                "an address that other machines can reach needs a token",
                MAKE_A_TOKEN,
            )),
            (true, Some(_), true) => Err(DashboardError::settings(
                "an address that other machines can reach needs the name by which they reach it",
                "add --allow-host NAME, with the name in the address bar of those who use it",
            )),
            _ => Ok(()),
        }
    }
}
