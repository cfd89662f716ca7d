//! The command line of the server.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::fault::FaultShare;
use crate::schedule::{StallTimes, Timing};

/// A server of known timing that speaks the OpenAI API.
#[derive(Debug, Clone, Parser)]
#[command(name = "rooflens-mock-server")]
pub struct MockOptions {
    /// Port; 0 takes a free one. The first line of standard output is JSON with the one taken.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Threads, each with a runtime of its own.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Name of the model.
    #[arg(long, default_value = "mock")]
    pub(crate) model: String,
    /// When the server ends (SIGTERM, Ctrl-C, `POST /quit`), write what it did to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Leave the time of every write out of the log.
    #[arg(long)]
    pub(crate) totals_only: bool,

    /// Time to first token, in milliseconds after the request arrived.
    #[arg(long, default_value_t = 50.0, value_parser = millis, help_heading = "Timing")]
    pub(crate) ttft_ms: f64,
    /// Inter-token latency in milliseconds: token k is due at arrival + TTFT + k × ITL.
    #[arg(long, default_value_t = 5.0, value_parser = millis, help_heading = "Timing")]
    pub(crate) itl_ms: f64,
    /// Microseconds of prefill per prompt token, added to TTFT.
    #[arg(long, default_value_t = 0.0, value_parser = millis, help_heading = "Timing")]
    pub(crate) prefill_us_per_token: f64,
    /// Every token is late by a random time of at most this.
    #[arg(long, default_value_t = 0.0, value_parser = millis, help_heading = "Timing")]
    pub(crate) jitter_ms: f64,
    /// Seed of jitter and faults.
    #[arg(long, default_value_t = 1, help_heading = "Timing")]
    pub(crate) seed: u64,
    /// Send every token as soon as the one before is written.
    #[arg(long, help_heading = "Timing")]
    pub(crate) flat_out: bool,
    /// Stop sending for this long, regularly; tokens due in this time are sent at its end.
    #[arg(long, default_value_t = 0.0, value_parser = millis, help_heading = "Timing")]
    pub(crate) stall_ms: f64,
    /// From the begin of one stall to the begin of the next; the first comes so long after the first request.
    #[arg(long, default_value_t = 10_000.0, value_parser = millis, help_heading = "Timing")]
    pub(crate) stall_every_ms: f64,
    /// Requests served at once; further ones wait in a queue.
    #[arg(long, help_heading = "Timing")]
    pub(crate) slots: Option<usize>,
    /// Tokens that fill the KV cache, for its use in `/metrics`.
    #[arg(long, default_value_t = 100_000, help_heading = "Timing")]
    pub(crate) kv_capacity: u64,

    /// Tokens in each chunk.
    #[arg(long, default_value_t = 1, help_heading = "Answers")]
    pub(crate) tokens_per_chunk: u32,
    /// When a stream has `usage`.
    #[arg(long, value_enum, default_value_t = UsagePolicy::Asked, help_heading = "Answers")]
    pub(crate) usage: UsagePolicy,
    /// End streams without `[DONE]`.
    #[arg(long, help_heading = "Answers")]
    pub(crate) no_done: bool,
    /// Lines end with CR LF.
    #[arg(long, help_heading = "Answers")]
    pub(crate) crlf: bool,
    /// Comments between events.
    #[arg(long, help_heading = "Answers")]
    pub(crate) comments: bool,
    /// Every byte is a chunk of HTTP and a write of its own.
    #[arg(long, help_heading = "Answers")]
    pub(crate) byte_frames: bool,
    /// Text with characters of several bytes, which are split between writes.
    #[arg(long, help_heading = "Answers")]
    pub(crate) split_utf8: bool,
    /// The first N tokens are reasoning (chat and responses).
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Answers")]
    pub(crate) reasoning: u64,
    /// The last N tokens are arguments of a tool call (chat and responses).
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Answers")]
    pub(crate) tool_call: u64,
    /// A chunk without text before every chunk with tokens.
    #[arg(long, help_heading = "Answers")]
    pub(crate) empty_deltas: bool,
    /// Compress answers where the client accepts it.
    #[arg(long, help_heading = "Answers")]
    pub(crate) gzip: bool,

    /// A share of the requests goes wrong; may be given several times.
    #[arg(long, value_name = "KIND:SHARE", help_heading = "Misbehaviour")]
    pub(crate) fail: Vec<FaultShare>,

    /// Speak HTTP/2, by prior knowledge where there is no TLS.
    #[arg(long, help_heading = "Connection")]
    pub(crate) http2: bool,
    /// TLS with a certificate for localhost and 127.0.0.1.
    #[arg(long, help_heading = "Connection")]
    pub tls: bool,
    /// TLS with a certificate that expired.
    #[arg(long, help_heading = "Connection")]
    pub tls_expired: bool,
    /// Write the certificate of the authority to this file.
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub ca_out: Option<PathBuf>,
}

/// When a stream has `usage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsagePolicy {
    /// In a chunk at its end.
    Always,
    /// As `stream_options` ask.
    Asked,
    /// Not at all.
    Never,
    /// In every chunk.
    Continuous,
}

fn millis(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(value),
        _ => Err("expected a number from 0 to 1e9".to_owned()),
    }
}

impl MockOptions {
    pub(crate) fn timing(&self) -> Timing {
        let of = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        let stalls = StallTimes { length: of(self.stall_ms), every: of(self.stall_every_ms) };
        Timing {
            ttft: of(self.ttft_ms),
            itl: of(self.itl_ms),
            prefill_per_token: of(self.prefill_us_per_token / 1e3),
            jitter: of(self.jitter_ms),
            flat_out: self.flat_out,
            stalls: (self.stall_ms > 0.0).then_some(stalls),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn options_hold_together() {
        MockOptions::command().debug_assert();
        let options =
            MockOptions::try_parse_from(["mock", "--stall-ms", "2000", "--itl-ms", "0.25"]).unwrap();
        let timing = options.timing();
        assert_eq!(timing.itl, Duration::from_micros(250));
        let stalls = StallTimes { length: Duration::from_secs(2), every: Duration::from_secs(10) };
        assert_eq!(timing.stalls, Some(stalls));
        assert!(MockOptions::try_parse_from(["mock", "--itl-ms", "-1"]).is_err());
        assert!(MockOptions::try_parse_from(["mock", "--fail", "melt:1"]).is_err());
    }
}
