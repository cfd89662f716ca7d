//! GPM: what the parts of a device did between two moments, on Hopper and later.

use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use rooflens_schema::tables::CounterRow;

/// What is asked for, in the order that [`fill`] reads the answers in.
const METRICS: [GpmMetricId; 8] = [
    GpmMetricId::SmUtil,
    GpmMetricId::SmOccupancy,
    GpmMetricId::AnyTensorUtil,
    GpmMetricId::DramBwUtil,
    GpmMetricId::PcieTxPerSec,
    GpmMetricId::PcieRxPerSec,
    GpmMetricId::NvlinkTotalTxPerSec,
    GpmMetricId::NvlinkTotalRxPerSec,
];
/// nvml.h: PCIe and NVLink rates are in MiB a second, whatever their names say of bytes.
const MIB: f64 = 1_048_576.0;

/// The last sample of a device; the next is compared with it.
pub(super) struct Gpm {
    nvml: &'static Nvml,
    last: Option<GpmSample<'static>>,
}

impl Gpm {
    pub(super) fn new(nvml: &'static Nvml) -> Self {
        Gpm { nvml, last: None }
    }

    /// What happened since the last call; nothing at the first. NVML allocates a sample each time.
    pub(super) fn since_last(
        &mut self,
        device: &Device<'static>,
    ) -> Result<Option<[Option<f64>; METRICS.len()]>, NvmlError> {
        let now = device.gpm_sample()?;
        let Some(last) = self.last.replace(now) else { return Ok(None) };
        let Some(now) = &self.last else { return Ok(None) };
        let answers = gpm_metrics_get(self.nvml, &last, now, &METRICS)?;
        let mut values = [None; METRICS.len()];
        for (value, answer) in values.iter_mut().zip(answers) {
            *value = answer.ok().map(|answer| answer.value).filter(|value| value.is_finite());
        }
        Ok(Some(values))
    }
}

pub(super) fn fill(row: &mut CounterRow, values: [Option<f64>; METRICS.len()]) {
    let [sm, occupancy, tensor, dram, pcie_tx, pcie_rx, nvlink_tx, nvlink_rx] = values;
    let bytes = |rate: Option<f64>| rate.map(|rate| rate * MIB);
    row.sm_active_pct = sm;
    row.sm_occupancy_pct = occupancy;
    row.tensor_active_pct = tensor;
    row.dram_active_pct = dram;
    row.pcie_tx_bytes_per_s = bytes(pcie_tx);
    row.pcie_rx_bytes_per_s = bytes(pcie_rx);
    row.nvlink_tx_bytes_per_s = bytes(nvlink_tx);
    row.nvlink_rx_bytes_per_s = bytes(nvlink_rx);
}
