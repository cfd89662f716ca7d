//! Allocated memory over time, and who holds the peak.

use rooflens_analyze::analyses::{DeviceMemory, Memory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{ChartInputs, named};

/// Devices in a chart: those with the highest peaks.
const DEVICES: usize = 8;

/// Allocated memory over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPlot {
    /// The devices, the highest peak first.
    pub(crate) devices: Vec<DevicePlot>,
}

/// The memory of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DevicePlot {
    /// Rank.
    pub(crate) rank: i32,
    /// Device; -1 for the host.
    pub(crate) device: i32,
    /// Most bytes allocated at once; null where the trace has no totals.
    pub(crate) peak_bytes: Option<i64>,
    /// When that was.
    pub(crate) peak_ts_ns: Option<i64>,
    /// Most bytes reserved.
    pub(crate) reserved_bytes: Option<i64>,
    /// `[ts_ns, bytes]`.
    pub(crate) points: Vec<(i64, i64)>,
    /// What is allocated at the peak, the most bytes first; empty where the trace does not tell who allocates.
    pub(crate) holders: Vec<PeakHolder>,
}

impl DevicePlot {
    /// `rank 0 device 1`.
    pub fn name(&self) -> String {
        match self.device {
            device if device < 0 => format!("rank {} host", self.rank),
            device => format!("rank {} device {device}", self.rank),
        }
    }
}

/// What one place in the program holds at the peak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PeakHolder {
    /// The call site; null for what was allocated before the first event.
    pub(crate) site: Option<String>,
    /// Bytes.
    pub(crate) bytes: i64,
}

pub(super) fn data(inputs: &ChartInputs<'_>) -> Result<(String, MemoryPlot), String> {
    let none = || "the input has no allocations: profile with profile_memory=True".to_owned();
    let Memory(memory) = inputs.findings.get::<Memory>().ok_or_else(none)?;
    let mut devices: Vec<&DeviceMemory> = memory.iter().filter(|it| it.timeline.len() > 1).collect();
    if devices.is_empty() {
        return Err("the allocator's totals are not in the input".to_owned());
    }
    devices.sort_by_key(|it| (std::cmp::Reverse(it.peak_allocated_bytes), it.device < 0));
    let left_out = devices.len().saturating_sub(DEVICES);
    let subtitle = match left_out {
        0 => String::new(),
        left_out => {
            format!("The {DEVICES} devices with the highest peaks; {left_out} more are not shown")
        }
    };
    let devices = devices.into_iter().take(DEVICES).map(device).collect();
    Ok((subtitle, MemoryPlot { devices }))
}

fn device(memory: &DeviceMemory) -> DevicePlot {
    let site = |site: &rooflens_analyze::analyses::SiteMemory| PeakHolder {
        site: Some(named(&site.site)),
        bytes: site.bytes,
    };
    let older = memory.older_at_peak_bytes.filter(|bytes| *bytes > 0);
    let older = older.map(|bytes| PeakHolder { site: None, bytes });
    let mut holders: Vec<PeakHolder> = memory.at_peak.iter().map(site).chain(older).collect();
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
    DevicePlot {
        rank: memory.rank,
        device: memory.device,
        peak_bytes: memory.peak_allocated_bytes,
        peak_ts_ns: memory.peak_ts_ns,
        reserved_bytes: memory.peak_reserved_bytes,
        points: memory.timeline.clone(),
        holders,
    }
}
