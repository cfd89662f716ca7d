//! A page of metrics as one sample of a server.

use rooflens_schema::exposition::{ExpositionSample, read_exposition};
use serde::Serialize;

use super::kind::ServerKind;
use super::names::{Feeds, Joined, MetricName, metrics_of};
use super::quantities::{ServerCounter, ServerDistribution, ServerGauge};

/// The most buckets of a histogram.
const MAX_BUCKETS: usize = 256;

/// What a server said of itself at one time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ServerSample {
    /// Time on the clock of the series: the middle of the request for the page.
    pub ts_ns: i64,
    /// How long the request took: the values are of some time within.
    pub(crate) took_ns: i64,
    gauges: [Option<f64>; ServerGauge::ALL.len()],
    counters: [Option<f64>; ServerCounter::ALL.len()],
    distributions: [DistributionTotals; ServerDistribution::ALL.len()],
}

/// Sum and count of a distribution since the server was started.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct DistributionTotals {
    /// Sum of all values: seconds, or tokens.
    pub(crate) sum: Option<f64>,
    /// How many.
    pub(crate) count: Option<f64>,
}

impl ServerSample {
    /// A gauge; none if the server does not give it.
    #[must_use]
    pub fn gauge(&self, gauge: ServerGauge) -> Option<f64> {
        self.gauges[gauge as usize]
    }

    /// A counter since the server was started.
    #[must_use]
    pub(crate) fn counter(&self, counter: ServerCounter) -> Option<f64> {
        self.counters[counter as usize]
    }

    /// Sum and count of a distribution.
    #[must_use]
    pub(crate) fn totals(&self, distribution: ServerDistribution) -> DistributionTotals {
        self.distributions[distribution as usize]
    }

    /// The same with a gauge set.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn with_gauge(mut self, gauge: ServerGauge, value: f64) -> Self {
        self.gauges[gauge as usize] = Some(value);
        self
    }

    /// The same with a counter set.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn with_counter(mut self, counter: ServerCounter, value: f64) -> Self {
        self.counters[counter as usize] = Some(value);
        self
    }

    /// The same with sum and count of a distribution set.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn with_totals(mut self, distribution: ServerDistribution, sum: f64, count: f64) -> Self {
        self.distributions[distribution as usize] = DistributionTotals { sum: Some(sum), count: Some(count) };
        self
    }

    /// Whether all that only grows is as in the other.
    pub(super) fn counts_as(&self, other: &ServerSample) -> bool {
        self.counters == other.counters && self.distributions == other.distributions
    }
}

/// Upper bounds of buckets and how many values are at most so large, in the order of bounds.
pub type Buckets = Vec<(f64, f64)>;

/// A page as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerPage {
    /// The program that wrote it.
    pub(crate) kind: ServerKind,
    /// What it says. The times are 0.
    pub(crate) sample: ServerSample,
    /// Buckets of each distribution that has any, all series together.
    pub(crate) buckets: Vec<(ServerDistribution, Buckets)>,
    /// Lines that were neither a sample nor a comment.
    pub(crate) damaged: usize,
}

/// Reads a page; `None` if it has no metric of a known server.
#[must_use]
pub fn read_server_page(text: &str) -> Option<ServerPage> {
    let kind = recognise(text)?;
    let names = metrics_of(kind);
    let mut found: Vec<Found> = names.iter().map(|_| Found::default()).collect();
    let report = read_exposition(text, |sample| {
        if sample.value.is_finite() {
            for (name, found) in names.iter().zip(&mut found) {
                found.take(name, &sample);
            }
        }
    });
    let mut page =
        ServerPage { kind, sample: ServerSample::default(), buckets: Vec::new(), damaged: report.damaged };
    // What is older stands back: it is put down only where there is nothing yet.
    for is_old in [false, true] {
        for (name, found) in names.iter().zip(&mut found).filter(|(name, _)| name.is_old == is_old) {
            page.put(name, found);
        }
    }
    Some(page)
}

/// The program that wrote a page.
#[must_use]
pub fn recognise(text: &str) -> Option<ServerKind> {
    let mut kind = None;
    read_exposition(text, |sample| {
        let of_this = ServerKind::of_metric(&sample.name);
        kind = match (kind, of_this) {
            (Some(known), Some(other)) => Some(std::cmp::min(known, other)),
            (known, other) => known.or(other),
        };
    });
    kind
}

/// Series of a metric, joined so far.
#[derive(Default)]
struct Found {
    value: JoinedValue,
    sum: JoinedValue,
    count: JoinedValue,
    buckets: Buckets,
}

#[derive(Default)]
struct JoinedValue {
    sum: f64,
    max: f64,
    series: u32,
}

impl JoinedValue {
    fn add(&mut self, value: f64) {
        self.max = if self.series == 0 { value } else { self.max.max(value) };
        self.sum += value;
        self.series += 1;
    }

    fn get(&self, name: &MetricName) -> Option<f64> {
        let value = match name.joined {
            _ if self.series == 0 => return None,
            Joined::Alone if self.series > 1 => return None,
            Joined::Sum | Joined::Alone => self.sum,
            Joined::Max => self.max,
            Joined::Mean => self.sum / f64::from(self.series),
        };
        Some(value * name.scale)
    }
}

impl Found {
    fn take(&mut self, name: &MetricName, sample: &ExpositionSample<'_>) {
        let Some(suffix) = sample.name.strip_prefix(name.name) else { return };
        if name.label.is_some_and(|(label, value)| sample.label(label) != Some(value)) {
            return;
        }
        match (name.feeds, suffix) {
            (Feeds::Histogram(_), "_count") => self.count.add(sample.value),
            (Feeds::Histogram(_) | Feeds::HistogramSum(_), "_sum") => self.sum.add(sample.value),
            (Feeds::Histogram(_), "_bucket") => self.bucket(sample),
            (Feeds::Histogram(_) | Feeds::HistogramSum(_), _) => {}
            (_, "") => self.value.add(sample.value),
            _ => {}
        }
    }

    fn bucket(&mut self, sample: &ExpositionSample<'_>) {
        let Some(bound) = sample.label("le").and_then(|le| le.parse::<f64>().ok()) else { return };
        if let Some((_, count)) = self.buckets.iter_mut().find(|(known, _)| *known == bound) {
            *count += sample.value;
        } else if self.buckets.len() < MAX_BUCKETS && !bound.is_nan() {
            self.buckets.push((bound, sample.value));
        }
    }
}

impl ServerPage {
    fn put(&mut self, name: &MetricName, found: &mut Found) {
        let sample = &mut self.sample;
        match name.feeds {
            Feeds::Gauge(gauge) => fill(&mut sample.gauges[gauge as usize], found.value.get(name)),
            Feeds::Counter(counter) => {
                add(&mut sample.counters[counter as usize], found.value.get(name), name);
            }
            Feeds::HistogramSum(counter) => {
                fill(&mut sample.counters[counter as usize], found.sum.get(name));
            }
            Feeds::SumOf(one) => fill(&mut sample.distributions[one as usize].sum, found.value.get(name)),
            Feeds::CountOf(one) => fill(&mut sample.distributions[one as usize].count, found.value.get(name)),
            Feeds::Histogram(one) => {
                let totals = &mut sample.distributions[one as usize];
                if totals.sum.is_some() || totals.count.is_some() {
                    return;
                }
                *totals = DistributionTotals { sum: found.sum.get(name), count: found.count.get(name) };
                found.buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
                if !found.buckets.is_empty() {
                    self.buckets.push((one, std::mem::take(&mut found.buckets)));
                }
            }
        }
    }
}

fn fill(place: &mut Option<f64>, value: Option<f64>) {
    if place.is_none() {
        *place = value;
    }
}

/// Two names of today that feed one counter are parts of it.
fn add(place: &mut Option<f64>, value: Option<f64>, name: &MetricName) {
    match (*place, value) {
        (Some(before), Some(value)) if !name.is_old => *place = Some(before + value),
        (None, value) => *place = value,
        _ => {}
    }
}
