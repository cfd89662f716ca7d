//! Zips byte by byte, so that they can be wrong.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// An entry.
pub struct Entry {
    pub name: Vec<u8>,
    pub mode: u32,
    pub data: Vec<u8>,
    pub is_deflated: bool,
    /// Points to the local header of another entry.
    pub header_of: Option<usize>,
}

pub fn file(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Entry {
    let (name, data) = (name.as_ref().to_vec(), data.as_ref().to_vec());
    Entry { name, mode: 0o100_644, data, is_deflated: false, header_of: None }
}

pub fn link(name: &str, target: &str) -> Entry {
    Entry { mode: 0o120_777, ..file(name, target) }
}

pub fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut starts = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let packed = if entry.is_deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(&entry.data).unwrap();
            encoder.finish().unwrap()
        } else {
            entry.data.clone()
        };
        let mut crc = flate2::Crc::new();
        crc.update(&entry.data);
        let mut shared = Vec::new();
        put16(&mut shared, &[20, 0x800, if entry.is_deflated { 8 } else { 0 }, 0, 0x21]);
        put32(&mut shared, &[crc.sum(), packed.len() as u32, entry.data.len() as u32]);
        put16(&mut shared, &[entry.name.len() as u16, 0]);

        let start = match entry.header_of {
            Some(other) => starts[other],
            None => {
                let start = bytes.len() as u32;
                bytes.extend(b"PK\x03\x04");
                bytes.extend(&shared);
                bytes.extend(&entry.name);
                bytes.extend(&packed);
                start
            }
        };
        starts.push(start);
        directory.extend(b"PK\x01\x02");
        // Made on Unix, so that the mode counts.
        put16(&mut directory, &[0x031e]);
        directory.extend(&shared);
        put16(&mut directory, &[0, 0, 0]);
        put32(&mut directory, &[entry.mode << 16, start]);
        directory.extend(&entry.name);
    }
    let directory_start = bytes.len() as u32;
    let directory_bytes = directory.len() as u32;
    bytes.extend(directory);
    let entries = entries.len() as u16;
    bytes.extend(b"PK\x05\x06");
    put16(&mut bytes, &[0, 0, entries, entries]);
    put32(&mut bytes, &[directory_bytes, directory_start]);
    put16(&mut bytes, &[0]);
    bytes
}

fn put16(bytes: &mut Vec<u8>, numbers: &[u16]) {
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}

fn put32(bytes: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}
