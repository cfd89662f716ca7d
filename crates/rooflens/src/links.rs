//! The links of the device that a trace ran on, for its collectives.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Communication, Link};
use rooflens_cost::hardware::Device;

use crate::cost::files;
use crate::{project, trace_device};

const GB: f64 = 1e9;

/// Compares collectives with the links of the device: the one that is named, else the one of the trace. Where there
/// is none, the findings say why.
pub fn join(findings: &mut Findings, named: Option<&str>) {
    let name = trace_device::device_name(findings, named);
    let Some(communication) = findings.get_mut::<Communication>() else { return };
    match name.and_then(|name| link_of(&name)) {
        Ok(link) => communication.compare_with(link),
        Err(reason) => communication.without_link(reason),
    }
}

fn link_of(name: &str) -> Result<Link, String> {
    let devices = files::Devices::read(&project::hardware()).map_err(|error| error.to_string())?;
    let device: &Device = devices.find(name).map_err(|error| error.to_string())?;
    let scale_up = device.link_bytes_per_s.map(|rate| ("scale_up", rate));
    let host = device.host_link_bytes_per_s.map(|rate| ("host", rate));
    let found = scale_up.or(host).filter(|(_, rate)| *rate > 0.0);
    let (kind, rate) =
        found.ok_or_else(|| format!("the rates of the links of {} are not known", device.name))?;
    let direct_links = device.direct_links.filter(|_| kind == "scale_up");
    Ok(Link { device: device.name.clone(), kind, gb_per_s: rate / GB, direct_links })
}
