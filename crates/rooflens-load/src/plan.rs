//! What is sent, where, and when.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The endpoint of an OpenAI-compatible server that requests go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// `/v1/completions`.
    Completions,
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
    /// `/v1/embeddings`: no stream, no output tokens.
    Embeddings,
    /// `/v1/rerank`: no stream, no output tokens.
    Rerank,
}

impl Api {
    /// All of them.
    pub const ALL: [Api; 5] = [Api::Completions, Api::Chat, Api::Responses, Api::Embeddings, Api::Rerank];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Api::Completions => "completions",
            Api::Chat => "chat",
            Api::Responses => "responses",
            Api::Embeddings => "embeddings",
            Api::Rerank => "rerank",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Api::Completions => "/v1/completions",
            Api::Chat => "/v1/chat/completions",
            Api::Responses => "/v1/responses",
            Api::Embeddings => "/v1/embeddings",
            Api::Rerank => "/v1/rerank",
        }
    }

    /// Whether answers are streams of tokens.
    pub fn is_streamed(self) -> bool {
        matches!(self, Api::Completions | Api::Chat | Api::Responses)
    }
}

/// The server, and how to talk to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadTarget {
    /// Scheme, host and port, and a path before that of the API if there is one; no slash at the end.
    pub url: String,
    /// The endpoint.
    pub api: Api,
    /// Headers of every request besides those that the API needs, as `authorization`.
    pub headers: Vec<(String, String)>,
    /// Speak HTTP/2, by prior knowledge where there is no TLS.
    pub http2: bool,
    /// Accept any certificate.
    pub insecure: bool,
    /// Certificates (PEM) to trust besides those of the system.
    pub ca_file: Option<std::path::PathBuf>,
    /// Ask for gzip.
    pub gzip: bool,
    /// How long connecting may take, with the TLS handshake.
    pub connect_timeout: Duration,
    /// How long a request may take, from being sent to its last byte.
    pub timeout: Duration,
}

/// When requests are sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// At times that do not depend on the server's answers.
    Open {
        /// How far apart.
        arrivals: Arrivals,
        /// At most so many in progress: those that are due wait in the client, and their latency counts from the
        /// scheduled time.
        max_concurrency: Option<usize>,
    },
    /// A fixed number of users, each sending its next session when the last one ended.
    Closed {
        /// Users.
        concurrency: usize,
        /// Users begin one by one over this time.
        ramp: Duration,
    },
    /// At the arrival time of each session, times this factor.
    Replay {
        /// 0.5 is twice as quick.
        stretch: f64,
        /// As for [`Pace::Open`].
        max_concurrency: Option<usize>,
    },
}

/// The gaps between arrivals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Mean rate in sessions per second, by stages: seconds and the rate at their end, which grows linearly from that
    /// of the stage before. One stage with infinite seconds is a constant mean rate.
    pub stages: Vec<Stage>,
    /// How gaps vary.
    pub gaps: ArrivalGaps,
}

/// A stage of an arrival process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// How long; may be infinite in the last one (null in JSON).
    #[serde(deserialize_with = "null_is_infinite")]
    pub seconds: f64,
    /// Rate at its begin, sessions per second.
    pub from_rate: f64,
    /// Rate at its end.
    pub to_rate: f64,
}

/// JSON has no infinity: it is written as null.
fn null_is_infinite<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

impl Arrivals {
    /// A mean rate that does not change.
    pub fn steady(rate: f64, gaps: ArrivalGaps) -> Self {
        Arrivals { stages: vec![Stage { seconds: f64::INFINITY, from_rate: rate, to_rate: rate }], gaps }
    }
}

/// How the gaps between arrivals vary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalGaps {
    /// Exponential: independent users.
    Poisson,
    /// All the same.
    Constant,
    /// Gamma with this shape: below 1 burstier than Poisson, above 1 more even.
    Gamma(f64),
}

/// When a load test ends. Whatever comes first; at least one must be given.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadLimits {
    /// Requests sent.
    pub requests: Option<u64>,
    /// Time in which requests are sent.
    pub duration: Option<Duration>,
    /// How long requests in progress may take after the last was sent; then they are cancelled. `None` waits for all,
    /// each up to its own timeout.
    pub drain: Option<Duration>,
}

/// A whole load test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadPlan {
    /// The server.
    pub target: LoadTarget,
    /// When requests are sent.
    pub pace: Pace,
    /// When it ends.
    pub limits: LoadLimits,
    /// Threads, each with a runtime of its own; 0 chooses.
    pub threads: usize,
    /// Seed of the arrivals.
    pub seed: u64,
    /// This process sends every n-th session: its number and how many share the schedule. (0, 1) sends all.
    pub share: (u64, u64),
    /// Keep the text of this many answers, to count their tokens afterwards; texts of answers without `usage` are
    /// kept besides.
    pub keep_texts: u64,
}

/// One request, or several that follow each other: a conversation, an agent.
pub struct LoadSession {
    /// Its name in the tables; `None` for a single request.
    pub(crate) id: Option<Arc<str>>,
    pub(crate) lora: Option<Arc<str>>,
    pub(crate) arrival: Option<Duration>,
    pub(crate) turns: Vec<Turn>,
}

#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) body: Body,
    /// Tokens of the prompt by the model's own tokenizer, where that is known.
    pub(crate) prompt_tokens: Option<u32>,
    pub(crate) max_output_tokens: Option<u32>,
    /// Time after the end of the turn before it: thinking, or running a tool.
    pub(crate) delay: Duration,
    pub(crate) sample: Option<Arc<str>>,
}

pub(crate) type WriteBody = Box<dyn FnOnce(&[String]) -> Bytes + Send>;

pub(crate) enum Body {
    Ready(Bytes),
    /// It holds the answers to the turns before, which are given in order.
    FromReplies(WriteBody),
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Ready(bytes) => write!(formatter, "Ready({} bytes)", bytes.len()),
            Body::FromReplies(_) => formatter.write_str("FromReplies"),
        }
    }
}

#[cfg(test)]
impl LoadPlan {
    pub(crate) fn of_test(url: impl Into<String>, api: Api, pace: Pace, requests: u64) -> Self {
        LoadPlan {
            target: LoadTarget {
                url: url.into(),
                api,
                headers: vec![("authorization".to_owned(), "Bearer x".to_owned())],
                http2: false,
                insecure: false,
                ca_file: None,
                gzip: false,
                connect_timeout: Duration::from_secs(10),
                timeout: Duration::from_secs(20),
            },
            pace,
            limits: LoadLimits { requests: Some(requests), duration: None, drain: None },
            threads: 0,
            seed: 1,
            share: (0, 1),
            keep_texts: 0,
        }
    }
}

impl LoadSession {
    #[cfg(test)]
    pub(crate) fn single(body: Bytes, prompt_tokens: Option<u32>, max_output_tokens: Option<u32>) -> Self {
        let turn = Turn {
            body: Body::Ready(body),
            prompt_tokens,
            max_output_tokens,
            delay: Duration::ZERO,
            sample: None,
        };
        LoadSession { id: None, lora: None, arrival: None, turns: vec![turn] }
    }
}

/// Where sessions come from. Called on a thread of its own, some sessions ahead of their time; the n-th call gives the
/// n-th session of the whole load test, whichever process sends it.
pub trait SessionSource: Send {
    /// The next session; `None` at the end.
    fn next(&mut self) -> Option<LoadSession>;

    /// Passes a session that another process sends, without making its bodies where that can be avoided; `None` at
    /// the end.
    fn skip(&mut self) -> Option<SessionShape> {
        self.next().map(|session| SessionShape { turns: session.turns.len(), arrival: session.arrival })
    }
}

/// What the schedule needs of a session that is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionShape {
    pub(crate) turns: usize,
    pub(crate) arrival: Option<Duration>,
}

impl<F: FnMut() -> Option<LoadSession> + Send> SessionSource for F {
    fn next(&mut self) -> Option<LoadSession> {
        self()
    }
}
