//! How long does a run of a compiled engine take?

use rooflens_schema::RankTables;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::statistics::{DurationSummary, Durations};

/// Runs of an engine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Inferences {
    /// Runs.
    pub runs: usize,
    /// From the first moment to the last.
    pub span_ns: i64,
    /// Runs a second; `None` where no time elapsed.
    pub runs_per_s: Option<f64>,
    /// From the first copy to the last.
    pub latency: DurationSpread,
    /// On the host.
    pub enqueue: DurationSpread,
    /// Copies to the device.
    pub h2d: DurationSpread,
    /// On the device.
    pub compute: DurationSpread,
    /// Copies from the device.
    pub d2h: DurationSpread,
}

/// Durations of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DurationSpread {
    /// Shortest.
    pub min_ns: i64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// 95th percentile.
    pub p95_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "inferences",
    question: "How long does a run of a compiled engine take?",
    needs: "runs of a compiled engine",
    is_special: true,
    finding: FindingType::object::<Inferences>(),
    start: || Box::new(State::default()),
    explain: "\
Runs of a TensorRT engine, from `trtexec --exportTimes`, including warm-up runs.

- `latency`: from the start of the copies to the device to the end of the copies from it, as the file
  says; `enqueue`, `h2d`, `compute`, `d2h`: its parts and the host's time to enqueue it.
- The file has six digits. `enqueue` is the difference of two timestamps: after the first second of a file it is
  precise to 10 µs, after ten seconds to 100 µs. The other parts are durations, precise to six digits.
- `p50_ns` … `p99_ns`: nearest rank, exact. `trtexec` prints those without the warm-up.
- `span_ns`: latest end - earliest start; `runs_per_s` is runs / span_ns, so gaps between runs count.
",
};

#[derive(Default)]
struct State {
    kinds: [Durations; 5],
    span_ns: i64,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let rows = &tables.inferences;
        let columns = [&rows.latency_ns, &rows.enqueue_ns, &rows.h2d_ns, &rows.compute_ns, &rows.d2h_ns];
        for (durations, column) in self.kinds.iter_mut().zip(columns) {
            column.iter().for_each(|ns| durations.push(*ns));
        }
        let begin = rows.ts_ns.iter().chain(&rows.compute_ts_ns).min();
        if let (Some(begin), Some(end)) = (begin, rows.end_ns.iter().max()) {
            self.span_ns = self.span_ns.max(end.saturating_sub(*begin));
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let runs = self.kinds[0].count;
        let mut spreads = self.kinds.into_iter().map(spread);
        let mut next = || spreads.next().flatten();
        Some(Box::new(Inferences {
            latency: next()?,
            enqueue: next()?,
            h2d: next()?,
            compute: next()?,
            d2h: next()?,
            runs,
            span_ns: self.span_ns,
            runs_per_s: (self.span_ns > 0).then(|| runs as f64 * 1e9 / self.span_ns as f64),
        }))
    }
}

fn spread(durations: Durations) -> Option<DurationSpread> {
    let mean_ns = durations.mean();
    let DurationSummary { min, percentiles: [p50_ns, p90_ns, p95_ns, p99_ns], max } =
        durations.summary([50, 90, 95, 99])?;
    Some(DurationSpread { min_ns: min, mean_ns, p50_ns, p90_ns, p95_ns, p99_ns, max_ns: max })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn percentiles_and_rate() {
        let mut sample = Sample::new(0);
        // Latencies 1 … 100, one every 200.
        (1..=100).for_each(|i| sample.inference(i * 200, i));
        let runs = sample.find::<Inferences>();
        let latency = &runs.latency;
        assert_eq!((latency.p50_ns, latency.p90_ns, latency.p99_ns, latency.max_ns), (50, 90, 99, 100));
        assert_eq!((latency.min_ns, latency.mean_ns), (1, 50.5));
        // From 200 to 20,000 + 100.
        assert_eq!((runs.runs, runs.span_ns), (100, 19_900));
        assert_eq!(runs.runs_per_s, Some(100.0 * 1e9 / 19_900.0));
    }
}
