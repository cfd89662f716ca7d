//! What an export says about itself, in the keys of the profiler and one of its own.

use std::io::{self, Write};

use rooflens_ingest::formats::{EXPORT_KEY, Export};
use rooflens_schema::tables::DeviceRow;
use rooflens_schema::{Note, RankTables, Stage};
use serde_json::{Map, Value, json};

#[derive(Default)]
pub(super) struct Head {
    ranks: usize,
    format: String,
    keys: Map<String, Value>,
}

impl Head {
    /// Takes in a rank.
    pub fn rank(&mut self, tables: &RankTables) {
        self.ranks += 1;
        if self.ranks == 1 {
            self.format.clone_from(&tables.meta.format);
            self.keys = keys(tables);
        }
    }

    /// Writes the keys behind the events.
    pub fn write(self, out: &mut impl Write, notes: &[Note]) -> io::Result<()> {
        // Several ranks have no one device or clock: only that they are several is told.
        let mut keys = if self.ranks == 1 { self.keys } else { Map::new() };
        // What deriving finds is found again.
        let notes = notes.iter().filter(|note| note.stage != Stage::Analyze).cloned().collect();
        let export = Export { ranks: self.ranks, format: self.format, notes };
        keys.insert(EXPORT_KEY.to_owned(), serde_json::to_value(export)?);
        for (key, value) in &keys {
            out.write_all(b",\n")?;
            serde_json::to_writer(&mut *out, key)?;
            out.write_all(b":")?;
            serde_json::to_writer(&mut *out, value)?;
        }
        Ok(())
    }
}

fn keys(tables: &RankTables) -> Map<String, Value> {
    let meta = &tables.meta;
    let mut keys = Map::new();
    let mut job = Map::new();
    job.insert("rank".to_owned(), tables.rank.into());
    let mut tell = |key: &str, value: Option<Value>| job.extend(value.map(|value| (key.to_owned(), value)));
    tell("world_size", meta.world_size.map(Value::from));
    tell("backend", meta.backend.clone().map(Value::from));
    // Other formats have properties that a reader of this one does not know.
    let known = if meta.format == "kineto" { &meta.properties[..] } else { &[] };
    for (name, value) in known {
        match name.as_str() {
            "nccl_version" => tell(name, Some(value.clone().into())),
            _ => drop(keys.insert(name.clone(), value.clone().into())),
        }
    }
    keys.insert("distributedInfo".to_owned(), job.into());
    if let Some(base) = meta.base_unix_ns {
        keys.insert("baseTimeNanoseconds".to_owned(), base.into());
    }
    let devices: Vec<Value> =
        (0..tables.devices.len()).filter_map(|row| tables.devices.row(row)).map(|row| device(&row)).collect();
    if !devices.is_empty() {
        keys.insert("deviceProperties".to_owned(), devices.into());
    }
    keys
}

fn device(row: &DeviceRow) -> Value {
    let mut device = json!({"id": row.device, "name": row.name});
    if let Some(bytes) = row.memory_bytes.get() {
        device["totalGlobalMem"] = bytes.into();
    }
    if let Some(units) = row.units.get() {
        device["numSms"] = units.into();
    }
    let capability = row.architecture.as_deref().and_then(|text| text.split_once('.'));
    let parsed = capability.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    if let Some((major, minor)) = parsed {
        let (major, minor): (i64, i64) = (major, minor);
        device["computeMajor"] = major.into();
        device["computeMinor"] = minor.into();
    }
    device
}
