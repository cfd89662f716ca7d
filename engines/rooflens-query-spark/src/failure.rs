//! Why a query failed: a kind for the caller, the fact, and what to do next.

use serde::Serialize;

/// Whose fault it is, as in the contract of engine processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The SQL is wrong, or asks for something that is not allowed.
    Sql,
    /// An executor or the driver ran out of memory.
    Memory,
    /// The files of the store could not be read.
    Store,
    /// The cluster, the connection to it or the answer is at fault.
    Engine,
    /// The user, or whoever reads the answer, ended the query.
    Stopped,
}

/// An error in plain words. Holds no credentials: see [`Failure::without`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Whose fault it is.
    pub kind: Kind,
    /// What happened.
    pub message: String,
    /// What to do next, where that is known.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with every occurrence of a secret replaced: servers and proxies may echo what they were sent.
    pub fn without(mut self, secret: Option<&str>) -> Self {
        if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
            self.message = self.message.replace(secret, "***");
            self.hint = self.hint.map(|hint| hint.replace(secret, "***"));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows() {
        let failure = Failure::new(Kind::Engine, "bad header Bearer s3cret").hint("drop s3cret");
        let failure = failure.without(Some("s3cret"));
        assert_eq!(failure.message, "bad header Bearer ***");
        assert_eq!(failure.hint.as_deref(), Some("drop ***"));
    }
}
