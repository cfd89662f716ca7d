//! What `rooflens query` and an engine that it starts say to each other: one request in JSON on standard input, and one
//! JSON object per line on standard error. The result itself goes to standard output as an Arrow IPC stream.

use std::io::{Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whose fault it is: the main tool chooses its exit code by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The statement.
    Sql,
    /// The memory limit.
    Memory,
    /// The store: absent, out of reach or damaged.
    Store,
    /// The engine, the connection to it, or its request.
    Engine,
    /// Somebody interrupted it, or no longer reads the answer.
    Stopped,
}

impl Kind {
    /// The exit code of the process; an interrupt ends with what shells report.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Sql | Kind::Memory | Kind::Store | Kind::Engine => 1,
            Kind::Stopped => 130,
        }
    }
}

/// What went wrong, in words for the person who wrote the query, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Whose fault it is.
    pub kind: Kind,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without a hint.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Fault { kind, message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Fault { hint: Some(hint.into()), ..self }
    }

    /// The same with every occurrence of a secret replaced: servers and proxies may echo what they were sent.
    #[must_use]
    pub fn without(mut self, secret: Option<&str>) -> Self {
        if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
            self.message = self.message.replace(secret, "***");
            self.hint = self.hint.map(|hint| hint.replace(secret, "***"));
        }
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// A line of standard error. How far a query is, each engine counts in its own units.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<P> {
    /// How far the query is.
    Progress(P),
    /// Memory did not suffice, and intermediate results went to disk.
    Spilled {
        /// Bytes that were written.
        bytes: u64,
        /// Files that were written.
        files: u64,
    },
    /// What the result lacks, or what to know about it.
    Note {
        /// A sentence without its full stop.
        message: String,
    },
    /// The result is complete.
    Done {
        /// Rows of the result.
        rows: u64,
        /// Bytes that were read from Parquet files.
        scanned_bytes: u64,
        /// From the start of the query.
        elapsed_ms: u64,
    },
    /// There is no result, or not all of it.
    Error(Fault),
}

/// Writes a line. Nobody may be listening any more, which is no reason to fail.
pub fn emit<P: Serialize>(event: &Event<P>) {
    if let Ok(mut line) = serde_json::to_string(event) {
        line.push('\n');
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

/// Reads the request up to the end of standard input. Fields for other engines are skipped. Errors name a place, never
/// the text: an address may hold a token.
pub fn request<T: DeserializeOwned>() -> Result<T, Fault> {
    read_request(std::io::stdin().lock())
}

/// Reads the request up to the end of the input.
pub fn read_request<T: DeserializeOwned>(mut input: impl Read) -> Result<T, Fault> {
    const HINT: &str = "use `rooflens query`, which starts this program";
    let mut text = Vec::new();
    let read = input.read_to_end(&mut text);
    read.map_err(|error| Fault::new(Kind::Engine, format!("cannot read the request: {error}")))?;
    if text.trim_ascii().is_empty() {
        return Err(Fault::new(Kind::Engine, "there is no request on standard input").hint(HINT));
    }
    serde_json::from_slice(&text).map_err(|error| {
        let place =
            format!("{:?} error at line {}, column {}", error.classify(), error.line(), error.column());
        Fault::new(Kind::Engine, format!("the request is not valid: {place}")).hint(HINT)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows() {
        let fault = Fault::new(Kind::Engine, "bad header Bearer s3cret").hint("drop s3cret");
        let fault = fault.without(Some("s3cret"));
        assert_eq!(fault.message, "bad header Bearer ***");
        assert_eq!(fault.hint.as_deref(), Some("drop ***"));
        let text = r#"{"sql": "SELECT 1", "engine": 7, "token": "s3cret"}"#;
        let broken = read_request::<Vec<u8>>(text.as_bytes()).unwrap_err();
        assert!(!format!("{broken:?}").contains("s3cret"), "{broken:?}");
    }
}
