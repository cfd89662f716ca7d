//! A page of metrics as one sample of a server.

use super::names::{
    Feeds, Joined, MetricName, ServerCounter, ServerDistribution, ServerGauge, ServerKind, metrics_of,
};
use rooflens_schema::exposition::{ExpositionSample, read_exposition};

/// What a server said of itself at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerSample {
    /// Time on the clock of the series: the middle of the request for the page.
    pub ts_ns: i64,
    gauges: [Option<f64>; ServerGauge::GpuUtilization as usize + 1],
    counters: [Option<f64>; ServerCounter::Energy as usize + 1],
    distributions: [DistributionTotals; ServerDistribution::IterationTokens as usize + 1],
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct DistributionTotals {
    /// Sum of all values: seconds, or tokens.
    pub(crate) sum: Option<f64>,
    pub(crate) count: Option<f64>,
}

impl ServerSample {
    /// A gauge; none if the server does not give it.
    pub fn gauge(&self, gauge: ServerGauge) -> Option<f64> {
        self.gauges[gauge as usize]
    }

    pub(crate) fn counter(&self, counter: ServerCounter) -> Option<f64> {
        self.counters[counter as usize]
    }

    pub(crate) fn totals(&self, distribution: ServerDistribution) -> DistributionTotals {
        self.distributions[distribution as usize]
    }

    #[cfg(test)]
    pub(crate) fn with_gauge(mut self, gauge: ServerGauge, value: f64) -> Self {
        self.gauges[gauge as usize] = Some(value);
        self
    }

    #[cfg(test)]
    pub(crate) fn with_counter(mut self, counter: ServerCounter, value: f64) -> Self {
        self.counters[counter as usize] = Some(value);
        self
    }

    #[cfg(test)]
    pub(crate) fn with_totals(mut self, distribution: ServerDistribution, sum: f64, count: f64) -> Self {
        self.distributions[distribution as usize] = DistributionTotals { sum: Some(sum), count: Some(count) };
        self
    }

    pub(super) fn counts_as(&self, other: &ServerSample) -> bool {
        self.counters == other.counters && self.distributions == other.distributions
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerPage {
    pub(crate) kind: ServerKind,
    pub(crate) sample: ServerSample,
}

/// Reads a page; `None` if it has no metric of a known server.
pub(crate) fn read_server_page(text: &str) -> Option<ServerPage> {
    let kind = recognise(text)?;
    let names = metrics_of(kind);
    let mut found: Vec<Found> = names.iter().map(|_| Found::default()).collect();
    read_exposition(text, |sample| {
        if sample.value.is_finite() {
            for (name, found) in names.iter().zip(&mut found) {
                found.take(name, &sample);
            }
        }
    });
    let mut page = ServerPage { kind, sample: ServerSample::default() };
    // What is older stands back: it is put down only where there is nothing yet.
    for is_old in [false, true] {
        for (name, found) in names.iter().zip(&found).filter(|(name, _)| name.is_old == is_old) {
            page.put(name, found);
        }
    }
    Some(page)
}

fn recognise(text: &str) -> Option<ServerKind> {
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

#[derive(Default)]
struct Found {
    value: JoinedValue,
    sum: JoinedValue,
    count: JoinedValue,
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
            (Feeds::Histogram(_) | Feeds::HistogramSum(_), _) => {}
            (_, "") => self.value.add(sample.value),
            _ => {}
        }
    }
}

impl ServerPage {
    fn put(&mut self, name: &MetricName, found: &Found) {
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
            }
        }
    }
}

fn fill(place: &mut Option<f64>, value: Option<f64>) {
    if place.is_none() {
        *place = value;
    }
}

fn add(place: &mut Option<f64>, value: Option<f64>, name: &MetricName) {
    match (*place, value) {
        (Some(before), Some(value)) if !name.is_old => *place = Some(before + value),
        (None, value) => *place = value,
        _ => {}
    }
}
