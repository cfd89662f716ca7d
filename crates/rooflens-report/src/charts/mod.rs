//! Charts as data: what each one shows, in exact values and base units, before anything is drawn.
//!
//! A chart reads the findings, or what a run or a load test has besides, and answers with [`ChartData`] or with the
//! reason why there is nothing to draw. The same data become a living chart on a page, a figure ([`ChartData::svg`])
//! and a specification for other programs ([`ChartData::vega_lite`]). To add one: a file here, a `mod` line, an entry in [`ALL`] and a variant of
//! [`ChartKind`].

mod collectives;
mod counters;
mod inputs;
mod latency;
mod layers;
mod ledger;
mod memory;
mod roofline;
mod steps;
mod still;

pub(crate) use collectives::{CollectivesPlot, LinkRate};
pub(crate) use counters::CountersPlot;
pub use inputs::ChartInputs;
pub(crate) use latency::LatencyPlot;
pub(crate) use layers::HeatPlot;
pub(crate) use ledger::{LedgerPlot, PhaseBar};
pub(crate) use memory::MemoryPlot;
pub(crate) use roofline::{PointGrain, RooflinePlot};
pub(crate) use steps::StepsPlot;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::Block;

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
#[derive(Debug, Clone, Copy)]
pub struct ChartSource {
    /// Stable word.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The section of a page that it opens.
    pub(crate) section: &'static str,
    /// Whether it shows what a block of its section shows too.
    pub(crate) replaces: fn(&Block) -> bool,
    /// Its data with a subtitle, or why there are none.
    data: fn(&ChartInputs<'_>) -> Result<(String, ChartKind), String>,
}

macro_rules! chart {
    ($file:ident, $kind:ident, $title:literal, in $section:literal, replaces $replaces:expr) => {
        ChartSource {
            name: stringify!($file),
            title: $title,
            section: $section,
            replaces: $replaces,
            data: |inputs| $file::data(inputs).map(|(about, plot)| (about, ChartKind::$kind(plot))),
        }
    };
}

fn is_chart(block: &Block) -> bool {
    matches!(block, Block::Chart(_))
}

/// Every chart.
pub const ALL: &[ChartSource] = &[
    chart!(ledger, Ledger, "Time by phase", in "ledger", replaces |it| matches!(it, Block::Stack(_))),
    chart!(roofline, Roofline, "Roofline", in "roofline", replaces |_| false),
    chart!(steps, Steps, "Duration of each step", in "phases", replaces is_chart),
    chart!(layers, Layers, "Layers by class of kernel", in "modules", replaces is_chart),
    chart!(memory, Memory, "Allocated memory over time", in "memory", replaces is_chart),
    chart!(collectives, Collectives, "Bus bandwidth by message size", in "communication", replaces |_| false),
    chart!(counters, Counters, "Devices and host over time", in "sampled", replaces is_chart),
    chart!(latency, Latency, "Latency over throughput", in "levels", replaces |it| matches!(it, Block::Drawing(_))),
];

/// The chart of that name.
pub fn find(name: &str) -> Option<&'static ChartSource> {
    ALL.iter().find(|chart| chart.name == name)
}

/// One chart, or why there is none.
pub fn of(source: &ChartSource, inputs: &ChartInputs<'_>) -> Result<ChartData, MissingChart> {
    let (name, title) = (source.name.into(), source.title.into());
    match (source.data)(inputs) {
        Ok((subtitle, kind)) => Ok(ChartData { name, title, subtitle, kind }),
        Err(reason) => Err(MissingChart { name, title, reason }),
    }
}

/// Every chart that has data, and every other with its reason.
pub fn all(inputs: &ChartInputs<'_>) -> (Vec<ChartData>, Vec<MissingChart>) {
    let (mut found, mut missing) = (vec![], vec![]);
    for source in ALL {
        match of(source, inputs) {
            Ok(chart) => found.push(chart),
            Err(reason) => missing.push(reason),
        }
    }
    (found, missing)
}

#[cfg(test)]
mod tests {
    use rooflens_analyze::Findings;

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
}
