//! What the file says of itself: devices, the clock, versions, the tool's own complaints. Of everything
//! else it knows about the machine and its users nothing is read.

use rooflens_schema::Severity;
use rooflens_schema::tables::DeviceRow;

use super::Reader;
use crate::formats::narrow;
use crate::sqlite::{number, text};

/// Properties worth showing, by the name that the file gives them.
const KEPT: &[(&str, &str)] =
    &[("EXPORT_PRODUCT_VERSION", "nsys_version"), ("EXPORT_SCHEMA_VERSION", "nsys_schema_version")];

impl Reader<'_> {
    /// Reads it.
    pub(super) fn about(&mut self) {
        self.devices();
        self.database.each("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], |row| {
            self.tables.meta.base_unix_ns = number(row, 0);
        });
        for table in ["META_DATA_EXPORT", "EXPORT_META_DATA"] {
            self.database.each(table, &["name", "value"], |row| {
                let (Some(name), Some(value)) = (text(row, 0), text(row, 1)) else { return };
                if let Some((_, kept)) = KEPT.iter().find(|(known, _)| *known == name) {
                    self.tables.meta.properties.push(((*kept).to_owned(), value.to_owned()));
                }
            });
        }
        self.complaints();
    }

    /// The file counts devices of the machine; kernels name those that their process sees.
    fn devices(&mut self) {
        let mut seen_as = Vec::new();
        self.database.each("TARGET_INFO_CUDA_DEVICE", &["gpuId", "cudaId"], |row| {
            seen_as.extend(number(row, 0).zip(number(row, 1)));
        });
        let columns = ["id", "cuDevice", "name", "totalMemory", "smCount", "computeMajor", "computeMinor"];
        self.database.each("TARGET_INFO_GPU", &columns, |row| {
            let id = number(row, 0);
            let by_process = seen_as.iter().find(|(gpu, _)| Some(*gpu) == id).map(|(_, cuda)| *cuda);
            let Some(device) = by_process.or(number(row, 1)).or(id).map(narrow) else { return };
            let version = number(row, 5).zip(number(row, 6));
            // A machine has more devices than a program uses.
            if self.tables.kernels.device.contains(&device) && !self.tables.devices.device.contains(&device) {
                self.tables.devices.push(DeviceRow {
                    device,
                    name: text(row, 2).unwrap_or_default().to_owned(),
                    memory_bytes: number(row, 3).into(),
                    units: number(row, 4).map(narrow).into(),
                    architecture: version.map(|(major, minor)| format!("{major}.{minor}")),
                });
            }
        });
    }

    fn complaints(&mut self) {
        const WARNING: i64 = 2;
        self.database.each("DIAGNOSTIC_EVENT", &["severity", "text"], |row| {
            let (Some(severity), Some(text)) = (number(row, 0), text(row, 1)) else { return };
            if severity >= WARNING {
                let message = format!("nsys says: {}", without_paths(text));
                self.database.tell(Severity::Warning, "nsys_diagnostic", 1, message);
            }
        });
    }
}

/// A path may tell who somebody is.
fn without_paths(text: &str) -> String {
    let words = text.split_whitespace();
    words.map(|word| if word.contains('/') { "[path]" } else { word }).collect::<Vec<_>>().join(" ")
}
