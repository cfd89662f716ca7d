//! The device that a trace ran on: named by the command line or by the trace, or recognised by what its driver says
//! of it.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{DeviceTime, Devices, Kernels, Recognised};
use rooflens_cost::hardware::{Device, DeviceKind, Properties};
use rooflens_report::format;
use rooflens_schema::{Note, Severity, Stage};

use crate::model::files;
use crate::project;

const GENERIC: &[&str] = &["AMD Radeon Graphics", "AMD Radeon(TM) Graphics"];

const RECOGNISED: &str = "device_recognised";

/// Recognises the devices that a trace leaves nameless, and says so in a note.
pub fn recognise(findings: &mut Findings) {
    let Some(Devices(devices)) = findings.get_mut::<Devices>() else { return };
    let mut nameless = devices.iter_mut().filter(|device| own_name(device).is_none()).peekable();
    if nameless.peek().is_none() {
        return;
    }
    // A file of the project that cannot be read is told by whoever asks for a device.
    let Ok(catalog) = files::DeviceCatalog::read(&project::hardware()) else { return };
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    for device in nameless {
        if let Ok(recognised) = recognised(device, &catalog) {
            let sentence = format!(
                "the trace does not name the device: recognised as {} by {}",
                recognised.device, recognised.by
            );
            *found.entry(sentence).or_default() += 1;
            device.recognised = Some(recognised);
        }
    }
    let note = |(message, count)| Note {
        stage: Stage::Analyze,
        severity: Severity::Info,
        code: RECOGNISED.to_owned(),
        source: String::new(),
        count,
        message,
    };
    // A run that is read again has them already.
    findings.notes.retain(|note| note.code != RECOGNISED);
    findings.notes.extend(found.into_iter().map(note));
}

/// The name of the device: the one of the command line, else the first that the trace names or that was recognised.
/// Otherwise the reason why there is none.
pub(crate) fn device_name(findings: &Findings, named: Option<&str>) -> Result<String, String> {
    if let Some(name) = named {
        return Ok(name.to_owned());
    }
    let devices = findings.get::<Devices>().map_or(&[][..], |devices| &devices.0);
    let known = devices.iter().find_map(known_name);
    known.map(str::to_owned).ok_or_else(|| nameless(devices))
}

/// Fails where nothing ran on a device, and this is not the host's processor.
pub(crate) fn check_kind(findings: &Findings, device: &Device) -> Result<(), String> {
    // A summary has kernels and no devices.
    let ran = findings.get::<Devices>().is_some_and(|devices| !devices.0.is_empty())
        || findings.get::<Kernels>().is_some_and(|kernels| !kernels.0.is_empty());
    match ran || matches!(device.kind, DeviceKind::Cpu | DeviceKind::Soc) {
        true => Ok(()),
        false => Err(format!(
            "the trace has no kernels of a device, so it cannot be compared with {}",
            device.name
        )),
    }
}

/// The name that the trace tells, where all its devices are of one kind.
pub(crate) fn only_device_name(findings: &Findings) -> Result<String, String> {
    let devices = findings.get::<Devices>().map_or(&[][..], |devices| &devices.0);
    let kinds: BTreeSet<&str> = devices.iter().filter_map(known_name).collect();
    match kinds.len() {
        0 | 1 => device_name(findings, None),
        _ => Err(format!("the trace has several kinds of devices: {}", Vec::from_iter(kinds).join(", "))),
    }
}

/// The device of this name: one of Rooflens' own, or of the project around here.
pub fn find(name: &str) -> Result<Device, String> {
    let devices = files::DeviceCatalog::read(&project::hardware()).map_err(|error| error.to_string())?;
    devices.find(name).cloned().map_err(|error| error.to_string())
}

fn known_name(device: &DeviceTime) -> Option<&str> {
    own_name(device).or_else(|| device.recognised.as_ref().map(|recognised| recognised.device.as_str()))
}

/// The name in the trace, where it tells one device from another.
fn own_name(device: &DeviceTime) -> Option<&str> {
    device.name.as_deref().filter(|name| !name.trim().is_empty() && !GENERIC.contains(name))
}

fn nameless(devices: &[DeviceTime]) -> String {
    let told = devices.first().filter(|device| properties(device).is_some());
    let catalog = files::DeviceCatalog::read(&project::hardware()).ok();
    let why = told.zip(catalog).and_then(|(device, catalog)| recognised(device, &catalog).err());
    let why = why.map_or_else(String::new, |why| format!(", and {why}"));
    format!("the trace does not name its device{why}: --hardware sets it")
}

/// The one device with the properties that the trace tells; otherwise why there is none.
fn recognised(device: &DeviceTime, catalog: &files::DeviceCatalog) -> Result<Recognised, String> {
    let told = properties(device).ok_or("the trace has no other information about it")?;
    let by = in_words(&told);
    let fitting: Vec<&str> = catalog.fitting(&told).iter().map(|device| device.name.as_str()).collect();
    match fitting.as_slice() {
        [device] => Ok(Recognised { device: (*device).to_owned(), by }),
        [] => Err(format!("no device of the catalog has {by}")),
        several => Err(format!("{} all have {by}", several.join(", "))),
    }
}

fn properties(device: &DeviceTime) -> Option<Properties> {
    Some(Properties {
        architecture: device.architecture.clone()?,
        compute_units: u32::try_from(device.compute_units?).ok()?,
        memory_bytes: u64::try_from(device.memory_bytes?).ok()?,
    })
}

fn in_words(told: &Properties) -> String {
    format!(
        "architecture {}, {} compute units and {} of memory",
        told.architecture,
        told.compute_units,
        format::amount(told.memory_bytes as f64, "B")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rooflens_analyze::analyze;
    use rooflens_schema::tables::{ActivityKind, DeviceRow, KernelRow};
    use rooflens_schema::{Opt, RankTables};

    fn findings(name: &str, architecture: &str, units: i32, memory: i64) -> Findings {
        let mut tables = RankTables::default();
        let kernel = tables.names.add("k");
        tables.kernels.push(KernelRow::new(0, 7, 0, 10, kernel, ActivityKind::Kernel));
        tables.devices.push(DeviceRow {
            device: 0,
            name: name.to_owned(),
            memory_bytes: Opt::some(memory),
            units: Opt::some(units),
            architecture: Some(architecture.to_owned()),
        });
        let mut found = analyze(&mut [tables], Vec::new());
        recognise(&mut found);
        found
    }

    fn codes(findings: &Findings) -> Vec<&str> {
        findings.notes.iter().map(|note| note.code.as_str()).collect()
    }

    #[test]
    fn a_nameless_device_is_recognised_and_said_to_be() {
        for name in ["", " ", "AMD Radeon Graphics"] {
            let found = findings(name, "9.4", 304, 206_141_652_992);
            assert_eq!(device_name(&found, None).as_deref(), Ok("MI300X 192GB"));
            assert_eq!(codes(&found), ["device_recognised"]);
            let note = &found.notes[0].message;
            assert!(note.contains("architecture 9.4, 304 compute units and 206.1 GB"), "{note}");
        }
        // 256 GiB.
        let found = findings("", "gfx942", 304, 274_877_906_944);
        assert_eq!(device_name(&found, None).as_deref(), Ok("MI325X 256GB"));
    }

    #[test]
    fn a_name_is_taken_as_it_is() {
        let found = findings("AMD Instinct MI300X", "9.4", 304, 206_141_652_992);
        assert_eq!(device_name(&found, None).as_deref(), Ok("AMD Instinct MI300X"));
        assert_eq!(device_name(&found, Some("h100")).as_deref(), Ok("h100"));
        assert!(codes(&found).is_empty());
    }

    #[test]
    fn nothing_is_guessed() {
        // 288 GiB: an MI350X or an MI355X.
        let found = findings("", "9.5", 256, 309_237_645_312);
        let reason = device_name(&found, None).unwrap_err();
        assert!(reason.contains("MI350X 288GB, MI355X 288GB all have"), "{reason}");
        assert!(codes(&found).is_empty());
        let found = findings("AMD Radeon Graphics", "9.0", 104, 68_702_699_520);
        let reason = device_name(&found, None).unwrap_err();
        assert!(
            reason.contains("no device of the catalog has architecture 9.0, 104 compute units"),
            "{reason}"
        );
        assert!(reason.ends_with("--hardware sets it"), "{reason}");
    }
}
