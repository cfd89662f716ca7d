//! Safetensors files and the indexes over them.
//!
//! A file is 8 bytes with the length of a header, the header as JSON, and data that the header's
//! tensors cover without gaps: so a file that was cut off is known by its header alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::json_files::is_lfs_pointer;
use super::{Problem, Report};
use crate::assets::project::plain_path;
use crate::assets::walk::{ListedFile, Listing};

/// The limit of the format's own reader.
const MAX_HEADER_BYTES: u64 = 100_000_000;
const INDEX: &str = ".safetensors.index.json";

pub(super) fn check(listing: &Listing, report: &mut Report) {
    let mut tensors: HashMap<&str, HashSet<String>> = HashMap::new();
    for file in listing.files.iter().filter(|file| file.path.ends_with(".safetensors")) {
        report.files_checked += 1;
        match header(&listing.folder, file) {
            Ok(names) => drop(tensors.insert(&file.path, names)),
            Err(problem) => report.find(&file.path, problem),
        }
    }
    for file in listing.files.iter().filter(|file| file.path.ends_with(INDEX)) {
        report.files_checked += 1;
        check_index(listing, file, &tensors, report);
    }
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

fn check_index(
    listing: &Listing,
    index: &ListedFile,
    tensors: &HashMap<&str, HashSet<String>>,
    report: &mut Report,
) {
    let path = listing.folder.join(&index.path);
    let Ok(bytes) = read_start(&path, MAX_HEADER_BYTES) else {
        return report.find(&index.path, Problem::Unreadable);
    };
    if is_lfs_pointer(&bytes) {
        return report.find(&index.path, Problem::LfsPointer);
    }
    let weight_map = match serde_json::from_slice::<Index>(&bytes) {
        Ok(Index { weight_map }) if !weight_map.is_empty() => weight_map,
        Ok(_) => {
            return report.find(&index.path, Problem::Shape { expected: "an index with tensors".into() });
        }
        Err(error) => return report.find(&index.path, Problem::NotJson { message: error.to_string() }),
    };
    let folder = index.path.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
    let mut missing = HashSet::new();
    for (tensor, shard) in &weight_map {
        let path = format!("{folder}{shard}");
        let is_there = plain_path(shard).is_ok()
            && listing.files.binary_search_by(|file| file.path.as_str().cmp(&path)).is_ok();
        if !is_there {
            // Once a shard, not once a tensor.
            if missing.insert(shard) {
                report.find(&index.path, Problem::ShardMissing { shard: shard.clone() });
            }
            continue;
        }
        // A shard whose header is faulty has its own finding.
        if tensors.get(path.as_str()).is_some_and(|names| !names.contains(tensor)) {
            let (tensor, shard) = (tensor.clone(), shard.clone());
            report.find(&index.path, Problem::TensorMissing { tensor, shard });
        }
    }
}

/// The names of the tensors in a file.
fn header(folder: &Path, file: &ListedFile) -> Result<HashSet<String>, Problem> {
    let path = folder.join(&file.path);
    let start = read_start(&path, 64).map_err(|_| Problem::Unreadable)?;
    if is_lfs_pointer(&start) {
        return Err(Problem::LfsPointer);
    }
    let Some(length) = start.first_chunk::<8>() else {
        return Err(Problem::HeaderLength { claimed_bytes: 8, file_bytes: file.bytes });
    };
    let claimed_bytes = u64::from_le_bytes(*length);
    let data_bytes = file.bytes.saturating_sub(8).checked_sub(claimed_bytes);
    let Some(data_bytes) = data_bytes.filter(|_| claimed_bytes <= MAX_HEADER_BYTES) else {
        return Err(Problem::HeaderLength { claimed_bytes, file_bytes: file.bytes });
    };
    let bytes = read_start(&path, 8 + claimed_bytes).map_err(|_| Problem::Unreadable)?;
    let json = bytes.get(8..).unwrap_or_default();
    let Header(tensors) =
        serde_json::from_slice(json).map_err(|error| Problem::Header { message: error.to_string() })?;
    check_tensors(&tensors, data_bytes)?;
    Ok(tensors.into_iter().map(|(name, _)| name).collect())
}

fn check_tensors(tensors: &[(String, Tensor)], data_bytes: u64) -> Result<(), Problem> {
    let mut places: Vec<(u64, u64, &str)> = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let [start, end] = tensor.data_offsets;
        let wrong = |message: &'static str| Problem::Tensor { tensor: name.clone(), message: message.into() };
        let length = end.checked_sub(start).ok_or_else(|| wrong("ends before it begins"))?;
        if let Some(bits) = bits_of(&tensor.dtype) {
            let elements = tensor.shape.iter().try_fold(1u64, |all, side| all.checked_mul(*side));
            let needed =
                elements.and_then(|elements| elements.checked_mul(bits)).map(|bits| bits.div_ceil(8));
            if needed != Some(length) {
                return Err(wrong("has a length that does not fit its type and shape"));
            }
        }
        places.push((start, end, name));
    }
    places.sort_unstable();
    let mut before = 0;
    for (start, end, name) in places {
        if start != before {
            let (tensor, message) = (name.to_owned(), "overlaps another or leaves a gap before it".into());
            return Err(Problem::Tensor { tensor, message });
        }
        before = end;
    }
    if before != data_bytes {
        return Err(Problem::DataLength { tensors_end: before, data_bytes });
    }
    Ok(())
}

/// Bits of an element; none of a type that is newer than this list.
fn bits_of(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "BOOL" | "U8" | "I8" | "F8_E4M3" | "F8_E5M2" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => 8,
        "I16" | "U16" | "F16" | "BF16" => 16,
        "I32" | "U32" | "F32" => 32,
        "I64" | "U64" | "F64" | "C64" => 64,
        _ => return None,
    })
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// A header: a tensor for every key but `__metadata__`.
struct Header(Vec<(String, Tensor)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tensors;

        impl<'de> Visitor<'de> for Tensors {
            type Value = Header;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut tensors = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        tensors.push((name, map.next_value()?));
                    }
                }
                Ok(Header(tensors))
            }
        }

        deserializer.deserialize_map(Tensors)
    }
}

fn read_start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
