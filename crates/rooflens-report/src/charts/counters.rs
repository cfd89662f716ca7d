//! What devices and the host did over time, and when clocks were throttled.

use std::borrow::Cow;

use rooflens_analyze::sampled::{StepSampled, SubjectSampled, WHOLE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{ChartInputs, named};
use crate::sampled::{DrawnLevel, levels_of, name_of, with_charts};

/// Levels over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountersPlot {
    /// The step of the run that was sampled.
    pub(crate) step: Cow<'static, str>,
    /// The host and the devices.
    pub subjects: Vec<SubjectCounters>,
}

/// What was sampled of the host or of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectCounters {
    /// `host` or `device 0`.
    pub(crate) name: String,
    /// What it is called.
    pub(crate) model: String,
    /// Its levels.
    pub levels: Vec<CounterLevel>,
    /// When its clocks were throttled; null where it was not sampled.
    pub throttled: Option<Vec<ThrottleStretch>>,
}

/// A level over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterLevel {
    /// Column of the table `counters`.
    pub(crate) column: Cow<'static, str>,
    /// What it is.
    pub(crate) title: Cow<'static, str>,
    /// The base unit of the values: `W`, `Hz`, `B`, `°C`, or `1` for a share.
    pub(crate) unit: Cow<'static, str>,
    /// `[ns, value]`, since the first sample.
    pub points: Vec<(i64, f64)>,
}

/// A stretch of throttled clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThrottleStretch {
    /// Its first sample, since the first sample of all.
    pub from_ns: i64,
    /// The sample after its last.
    pub to_ns: i64,
    /// Why.
    pub(crate) reasons: Vec<String>,
}

pub(super) fn data(inputs: &ChartInputs<'_>) -> Result<(String, CountersPlot), String> {
    let none = || "no counters were sampled: rooflens run samples devices and host of a run".to_owned();
    let sampled = inputs.sampled.ok_or_else(none)?;
    // The step that the headline numbers are of comes first.
    let plot = sampled.steps.iter().find_map(plot);
    let plot = plot.ok_or_else(|| "no counter has two samples or more".to_owned())?;
    Ok((format!("Step {}", plot.step.replace('_', " ")), plot))
}

fn plot(step: &StepSampled) -> Option<CountersPlot> {
    let whole = step.parts.iter().find(|part| part.part == WHOLE)?;
    let first = whole.subjects.iter().flat_map(|it| it.series.values()).filter_map(|it| it.first());
    let first = first.map(|point| point.0).min()?;
    let (devices, host) = with_charts(whole.subjects.iter());
    let subjects =
        devices.into_iter().chain(host).map(|it| subject(it, first)).filter(|it| !it.levels.is_empty());
    let subjects: Vec<SubjectCounters> = subjects.collect();
    let step = Cow::Owned(step.step.as_str().to_owned());
    (!subjects.is_empty()).then_some(CountersPlot { step, subjects })
}

fn subject(subject: &SubjectSampled, first: i64) -> SubjectCounters {
    let level = |(level, points): (&'static DrawnLevel, Vec<(i64, f64)>)| CounterLevel {
        column: level.column.into(),
        title: level.title.into(),
        unit: level.base_unit().into(),
        points: points.into_iter().filter(|point| point.1.is_finite()).collect(),
    };
    SubjectCounters {
        name: name_of(subject),
        model: named(&subject.name),
        levels: levels_of(subject, first).map(level).collect(),
        throttled: subject.throttle.as_ref().map(|_| stretches(&subject.throttle_series, first)),
    }
}

fn stretches(samples: &[(i64, Vec<String>)], first: i64) -> Vec<ThrottleStretch> {
    let mut found: Vec<ThrottleStretch> = Vec::new();
    for (index, (ts_ns, reasons)) in samples.iter().enumerate() {
        if reasons.is_empty() {
            continue;
        }
        let (from_ns, to_ns) = (ts_ns - first, samples.get(index + 1).map_or(*ts_ns, |next| next.0) - first);
        match found.last_mut() {
            Some(last) if last.to_ns == from_ns && last.reasons == *reasons => last.to_ns = to_ns,
            _ => found.push(ThrottleStretch { from_ns, to_ns, reasons: reasons.clone() }),
        }
    }
    found
}
