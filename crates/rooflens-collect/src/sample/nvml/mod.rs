//! NVIDIA devices, through NVML.
//!
//! The library comes with the driver and is loaded while running, so that Rooflens builds and runs
//! without either. No library, no driver and no device are three states, each with what helps. Whatever a
//! device does not tell is null, and it is not asked for it again.

mod ask;
mod device;
mod gpm;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use rooflens_schema::Notes;
use rooflens_schema::tables::Counters;
use serde::Serialize;

use crate::sample::source::{DeviceProcess, Lack, Missing, Moment, Reason, Source, Subject};
use crate::sample::watched::Watched;
use device::SampledDevice;

/// Where the library is looked for, in this order: what the driver installs, and what WSL mounts.
pub(crate) const LIBRARIES: &[&str] = &["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"];

const NO_LIBRARY: &str = "install the NVIDIA driver, which brings libnvidia-ml.so.1; in a container: docker run --gpus all …; elsewhere: ROOFLENS_NVML=/path/to/libnvidia-ml.so.1";
const NO_DRIVER: &str = "sudo modprobe nvidia, then nvidia-smi; in a container: docker run --gpus all … on a host whose nvidia-smi works";
const OTHER_DRIVER: &str =
    "the driver was updated while the old one was loaded: sudo reboot, or unload and load the nvidia modules";
const NO_PERMISSION: &str =
    "ls -l /dev/nvidia* shows who may use the devices; sudo usermod -aG video,render $USER";
const NO_DEVICE: &str = "lspci -nn | grep -i nvidia shows whether the machine has one; dmesg | grep -i nvrm \
                         shows why the driver ignored it";

const FIRST_THINGS: &str = "fix the problem above first, then run rooflens doctor again";

/// The devices of the machine, or of a mock library.
pub struct NvmlSource {
    devices: Vec<SampledDevice>,
    driver: String,
    watched: Watched,
}

impl NvmlSource {
    /// Loads the library, or the one at `library`, and asks it for its devices.
    pub fn open(library: Option<&Path>, watched: &Watched) -> Result<Self, Missing> {
        let nvml = load(library)?;
        let count = nvml.device_count().map_err(|error| of_driver(&error))?;
        if count == 0 {
            return Err(no_device("the driver has no device".to_owned()));
        }
        let driver = nvml.sys_driver_version().unwrap_or_else(|_| "version unknown".to_owned());
        // For the rest of the process: handles of devices and of GPM samples borrow it, and a library that
        // a sampling thread may be in is not to be unloaded.
        let nvml: &'static Nvml = Box::leak(Box::new(nvml));
        let opened: Vec<_> = (0..count).map(|index| SampledDevice::open(nvml, index)).collect();
        let why = opened.iter().find_map(|device| device.as_ref().err().map(ToString::to_string));
        let devices: Vec<SampledDevice> = opened.into_iter().flatten().collect();
        match (devices.is_empty(), why) {
            (true, Some(why)) => Err(no_device(format!("none of {count} devices can be used: {why}"))),
            _ => Ok(NvmlSource { devices, driver, watched: watched.clone() }),
        }
    }
}

/// A device's index and name, and the power limit that it enforces, in watts; or why that is not known.
pub type PowerLimit = (i32, String, Result<f64, String>);

impl NvmlSource {
    /// The power limit of each device.
    pub fn power_limits(&self) -> Vec<PowerLimit> {
        let limit = |device: &SampledDevice| {
            let subject = device.subject();
            Some((subject.device?, subject.name, device.power_limit_w()))
        };
        self.devices.iter().filter_map(limit).collect()
    }
}

impl Source for NvmlSource {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn about(&self) -> String {
        format!("NVIDIA driver {}", self.driver)
    }

    fn subjects(&self) -> Vec<Subject> {
        self.devices.iter().map(SampledDevice::subject).collect()
    }

    fn sample(&mut self, moment: &Moment, rows: &mut Counters, notes: &Notes) {
        for device in &mut self.devices {
            device.sample(moment, rows, &self.watched, notes);
        }
    }

    fn reasons(&self) -> Vec<Reason> {
        self.devices.iter().flat_map(SampledDevice::reasons).collect()
    }

    fn processes(&mut self) -> Vec<DeviceProcess> {
        self.devices.iter().flat_map(SampledDevice::processes).collect()
    }
}

fn load(library: Option<&Path>) -> Result<Nvml, Missing> {
    let told = library.map(Path::as_os_str);
    let paths: Vec<&OsStr> = told.map_or_else(|| LIBRARIES.iter().map(OsStr::new).collect(), |one| vec![one]);
    let mut first = None;
    for path in paths {
        match Nvml::builder().lib_path(path).init() {
            Ok(nvml) => return Ok(nvml),
            // Of all that was tried, the first is what people look for.
            Err(error @ NvmlError::LibloadingError(_)) => first = first.or(Some(of_driver(&error))),
            Err(error) => return Err(of_driver(&error)),
        }
    }
    Err(first.unwrap_or_else(|| no_device("no library was looked for".to_owned())))
}

fn of_driver(error: &NvmlError) -> Missing {
    let (lack, fact, hint) = match error {
        NvmlError::LibloadingError(error) => {
            (Lack::Library, format!("the NVML library cannot be loaded: {error}"), NO_LIBRARY)
        }
        NvmlError::FailedToLoadSymbol(error) => {
            (Lack::Library, format!("the library is not NVML: {error}"), NO_LIBRARY)
        }
        NvmlError::LibRmVersionMismatch => (
            Lack::Driver,
            "the NVML library and the loaded driver differ in version".to_owned(),
            OTHER_DRIVER,
        ),
        NvmlError::NoPermission | NvmlError::OperatingSystem => {
            (Lack::Driver, format!("the NVIDIA driver refuses: {error}"), NO_PERMISSION)
        }
        NvmlError::DriverNotLoaded => (Lack::Driver, "the NVIDIA driver is not loaded".to_owned(), NO_DRIVER),
        error => (Lack::Driver, format!("the NVIDIA driver does not answer: {error}"), NO_DRIVER),
    };
    Missing { lack, fact, hint: hint.into() }
}

fn no_device(fact: String) -> Missing {
    Missing { lack: Lack::Device, fact, hint: NO_DEVICE.into() }
}

/// One part of what sampling NVIDIA devices needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NvmlPart {
    /// The part.
    pub name: &'static str,
    /// Whether it is there; `None` where it was not asked, since the part before it is missing.
    pub ok: Option<bool>,
    /// What was found.
    pub found: String,
    /// What is needed.
    pub needed: &'static str,
    /// What helps where it is missing.
    pub hint: Option<Cow<'static, str>>,
}

/// Library, driver and devices, each as it is found: for a diagnosis.
pub fn parts(library: Option<&Path>) -> Vec<NvmlPart> {
    parts_of(&NvmlSource::open(library, &Watched::default()))
}

fn parts_of(opened: &Result<NvmlSource, Missing>) -> Vec<NvmlPart> {
    let (driver, devices) = match opened {
        Ok(source) => {
            let names: Vec<String> = source.devices.iter().map(|device| device.subject().name).collect();
            (source.driver.clone(), names.join(", "))
        }
        Err(_) => ("loaded".to_owned(), String::new()),
    };
    let needs = [
        (Lack::Library, "nvml library", "loaded".to_owned(), "libnvidia-ml.so.1"),
        (Lack::Driver, "nvidia driver", driver, "a loaded driver of the library's version"),
        (Lack::Device, "nvidia devices", devices, "at least one device"),
    ];
    let missing = opened.as_ref().err();
    let mut before: Option<&'static str> = None;
    let mut parts = Vec::new();
    for (lack, name, found, needed) in needs {
        let (ok, found, hint) = match (before, missing.filter(|missing| missing.lack == lack)) {
            (Some(part), _) => (None, format!("not asked: {part} is missing"), Some(FIRST_THINGS.into())),
            (None, Some(missing)) => (Some(false), missing.fact.clone(), Some(missing.hint.clone())),
            (None, None) => (Some(true), found, None),
        };
        if ok == Some(false) {
            before = Some(name);
        }
        parts.push(NvmlPart { name, ok, found, needed, hint });
    }
    parts
}
