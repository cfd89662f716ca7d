//! The peaks of the device that a trace ran on, for its matmuls with recorded shapes.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{DevicePeaks, Devices, ShapeRates};
use rooflens_cost::precision::Dtype;

use super::trace_device;
use crate::model::files;
use crate::project;

/// Compares matmuls with the peaks of the device: the one that is named, else the one of the trace. Where there is
/// none, the findings say why.
pub fn join(findings: &mut Findings, named: Option<&str>) {
    if findings.get::<ShapeRates>().is_none() {
        return;
    }
    let peaks = trace_device::only_device_name(findings, named).and_then(|name| {
        let units = named.is_none().then(|| units_of(findings)).flatten();
        peaks_of(&name, units)
    });
    let Some(rates) = findings.get_mut::<ShapeRates>() else { return };
    match peaks {
        Ok(peaks) => rates.compare_with(&peaks),
        Err(reason) => rates.without_peaks(reason),
    }
}

/// Compute units that the trace gives its device.
fn units_of(findings: &Findings) -> Option<u32> {
    let devices = findings.get::<Devices>()?;
    devices.0.iter().find_map(|device| device.compute_units).and_then(|units| u32::try_from(units).ok())
}

fn peaks_of(name: &str, units: Option<u32>) -> Result<DevicePeaks, String> {
    let devices = files::DeviceCatalog::read(&project::hardware()).map_err(|error| error.to_string())?;
    let device = devices.find(name).map_err(|error| error.to_string())?;
    // A part of a device has its name, but not its peaks.
    if let Some((own, whole)) = units.zip(device.compute_units).filter(|(own, whole)| own != whole) {
        return Err(format!("the device has {own} compute units, but {} has {whole}", device.name));
    }
    // No stand-in of a wider format: a share of the wrong peak would mislead.
    let peak = |&dtype: &Dtype| Some((dtype.as_str(), device.peak_flops(dtype)?));
    Ok(DevicePeaks {
        device: device.name.clone(),
        flops_per_s: Dtype::ALL.iter().filter_map(peak).collect(),
        bytes_per_s: device.bandwidth_bytes_per_s,
    })
}
