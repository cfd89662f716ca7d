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
    end(&mut bytes, entries.len() as u16, directory_bytes, directory_start);
    bytes
}

/// The record at the end.
pub fn end(bytes: &mut Vec<u8>, entries: u16, directory_bytes: u32, directory_start: u32) {
    bytes.extend(b"PK\x05\x06");
    put16(bytes, &[0, 0, entries, entries]);
    put32(bytes, &[directory_bytes, directory_start]);
    put16(bytes, &[0]);
}

/// A zip whose list really has so many entries, each of one byte names and no data of its own.
pub fn crowded(entries: u64) -> Vec<u8> {
    let mut bytes = zip(&[file("a", "")]);
    let start = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    let entry: Vec<u8> = bytes[start..start + 47].to_vec();
    bytes.truncate(start);
    for index in 0..entries {
        let name = format!("{index:07}");
        let at = bytes.len();
        bytes.extend(&entry[..46]);
        bytes[at + 28] = 7;
        bytes.extend(name.as_bytes());
    }
    let directory_bytes = bytes.len() as u64 - start as u64;
    large_end(&mut bytes, entries, directory_bytes, start as u64);
    bytes
}

/// The records at the end of a zip64.
pub fn large_end(bytes: &mut Vec<u8>, entries: u64, directory_bytes: u64, directory_start: u64) {
    let record = bytes.len() as u64;
    bytes.extend(b"PK\x06\x06");
    bytes.extend(44u64.to_le_bytes());
    put16(bytes, &[45, 45]);
    put32(bytes, &[0, 0]);
    for number in [entries, entries, directory_bytes, directory_start] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"PK\x06\x07");
    put32(bytes, &[0]);
    bytes.extend(record.to_le_bytes());
    put32(bytes, &[1]);
    end(bytes, u16::MAX, u32::MAX, u32::MAX);
}

fn put16(bytes: &mut Vec<u8>, numbers: &[u16]) {
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}

fn put32(bytes: &mut Vec<u8>, numbers: &[u32]) {
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
}
