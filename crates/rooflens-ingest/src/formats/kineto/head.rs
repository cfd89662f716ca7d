//! What stands around the events: device properties, the job, versions.
//!
//! Only known keys are kept: real headers also name users, hosts and jobs.

use rooflens_schema::Opt;
use rooflens_schema::tables::{DeviceRow, Devices};
use serde::Deserialize;
use serde_json::Value;

use super::export::{EXPORT_KEY, Export};
use super::scan::{Cursor, ScanStop, unescape};

const KEPT: &[&str] = &[
    "schemaVersion",
    "cupti_version",
    "cuda_runtime_version",
    "cuda_driver_version",
    "roctracer_version",
    "hip_runtime_version",
    "hip_driver_version",
    "record_shapes",
    "with_stack",
    "with_flops",
    "with_modules",
    "profile_memory",
];

#[derive(Debug, Default)]
pub(crate) struct TraceHead {
    /// Nanoseconds since 1970 that event times count from.
    pub(crate) base_time_ns: Option<i64>,
    pub(crate) devices: Devices,
    pub(crate) rank: Option<i32>,
    pub(crate) world_size: Option<i32>,
    pub(crate) backend: Option<String>,
    pub(crate) properties: Vec<(String, String)>,
    /// Where the file is an export: of what.
    pub(crate) export: Option<Export>,
    pub(crate) dropped: Vec<String>,
    pub(crate) damaged: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeadStop {
    /// At the first byte inside the array of events.
    Events(usize),
    Done,
}

/// Reads top-level keys from `at`, which is inside the object, until the events or the end.
pub fn read(text: &[u8], at: usize, head: &mut TraceHead) -> Result<HeadStop, ScanStop> {
    let mut cursor = Cursor::new(text, at);
    loop {
        match cursor.peek()? {
            b'}' => return Ok(HeadStop::Done),
            b',' => cursor.expect(b',')?,
            _ => {
                let key = cursor.key()?;
                if key == b"traceEvents" && cursor.take(b'[')? {
                    return Ok(HeadStop::Events(cursor.at()));
                }
                cursor.peek()?;
                let start = cursor.at();
                cursor.skip()?;
                head.take(&unescape(key, true).0, cursor.since(start));
            }
        }
    }
}

#[derive(Deserialize)]
struct Distributed {
    rank: Option<i64>,
    world_size: Option<i64>,
    backend: Option<String>,
    nccl_version: Option<String>,
}

#[derive(Deserialize)]
struct Device {
    id: Option<i64>,
    name: Option<String>,
    #[serde(rename = "totalGlobalMem")]
    memory: Option<i64>,
    #[serde(rename = "numSms")]
    sms: Option<i64>,
    #[serde(rename = "computeMajor")]
    major: Option<i64>,
    #[serde(rename = "computeMinor")]
    minor: Option<i64>,
}

impl TraceHead {
    fn take(&mut self, key: &str, value: &[u8]) {
        let understood = match key {
            "baseTimeNanoseconds" => serde_json::from_slice(value).map(|ns| self.base_time_ns = Some(ns)),
            "distributedInfo" => serde_json::from_slice(value).map(|job| self.take_job(job)),
            EXPORT_KEY => serde_json::from_slice(value).map(|export| self.export = Some(export)),
            "deviceProperties" => serde_json::from_slice(value).map(|devices| self.take_devices(devices)),
            _ if KEPT.contains(&key) => serde_json::from_slice::<Value>(value).map(|value| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.properties.push((key.to_owned(), text));
            }),
            // How a viewer is to show times.
            "displayTimeUnit" => Ok(()),
            _ => {
                self.dropped.push(key.chars().take(40).collect());
                return;
            }
        };
        if understood.is_err() {
            self.damaged.push(key.to_owned());
        }
    }

    fn take_job(&mut self, job: Distributed) {
        self.rank = job.rank.and_then(|rank| i32::try_from(rank).ok());
        self.world_size = job.world_size.and_then(|size| i32::try_from(size).ok());
        self.backend = job.backend;
        self.properties.extend(job.nccl_version.map(|version| ("nccl_version".to_owned(), version)));
    }

    fn take_devices(&mut self, devices: Vec<Device>) {
        for (i, device) in devices.into_iter().enumerate() {
            let capability = device.major.zip(device.minor).map(|(major, minor)| format!("{major}.{minor}"));
            self.devices.push(DeviceRow {
                device: device.id.and_then(|id| i32::try_from(id).ok()).unwrap_or(i as i32),
                name: device.name.unwrap_or_default(),
                memory_bytes: device.memory.into(),
                units: Opt::from(device.sms.and_then(|sms| i32::try_from(sms).ok())),
                architecture: capability,
            });
        }
    }
}
