//! What kind of failure an error is: whose turn it is to change something.

/// The kind of a failure. A command line gives each kind an exit code, a library an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request or the configuration is wrong.
    Usage,
    /// A tool, a permission or disk space is missing.
    Environment,
    /// The profiled or measured workload failed.
    Workload,
    /// The input is missing or cannot be read.
    Data,
    /// The observer asked to stop before there was a result.
    Interrupted,
}

impl ErrorKind {
    /// Its word in JSON and in other languages.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Usage => "usage",
            ErrorKind::Environment => "environment",
            ErrorKind::Workload => "workload",
            ErrorKind::Data => "data",
            ErrorKind::Interrupted => "interrupted",
        }
    }
}
