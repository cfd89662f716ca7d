//! The links of the device that a trace ran on, for its collectives.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Communication, Link};
use rooflens_cost::hardware::Device;

use super::trace_device;

const GB: f64 = 1e9;
const SCALE_UP: &str = "scale_up";

/// Compares collectives with the links of the device: the one that was chosen, else the one of the trace. Where there
/// is none, the findings say why.
pub(crate) fn join(findings: &mut Findings, chosen: Option<&Device>) {
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
