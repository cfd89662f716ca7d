//! An engine: a program of its own that answers SQL with Arrow.
//!
//! `rooflens-query` has DataFusion in it, `rooflens-query-spark` asks a cluster. Both take a request on standard input,
//! write an Arrow stream to standard output, and tell what happens on standard error, a JSON object a line.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};
use rooflens_collect::engine::{EngineProcess, find};
use serde::{Deserialize, Serialize};

use super::answer::QueryCost;
use super::query::QueryWatch;
use crate::error::{Error, Hint};

#[derive(Debug, Serialize)]
pub(super) struct EngineRequest<'a> {
    pub(crate) sql: &'a str,
    pub(crate) store: &'a str,
    pub(crate) tenants: Option<&'a [String]>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) spill_folder: Option<&'a PathBuf>,
    pub(crate) engine: Option<&'a str>,
    pub(crate) tables: Option<serde_json::Value>,
    /// Views over the tables, for an engine that does not know them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) views: BTreeMap<&'static str, &'static str>,
    pub(crate) explain: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum EngineEvent {
    Progress {
        #[serde(default)]
        rows: u64,
        #[serde(default)]
        bytes: u64,
    },
    Spilled {
        bytes: u64,
    },
    Note {
        message: String,
    },
    Done {
        #[serde(default)]
        scanned_bytes: Option<u64>,
        #[serde(default)]
        elapsed_ms: Option<f64>,
    },
    Error {
        kind: String,
        message: String,
        hint: Option<String>,
    },
}

pub(super) enum EnginePart {
    Schema(SchemaRef),
    Rows(RecordBatch),
}

/// What an engine may not exceed, whatever it is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct EngineLimits {
    /// Address space of its process; what asks for more fails.
    pub process_bytes: Option<u64>,
    /// Bytes of its answer; a larger one is an error.
    pub answer_bytes: Option<u64>,
}

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Whether a program that answers queries is installed.
#[must_use]
pub fn has_engine() -> bool {
    find(super::query::HERE).is_some()
}

/// Asks an engine, and hands its answer over part by part. Only where this succeeds those were all.
pub(super) fn ask<E: From<Error>>(
    program: &'static str,
    request: &EngineRequest<'_>,
    limits: EngineLimits,
    watch: &dyn QueryWatch,
    mut take: impl FnMut(EnginePart) -> Result<(), E>,
) -> Result<QueryCost, E> {
    let path = find(program).ok_or_else(|| Error::no_engine(program))?;
    let failed = |fact: String| Error::environment(fact);
    let mut process = EngineProcess::start(&path)
        .map_err(|error| failed(format!("{} cannot be started: {error}", path.display())))?;
    if let Some(bytes) = limits.process_bytes {
        process.limit_memory(bytes);
    }
    let mut input = process.take_input();
    let text = serde_json::to_vec(request).unwrap_or_default();
    if let Some(input) = &mut input {
        // An engine that ends before it has read its request says why on standard error.
        drop(input.write_all(&text));
    }
    drop(input);
    let (errors, output) = (process.take_errors(), process.take_output());
    let mut output = output.map(|output| output.take(limits.answer_bytes.unwrap_or(u64::MAX)));
    let process = Mutex::new(process);
    let stop = || process.lock().unwrap_or_else(PoisonError::into_inner).stop();
    let (taken, told, is_stopped) = std::thread::scope(|scope| {
        let (ended, is_ended) = channel::<()>();
        let guard = scope.spawn(move || {
            while is_ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if watch.is_stopped() {
                    stop();
                    return true;
                }
            }
            false
        });
        let told = scope.spawn(move || {
            let mut told = Vec::new();
            for line in errors.into_iter().flat_map(std::io::BufRead::lines).map_while(Result::ok) {
                match serde_json::from_str::<EngineEvent>(&line) {
                    Ok(EngineEvent::Progress { rows, bytes }) => watch.progress(rows, bytes),
                    Ok(event) => told.push(Ok(event)),
                    Err(_) => told.push(Err(line)),
                }
            }
            told
        });
        let taken = output.as_mut().map(|output| hand_over(output, &mut take));
        if taken.as_ref().is_some_and(Result::is_err) {
            // Nobody wants the rest; an engine that broke off has said why, or is ended for its size.
            if matches!(taken, Some(Err(Broken::Taker(_)))) || is_full(output.as_ref()) {
                stop();
            }
        }
        let told = told.join().unwrap_or_default();
        drop(ended);
        (taken, told, guard.join().unwrap_or(false))
    });
    let mut process = process.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_whole = match taken {
        Some(Err(Broken::Taker(error))) => return Err(error),
        Some(Ok(())) => true,
        _ => false,
    };
    if let (Some(bytes), true, false) = (limits.answer_bytes, is_full(output.as_ref()), is_whole) {
        let fact = format!("the answer is larger than {} MB", bytes >> 20);
        return Err(Error::usage(fact).words("add a LIMIT, or choose fewer or shorter columns").into());
    }
    if is_stopped {
        return Err(stopped().into());
    }
    let ended = process.wait().map_err(|error| failed(format!("{program} cannot be waited for: {error}")))?;
    let (mut spilled_bytes, mut done, mut notes) = (0, None, Vec::new());
    for event in &told {
        match event {
            Ok(EngineEvent::Spilled { bytes }) => spilled_bytes += bytes,
            Ok(EngineEvent::Note { message }) => notes.push(message.clone()),
            Ok(EngineEvent::Done { scanned_bytes, elapsed_ms }) => done = Some((*scanned_bytes, *elapsed_ms)),
            Ok(EngineEvent::Error { kind, message, hint }) => {
                return Err(engine_error(kind, message, hint.clone()).into());
            }
            _ => {}
        }
    }
    let Some((scanned_bytes, elapsed_ms)) = done.filter(|_| is_whole) else {
        let last = told.iter().rev().find_map(|line| line.as_ref().err()).cloned();
        let last = last.map_or(String::new(), |line| format!(": {line}"));
        return Err(failed(format!("{program} ended without an answer ({ended}){last}")).into());
    };
    Ok(QueryCost { spilled_bytes, scanned_bytes, elapsed_ms, notes })
}

fn stopped() -> Error {
    Error::stopped("the query was stopped")
}

fn engine_error(kind: &str, message: &str, hint: Option<String>) -> Error {
    let error = match kind {
        "sql" => Error::usage(message),
        "store" => Error::data(message),
        "stopped" => return stopped(),
        _ => Error::environment(message),
    };
    error.hinted(hint.map(Hint::words))
}

fn is_full(output: Option<&std::io::Take<impl Read>>) -> bool {
    output.is_some_and(|output| output.limit() == 0)
}

enum Broken<E> {
    Stream,
    Taker(E),
}

impl<E> From<ArrowError> for Broken<E> {
    fn from(_: ArrowError) -> Self {
        Broken::Stream
    }
}

fn hand_over<E>(
    output: impl Read,
    take: &mut impl FnMut(EnginePart) -> Result<(), E>,
) -> Result<(), Broken<E>> {
    let stream = StreamReader::try_new(output, None)?;
    take(EnginePart::Schema(stream.schema())).map_err(Broken::Taker)?;
    for batch in stream {
        take(EnginePart::Rows(batch?)).map_err(Broken::Taker)?;
    }
    Ok(())
}
