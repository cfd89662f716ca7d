//! Tars byte by byte, so that they can be wrong.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// An entry: name, kind (`0` file, `1` hard link, `2` link, `3` device, `5` folder, `L` long name),
/// what a link says, content.
pub type Entry<'a> = (&'a str, u8, &'a str, &'a [u8]);

pub fn tar(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, kind, target, data) in entries {
        bytes.extend(header(name, *kind, target, data.len() as u64));
        bytes.extend(*data);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

pub fn header(name: &str, kind: u8, target: &str, size: u64) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[148..156].copy_from_slice(b"        ");
    header[156] = kind;
    header[157..157 + target.len()].copy_from_slice(target.as_bytes());
    header[257..265].copy_from_slice(b"ustar  \0");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
