//! The peaks and links of the device that a trace ran on, for its matmuls with recorded shapes, for its collectives and
//! for advice.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Communication, DevicePeaks, Devices, Link, ShapeRates};
use rooflens_cost::hardware::Device;
use rooflens_cost::precision::Dtype;

use super::trace_device;

/// Compares matmuls with the peaks of the device: the one that was chosen, else the one of the trace. Where there is
/// none, the findings say why. Answers with the peaks.
pub(crate) fn join(findings: &mut Findings, chosen: Option<&Device>) -> Option<DevicePeaks> {
    let peaks = match chosen {
        Some(device) => Ok(peaks_of(device)),
        None => peaks_of_trace(findings),
    };
    match (findings.get_mut::<ShapeRates>(), &peaks) {
        (Some(rates), Ok(peaks)) => rates.compare_with(peaks),
        (Some(rates), Err(reason)) => rates.without_peaks(reason.clone()),
        (None, _) => {}
    }
    peaks.ok()
}

fn units_of(findings: &Findings) -> Option<u32> {
    let devices = findings.get::<Devices>()?;
    devices.0.iter().find_map(|device| device.compute_units).and_then(|units| u32::try_from(units).ok())
}

fn peaks_of_trace(findings: &Findings) -> Result<DevicePeaks, String> {
    let device = trace_device::find(&trace_device::only_device_name(findings)?)?;
    // A part of a device has its name, but not its peaks.
    let units = units_of(findings).zip(device.compute_units);
    match units.filter(|(own, whole)| own != whole) {
        Some((own, whole)) => {
            Err(format!("the device has {own} compute units, but {} has {whole}", device.name))
        }
        None => Ok(peaks_of(&device)),
    }
}

fn peaks_of(device: &Device) -> DevicePeaks {
    // No stand-in of a wider format: a share of the wrong peak would mislead.
    let peak = |&dtype: &Dtype| Some((dtype.as_str(), device.peak_flops(dtype)?));
    DevicePeaks {
        device: device.name.clone(),
        flops_per_s: Dtype::ALL.iter().filter_map(peak).collect(),
        bytes_per_s: device.bandwidth_bytes_per_s,
    }
}

const GB: f64 = 1e9;
const SCALE_UP: &str = "scale_up";

/// Compares collectives with the links of the device: the one that was chosen, else the one of the trace. Where there
/// is none, the findings say why.
pub(crate) fn join_links(findings: &mut Findings, chosen: Option<&Device>) {
    if findings.get::<Communication>().is_none() {
        return;
    }
    let device = match chosen {
        Some(device) => Ok(device.clone()),
        None => trace_device::device_name(findings, None).and_then(|name| trace_device::find(&name)),
    };
    let Some(communication) = findings.get_mut::<Communication>() else { return };
    match device.and_then(|device| Ok((link_of(&device)?, device))) {
        Ok((link, device)) => {
            let all = link.gb_per_s;
            // Only scale-up links depend on who talks to whom.
            let among = |ranks| device.link_among(ranks).map_or(all, |rate| rate / GB);
            communication.compare_with(link, among);
        }
        Err(reason) => communication.without_link(reason),
    }
}

fn link_of(device: &Device) -> Result<Link, String> {
    let scale_up = device.link_bytes_per_s.map(|rate| (SCALE_UP, rate));
    let host = device.host_link_bytes_per_s.map(|rate| ("host", rate));
    let found = scale_up.or(host).filter(|(_, rate)| *rate > 0.0);
    let (kind, rate) = found.ok_or_else(|| format!("the link bandwidth of {} is not known", device.name))?;
    let direct_links = device.direct_links.filter(|_| kind == SCALE_UP);
    Ok(Link { device: device.name.clone(), kind: kind.into(), gb_per_s: rate / GB, direct_links })
}
