//! Charts as data: what each one shows, in exact values and base units, before anything is drawn.
//!
//! A chart reads the findings, or what a run or a load test has besides, and answers with [`ChartData`] or with the
//! reason why there is nothing to draw. The same data become a living chart on a page, a figure ([`ChartData::svg`])
//! and a specification for other programs ([`ChartData::vega_lite`]). To add one: a file here, a `mod` line, an entry in [`ALL`] and a variant of
//! [`ChartKind`].

mod collectives;
mod counters;
mod latency;
mod layers;
mod ledger;
mod memory;
mod roofline;
mod steps;
mod still;
mod vega;

pub(crate) use collectives::{CollectivesPlot, LinkRate};
pub(crate) use counters::CountersPlot;
pub(crate) use latency::LatencyPlot;
pub(crate) use layers::HeatPlot;
pub(crate) use ledger::{LedgerPlot, PhaseBar};
pub(crate) use memory::MemoryPlot;
pub(crate) use roofline::{PointGrain, RooflinePlot, RooflinePoint};
pub(crate) use steps::StepsPlot;

use std::borrow::Cow;

use rooflens_analyze::Findings;
use rooflens_analyze::sampled::Sampled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bench::LevelRow;
use crate::block::Block;
use crate::text;

/// What charts are made of.
#[derive(Clone, Copy)]
pub struct ChartInputs<'a> {
    /// What was found in a trace.
    pub findings: &'a Findings,
    /// What was sampled while a run went on.
    pub sampled: Option<&'a Sampled>,
    /// The levels of a load test.
    pub levels: &'a [LevelRow],
}

/// A chart, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChartData {
    /// Its name in [`ALL`].
    pub name: Cow<'static, str>,
    /// What it shows.
    pub title: Cow<'static, str>,
    /// Of what, and what is not in it, in a sentence; may be empty.
    pub subtitle: String,
    /// The values.
    #[serde(flatten)]
    pub kind: ChartKind,
}

/// The values of a chart. Times are in ns, sizes in bytes, rates per second, shares from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChartKind {
    /// FLOP/s over FLOP/B under the roofs of the device.
    Roofline(RooflinePlot),
    /// The lines of the time ledger, by phase.
    Ledger(LedgerPlot),
    /// The duration of each step, in order.
    Steps(StepsPlot),
    /// Lost time by layer and class of kernel.
    Layers(HeatPlot),
    /// What devices and the host did over time.
    Counters(CountersPlot),
    /// Allocated memory over time.
    Memory(MemoryPlot),
    /// Latency over throughput of a load test.
    Latency(LatencyPlot),
    /// Bandwidth of collectives by message size.
    Collectives(CollectivesPlot),
}

/// A chart that has no data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingChart {
    /// Its name in [`ALL`].
    pub name: Cow<'static, str>,
    /// What it would show.
    pub(crate) title: Cow<'static, str>,
    /// Why it cannot.
    pub reason: String,
}

/// A chart that may be had.
pub trait ChartSource: Sync {
    /// Stable word.
    fn name(&self) -> &'static str;
    /// What it shows.
    fn title(&self) -> &'static str;
    /// The section of a page that it opens.
    fn section(&self) -> &'static str;
    /// Its data with a subtitle, or why there are none.
    fn data(&self, inputs: &ChartInputs<'_>) -> Result<(String, ChartKind), String>;
    /// Whether it shows what a block of its section shows too.
    fn replaces(&self, _block: &Block) -> bool {
        false
    }
}

/// Every chart.
pub const ALL: &[&dyn ChartSource] = &[
    &ledger::LedgerChart,
    &roofline::RooflineSource,
    &steps::StepsChart,
    &layers::LayersChart,
    &memory::MemoryChart,
    &collectives::CollectivesChart,
    &counters::CountersChart,
    &latency::LatencyChart,
];

/// The chart of that name.
pub fn find(name: &str) -> Option<&'static dyn ChartSource> {
    ALL.iter().copied().find(|chart| chart.name() == name)
}

/// One chart, or why there is none.
pub fn of(source: &dyn ChartSource, inputs: &ChartInputs<'_>) -> Result<ChartData, MissingChart> {
    match source.data(inputs) {
        Ok((subtitle, kind)) => {
            Ok(ChartData { name: source.name().into(), title: source.title().into(), subtitle, kind })
        }
        Err(reason) => Err(MissingChart { name: source.name().into(), title: source.title().into(), reason }),
    }
}

/// Every chart that has data, and every other with its reason.
pub fn all(inputs: &ChartInputs<'_>) -> (Vec<ChartData>, Vec<MissingChart>) {
    let (mut found, mut missing) = (vec![], vec![]);
    for source in ALL {
        match of(*source, inputs) {
            Ok(chart) => found.push(chart),
            Err(reason) => missing.push(reason),
        }
    }
    (found, missing)
}

/// Characters of a name in a chart.
const LONGEST: usize = 160;

/// A name from a trace, fit to be shown.
fn named(name: &str) -> String {
    text::elide(&text::clean(name), LONGEST)
}

/// Characters of a name that other parts of a page look for.
const FULL: usize = 1_000;

/// A full name from a trace.
fn full_name(name: &str) -> String {
    text::clip(&text::clean(name), FULL)
}

/// A number that JSON can hold.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_data_each_chart_says_why() {
        let findings = Findings::default();
        let inputs = ChartInputs { findings: &findings, sampled: None, levels: &[] };
        let (found, missing) = all(&inputs);
        assert!(found.is_empty() && missing.len() == ALL.len());
        for chart in &missing {
            assert!(chart.reason.len() > 10 && !chart.reason.ends_with('.'), "{chart:?}");
        }
    }

    #[test]
    fn every_file_is_a_chart() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/charts");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| !["mod", "still", "vega"].contains(&name.as_str()))
            .collect();
        let mut names: Vec<String> = ALL.iter().map(|chart| chart.name().to_owned()).collect();
        files.sort();
        names.sort();
        assert_eq!(files, names, "add the chart to ALL, under the name of its file");
    }
}
