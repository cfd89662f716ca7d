//! What is known of any server, whatever it calls it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value that goes up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerGauge {
    /// Requests in the running batch.
    Running,
    /// Requests that wait in the queue.
    Waiting,
    /// Used share of the KV cache, 0 to 1; the fullest one where there are several.
    KvCacheUsage,
    /// The most requests that may run at once.
    RunningLimit,
    /// Busy share of devices, 0 to 1, mean.
    GpuUtilization,
    /// Power of all devices, in watts.
    GpuPower,
    /// Used memory of all devices, in bytes.
    GpuMemoryUsed,
}

/// A value that only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerCounter {
    /// Requests taken out of the running batch for want of KV cache.
    Preemptions,
    /// Tokens of prompts, with those from the prefix cache.
    PromptTokens,
    /// Tokens of output.
    GeneratedTokens,
    /// Tokens looked up in the prefix cache.
    PrefixQueries,
    /// Tokens found in it.
    PrefixHits,
    /// Tokens that speculative decoding drafted.
    DraftTokens,
    /// Drafted tokens that were accepted.
    AcceptedTokens,
    /// Requests that ended, for whatever reason.
    RequestsFinished,
    /// Energy of all devices, in joules.
    Energy,
}

/// Times, or sizes, of many: their sum and count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerDistribution {
    /// Seconds a request waited in the queue.
    QueueTime,
    /// Seconds from being scheduled to the first token.
    PrefillTime,
    /// Seconds from the first token to the last.
    DecodeTime,
    /// Seconds to the first token, as the server sees it.
    TimeToFirstToken,
    /// Seconds between tokens.
    InterTokenLatency,
    /// Seconds of a whole request.
    EndToEnd,
    /// Tokens of an engine step.
    IterationTokens,
}

impl ServerGauge {
    /// All, in the order of [`super::ServerSample`].
    pub const ALL: [ServerGauge; 7] = [
        ServerGauge::Running,
        ServerGauge::Waiting,
        ServerGauge::KvCacheUsage,
        ServerGauge::RunningLimit,
        ServerGauge::GpuUtilization,
        ServerGauge::GpuPower,
        ServerGauge::GpuMemoryUsed,
    ];
}

impl ServerCounter {
    /// All, in the order of [`super::ServerSample`].
    pub const ALL: [ServerCounter; 9] = [
        ServerCounter::Preemptions,
        ServerCounter::PromptTokens,
        ServerCounter::GeneratedTokens,
        ServerCounter::PrefixQueries,
        ServerCounter::PrefixHits,
        ServerCounter::DraftTokens,
        ServerCounter::AcceptedTokens,
        ServerCounter::RequestsFinished,
        ServerCounter::Energy,
    ];
}

impl ServerDistribution {
    /// All, in the order of [`super::ServerSample`].
    pub const ALL: [ServerDistribution; 7] = [
        ServerDistribution::QueueTime,
        ServerDistribution::PrefillTime,
        ServerDistribution::DecodeTime,
        ServerDistribution::TimeToFirstToken,
        ServerDistribution::InterTokenLatency,
        ServerDistribution::EndToEnd,
        ServerDistribution::IterationTokens,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_lists_is_that_of_the_enums() {
        assert!(ServerGauge::ALL.iter().enumerate().all(|(at, gauge)| *gauge as usize == at));
        assert!(ServerCounter::ALL.iter().enumerate().all(|(at, counter)| *counter as usize == at));
        assert!(ServerDistribution::ALL.iter().enumerate().all(|(at, one)| *one as usize == at));
    }
}
