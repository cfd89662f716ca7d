//! Where the latency of a request went, and which part made the slowest ones slow.

use crate::percentile::linear;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::series::median;
use crate::compare::headline::MeasuredRequest;
use crate::compare::ratio::sorted;

/// A gap between chunks that is so many times as long as the median one is a stall.
pub(crate) const STALL: f64 = 5.0;

/// The parts of a request's latency, ns. They add up to it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyParts {
    /// From the scheduled time to being sent.
    pub client_wait_ns: i64,
    /// In the server's queue; null where the server does not say, then it is part of prefill.
    pub queue_ns: Option<i64>,
    /// From being sent to the first token, without the queue.
    pub prefill_ns: i64,
    /// From the first token to the last, without stalls.
    pub decode_ns: i64,
    /// Gaps of more than [`STALL`] × the median gap: what they are longer than the median.
    pub stalls_ns: i64,
    /// Output tokens.
    pub(crate) output_tokens: i64,
}

impl LatencyParts {
    /// End-to-end latency.
    pub fn latency_ns(&self) -> i64 {
        self.ttft_ns().saturating_add(self.decode_ns).saturating_add(self.stalls_ns)
    }

    pub(crate) fn ttft_ns(&self) -> i64 {
        self.client_wait_ns.saturating_add(self.queue_ns.unwrap_or(0)).saturating_add(self.prefill_ns)
    }

    /// Of a completed request; `typical_gap_ns` is [`typical_gap`] of all. `None` where it failed or nothing was
    /// streamed. A clock that went backwards is taken as one that stood still.
    pub fn of(request: &MeasuredRequest<'_>, typical_gap_ns: f64) -> Option<Self> {
        let origin = request.origin_ns();
        let first = (!request.is_failed).then(|| request.token_ns.first().copied())??;
        let sent = request.start_ns.max(origin);
        let first = first.max(sent);
        let last = request.finish_ns()?.max(first);
        let to_first = first.saturating_sub(sent);
        let queue_ns = request.queued_ns.map(|ns| ns.clamp(0, to_first));
        let gaps = request.token_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        let is_stall = |gap: &i64| typical_gap_ns > 0.0 && *gap as f64 > STALL * typical_gap_ns;
        let stalls: i64 =
            gaps.filter(is_stall).fold(0, |sum: i64, gap| sum.saturating_add(gap - typical_gap_ns as i64));
        let after_first = last.saturating_sub(first);
        let stalls_ns = stalls.min(after_first);
        Some(LatencyParts {
            client_wait_ns: sent.saturating_sub(origin),
            queue_ns,
            prefill_ns: to_first - queue_ns.unwrap_or(0),
            decode_ns: after_first - stalls_ns,
            stalls_ns,
            output_tokens: request.output_tokens,
        })
    }
}

/// The median gap between chunks of all requests; 0 where there is none.
pub fn typical_gap(requests: &[MeasuredRequest<'_>]) -> f64 {
    let done = requests.iter().filter(|request| !request.is_failed);
    let pairs = done.flat_map(|request| request.token_ns.windows(2));
    let gaps: Vec<f64> = pairs.map(|pair| pair[1].saturating_sub(pair[0]).max(0) as f64).collect();
    if gaps.is_empty() { 0.0 } else { median(&gaps) }
}

/// A part of latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LatencyPart {
    /// Waiting in the client.
    ClientWait,
    /// The server's queue.
    Queue,
    /// Prefill, and whatever else is before the first token.
    Prefill,
    /// Decode at another time per token.
    Decode,
    /// Decode of more tokens.
    LongerOutput,
    /// Gaps far longer than the median one.
    Stalls,
}

/// By which latency requests are called slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlowBy {
    /// Time to first token.
    Ttft,
    /// End-to-end latency.
    Latency,
}

/// How a part differs between slow and typical requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PartGrowth {
    /// The part.
    pub(crate) part: LatencyPart,
    /// Mean of the slow requests − mean of the typical ones, ns.
    pub(crate) growth_ns: f64,
    /// Of the whole difference; negative where the part is shorter. Shares add up to 1.
    pub(crate) share: f64,
}

/// Why the slowest requests are slow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowRequests {
    /// By which latency.
    pub(crate) by: SlowBy,
    /// Slow requests: those at the percentile and above.
    pub(crate) slow: usize,
    /// Typical ones: those between the first and the third quartile.
    pub(crate) typical: usize,
    /// Mean latency of the slow ones, ns.
    pub(crate) slow_ns: f64,
    /// Mean latency of the typical ones, ns.
    pub(crate) typical_ns: f64,
    /// What the difference is made of, the largest first.
    pub(crate) parts: Vec<PartGrowth>,
}

/// Compares the requests at or above a percentile (0.99 for the 99th) with typical ones. `None` where they do not
/// differ or there are fewer than eight.
pub fn slow_requests(parts: &[LatencyParts], share: f64, by: SlowBy) -> Option<SlowRequests> {
    let total = |parts: &LatencyParts| match by {
        SlowBy::Ttft => parts.ttft_ns() as f64,
        SlowBy::Latency => parts.latency_ns() as f64,
    };
    let order = sorted(&parts.iter().map(total).collect::<Vec<f64>>());
    if order.len() < 8 {
        return None;
    }
    let [low, high, limit] = [0.25, 0.75, share].map(|share| linear(&order, share));
    let slow: Vec<&LatencyParts> = parts.iter().filter(|parts| total(parts) >= limit).collect();
    let typical: Vec<&LatencyParts> =
        parts.iter().filter(|parts| (low..=high).contains(&total(parts))).collect();
    let [slow_mean, typical_mean] = [&slow, &typical].map(|of| MeanParts::of(of, by));
    let (slow_ns, typical_ns) = (slow_mean.total(), typical_mean.total());
    let difference = slow_ns - typical_ns;
    if typical.is_empty() || difference <= 0.0 {
        return None;
    }
    let mut grown: Vec<PartGrowth> = slow_mean
        .growth(&typical_mean)
        .into_iter()
        .map(|(part, growth_ns)| PartGrowth { part, growth_ns, share: growth_ns / difference })
        .collect();
    grown.sort_by(|a, b| b.growth_ns.total_cmp(&a.growth_ns));
    Some(SlowRequests { by, slow: slow.len(), typical: typical.len(), slow_ns, typical_ns, parts: grown })
}

struct MeanParts {
    client_wait: f64,
    queue: f64,
    prefill: f64,
    decode: f64,
    stalls: f64,
    tokens: f64,
}

impl MeanParts {
    fn of(parts: &[&LatencyParts], by: SlowBy) -> Self {
        let mean = |of: fn(&LatencyParts) -> i64| {
            parts.iter().map(|parts| of(parts) as f64).sum::<f64>() / parts.len().max(1) as f64
        };
        let after_first = |of: fn(&LatencyParts) -> i64| if by == SlowBy::Latency { mean(of) } else { 0.0 };
        MeanParts {
            client_wait: mean(|parts| parts.client_wait_ns),
            queue: mean(|parts| parts.queue_ns.unwrap_or(0)),
            prefill: mean(|parts| parts.prefill_ns),
            decode: after_first(|parts| parts.decode_ns),
            stalls: after_first(|parts| parts.stalls_ns),
            tokens: mean(|parts| parts.output_tokens.saturating_sub(1).max(0)),
        }
    }

    fn total(&self) -> f64 {
        self.client_wait + self.queue + self.prefill + self.decode + self.stalls
    }

    fn growth(&self, typical: &MeanParts) -> [(LatencyPart, f64); 6] {
        let decode = self.decode - typical.decode;
        let per_token = if typical.tokens > 0.0 { typical.decode / typical.tokens } else { 0.0 };
        let longer = (self.tokens - typical.tokens) * per_token;
        [
            (LatencyPart::ClientWait, self.client_wait - typical.client_wait),
            (LatencyPart::Queue, self.queue - typical.queue),
            (LatencyPart::Prefill, self.prefill - typical.prefill),
            (LatencyPart::Decode, decode - longer),
            (LatencyPart::LongerOutput, longer),
            (LatencyPart::Stalls, self.stalls - typical.stalls),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(token_ns: &[i64]) -> MeasuredRequest<'_> {
        MeasuredRequest {
            output_tokens: token_ns.len() as i64,
            scheduled_ns: Some(10),
            start_ns: 30,
            token_ns,
            queued_ns: Some(15),
            is_load_test: true,
            ..MeasuredRequest::default()
        }
    }

    #[test]
    fn parts_add_up_by_hand() {
        let tokens = [100, 110, 190, 200];
        let one = request(&tokens);
        let gap = typical_gap(&[one]);
        assert_eq!(gap, 10.0);
        let parts = LatencyParts::of(&one, gap).unwrap();
        let expected = LatencyParts {
            client_wait_ns: 20,
            queue_ns: Some(15),
            prefill_ns: 55,
            decode_ns: 30,
            stalls_ns: 70,
            output_tokens: 4,
        };
        assert_eq!((parts, parts.latency_ns(), parts.ttft_ns()), (expected, 190, 90));
        // Clocks that go backwards, and a queue that is longer than the time to the first token.
        let odd = MeasuredRequest { queued_ns: Some(500), start_ns: 5, ..request(&[8, 3]) };
        let parts = LatencyParts::of(&odd, 1.0).unwrap();
        assert_eq!((parts.latency_ns(), parts.queue_ns), (0, Some(0)));
        let unknown = MeasuredRequest { queued_ns: None, ..one };
        assert_eq!(LatencyParts::of(&unknown, gap).unwrap().prefill_ns, 70);
        assert_eq!(LatencyParts::of(&MeasuredRequest { is_failed: true, ..one }, gap), None);
        assert_eq!((LatencyParts::of(&request(&[]), gap), typical_gap(&[])), (None, 0.0));
    }

    fn parts(queue: i64, decode: i64, tokens: i64) -> LatencyParts {
        LatencyParts {
            client_wait_ns: 0,
            queue_ns: Some(queue),
            prefill_ns: 50,
            decode_ns: decode,
            stalls_ns: 0,
            output_tokens: tokens,
        }
    }

    #[test]
    fn what_made_the_slowest_slow_by_hand() {
        // 19 requests of 50 + 100, one that waits 300 and makes twice the tokens.
        let mut all = vec![parts(0, 100, 11); 19];
        all.push(parts(300, 200, 21));
        let found = slow_requests(&all, 0.99, SlowBy::Latency).unwrap();
        assert_eq!((found.slow, found.typical, found.slow_ns, found.typical_ns), (1, 19, 550.0, 150.0));
        let told: Vec<_> = found.parts[..2].iter().map(|part| (part.part, part.share)).collect();
        assert_eq!(told, [(LatencyPart::Queue, 0.75), (LatencyPart::LongerOutput, 0.25)]);
        assert!((found.parts.iter().map(|part| part.share).sum::<f64>() - 1.0).abs() < 1e-12);
        let by_ttft = slow_requests(&all, 0.99, SlowBy::Ttft).unwrap();
        assert_eq!((by_ttft.slow_ns - by_ttft.typical_ns, by_ttft.parts[0].share), (300.0, 1.0));
        assert_eq!(slow_requests(&all[..19], 0.99, SlowBy::Latency), None);
        assert_eq!(slow_requests(&all[15..], 0.99, SlowBy::Latency), None);
    }
}
