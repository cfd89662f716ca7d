//! When requests were in progress and when tokens arrived, kept small: 40 bytes per request, a bit per millisecond.

use crate::record::RequestRecord;

/// Width of a bin of time.
const BIN_NS: i64 = 1_000_000;
/// The most bins: a day and a half.
const MAX_BINS: usize = 1 << 27;
/// The shortest stall: a busy machine hesitates for a tenth of a second now and then.
const MIN_STALL_NS: i64 = 200_000_000;
/// A stall is so many times the usual time between chunks of a stream.
const STALL_FACTOR: i64 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamTimes {
    pub(super) scheduled_ns: i64,
    pub(super) sent_ns: i64,
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    pub(super) prompt_tokens: Option<u32>,
}

/// What a client saw of a load test.
#[derive(Debug, Clone, Default)]
pub struct LoadEvidence {
    pub(super) requests: Vec<StreamTimes>,
    arrived: Vec<u64>,
    gaps: GapHistogram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecodeStall {
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    pub(super) streams: usize,
    /// Whether a request that was sent before it got its first chunk right at its end, and has a prompt so long that its
    /// prefill may have taken the time.
    pub(super) ends_with_prefill: bool,
}

impl DecodeStall {
    pub(super) fn length_ns(&self) -> i64 {
        self.to_ns - self.from_ns
    }
}

impl LoadEvidence {
    /// Takes a request, if it got output.
    pub fn add_record(&mut self, record: &RequestRecord) {
        if let Some(sent_ns) = record.sent_ns {
            let counted =
                record.usage.and_then(|usage| usage.prompt).and_then(|tokens| u32::try_from(tokens).ok());
            let chunks = record.chunks.iter().map(|chunk| chunk.ts_ns);
            self.add(record.scheduled_ns, sent_ns, counted.or(record.prompt_tokens), chunks);
        }
    }

    /// Takes a request by the times of its chunks, in their order. Without any, it is left out.
    pub fn add(
        &mut self,
        scheduled_ns: i64,
        sent_ns: i64,
        prompt_tokens: Option<u32>,
        chunks: impl IntoIterator<Item = i64>,
    ) {
        let mut ends: Option<(i64, i64)> = None;
        for ts_ns in chunks {
            self.mark(ts_ns);
            if let Some((_, last)) = ends {
                self.gaps.add(ts_ns.saturating_sub(last));
            }
            ends = Some((ends.map_or(ts_ns, |(first, _)| first), ts_ns));
        }
        if let Some((first_ns, last_ns)) = ends {
            self.requests.push(StreamTimes { scheduled_ns, sent_ns, first_ns, last_ns, prompt_tokens });
        }
    }

    pub(super) fn requests(&self) -> &[StreamTimes] {
        &self.requests
    }

    fn mark(&mut self, ts_ns: i64) {
        let Ok(bin) = usize::try_from(ts_ns / BIN_NS) else { return };
        if bin >= MAX_BINS {
            return;
        }
        if bin / 64 >= self.arrived.len() {
            self.arrived.resize(bin / 64 + 1, 0);
        }
        self.arrived[bin / 64] |= 1 << (bin % 64);
    }

    #[cfg(test)]
    pub(super) fn median_gap_ns(&self) -> Option<i64> {
        self.gaps.median()
    }

    pub(super) fn stalls(&self) -> Vec<DecodeStall> {
        let Some(median) = self.gaps.median() else { return Vec::new() };
        let least = MIN_STALL_NS.max(median.saturating_mul(STALL_FACTOR));
        let mut by_first: Vec<&StreamTimes> = self.requests.iter().collect();
        by_first.sort_by_key(|times| times.first_ns);
        let runs = self.empty_runs(least);
        let usual = PrefillTime::outside(&self.requests, &runs);
        let stalls = runs.into_iter().map(|run| stall(run, &by_first, &usual));
        stalls.filter(|stall| stall.streams > 0).collect()
    }

    fn empty_runs(&self, least_ns: i64) -> Vec<(i64, i64)> {
        let mut runs = Vec::new();
        let mut last: Option<i64> = None;
        for (at, word) in self.arrived.iter().enumerate() {
            let mut bits = *word;
            while bits != 0 {
                let bin = (at * 64) as i64 + i64::from(bits.trailing_zeros());
                bits &= bits - 1;
                if let Some(last) = last {
                    // From the end of the last full bin to the begin of this.
                    let run = ((last + 1) * BIN_NS, bin * BIN_NS);
                    if run.1 - run.0 >= least_ns {
                        runs.push(run);
                    }
                }
                last = Some(bin);
            }
        }
        runs
    }

    pub(super) fn mean_stalled_ns(&self, stalls: &[DecodeStall]) -> f64 {
        let stalled = |times: &StreamTimes| -> i64 {
            let from = stalls.partition_point(|stall| stall.to_ns <= times.sent_ns);
            let within = stalls[from..].iter().take_while(|stall| stall.from_ns < times.last_ns);
            within.map(|stall| stall.to_ns.min(times.last_ns) - stall.from_ns.max(times.sent_ns)).sum()
        };
        self.mean(|times| stalled(times) as f64).unwrap_or(0.0)
    }

    pub(super) fn mean(&self, value: impl Fn(&StreamTimes) -> f64) -> Option<f64> {
        let sum: f64 = self.requests.iter().map(value).sum();
        (!self.requests.is_empty()).then(|| sum / self.requests.len() as f64)
    }

    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let from = self.requests.iter().map(|times| times.sent_ns).min()?;
        let to = self.requests.iter().map(|times| times.last_ns).max()?;
        Some((from, to))
    }
}

fn stall((from_ns, to_ns): (i64, i64), by_first: &[&StreamTimes], usual: &PrefillTime) -> DecodeStall {
    let begun = by_first.partition_point(|times| times.first_ns <= from_ns);
    let streams = by_first[..begun].iter().filter(|times| times.last_ns >= to_ns).count();
    // The chunk that ends the stall may be anywhere within its bin.
    let ends_with_prefill = by_first[begun..]
        .iter()
        .take_while(|times| times.first_ns < to_ns.saturating_add(2 * BIN_NS))
        .any(|times| times.sent_ns <= from_ns && usual.of(times) * 2.0 >= (to_ns - from_ns) as f64);
    DecodeStall { from_ns, to_ns, streams, ends_with_prefill }
}

struct PrefillTime {
    per_token_ns: Option<f64>,
    any_ns: Option<f64>,
}

impl PrefillTime {
    fn outside(requests: &[StreamTimes], runs: &[(i64, i64)]) -> Self {
        let is_outside = |times: &&StreamTimes| {
            let after = runs.partition_point(|(_, to)| *to <= times.sent_ns);
            runs.get(after).is_none_or(|(from, _)| *from >= times.first_ns)
        };
        let ttft = |times: &StreamTimes| times.first_ns.saturating_sub(times.sent_ns).max(0) as f64;
        let outside: Vec<&StreamTimes> = requests.iter().filter(is_outside).collect();
        let per_token = outside.iter().filter_map(|times| {
            Some(ttft(times) / f64::from(times.prompt_tokens.filter(|tokens| *tokens > 0)?))
        });
        PrefillTime {
            per_token_ns: median(per_token.collect()),
            any_ns: median(outside.iter().map(|times| ttft(times)).collect()),
        }
    }

    /// Of a request: by the tokens of its prompt, where they are known.
    fn of(&self, times: &StreamTimes) -> f64 {
        let by_tokens =
            times.prompt_tokens.zip(self.per_token_ns).map(|(tokens, each)| f64::from(tokens) * each);
        by_tokens.or(self.any_ns).unwrap_or(0.0)
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[derive(Debug, Clone)]
struct GapHistogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for GapHistogram {
    fn default() -> Self {
        GapHistogram { counts: vec![0; 64 * 8], total: 0 }
    }
}

impl GapHistogram {
    fn add(&mut self, gap_ns: i64) {
        let gap = gap_ns.max(0).unsigned_abs();
        let power = 63 - gap.max(8).leading_zeros() as usize;
        let part = (gap.max(8) >> (power - 3)) as usize & 7;
        self.counts[power * 8 + part] += 1;
        self.total += 1;
    }

    fn median(&self) -> Option<i64> {
        let mut below = 0;
        let at = self.counts.iter().position(|count| {
            below += count;
            below * 2 >= self.total && *count > 0
        })?;
        let (power, part) = (at / 8, (at % 8) as i64);
        Some((8 + part) << (power - 3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Chunks every so many milliseconds from `from` to `to`, except in the pauses.
    fn stream(from: i64, to: i64, every: i64, pauses: &[(i64, i64)]) -> Vec<i64> {
        let is_paused = |at: i64| pauses.iter().any(|(from, to)| *from < at && at < *to);
        (0..)
            .map(|n| from + n * every)
            .take_while(|at| *at <= to)
            .filter(|at| !is_paused(*at))
            .map(|at| at * MS)
            .collect()
    }

    #[test]
    fn the_median_gap_is_known_to_an_eighth() {
        let mut evidence = LoadEvidence::default();
        assert_eq!(evidence.median_gap_ns(), None);
        evidence.add(0, 0, Some(100), stream(0, 1000, 10, &[]));
        let median = evidence.median_gap_ns().unwrap();
        assert!(median <= 10 * MS && median * 9 / 8 >= 10 * MS, "{median}");
        let mut histogram = GapHistogram::default();
        for gap in [0, 1, 5, i64::MAX, -3] {
            histogram.add(gap);
        }
        assert_eq!(histogram.median(), Some(8));
    }

    #[test]
    fn a_pause_of_all_streams_is_a_stall_and_a_pause_of_one_is_none() {
        let mut evidence = LoadEvidence::default();
        evidence.add(0, 0, Some(100), stream(10, 4000, 10, &[(1000, 2800), (3000, 3300)]));
        evidence.add(0, 0, Some(100), stream(15, 4000, 10, &[(1000, 2800)]));
        // Ends before the pause.
        evidence.add(0, 0, Some(100), stream(20, 500, 10, &[]));
        let stalls = evidence.stalls();
        assert_eq!(stalls.len(), 1, "{stalls:?}");
        // The last chunks are at 1000 and 995, the next at 2800.
        assert_eq!((stalls[0].from_ns, stalls[0].to_ns, stalls[0].streams), (1001 * MS, 2800 * MS, 2));
        assert!(!stalls[0].ends_with_prefill);
        // Two of three requests were in progress in it: 2 × 1799 / 3.
        let mean = evidence.mean_stalled_ns(&stalls);
        assert!((mean - 2.0 * 1799.0 * MS as f64 / 3.0).abs() < 1.0, "{mean}");
    }

    #[test]
    fn idle_time_is_no_stall() {
        let mut evidence = LoadEvidence::default();
        evidence.add(0, 0, Some(100), stream(10, 500, 10, &[]));
        evidence.add(2_000 * MS, 2_000 * MS, None, stream(2_010, 2_500, 10, &[]));
        assert_eq!(evidence.stalls(), []);
    }

    #[test]
    fn a_slow_stream_does_not_stall() {
        let mut evidence = LoadEvidence::default();
        evidence.add(0, 0, Some(100), stream(10, 10_000, 400, &[]));
        assert_eq!(evidence.stalls(), []);
    }

    #[test]
    fn a_prefill_that_all_wait_for_is_told() {
        let with = |sent: i64, tokens: Option<u32>| {
            let mut evidence = LoadEvidence::default();
            evidence.add(0, 0, Some(100), stream(10, 4000, 10, &[(1000, 2800)]));
            evidence.add(0, sent * MS, tokens, stream(2800, 4000, 10, &[]));
            let stalls = evidence.stalls();
            assert_eq!(stalls.len(), 1);
            stalls[0].ends_with_prefill
        };
        // The first request took 10 ms for 100 tokens: 9,000 may take 900 ms, half of the stall.
        assert!(with(990, Some(9_000)));
        assert!(!with(990, Some(8_900)));
        // A request of the usual length that was just sent is no cause, nor is one that was sent in the midst.
        assert!(!with(990, Some(100)));
        assert!(!with(990, None));
        assert!(!with(2000, Some(9_000)));
    }

    #[test]
    fn odd_times_do_no_harm() {
        let mut evidence = LoadEvidence::default();
        evidence.add(0, 0, None, [i64::MIN, -5, 0, i64::MAX, 3]);
        evidence.add(0, 0, None, []);
        assert_eq!(evidence.requests().len(), 1);
        let _ = evidence.stalls();
        let _ = evidence.mean_stalled_ns(&evidence.stalls());
    }
}
