//! Samples of a server over time.

use super::names::{ServerCounter, ServerDistribution, ServerGauge, ServerKind};
use super::page::{ServerPage, ServerSample};

/// The most samples that are kept. Beyond, every second one is dropped, but for the first and the last.
const MAX_SAMPLES: usize = 8192;
const MAX_ERRORS: usize = 16;

/// What a server said of itself over a load test.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerSeries {
    /// The program; none if no page was read.
    pub kind: Option<ServerKind>,
    pub(crate) version: Option<String>,
    /// The most requests that may run at once, where it is known: by the page, by the server's own description of its
    /// settings, or by the one who started it.
    pub running_limit: Option<f64>,
    /// Wall-clock time of 0, since 1970.
    pub(crate) base_unix_ns: i64,
    /// When the load test began and ended: before and after it, the server may idle. All the time where it is not said.
    pub busy: Option<(i64, i64)>,
    /// Samples, in the order of time.
    pub samples: Vec<ServerSample>,
    pub(crate) pages: u64,
    pub(crate) failed_pages: u64,
    pub(crate) errors: Vec<String>,
    pub(super) stride: u64,
}

impl ServerSeries {
    pub(crate) fn push(&mut self, page: ServerPage, ts_ns: i64) {
        if self.kind.is_none() {
            self.kind = Some(page.kind);
        }
        self.running_limit = page.sample.gauge(ServerGauge::RunningLimit).or(self.running_limit);
        let mut sample = page.sample;
        sample.ts_ns = ts_ns;
        let stride = self.stride.max(1);
        // The last one is always there, and makes room for the next where it was not to be kept.
        if self.pages > 1 && !(self.pages - 1).is_multiple_of(stride) {
            self.samples.pop();
        }
        self.samples.push(sample);
        self.pages += 1;
        if self.samples.len() > MAX_SAMPLES {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                (at - 1) % 2 == 0
            });
            self.stride = stride * 2;
        }
    }

    pub(crate) fn push_error(&mut self, message: String) {
        self.failed_pages += 1;
        if self.errors.len() < MAX_ERRORS && !self.errors.contains(&message) {
            self.errors.push(message);
        }
    }

    /// The same on the clock of a load test, whose 0 is at this time since 1970.
    pub fn on_clock(mut self, base_unix_ns: i64) -> Self {
        let shift = self.base_unix_ns.saturating_sub(base_unix_ns);
        for sample in &mut self.samples {
            sample.ts_ns = sample.ts_ns.saturating_add(shift);
        }
        self.base_unix_ns = base_unix_ns;
        self
    }

    /// First and last sample; none if there are not two.
    pub(crate) fn ends(&self) -> Option<(&ServerSample, &ServerSample)> {
        match self.samples.as_slice() {
            [first, .., last] => Some((first, last)),
            _ => None,
        }
    }

    pub(crate) fn within(&self, from_ns: i64, to_ns: i64) -> impl Iterator<Item = &ServerSample> {
        self.samples.iter().filter(move |sample| (from_ns..=to_ns).contains(&sample.ts_ns))
    }

    pub(crate) fn grown(&self, counter: ServerCounter) -> Result<f64, NoDifference> {
        self.difference(|sample| sample.counter(counter))
    }

    pub(crate) fn added(&self, distribution: ServerDistribution) -> Result<(f64, f64), NoDifference> {
        let sum = self.difference(|sample| sample.totals(distribution).sum)?;
        let count = self.difference(|sample| sample.totals(distribution).count)?;
        Ok((sum, count))
    }

    fn difference(&self, value: impl Fn(&ServerSample) -> Option<f64>) -> Result<f64, NoDifference> {
        let (first, last) = self.ends().ok_or(NoDifference::TooFewPages)?;
        let last = value(last).ok_or(NoDifference::NotGiven)?;
        // A series with labels begins to exist with its first value.
        let first = value(first).unwrap_or(0.0);
        let mut before = first;
        for now in self.samples.iter().filter_map(value) {
            if now < before {
                return Err(NoDifference::Restarted);
            }
            before = now;
        }
        Ok(last - first)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoDifference {
    #[error("fewer than two pages of the server's metrics were read")]
    TooFewPages,
    #[error("the server does not give it")]
    NotGiven,
    #[error("a counter went down: the server was restarted meanwhile")]
    Restarted,
}
