//! What files must hash to: a mapping, or a list as `sha256sum` writes it.

use std::path::Path;
use std::sync::Arc;

use rooflens_compose::value::{Origin, Value, ValueSource, python_str};

use super::Checksum;
use super::fields::{Fields, kind_error, refuse, text_of};
use crate::assets::error::{AssetError, AssetFault};
use crate::assets::project::plain_path;

const NOT_A_HASH: &str = "is not a SHA-256 of 64 hexadecimal digits";

pub(super) fn read(fields: &Fields<'_>) -> Result<Vec<Checksum>, AssetError> {
    let Some(node) = fields.get("sha256") else { return Ok(Vec::new()) };
    let within = fields.name_of("sha256");
    match &node.value {
        Value::Map(map) => {
            let mut checksums = Vec::new();
            for (key, value) in map {
                let file = python_str(&key.to_value());
                let within = format!("{within}.{file}");
                let path = plain_path(&file);
                let path = path.map_err(|problem| refuse(fields.document, value, &within, problem))?;
                let hash = text_of(fields.document, value, &within)?;
                let sha256 =
                    hash_of(hash).ok_or_else(|| refuse(fields.document, value, &within, NOT_A_HASH))?;
                checksums.push(Checksum { file: path, sha256 });
            }
            Ok(checksums)
        }
        Value::Str(_) => {
            let name = text_of(fields.document, node, &within)?;
            let path = plain_path(name).map_err(|problem| fields.refuse("sha256", problem))?;
            let text = (fields.document.beside)(&path)?;
            read_list(&text, &path)
        }
        _ => Err(kind_error(fields.document, &within, node, "a mapping or the name of a file")),
    }
}

/// Lines of a hash, a blank, a blank or a star, and a file.
fn read_list(text: &str, path: &Path) -> Result<Vec<Checksum>, AssetError> {
    let shown: Arc<str> = Arc::from(path.display().to_string());
    let mut checksums = Vec::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |problem| {
            let origin = Origin { source: ValueSource::File(shown.clone()), line: number, column: 1 };
            let entry = line.chars().take(200).collect();
            AssetError::at(AssetFault::ListEntry { entry, problem }, &origin, text)
        };
        let (hash, file) = line.split_once(' ').ok_or_else(|| error("is not a hash and a file"))?;
        let file = file.strip_prefix([' ', '*']).ok_or_else(|| error("is not a hash and a file"))?;
        let sha256 = hash_of(hash).ok_or_else(|| error(NOT_A_HASH))?;
        let file = plain_path(file.strip_prefix("./").unwrap_or(file)).map_err(error)?;
        checksums.push(Checksum { file, sha256 });
    }
    Ok(checksums)
}

fn hash_of(text: &str) -> Option<String> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase())
}
