//! How fast collectives are, by message size, against the links of a device.

use std::borrow::Cow;

use rooflens_analyze::analyses::{CollectiveStat, CommCalls, CommSize, Communication};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{ChartInputs, finite, named};
use crate::format;

/// GB/s in B/s.
const GIGA: f64 = 1e9;

/// Bus bandwidth of collectives by message size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectivesPlot {
    /// The links of a device; null where the device is not known.
    pub(crate) link: Option<LinkRate>,
    /// Collectives of one size, most time first.
    pub(crate) points: Vec<CollectivePoint>,
}

/// The links of a device, together and in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LinkRate {
    /// The device.
    pub(crate) device: String,
    /// `scale_up` (NVLink, xGMI) or `host` (PCIe).
    pub(crate) kind: Cow<'static, str>,
    /// Bytes per second.
    pub(crate) bytes_per_s: f64,
}

/// A collective with messages of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CollectivePoint {
    /// The collective.
    pub(crate) name: String,
    /// Element type.
    pub(crate) dtype: Option<String>,
    /// Ranks in the group.
    pub(crate) group_size: Option<i32>,
    /// Bytes of one call.
    pub(crate) bytes: i64,
    /// Calls.
    pub(crate) count: usize,
    /// Median time of a call: of the transfer where ranks are matched, else of the whole.
    pub(crate) p50_ns: Option<i64>,
    /// All calls together.
    pub(crate) total_ns: Option<i64>,
    /// Time in which ranks waited for the last to arrive; null where ranks are not matched.
    pub(crate) wait_ns: Option<i64>,
    /// Bus bandwidth in bytes per second.
    pub(crate) bus_bytes_per_s: f64,
    /// Of the link's rate, 0 to 1; null where it is not known.
    pub(crate) link_share: Option<f64>,
}

impl CollectivePoint {
    pub(crate) fn line(&self) -> String {
        let ranks = self.group_size.map(|ranks| format!("{ranks} ranks"));
        let words = [Some(self.name.clone()), self.dtype.clone(), ranks];
        words.into_iter().flatten().collect::<Vec<String>>().join(", ")
    }
}

pub(super) fn data(inputs: &ChartInputs<'_>) -> Result<(String, CollectivesPlot), String> {
    let traced = inputs.findings.get::<Communication>().filter(|found| found.count > 0);
    let logged = inputs.findings.get::<CommCalls>();
    if traced.is_none() && logged.is_none() {
        return Err("the input has no collectives".to_owned());
    }
    let mut points: Vec<CollectivePoint> =
        traced.iter().flat_map(|found| &found.collectives).filter_map(of_trace).collect();
    if points.is_empty() {
        points.extend(logged.iter().flat_map(|found| &found.sizes).filter_map(of_log));
    }
    if points.is_empty() {
        return Err("sizes, ranks or times of the collectives are not known".to_owned());
    }
    let link = traced.and_then(|found| found.link.as_ref()).map(|link| LinkRate {
        device: link.device.clone(),
        kind: link.kind.clone(),
        bytes_per_s: link.gb_per_s * GIGA,
    });
    let mut subtitle = match &link {
        Some(link) => format!("All links of {} together, one direction, for comparison", link.device),
        None => "Bandwidth of the links is not known".to_owned(),
    };
    // Without the times of the others, a call holds the waiting for them.
    if points.iter().any(|point| point.wait_ns.is_none()) {
        subtitle.push_str("; times include waiting for other ranks");
    }
    let left_out = traced.iter().flat_map(|found| &found.collectives).filter(|stat| of_trace(stat).is_none());
    let (calls, ns) = left_out.fold((0, 0), |(calls, ns), stat| (calls + stat.count, ns + stat.total_ns));
    if calls > 0 {
        let calls = format::plural(calls as i64, "call");
        subtitle.push_str(&format!("; {calls} of unknown size, {}, not shown", format::time(ns as f64)));
    }
    Ok((subtitle, CollectivesPlot { link, points }))
}

fn of_trace(stat: &CollectiveStat) -> Option<CollectivePoint> {
    Some(CollectivePoint {
        name: named(&stat.name),
        dtype: stat.dtype.as_deref().map(named),
        group_size: stat.group_size,
        bytes: stat.bytes.filter(|bytes| *bytes > 0)?,
        count: stat.count,
        p50_ns: Some(stat.transfer_p50_ns.unwrap_or(stat.p50_ns)),
        total_ns: Some(stat.total_ns),
        wait_ns: stat.wait_ns,
        bus_bytes_per_s: finite(stat.bus_gb_per_s? * GIGA).filter(|rate| *rate > 0.0)?,
        link_share: stat.link_share.and_then(finite),
    })
}

fn of_log(size: &CommSize) -> Option<CollectivePoint> {
    Some(CollectivePoint {
        name: named(&size.collective),
        dtype: size.dtype.as_deref().map(named),
        group_size: size.group_size,
        bytes: size.bytes.filter(|bytes| *bytes > 0)?,
        count: size.calls,
        p50_ns: size.p50_ns,
        total_ns: size.total_ns,
        wait_ns: None,
        bus_bytes_per_s: finite(size.bus_gb_per_s? * GIGA).filter(|rate| *rate > 0.0)?,
        link_share: None,
    })
}
