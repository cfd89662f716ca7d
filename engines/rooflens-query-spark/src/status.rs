//! Answers of a server that are errors, in plain words.
//!
//! Spark puts the name of its error condition and the Java classes of the exception into the details of a gRPC
//! status; the message may hold a stack trace or a whole query plan, of which only the first lines are kept.

use std::collections::HashMap;

use prost::Message;
use rooflens_engine_protocol::{Fault, Kind};
use tonic::{Code, Status};

use crate::address::{Address, TOKEN_VARIABLES};

const MESSAGE_LINES: usize = 4;
const MESSAGE_CHARACTERS: usize = 800;

#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(message, repeated, tag = "3")]
    details: Vec<RpcAny>,
}

#[derive(Clone, PartialEq, Message)]
struct RpcAny {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(map = "string, string", tag = "3")]
    metadata: HashMap<String, String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Condition {
    name: String,
    /// Java classes of the exception, the most specific first, as a JSON list.
    classes: String,
}

fn condition(status: &Status) -> Option<Condition> {
    let details = RpcStatus::decode(status.details()).ok()?.details;
    let info = details.iter().find(|any| any.type_url.ends_with("google.rpc.ErrorInfo"))?;
    let mut info = ErrorInfo::decode(info.value.as_slice()).ok()?;
    let classes = info.metadata.remove("classes").unwrap_or(info.reason);
    Some(Condition { name: info.metadata.remove("errorClass").unwrap_or_default(), classes })
}

/// Whether the connection failed rather than the query, so that asking again may help.
pub(crate) fn is_transient(status: &Status) -> bool {
    if status.message().contains("INVALID_CURSOR.DISCONNECTED") {
        return true;
    }
    let of_connection =
        [Code::Unavailable, Code::Unknown, Code::Internal, Code::Cancelled, Code::DeadlineExceeded];
    of_connection.contains(&status.code()) && condition(status).is_none()
}

/// Whether the server does not know the query (any more).
pub(crate) fn is_unknown_operation(status: &Status) -> bool {
    let text = status.message();
    ["INVALID_HANDLE.OPERATION_NOT_FOUND", "INVALID_HANDLE.SESSION_NOT_FOUND"]
        .iter()
        .any(|name| text.contains(name))
}

pub(crate) fn failure(status: &Status, address: &Address) -> Fault {
    let condition = condition(status).unwrap_or_default();
    let text = status.message();
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => {
            let [name, _] = TOKEN_VARIABLES;
            return Fault::new(Kind::Engine, format!("{address} refused access: {}", first_lines(text)))
                .hint(format!("set {name} to a valid token"));
        }
        Code::Unimplemented => {
            return Fault::new(
                Kind::Engine,
                format!("{address} is not a Spark Connect server: {}", first_lines(text)),
            )
            .hint("the port of Spark Connect is 15002 by default; Spark 3.5 or later is needed");
        }
        Code::Unknown if condition == Condition::default() => {
            return Fault::new(Kind::Engine, format!("{address} failed: {}", first_lines(text)))
                .hint("the server's log says why; its Spark application may have ended");
        }
        Code::Unavailable if condition == Condition::default() => return unreachable(address, text),
        _ => {}
    }
    if text.contains("INVALID_HANDLE.") {
        return Fault::new(
            Kind::Engine,
            format!("{address} no longer knows the query: {}", first_lines(text)),
        )
        .hint("the server was restarted or cancelled the query; run it again");
    }
    let (kind, hint) = judge(&condition, text);
    let failure = Fault::new(kind, first_lines(text));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The failure where no server answers.
pub(crate) fn unreachable(address: &Address, reason: &str) -> Fault {
    Fault::new(Kind::Engine, format!("no Spark Connect server answers at {address}: {}", first_lines(reason))).hint(
        if address.tls {
            "check host and port, that the server runs, and that its certificate is trusted on this machine"
        } else {
            "check host and port and that the server runs (sbin/start-connect-server.sh); add use_ssl=true if it uses TLS"
        },
    )
}

/// Kind and hint by what the text and the condition say, with `|` between the signs; the first match counts.
const SIGNS: [(&str, Kind, &str); 7] = [
    (
        "OutOfMemoryError|maxResultSize|UNABLE_TO_ACQUIRE_MEMORY|_OUT_OF_MEMORY|\
         exited with code 52|exited with code 137",
        Kind::Memory,
        "give executors more memory (spark.executor.memory) or ask for fewer days, runs or columns",
    ),
    (
        "S3AFileSystem not found|No FileSystem for scheme|UnsupportedFileSystemException",
        Kind::Store,
        "the cluster lacks the connector of this store: for s3:// add the hadoop-aws package of its Hadoop version",
    ),
    (
        "AccessDenied|Access Denied|Forbidden|AccessControlException|Permission denied|\
         Unable to load AWS",
        Kind::Store,
        "the cluster needs its own permission to read the store",
    ),
    (
        "PATH_NOT_FOUND|FileNotFoundException|does not exist|FAILED_READ_FILE|CANNOT_READ_FILE",
        Kind::Store,
        "every worker must see the store under the same path: use object storage or a shared directory",
    ),
    (
        "OPERATION_CANCELED|OPERATION_CANCELLED|was cancelled|cancelled part of cancelled job group",
        Kind::Engine,
        "the query was cancelled on the server; run it again",
    ),
    (
        "ExecutorLostFailure|Stage cancelled because|MetadataFetchFailed|FetchFailed",
        Kind::Engine,
        "executors were lost more often than Spark retries; check the workers and run the query again",
    ),
    (
        "stopped SparkContext|Stopped SparkContext|Master removed our application|\
         SparkContext was shut down|because SparkContext",
        Kind::Engine,
        "the Spark application has ended; restart the Spark Connect server",
    ),
];

/// Java classes of exceptions that the SQL is to blame for.
const SQL_CLASSES: [&str; 8] = [
    "AnalysisException",
    "ParseException",
    "ArithmeticException",
    "NumberFormatException",
    "DateTimeException",
    "ArrayIndexOutOfBoundsException",
    "IllegalArgumentException",
    "UnsupportedOperationException",
];

fn judge(condition: &Condition, text: &str) -> (Kind, Option<&'static str>) {
    let shown = |sign: &str| condition.name.contains(sign) || text.contains(sign);
    // What the analyser says is about the SQL, whatever words a column name brings along; but for missing files.
    let analysed =
        condition.classes.contains("AnalysisException") || condition.classes.contains("ParseException");
    let missing = ["PATH_NOT_FOUND", "FAILED_READ_FILE", "CANNOT_READ_FILE"];
    if analysed && !missing.iter().any(|sign| condition.name.contains(sign)) {
        return (Kind::Sql, None);
    }
    match SIGNS.iter().find(|(signs, ..)| signs.split('|').any(shown)) {
        Some((_, kind, hint)) => (*kind, Some(hint)),
        None if SQL_CLASSES.iter().any(|class| condition.classes.contains(class)) => (Kind::Sql, None),
        None => (Kind::Engine, None),
    }
}

/// The first lines that say something: no stack trace, no query plan.
pub(crate) fn first_lines(text: &str) -> String {
    let is_noise = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("at ")
            || line.starts_with("JVM stacktrace")
            || line.starts_with("'")
            || line.starts_with("+-")
    };
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let end = lines.iter().position(is_noise).unwrap_or(lines.len()).min(MESSAGE_LINES);
    let kept = lines[..end].join("\n");
    match kept.char_indices().nth(MESSAGE_CHARACTERS) {
        Some((at, _)) => format!("{}…", &kept[..at]),
        None => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_lines_are_kept() {
        let text = "[UNRESOLVED_COLUMN] A column `x`. SQLSTATE: 42703; line 1 pos 7;\n'Project ['x]\n+- Relation\n\nJVM stacktrace:\n\tat org.a";
        assert_eq!(first_lines(text), "[UNRESOLVED_COLUMN] A column `x`. SQLSTATE: 42703; line 1 pos 7;");
        assert_eq!(first_lines("java.io.IOException: gone\n\tat a.b.c(D.java)"), "java.io.IOException: gone");
        assert_eq!(first_lines(&"x".repeat(2000)).chars().count(), 801);
    }

    #[test]
    fn conditions_decide_the_kind() {
        let analysis =
            Condition { name: "UNRESOLVED_COLUMN".into(), classes: "[\"…AnalysisException\"]".into() };
        assert_eq!(judge(&analysis, "column AccessDenied does not exist").0, Kind::Sql);
        let missing = Condition { name: "PATH_NOT_FOUND".into(), ..analysis };
        assert_eq!(judge(&missing, "Path does not exist").0, Kind::Store);
        let job = Condition { name: String::new(), classes: "[\"org.apache.spark.SparkException\"]".into() };
        assert_eq!(judge(&job, "Job aborted: java.lang.OutOfMemoryError: Java heap").0, Kind::Memory);
        assert_eq!(judge(&job, "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found").0, Kind::Store);
        assert_eq!(judge(&job, "something").0, Kind::Engine);
    }
}
