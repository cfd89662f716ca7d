//! `hardware.power_limit_w`: a run under a power limit is measured only where the device enforces that limit.
//! Rooflens reads the limit and never sets it: that needs an administrator, and outlives the run.

use rooflens_collect::RunSettings;
use rooflens_collect::sample::Watched;
use rooflens_collect::sample::nvml::NvmlSource;

use crate::environment::nvml_library;
use crate::error::Error;

/// Limits nearer than this are the same: devices take whole watts.
const SAME_W: f64 = 0.5;

/// The variable by which CUDA is told which devices there are.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// Checks that every device of a run has the limit that its config asks for.
pub(crate) fn check(settings: &RunSettings) -> Result<(), Error> {
    let Some(wanted) = settings.hardware.power_limit_w else { return Ok(()) };
    let wrong = |what: String, hint: String| Err(Error::PowerLimit { what, hint });
    let device = settings.hardware.device.as_str();
    if !["auto", "cuda"].contains(&device.split(':').next().unwrap_or_default()) {
        let what = format!("hardware.power_limit_w is {wanted}, but hardware.device is {device}");
        return wrong(
            what,
            "power limits can only be read from NVIDIA devices: set \
                            hardware.power_limit_w=null"
                .to_owned(),
        );
    }
    let source = match NvmlSource::open(nvml_library().as_deref(), &Watched::default()) {
        Ok(source) => source,
        Err(missing) => {
            let what =
                format!("hardware.power_limit_w is {wanted}, but no limit can be read: {}", missing.fact);
            return wrong(what, missing.hint.into_owned());
        }
    };
    let limits = source.power_limits();
    let told = settings.runtime.env.get(VISIBLE).cloned().or_else(|| std::env::var(VISIBLE).ok());
    for index in indices(device, settings.hardware.count, told.as_deref()) {
        let Some((_, name, limit)) = limits.iter().find(|(known, ..)| *known == index) else {
            return wrong(
                format!("hardware.power_limit_w is {wanted}, but there is no device {index}"),
                "nvidia-smi -L lists the devices".to_owned(),
            );
        };
        match limit {
            Ok(limit) if (limit - wanted).abs() < SAME_W => {}
            Ok(limit) => {
                return wrong(
                    format!(
                        "hardware.power_limit_w is {wanted}, but device {index} ({name}) enforces {limit} W"
                    ),
                    format!("sudo nvidia-smi -i {index} -pl {wanted}"),
                );
            }
            Err(why) => {
                return wrong(
                    format!(
                        "hardware.power_limit_w is {wanted}, but device {index} ({name}) reports no limit: \
                         {why}"
                    ),
                    "hardware.power_limit_w=null".to_owned(),
                );
            }
        }
    }
    Ok(())
}

/// The devices of a run as the driver numbers them. CUDA numbers those that it may see from 0; where it is told
/// their ids instead of numbers, the order is the driver's own.
fn indices(device: &str, count: u64, visible: Option<&str>) -> Vec<i32> {
    let seen: Option<Vec<i32>> =
        visible.and_then(|list| list.split(',').map(|index| index.trim().parse().ok()).collect());
    let first: usize = device.split_once(':').and_then(|(_, index)| index.parse().ok()).unwrap_or(0);
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(1024);
    (first..first.saturating_add(count))
        .filter_map(|index| match &seen {
            Some(seen) => seen.get(index).copied(),
            None => i32::try_from(index).ok(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_as_cuda_sees_them() {
        assert_eq!(indices("auto", 1, None), [0]);
        assert_eq!(indices("cuda:2", 2, None), [2, 3]);
        assert_eq!(indices("cuda", 2, Some("5, 3")), [5, 3]);
        assert_eq!(indices("cuda:1", 1, Some("5,3")), [3]);
        assert_eq!(indices("cuda", 1, Some("GPU-8a1b")), [0]);
    }
}
